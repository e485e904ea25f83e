"""One question to the model and its answer, as the bot gets it and as memory keeps it."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import structlog
from django.http import HttpResponse

from channels_app.doors.openai import upstream
from channels_app.doors.openai.answer import Answer, Events, data_of, read, said_in
from channels_app.doors.openai.errors import UpstreamBroken, openai_error
from channels_app.doors.openai.memory import Memory
from channels_app.doors.openai.tools import MemoryTools

log = structlog.get_logger(__name__)
PATH = "chat/completions"


class Exchange:
    """What is asked upstream, in rounds where the model uses the tools of memory, and what is said."""

    def __init__(self, memory: Memory, payload: dict[str, Any], tools: MemoryTools | None) -> None:
        self._memory, self._tools = memory, tools
        self._payload = payload if tools is None else tools.offered_in(payload)
        self._texts: list[str] = []
        self._answer = Answer()
        self.response = upstream.ask("POST", PATH, self._payload)

    @property
    def is_stream(self) -> bool:
        return str(self.response.headers.get("content-type")).startswith("text/event-stream")

    def close(self) -> None:
        self.response.close()

    def remember(self) -> None:
        """Keep the turn as far as the bot has its answer; one that goes on with tools of the bot is not finished."""
        if 200 <= self.response.status < 300 and not self._answer.calls:
            self._memory.remember("".join([*self._texts, self._answer.text]))

    def whole(self) -> HttpResponse:
        """The answer of the last round as it came, but for calls the bot has no part in."""
        while True:
            content = upstream.read(self.response)
            told = read(content)
            self._answer = Answer()
            self._answer.add(told)
            message = said_in(told)
            if not (self._tools and self._answer.calls):
                return self._passed(content)
            if not self._goes_on(message):
                told["choices"][0]["message"] = self._tools.without_own(message)
                return self._passed(json.dumps(told).encode())

    def parts(self) -> Iterator[bytes]:
        """The stream of the model; its bytes as they come, unless it may use the tools of memory.

        One that breaks off ends with an error: what a server does with an exception here may look like the end.
        """
        try:
            yield from self._as_it_comes() if self._tools is None else self._with_tools(self._tools)
        except (httpx.RequestError, *upstream.FAILURES) as error:
            log.warning("proxy.broken", problem=type(error).__name__)
            yield b"\n\ndata: " + json.dumps(openai_error(UpstreamBroken())).encode() + b"\n\n"

    def _as_it_comes(self) -> Iterator[bytes]:
        events = Events()
        for part in upstream.parts(self.response):
            for event in events.cut(part):
                self._answer.add(data_of(event))
            yield part
        self._answer.add(data_of(events.rest))

    def _with_tools(self, tools: MemoryTools) -> Iterator[bytes]:
        """What the model says as it comes; from its first call on, events wait until whose calls they are is known."""
        while True:
            held: list[bytes] = []
            for event in self._events():
                self._answer.add(data_of(event))
                if self._answer.calls:
                    held.append(event)
                else:
                    yield event
            if not self._answer.calls:
                return
            answer = self._answer
            if not self._goes_on(answer.message):
                yield from tools.events_for_bot(held, answer)
                return
            if not 200 <= self.response.status < 300:
                yield b"data: " + b"".join(upstream.read(self.response).splitlines()) + b"\n\n"
                return

    def _events(self) -> Iterator[bytes]:
        events = Events()
        for part in upstream.parts(self.response):
            yield from events.cut(part)
        if events.rest:
            yield events.rest

    def _goes_on(self, message: dict[str, Any]) -> bool:
        """Whether the model was asked again, with what memory answered to its calls."""
        payload = self._tools.next_round(self._payload, message) if self._tools else None
        if payload is None:
            return False
        self.response.close()
        self._texts.append(self._answer.text if self.is_stream else "")
        self._payload, self._answer = payload, Answer()
        self.response = upstream.ask("POST", PATH, payload)
        return True

    def _passed(self, content: bytes) -> HttpResponse:
        return HttpResponse(content, status=self.response.status, headers=upstream.headers_of(self.response))
