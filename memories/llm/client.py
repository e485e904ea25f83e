"""One call to the owner's model, in the dialect of the chat protocol its server understands (D7)."""

import email.utils
import json
import re
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Self

import httpx
from django.conf import settings
from pydantic import BaseModel, ValidationError

from memories.endpoint import Endpoint
from memories.llm import prompts

_PASSING = {408, 409, 425, 429}  # and whatever begins with 5
_REFUSALS = {400, 404, 422, 501}
_SHAPES = ("response_format", "json_schema", "grammar")
FORMS = ("json_schema", "json_object", "text")
_TOO_LONG = re.compile(r"context.?(?:length|size|window)|maximum context|too long|too many tokens")


class CallFailed(Exception):
    """A call failed; `complaint` is the server's own text and is shown to nobody."""

    def __init__(
        self,
        message: str,
        *,
        is_temporary: bool = False,
        retry_after: float | None = None,
        is_free: bool = False,
        complaint: str = "",
    ) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary
        self.retry_after = retry_after  # seconds
        self.is_free = is_free  # nothing was computed for it
        self.complaint = complaint


@dataclass(frozen=True)
class Request:
    """A question to a model; without a schema it is answered in plain text."""

    model: str
    messages: list[dict[str, str]]
    language: str
    name: str
    schema: dict[str, Any] | None
    max_tokens: int
    temperature: float


@dataclass(frozen=True)
class Completion:
    """The text of a model; tokens are None when the server did not count them."""

    text: str
    was_cut: bool
    prompt_tokens: int | None
    completion_tokens: int | None


@dataclass(frozen=True)
class Dialect:
    """What a server understands of the chat protocol: what it refuses is left out, one thing at a time."""

    form: str = FORMS[0]
    has_schema: bool = True  # of a JSON object: some servers take its schema beside it, others refuse it
    limit: str = "max_tokens"
    has_temperature: bool = True

    def without(self, complaint: str) -> Self | None:
        """The next poorer dialect after a refusal; None when there is nothing to leave out."""
        if _TOO_LONG.search(complaint):
            return None
        if self.limit == "max_tokens" and "max_completion_tokens" in complaint:
            return replace(self, limit="max_completion_tokens")
        if self.has_temperature and "temperature" in complaint:
            return replace(self, has_temperature=False)
        if self.form == "json_object" and self.has_schema:
            return replace(self, has_schema=False)
        poorer = FORMS[FORMS.index(self.form) + 1 :]
        return replace(self, form=poorer[0]) if poorer else None

    def options(self, request: Request) -> dict[str, Any]:
        """The options of a request beside its messages."""
        options: dict[str, Any] = {self.limit: request.max_tokens}
        if self.has_temperature:
            options["temperature"] = request.temperature
        if request.schema is None:
            return options
        if self.form == "json_schema":
            shape = {"name": request.name, "schema": request.schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif self.form == "json_object":
            beside = {"schema": request.schema} if self.has_schema else {}
            options["response_format"] = {"type": "json_object", **beside}
        return options


#: The dialects that worked in this process, by address and model.
DIALECTS: dict[tuple[str, str], Dialect] = {}


def form_of(model: str) -> str:
    """The form of answers that worked with a model in this process."""
    return DIALECTS.get((settings.MEMORY_LLM_BASE_URL, model), Dialect()).form


def complete(request: Request, *, seconds: float) -> Completion:
    """The model's answer. Raises CallFailed."""
    until = time.monotonic() + seconds
    server = settings.MEMORY_LLM_BASE_URL, request.model
    dialect = DIALECTS.get(server, Dialect())
    while True:
        try:
            completion = _complete(request, dialect, max(until - time.monotonic(), 0.001))
        except CallFailed as failure:
            poorer = dialect.without(failure.complaint.lower()) if failure.complaint else None
            if poorer is None:
                raise
            dialect = poorer
        else:
            DIALECTS[server] = dialect
            return completion


def _complete(request: Request, dialect: Dialect, seconds: float) -> Completion:
    """The answer in one dialect; a schema the server does not take as an option is put into the instructions."""
    messages = request.messages
    if request.schema is not None and dialect.form != FORMS[0]:
        shape = prompts.fill("shape", request.language, {"schema": json.dumps(request.schema)})
        first, *others = messages
        messages = [{**first, "content": f"{first['content']}\n\n{shape}"}, *others]
    payload = {"model": request.model, "messages": messages, **dialect.options(request)}
    try:  # for one call, since the next may be hours and a fork away
        connection = Endpoint(
            settings.MEMORY_LLM_BASE_URL, settings.MEMORY_LLM_API_KEY, proxy=settings.MEMORY_LLM_PROXY
        )
    except ValueError:
        raise CallFailed("The model's key holds characters no header can carry.", is_free=True) from None
    try:
        with closing(connection) as endpoint:
            response = endpoint.post("chat/completions", payload, seconds=seconds)
    except httpx.TimeoutException as error:
        never_arrived = isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout)
        raise CallFailed("The model did not answer in time.", is_temporary=True, is_free=never_arrived) from None
    except httpx.RequestError as error:
        never_arrived = isinstance(error, httpx.ConnectError)
        raise CallFailed("The model's endpoint cannot be reached.", is_temporary=True, is_free=never_arrived) from None
    except (httpx.InvalidURL, UnicodeError) as error:
        raise CallFailed(f"The model's endpoint failed: {type(error).__name__}.") from None
    if not response.is_success:
        body = response.content.decode(errors="replace")[:4_000]
        is_about_shape = response.status in _REFUSALS or any(word in body for word in _SHAPES)
        raise CallFailed(
            f"The model's endpoint answered {response.status}.",
            is_temporary=response.status in _PASSING or response.status >= 500,
            retry_after=_retry_after(response.headers),
            is_free=True,
            complaint=body or "refused" if is_about_shape else "",
        )
    return _parse(response.content)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds until the server wants the next call; a date is counted from the server's own clock."""
    for header, divisor in (("retry-after-ms", 1_000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(header, "")) / divisor
        except ValueError:
            continue
        return seconds if 0 <= seconds < 86_400 else None
    try:
        retry_at, sent_at = (email.utils.parsedate_to_datetime(headers[name]) for name in ("retry-after", "date"))
    except (KeyError, ValueError, TypeError):
        return None
    return max((retry_at - sent_at).total_seconds(), 0.0)


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Body(BaseModel):
    choices: list[_Choice]
    usage: _Usage | None = None


def _parse(content: bytes) -> Completion:
    """Raises CallFailed."""
    try:
        body = _Body.model_validate_json(content)
    except ValidationError:
        raise CallFailed("The model's endpoint answered with something else.", is_temporary=True) from None
    if not body.choices:
        raise CallFailed("The model's endpoint answered with nothing.", is_temporary=True)
    choice, usage = body.choices[0], body.usage or _Usage()
    return Completion(
        text=choice.message.content or "",
        was_cut=choice.finish_reason == "length",
        prompt_tokens=usage.prompt_tokens if (usage.prompt_tokens or 0) > 0 else None,
        completion_tokens=usage.completion_tokens if (usage.completion_tokens or 0) > 0 else None,
    )
