"""The calls of the tools to the platform: who speaks is Dify's user, where is its conversation. No model says so."""

import hashlib
import logging
from typing import Any

import httpx
from dify_plugin import Tool
from dify_plugin.config.logger_format import plugin_logger_handler

SECONDS = 5
MOST_CHARACTERS = 8_000
#: What a model is told where the platform does not answer.
AWAY = "Memory is away at the moment."
logger = logging.getLogger("memplatform")
logger.addHandler(plugin_logger_handler)


class Away(Exception):
    """The platform did not answer, or refused. It names no key, and nothing that people said."""


def call(credentials: dict[str, Any], method: str, path: str, **options: Any) -> Any:
    """What the platform answers. Raises Away."""
    url = str(credentials.get("url", "")).rstrip("/")
    headers = {"Authorization": f"Bearer {credentials.get('key', '')}", **options.pop("headers", {})}
    try:
        answer = httpx.request(method, f"{url}/api/v1/{path}", headers=headers, timeout=SECONDS, **options)
        answer.raise_for_status()
        return answer.json()
    except httpx.HTTPStatusError as error:
        raise Away(f"{method} {path}: {error.response.status_code}") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Away(f"{method} {path}: {type(error).__name__}") from None


def asked(tool: Tool, path: str, body: dict[str, Any], once: str = "") -> Any:
    """What the platform answers to a tool; None, and a line of the log, where it does not."""
    headers = {"Idempotency-Key": hashlib.sha256(once.encode()).hexdigest()} if once else {}
    try:
        if not tool.runtime.user_id:
            raise Away("Dify names no user")
        return call(tool.runtime.credentials, "POST", path, json={"address": address(tool), **body}, headers=headers)
    except Away as why:
        logger.warning("memplatform: going on without memory: %s", why)
        return None


def address(tool: Tool) -> dict[str, str]:
    """Where a message comes from. The same conversation of another person is another chat."""
    person, chat = str(tool.runtime.user_id), tool.session.conversation_id or ""
    place = {"platform": "web", "account": "dify", "peer": person}
    return {**place, "chat": f"{person}/{chat}"} if chat else place


def once(tool: Tool, *words: str) -> str:
    """The same for what Dify tries again for one message; empty where it names none."""
    message = tool.session.message_id
    return "\0".join((tool.session.app_id or "", message, str(tool.runtime.user_id), *words)) if message else ""


def words(parameters: dict[str, Any], name: str) -> str:
    """A parameter as text the API takes."""
    return str(parameters.get(name) or "")[:MOST_CHARACTERS]
