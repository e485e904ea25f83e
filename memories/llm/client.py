"""One call to the owner's endpoint, and to no other: what leaves here, and what may come back (D7).

The SDK reads a dozen OPENAI_* variables, follows redirects, and tells about the machine in its headers. All of it
passes through one transport that lets out what is meant and nothing else.
"""

import email.utils
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx2
from django.conf import settings
from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAI, OpenAIError
from pydantic import BaseModel, ValidationError

from memories.llm import dialect, prompts
from memories.llm.call import CallFailed, Reply, Request

_HEADERS = ("host", "accept", "content-type", "content-length", "transfer-encoding", "connection")
_AGENT = "memplatform"
_MOST_BYTES = 8_000_000  # of one answer
_PASSING = {408, 409, 425, 429}  # and whatever begins with 5
_REFUSALS = {400, 404, 422, 501}
_SHAPES = ("response_format", "json_schema", "grammar")


def complete(request: Request, *, seconds: float) -> Reply:
    """Ask in the words the server understands. Raises CallFailed."""
    until = time.monotonic() + seconds
    wording = dialect.of(settings.MEMORY_LLM_BASE_URL, request.model)
    while True:
        try:
            reply = _ask(request, wording, max(until - time.monotonic(), 0.001))
        except CallFailed as failure:
            poorer = wording.without(failure.said.lower()) if failure.said else None
            if poorer is None:
                raise
            wording = poorer
        else:
            dialect.learn(settings.MEMORY_LLM_BASE_URL, request.model, wording)
            return reply


def _ask(request: Request, wording: dialect.Dialect, seconds: float) -> Reply:
    options = wording.options(
        max_tokens=request.max_tokens, temperature=request.temperature, name=request.name, schema=request.schema
    )
    try:
        with _client() as client:
            answer = client.chat.completions.with_raw_response.create(
                model=request.model, messages=_messages(request, wording), timeout=seconds, **options
            )
        return _reply(answer.content)
    except APIStatusError as error:
        raise _refused(error) from None
    except APITimeoutError as error:
        never_arrived = isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.PoolTimeout)
        raise CallFailed("The model did not answer in time.", may_pass=True, is_free=never_arrived) from None
    except APIConnectionError as error:
        never_arrived = isinstance(error.__cause__, httpx2.ConnectError)
        raise CallFailed("The model's endpoint cannot be reached.", may_pass=True, is_free=never_arrived) from None
    except (OpenAIError, httpx2.HTTPError, UnicodeError) as error:
        raise CallFailed(f"The model's endpoint failed: {type(error).__name__}.") from None


def _messages(request: Request, wording: dialect.Dialect) -> Any:
    """What a server does not take as an option is told in words, as the last of our own."""
    if wording.form == dialect.FORMS[0]:
        return request.messages
    shape = prompts.fill("shape", request.language, {"schema": json.dumps(request.schema)})
    first, *others = request.messages
    return [{**first, "content": f"{first['content']}\n\n{shape}"}, *others]


def _refused(error: APIStatusError) -> CallFailed:
    code = error.status_code
    said = error.response.text[:4_000]
    is_about_shape = code in _REFUSALS or any(word in said for word in _SHAPES)
    return CallFailed(
        f"The model's endpoint answered {code}.",
        may_pass=code in _PASSING or code >= 500,
        after=retry_after(error.response.headers),
        is_free=True,
        said=said or "refused" if is_about_shape else "",
    )


def retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds the server wants to be left alone; a date is counted from the server's own clock."""
    for header, divisor in (("retry-after-ms", 1_000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(header, "")) / divisor
        except ValueError:
            continue
        return seconds if 0 <= seconds < 86_400 else None
    try:
        moments = [email.utils.parsedate_to_datetime(headers[name]) for name in ("retry-after", "date")]
    except (KeyError, ValueError, TypeError):
        return None
    return max((moments[0] - moments[1]).total_seconds(), 0.0)


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(BaseModel):
    choices: list[_Choice]
    usage: _Usage | None = None


def _reply(content: bytes) -> Reply:
    """The SDK believes whatever comes back; this does not."""
    try:
        completion = _Completion.model_validate_json(content)
    except ValidationError:
        raise CallFailed("The model's endpoint answered with something else.", may_pass=True) from None
    if not completion.choices:
        raise CallFailed("The model's endpoint answered with nothing.", may_pass=True)
    choice, usage = completion.choices[0], completion.usage or _Usage()
    return Reply(
        text=choice.message.content or "",
        was_cut=choice.finish_reason == "length",
        prompt_tokens=usage.prompt_tokens if (usage.prompt_tokens or 0) > 0 else None,
        completion_tokens=usage.completion_tokens if (usage.completion_tokens or 0) > 0 else None,
    )


def _client() -> OpenAI:
    """The SDK as a door to one address; for one call, since the next may be hours and a fork away."""
    base_url = settings.MEMORY_LLM_BASE_URL
    inner = httpx2.HTTPTransport(proxy=settings.MEMORY_LLM_PROXY or None)
    only = OneHost(httpx2.URL(base_url), _key(), inner)
    return OpenAI(
        base_url=base_url,
        api_key="sent by the transport",
        organization="",
        project="",
        max_retries=0,
        http_client=httpx2.Client(transport=only, trust_env=False, follow_redirects=False),
    )


def _key() -> str:
    """The key, if a header can carry it: libraries quote what they cannot send, in their errors and logs."""
    key: str = settings.MEMORY_LLM_API_KEY.strip()
    if not (key.isascii() and key.isprintable()):
        raise CallFailed("The model's key holds characters no header can carry.", is_free=True)
    return key


class OneHost(httpx2.BaseTransport):
    """Sends to one address, with the headers of a plain request and the owner's key, and reads so much of an answer."""

    def __init__(self, base_url: httpx2.URL, key: str, inner: httpx2.BaseTransport) -> None:
        self._place = _place(base_url)
        self._key = key
        self._inner = inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if _place(request.url) != self._place:
            raise httpx2.ConnectError("Only the configured endpoint is asked.")
        headers = [(name, value) for name, value in request.headers.multi_items() if name.lower() in _HEADERS]
        headers += [("User-Agent", _AGENT), ("Accept-Encoding", "identity")]
        if self._key:
            headers.append(("Authorization", f"Bearer {self._key}"))
        sent = httpx2.Request(
            request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
        )
        limit = request.extensions.get("timeout", {}).get("read")
        until = None if limit is None else time.monotonic() + limit
        answer = self._inner.handle_request(sent)
        return httpx2.Response(
            answer.status_code,
            headers=answer.headers,
            stream=_Bounded(answer.stream, until),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        self._inner.close()


def _place(url: httpx2.URL) -> tuple[str, str, int | None]:
    return (url.scheme, url.host, url.port)


class _Bounded(httpx2.SyncByteStream):
    """An answer that ends: the timeout of a read begins anew with every byte that drips in."""

    def __init__(self, inner: Any, until: float | None) -> None:
        self._inner = inner
        self._until = until

    def __iter__(self) -> Iterator[bytes]:
        read = 0
        for part in self._inner:
            read += len(part)
            if read > _MOST_BYTES:
                raise httpx2.ReadError("The answer is too large.")
            if self._until is not None and time.monotonic() > self._until:
                raise httpx2.ReadTimeout("The answer drips.")
            yield part

    def close(self) -> None:
        self._inner.close()
