"""The store as the bot knows it: its calls, answers and errors unchanged, each told afterwards to whom it concerns."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from time import perf_counter
from typing import Any, Protocol

from memplatform_shadow.events import Answered


class Listener(Protocol):
    """Who is told of calls. Neither method may raise or wait for a network. `events` says what a call was, or fails."""

    def answered(self, name: str, events: Callable[[], Any], seconds: float) -> None: ...
    def failed(self, name: str, error: BaseException) -> None: ...


class Watched:
    """A store whose calls are told to a listener; for those who use it, it is the store itself.

    Which calls: those its adapter has a method of the same name for, which makes events of an answered call.
    """

    def __init__(self, store: Any, adapter: Any, listener: Listener) -> None:
        object.__setattr__(self, "_watched", (store, adapter, listener))

    def __getattr__(self, name: str) -> Any:
        store, adapter, listener = object.__getattribute__(self, "_watched")
        method = getattr(store, name)
        describe = None if name.startswith("_") else getattr(adapter, name, None)
        return method if describe is None or not callable(method) else _watched(name, method, describe, listener)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._watched[0], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._watched[0], name)

    def __dir__(self) -> list[str]:
        return dir(self._watched[0])

    def __repr__(self) -> str:
        return repr(self._watched[0])

    def __enter__(self) -> Any:
        return self._entered(type(self._watched[0]).__enter__(self._watched[0]))

    def __exit__(self, *error: object) -> Any:
        return type(self._watched[0]).__exit__(self._watched[0], *error)

    async def __aenter__(self) -> Any:
        return self._entered(await type(self._watched[0]).__aenter__(self._watched[0]))

    async def __aexit__(self, *error: object) -> Any:
        return await type(self._watched[0]).__aexit__(self._watched[0], *error)

    def _entered(self, entered: Any) -> Any:
        store, adapter, listener = self._watched
        return self if entered is store else Watched(entered, adapter, listener)


def _watched(name: str, method: Any, describe: Callable[[Answered], Any], listener: Listener) -> Callable[..., Any]:
    """A method that does what it did, and is told of when it is done; one that is awaited as well."""

    def tell(args: Any, kwargs: Any, answer: Any, begun: float) -> None:
        seconds = perf_counter() - begun
        listener.answered(name, lambda: describe(_answered(method, args, kwargs, answer)), seconds)

    async def awaited(answer: Any, args: Any, kwargs: Any, begun: float) -> Any:
        try:
            come = await answer
        except BaseException as error:
            listener.failed(name, error)
            raise
        tell(args, kwargs, come, begun)
        return come

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        begun = perf_counter()
        try:
            answer = method(*args, **kwargs)
        except BaseException as error:
            listener.failed(name, error)
            raise
        if inspect.isawaitable(answer):
            return awaited(answer, args, kwargs, begun)
        tell(args, kwargs, answer, begun)
        return answer

    @wraps(method)
    async def call_awaited(*args: Any, **kwargs: Any) -> Any:
        return await call(*args, **kwargs)

    return call_awaited if inspect.iscoroutinefunction(method) else call


def _answered(method: Any, args: Any, kwargs: Any, answer: Any) -> Answered:
    signature = inspect.signature(method)
    named = dict(signature.bind(*args, **kwargs).arguments)
    defaults = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            named |= named.pop(name, {})
        elif parameter.default is not inspect.Parameter.empty:
            defaults[name] = parameter.default
    return Answered(named, answer, defaults)
