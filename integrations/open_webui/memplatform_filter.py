"""
title: Memory by memplatform
author: The authors of memplatform
version: 0.1.0
license: MIT
description: What is known of whoever asks goes to the model, and each answered turn is remembered.
"""

import hashlib
import logging
import re
from collections import OrderedDict
from typing import Any

import httpx
from pydantic import BaseModel, Field

MOST_CHARACTERS, MOST_BYTES, MOST_KNOWN = 8_000, 65_536, 1_000
#: Beginnings of the ids of chats that Open WebUI itself does not keep.
UNSAVED = ("temporary:", "local:", "channel:")
logger = logging.getLogger("memplatform")


class Filter:
    """A filter function of Open WebUI: `inlet` before a model answers, `outlet` after it."""

    class Valves(BaseModel):
        """What an administrator sets."""

        url: str = Field(default="http://127.0.0.1:8000", description="The platform, as Open WebUI reaches it")
        key: str = Field(
            default="", description="The key of the bot", json_schema_extra={"input": {"type": "password"}}
        )
        seconds: float = Field(default=5, gt=0, description="How long an answer waits for memory at most")
        priority: int = Field(default=0, description="Filters with a lower number run first")

    class UserValves(BaseModel):
        """What each person sets for themselves."""

        is_on: bool = Field(default=True, description="Remember what I say, and use it in answers")

    def __init__(self) -> None:
        self.valves = self.Valves()
        self._recalls: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def inlet(
        self, body: dict[str, Any], __user__: dict[str, Any] | None = None, __metadata__: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """What is known goes into the system message. The chat itself is in the request: none of it is told again."""
        about, messages = __metadata__ or {}, body.get("messages") or []
        place = next((n for n in range(len(messages) - 1, -1, -1) if messages[n].get("role") == "user"), None)
        if place is None or about.get("task") or not takes_part(__user__):
            return body
        question = {
            "address": address(__user__ or {}, about),
            "message": words_of(messages[place])[:MOST_CHARACTERS],
            "client_history": history_of(messages[:place]),
            "token_budget": 2000,
        }
        context = await self._asked("context", question) if question["message"].strip() else None
        if context and context.get("recall_id"):
            self._recalls[str(about.get("chat_id")), str(about.get("message_id"))] = context["recall_id"]
            if len(self._recalls) > MOST_KNOWN:
                self._recalls.popitem(last=False)
        if not context or not context.get("text"):
            return body
        first = messages[0] if messages[0].get("role") == "system" else None
        text = "\n\n".join(filter(None, (words_of(first) if first else "", context["text"])))
        return {**body, "messages": [{"role": "system", "content": text}, *messages[1 if first else 0 :]]}

    async def outlet(
        self, body: dict[str, Any], __user__: dict[str, Any] | None = None, __metadata__: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Have the turn remembered, unless the chat is a temporary one or the answer another to the same message."""
        about = {**(__metadata__ or {}), "chat_id": body.get("chat_id") or (__metadata__ or {}).get("chat_id")}
        message_id = str(body.get("id") or about.get("message_id") or "")
        recall = self._recalls.pop((str(about["chat_id"]), message_id), None)
        is_again = about.get("regeneration_message_id") or about.get("assistant_message_id")
        is_kept = about["chat_id"] and not str(about["chat_id"]).startswith(UNSAVED)
        sides = newest_turn(body.get("messages") or [])
        if is_kept and not is_again and not about.get("task") and all(sides) and takes_part(__user__):
            turn = {"address": address(__user__ or {}, about), "user": cut(sides[0]), "assistant": cut(sides[1])}
            once = f"{about['chat_id']}/{message_id}" if message_id else ""
            await self._asked("turns", {**turn, "recall_id": recall}, once)
        return body

    async def _asked(self, path: str, body: dict[str, Any], once: str = "") -> dict[str, Any] | None:
        """What the platform answers; None, and a line of the log, where it does not."""
        headers = {"Authorization": f"Bearer {self.valves.key}"}
        if once:
            headers["Idempotency-Key"] = hashlib.sha256(once.encode()).hexdigest()
        url = f"{self.valves.url.rstrip('/')}/api/v1/{path}"
        try:
            async with httpx.AsyncClient(timeout=self.valves.seconds) as client:
                answer = await client.post(url, json=body, headers=headers)
                answer.raise_for_status()
                return dict(answer.json())
        except httpx.HTTPStatusError as error:
            logger.warning("memplatform: going on without memory: %s %s", path, error.response.status_code)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            logger.warning("memplatform: going on without memory: %s %s", path, type(error).__name__)
        return None


def takes_part(user: dict[str, Any] | None) -> bool:
    """Whether it is somebody, who has not switched memory off."""
    own = (user or {}).get("valves")
    return bool((user or {}).get("id")) and (own is None or bool(getattr(own, "is_on", True)))


def address(user: dict[str, Any], about: dict[str, Any]) -> dict[str, str]:
    """Who speaks, and in which chat."""
    place = {"platform": "web", "account": "open-webui", "peer": str(user["id"])}
    return {**place, "chat": f"{user['id']}/{about['chat_id']}"} if about.get("chat_id") else place


def words_of(message: dict[str, Any]) -> str:
    """The words of a message, without pictures, and without what no text of memory holds: NUL, halves of characters."""
    content = message.get("content")
    parts = [content] if isinstance(content, str) else content or []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, (str, dict))]
    return re.sub("[\\0\ud800-\udfff]", "", "\n".join(text for text in texts if isinstance(text, str)))


def cut(text: str) -> str:
    """As much of a text as a side of a turn takes."""
    return text.encode()[:MOST_BYTES].decode(errors="ignore")


def history_of(messages: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The words of people and of the bot, the newest ones, as the API takes them."""
    talk = [message for message in messages if message.get("role") in ("user", "assistant")]
    rows = [{"role": message["role"], "content": words_of(message)[:MOST_CHARACTERS]} for message in talk]
    return [row for row in rows if row["content"].strip()][-60:]


def newest_turn(messages: list[dict[str, Any]]) -> tuple[str, str]:
    """The newest message of the person, and what was answered to it."""
    place = next((n for n in range(len(messages) - 1, -1, -1) if messages[n].get("role") == "user"), len(messages))
    answers = [words_of(message) for message in messages[place + 1 :] if message.get("role") == "assistant"]
    return words_of(messages[place]) if place < len(messages) else "", "\n".join(filter(None, answers))
