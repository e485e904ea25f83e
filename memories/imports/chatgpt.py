"""What ChatGPT exports: `conversations.json`, each conversation a tree of messages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memories.conf import conf
from memories.imports.batch import Found, Heard, Reader, items, time_of
from memories.language.text import smart_truncate
from memories.language.turns import turn_of


def read(path: Path, heard: Heard) -> Reader:
    """The turns of every conversation as it was left, under its title. Raises FileRefused."""
    for number, conversation in items(path, heard, "conversations"):
        title = str(conversation.get("title") or "").strip()
        name = str(
            conversation.get("id")
            or conversation.get("conversation_id")
            or f"{title} {conversation.get('create_time')}"
        )
        for place, (asked, answered, at) in enumerate(_turns(conversation), start=1):
            turn = turn_of(
                smart_truncate(asked, conf.TURN_USER_CHARS), smart_truncate(answered, conf.TURN_ASSISTANT_CHARS)
            )
            when = time_of(at or conversation.get("create_time"))
            yield Found(number=number, content=turn, at=when, is_said=True, title=title, message=(name, place))


def _turns(conversation: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """What was asked, what was answered, and when."""
    asked: list[str] = []
    answered: list[str] = []
    began: Any = None
    for role, words, at in _messages(conversation):
        if role == "user" and answered:
            yield "\n".join(asked), "\n".join(answered), began
            asked, answered, began = [], [], None
        (asked if role == "user" else answered).append(words)
        began = began or at
    if asked or answered:
        yield "\n".join(asked), "\n".join(answered), began


def _messages(conversation: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The messages of the branch that was shown last, in order."""
    nodes = conversation.get("mapping") or {}
    branch, node, met = (
        [],
        conversation.get("current_node")
        or next((name for name in reversed(nodes) if not nodes[name].get("children")), None),
        set(),
    )
    while node in nodes and node not in met:
        met.add(node)
        branch.append(nodes[node].get("message") or {})
        node = nodes[node].get("parent")
    for message in reversed(branch):
        role = str((message.get("author") or {}).get("role"))
        is_hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
        parts = (message.get("content") or {}).get("parts") or ()
        words = "\n".join(part for part in parts if isinstance(part, str)).strip()
        is_said = role in ("user", "assistant") and message.get("recipient", "all") == "all"  # not to a tool
        if is_said and words and not is_hidden:
            yield role, words, message.get("create_time")
