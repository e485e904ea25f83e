"""Doors: the ways in that are not the REST API, a folder each; all of them end at the same verbs.

Who speaks is said to all alike, by headers; to OpenAI's by `user` as well.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

PLATFORM = "web"  # where no header names one
HEADERS = {
    "platform": "X-Memplatform-Platform",
    "account": "X-Memplatform-Account",
    "peer": "X-Memplatform-Sender",
    "chat": "X-Memplatform-Chat",
}
SESSION = "X-Memplatform-Session"
GROUP = "X-Memplatform-Group"


def is_on(headers: Mapping[str, str], name: str) -> bool:
    return headers.get(name, "").lower() in ("on", "yes", "true", "1")


def address_of(headers: Mapping[str, str], user: Any) -> dict[str, Any] | None:
    """The address of a chat as the API takes it; None where neither headers nor `user` say who speaks.

    Headers carry other letters than ASCII percent-encoded. A session without a chat is one of its sender's alone.
    """
    fields = {name: unquote(headers[header]) for name, header in HEADERS.items() if headers.get(header)}
    peer = fields.get("peer") or (user if isinstance(user, str) else "")
    if not (fields or peer):
        return None
    if headers.get(SESSION):
        fields.setdefault("chat", "/".join(filter(None, (peer, unquote(headers[SESSION])))))
    return {"platform": PLATFORM, **fields, "peer": peer, "is_group": is_on(headers, GROUP)}
