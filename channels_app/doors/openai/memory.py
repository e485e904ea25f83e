"""The memory part of a chat: calls of the API by the bot's own key, in this process. None of them can fail the chat."""

import io
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.http import HttpResponseBase
from rest_framework.request import Request

from channels_app.api.context import ContextView
from channels_app.api.tools import ToolCallView
from channels_app.api.turns import TurnsView
from channels_app.doors.openai.messages import Asked, cut
from memories.api.access import caller_of
from memories.language.text import is_blank
from memories.tenancy import row_level_security
from sessions_app.choices import in_language

log = structlog.get_logger(__name__)
View = Callable[[WSGIRequest], HttpResponseBase]
#: The chat was counted already.
CONTEXT: View = ContextView.as_view(throttle_classes=[])
TURNS: View = TurnsView.as_view(throttle_classes=[])
TOOL_CALLS: View = ToolCallView.as_view(throttle_classes=[])
#: What each of these calls is told of the chat's own request.
NOT_REACHED = {
    "en": "Memory cannot be reached at the moment. Answer without it, and say so.",
    "zh-hans": "暂时无法访问记忆。请在没有记忆的情况下回答，并说明这一点。",
}
_HEADERS = ("HTTP_AUTHORIZATION", "HTTP_X_MEMPLATFORM_NOW")
_ONCE = "HTTP_IDEMPOTENCY_KEY"
#: A turn waits for others of its session for so many times so many seconds.
BUSY_TIMES, BUSY_SECONDS = 40, 0.25


class Memory:
    """What memory does for one chat, and what it could not do: `degraded`."""

    def __init__(self, request: Request, address: dict[str, Any] | None, asked: Asked | None) -> None:
        self._meta, self._language = request.META, caller_of(request).language
        self._address, self._asked = address, asked
        self.degraded = [] if address or not asked else ["speaker"]
        self.recall_id = ""
        self._log = structlog.contextvars.get_contextvars()  # a stream ends when its request has been logged

    @property
    def is_on(self) -> bool:
        """Whether it is known who speaks, and words were said."""
        return self._address is not None and self._asked is not None

    def context(self, *, tools: bool) -> str:
        """What is remembered, as a text for the model; empty where there is nothing, or nobody knows who asks."""
        if self._asked is None or self._address is None:
            return ""
        asked = {"message": self._asked.question, "client_history": self._asked.before, "tools": tools}
        told = self._call("context", CONTEXT, asked)
        if told is None:
            return ""
        self.recall_id = str(told["recall_id"] or "")
        self.degraded += told["degraded"]
        return str(told["text"])

    def remember(self, answer: str) -> None:
        """The turn, once there is an answer; the same as sent before under its Idempotency-Key is stored once."""
        if self._asked is None or self._address is None or is_blank(answer):
            return
        turn: dict[str, Any] = {
            "user": self._asked.question,
            "assistant": cut(answer),
            "recall_id": self.recall_id or None,
        }
        turn |= {"tool_calls": self._asked.calls} if self._asked.calls else {}
        self._call("turn", TURNS, turn, **{_ONCE: self._meta[_ONCE]} if _ONCE in self._meta else {})

    def carry_out(self, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers to a model's calls of the tools of memory, as messages."""
        told = self._call("tools", TOOL_CALLS, {"calls": list(calls)})
        if told is not None:
            return list(told["messages"])
        content = in_language(NOT_REACHED, self._language)
        return [{"role": "tool", "tool_call_id": call.get("id", ""), "content": content} for call in calls]

    def _call(self, part: str, view: View, body: dict[str, Any], **meta: str) -> Any:
        """What a call of the API answers; where it fails, its code is among what is degraded."""
        for _attempt in range(BUSY_TIMES):
            answer: Any = self._answer(part, view, {"address": self._address, **body}, meta)
            if answer.status_code < 300:
                return answer.data
            code = answer.data["errors"][0]["code"]
            if code != "session_busy":
                break
            time.sleep(BUSY_SECONDS)
        if code != "idempotency_key_taken":
            told = {**self._log, "part": part, "status": answer.status_code, "code": code}
            log.warning("proxy.degraded", **told)
            self.degraded.append(f"{part}:{code}")
        return None

    def _answer(self, part: str, view: View, body: dict[str, Any], meta: dict[str, str]) -> HttpResponseBase:
        content = json.dumps(body).encode()
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": f"/v1/chat/completions/{part}",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(content)),
            "wsgi.input": io.BytesIO(content),
            **{name: self._meta[name] for name in _HEADERS if name in self._meta},
            **meta,
        }
        try:
            return view(WSGIRequest(environ))
        finally:
            let_go()


def let_go() -> None:
    """Give the connection to the database back: nobody holds one while a model thinks."""
    row_level_security.leave()
    connection.close()
