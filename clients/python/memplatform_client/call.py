"""One call: what is sent and what kind of answer comes; and how it becomes a method of both clients."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload
from urllib.parse import quote

from memplatform_client.types import Page

if TYPE_CHECKING:
    from memplatform_client.client import AsyncClient, Client

P = ParamSpec("P")
T = TypeVar("T")


def new_key() -> str:
    """An Idempotency-Key nobody else has."""
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Call(Generic[T]):
    """What is sent, whose answer is a T. A write has a key, so that it is done once however often it is sent."""

    method: str
    template: str
    places: Mapping[str, object] = field(default_factory=dict)
    query: Mapping[str, object] = field(default_factory=dict)
    body: Mapping[str, object] | None = None
    version: int | None = None  # the one that was read: If-Match
    once: str | None = None  # the Idempotency-Key

    @property
    def path(self) -> str:
        return self.template.format_map({name: quote(str(value), safe="") for name, value in self.places.items()})

    @property
    def params(self) -> dict[str, str]:
        return {_wire_name(name): _text(value) for name, value in self.query.items() if value is not None}

    @property
    def content(self) -> bytes | None:
        if self.body is None:
            return None
        named = {_wire_name(name): value for name, value in self.body.items()}
        return json.dumps(named, default=_text, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")

    @property
    def headers(self) -> dict[str, str]:
        sent = {"Content-Type": "application/json"} if self.body is not None else {}
        sent |= {"Idempotency-Key": self.once} if self.once else {}
        return sent | ({"If-Match": f'"{self.version}"'} if self.version is not None else {})

    def after(self, cursor: str | None) -> Self | None:
        """The call for the following page of a list; None where there is none."""
        return replace(self, query={**self.query, "cursor": cursor}) if cursor is not None else None


def _wire_name(argument: str) -> str:
    """A field that is a word of Python is given with an underscore behind it: `from_`."""
    return argument.removesuffix("_")


def _text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            return value.isoformat()
        case str() | int() | float() | uuid.UUID():
            return str(value)
    raise TypeError(f"{type(value).__name__} cannot be sent: {value!r}")


class Method(Generic[P, T]):
    """A call as a method: of a `Client` it returns the answer, of an `AsyncClient` the answer is awaited."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self.describe = describe

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Any:
        return self if client is None else _bound(self.describe, client, client.send)


class Listing(Generic[P, T]):
    """A call that answers in pages, as a method that gives one row after the other and asks for pages as it goes."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[Page[T]]]) -> None:
        self.describe = describe

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Any:
        return self if client is None else _bound(self.describe, client, client.rows)


class Lines(Generic[P, T]):
    """A call that answers line by line, as a method that gives one record after the other while they arrive."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self.describe = describe

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Any:
        return self if client is None else _bound(self.describe, client, client.lines)


def _bound(describe: Callable[..., Any], client: object, ask: Callable[[Any], Any]) -> Callable[..., Any]:
    """A method with the name, arguments and words of its description."""

    @wraps(describe)
    def method(*args: Any, **kwargs: Any) -> Any:
        return ask(describe(client, *args, **kwargs))

    return method
