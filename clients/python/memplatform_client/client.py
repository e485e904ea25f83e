"""The two clients: one sends and waits, the other is awaited. What is sent, and when again, is the same."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any, Self, TypeVar

import httpx

from memplatform_client.call import Call
from memplatform_client.calls import Calls
from memplatform_client.errors import NoAnswer, error_of
from memplatform_client.lines import Records
from memplatform_client.retries import Outcome, pause_after
from memplatform_client.types import Page

T = TypeVar("T")
LOCAL = "http://127.0.0.1:8000"


class _Connection(Calls):
    """What both clients know: where the platform is, the bot's key, and how often a call is tried."""

    def __init__(self, key: str, url: str, retries: int) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key.strip()}", "User-Agent": "memplatform-client"}
        self._retries = retries

    def _request(self, call: Call[Any]) -> dict[str, Any]:
        headers = self._headers | call.headers
        url = self._url + call.path
        return {"method": call.method, "url": url, "params": call.params, "content": call.content, "headers": headers}

    def _pause(self, outcome: Outcome, attempt: int) -> float | None:
        return pause_after(outcome, attempt) if attempt < self._retries else None


class Client(_Connection):
    """Every call of the platform, for a bot that waits for the answer. May be shared by threads."""

    def __init__(
        self, key: str, url: str = LOCAL, *, timeout: float = 30, retries: int = 4, http: httpx.Client | None = None
    ) -> None:
        super().__init__(key, url, retries)
        self._http = http or httpx.Client(timeout=timeout)
        self.close = self._http.close

    def send(self, call: Call[T]) -> T:
        """The answer to a call, tried again where that may help. Raises MemplatformError."""
        for attempt in count():
            outcome = self._attempt(call)
            pause = self._pause(outcome, attempt)
            if pause is None:
                break
            time.sleep(pause)
        return answer_to(call, outcome)

    def rows(self, call: Call[Page[T]]) -> Iterator[T]:
        """Row after row of a list, page after page."""
        following: Call[Page[T]] | None = call
        while following:
            page = self.send(following)
            yield from page["results"]
            following = call.after(page["cursor"])

    def lines(self, call: Call[T]) -> Iterator[T]:
        """Record after record of an answer, while it arrives. Raises MemplatformError, also where it breaks off."""
        outcome = self._begin(call)
        if not isinstance(outcome, httpx.Response) or not outcome.is_success:
            answer_to(call, outcome)
            return
        records = Records(call)
        try:
            for part in outcome.iter_bytes():
                yield from records.whole_in(part)
        except httpx.RequestError as error:
            raise records.broken from error
        finally:
            outcome.close()
        records.check_end()

    def _begin(self, call: Call[Any]) -> Outcome:
        """The head of an answer, or all of an error; tried again as other calls are."""
        for attempt in count():
            outcome = self._attempt(call, stream=True)
            if isinstance(outcome, httpx.Response) and not outcome.is_success:
                outcome.read()
            pause = self._pause(outcome, attempt)
            if pause is None:
                break
            time.sleep(pause)
        return outcome

    def _attempt(self, call: Call[Any], *, stream: bool = False) -> Outcome:
        try:
            return self._http.send(self._http.build_request(**self._request(call)), stream=stream)
        except httpx.RequestError as error:
            return error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class AsyncClient(_Connection):
    """Every call of the platform, to be awaited."""

    def __init__(
        self,
        key: str,
        url: str = LOCAL,
        *,
        timeout: float = 30,
        retries: int = 4,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(key, url, retries)
        self._http = http or httpx.AsyncClient(timeout=timeout)
        self.aclose = self._http.aclose

    async def send(self, call: Call[T]) -> T:
        """The answer to a call, tried again where that may help. Raises MemplatformError."""
        for attempt in count():
            outcome = await self._attempt(call)
            pause = self._pause(outcome, attempt)
            if pause is None:
                break
            await asyncio.sleep(pause)
        return answer_to(call, outcome)

    async def rows(self, call: Call[Page[T]]) -> AsyncIterator[T]:
        """Row after row of a list, page after page."""
        following: Call[Page[T]] | None = call
        while following:
            page = await self.send(following)
            for row in page["results"]:
                yield row
            following = call.after(page["cursor"])

    async def lines(self, call: Call[T]) -> AsyncIterator[T]:
        """Record after record of an answer, while it arrives. Raises MemplatformError, also where it breaks off."""
        outcome = await self._begin(call)
        if not isinstance(outcome, httpx.Response) or not outcome.is_success:
            answer_to(call, outcome)
            return
        records = Records(call)
        try:
            async for part in outcome.aiter_bytes():
                for record in records.whole_in(part):
                    yield record
        except httpx.RequestError as error:
            raise records.broken from error
        finally:
            await outcome.aclose()
        records.check_end()

    async def _begin(self, call: Call[Any]) -> Outcome:
        """The head of an answer, or all of an error; tried again as other calls are."""
        for attempt in count():
            outcome = await self._attempt(call, stream=True)
            if isinstance(outcome, httpx.Response) and not outcome.is_success:
                await outcome.aread()
            pause = self._pause(outcome, attempt)
            if pause is None:
                break
            await asyncio.sleep(pause)
        return outcome

    async def _attempt(self, call: Call[Any], *, stream: bool = False) -> Outcome:
        try:
            return await self._http.send(self._http.build_request(**self._request(call)), stream=stream)
        except httpx.RequestError as error:
            return error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()


def answer_to(call: Call[T], outcome: Outcome) -> T:
    """What came of a call, or the error it came to."""
    if isinstance(outcome, httpx.RequestError):
        raise NoAnswer(f"{call.method} {call.path}: {type(outcome).__name__} {outcome}") from outcome
    try:
        if outcome.is_success:
            answer: T = outcome.json()
            return answer
    except ValueError:
        pass  # a page of something between
    raise error_of(outcome)
