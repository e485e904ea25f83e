"""What other programs export, each file read into the items it holds.

ChatGPT: `conversations.json`, each conversation a tree of messages. mem0: the JSON of its `get_all`, as a list or with
its `results`. A table in CSV: a row a memory, with at least the column `content`. Zep and Graphiti: episodes, which say
what a day held, and facts between two nodes.
"""

import csv
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from memories.choices import EntryType
from memories.conf import conf
from memories.imports.batch import (
    FileItem,
    FileRefused,
    Heard,
    LeftOut,
    LeftOutReason,
    Reader,
    fact,
    items,
    slots_of,
    time_of,
)
from memories.language.text import smart_truncate
from memories.language.turns import turn_of


def read_chatgpt(path: Path, heard: Heard) -> Reader:
    """The turns of every conversation as it was left, under its title. Raises FileRefused."""
    for number, conversation in items(path, heard, "conversations"):
        title = str(conversation.get("title") or "").strip()
        name = str(
            conversation.get("id")
            or conversation.get("conversation_id")
            or f"{title} {conversation.get('create_time')}"
        )
        for place, (asked, answered, at) in enumerate(_chatgpt_turns(conversation), start=1):
            turn = turn_of(
                smart_truncate(asked, conf.TURN_USER_CHARS), smart_truncate(answered, conf.TURN_ASSISTANT_CHARS)
            )
            when = time_of(at or conversation.get("create_time"))
            yield FileItem(number=number, content=turn, at=when, is_turn=True, title=title, message=(name, place))


def _chatgpt_turns(conversation: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """What was asked, what was answered, and when."""
    asked: list[str] = []
    answered: list[str] = []
    began: Any = None
    for role, words, at in _chatgpt_messages(conversation):
        if role == "user" and answered:
            yield "\n".join(asked), "\n".join(answered), began
            asked, answered, began = [], [], None
        (asked if role == "user" else answered).append(words)
        began = began or at
    if asked or answered:
        yield "\n".join(asked), "\n".join(answered), began


def _chatgpt_messages(conversation: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The messages of the branch that was shown last, in order."""
    nodes = conversation.get("mapping") or {}
    leaf = next((name for name in reversed(nodes) if not nodes[name].get("children")), None)
    branch, node, met = [], conversation.get("current_node") or leaf, set()
    while node in nodes and node not in met:
        met.add(node)
        branch.append(nodes[node].get("message") or {})
        node = nodes[node].get("parent")
    for message in reversed(branch):
        role = str((message.get("author") or {}).get("role"))
        is_hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
        parts = (message.get("content") or {}).get("parts") or ()
        words = "\n".join(part for part in parts if isinstance(part, str)).strip()
        is_turn = role in ("user", "assistant") and message.get("recipient", "all") == "all"  # not to a tool
        if is_turn and words and not is_hidden:
            yield role, words, message.get("create_time")


_PLACES = ("user_id", "agent_id", "run_id", "app_id")


def read_mem0(path: Path, heard: Heard) -> Reader:
    """Its memories: each a fact, with its metadata as slots. Raises FileRefused."""
    for number, item in items(path, heard, "results", "memories"):
        try:
            content = str(item.get("memory") or item.get("text") or "")
            at, ends = time_of(item.get("updated_at") or item.get("created_at")), time_of(item.get("expiration_date"))
        except ValueError as problem:
            yield LeftOut(path.name, LeftOutReason.UNSTORABLE, number, str(problem))
            continue
        who = next((str(item[name]) for name in _PLACES if item.get(name)), "")
        places = {name: item[name] for name in _PLACES[1:] if item.get(name)}
        fields = fact(item.get("categories")) | {"expires_at": ends, "pinned": item.get("immutable") is True}
        slots = slots_of(item.get("metadata")) | slots_of(places)
        yield FileItem(number=number, content=content, who=who, at=at, fields=fields, slots=slots)


_WORDS = ("type", "subtype", "category", "project", "topic")
_SLOT = "slot."
_COLUMNS = {"content", "who", "at", "tier", "importance", "pinned", "expires_at", *_WORDS}


def read_csv(path: Path, heard: Heard) -> Reader:
    """Its rows; without a type a row is a fact. Columns `slot.NAME` are slots. Raises FileRefused."""
    with path.open("rb") as file, TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        rows = csv.DictReader(text, strict=True)
        try:
            names = rows.fieldnames or []
            unknown = [name for name in names if name not in _COLUMNS and not name.startswith(_SLOT)]
            if "content" not in names or unknown:
                columns = ", ".join([*sorted(_COLUMNS - {"content"}), f"{_SLOT}NAME"])
                message = _("The first line names the columns: content, and of the others only these: %(known)s.")
                raise FileRefused(message % {"known": columns})
            for row in rows:
                heard(file.tell())
                try:
                    yield _csv_item(rows.line_num, {name: value or "" for name, value in row.items()})
                except ValueError as problem:
                    yield LeftOut(path.name, LeftOutReason.UNSTORABLE, rows.line_num, str(problem))
        except (csv.Error, UnicodeDecodeError) as problem:
            message = _("Line %(number)d: %(why)s") % {"number": rows.reader.line_num, "why": problem}
            raise FileRefused(message) from problem


def _csv_item(number: int, row: dict[Any, Any]) -> FileItem:
    if None in row:
        raise ValueError(_("It has more cells than there are columns."))
    fields: dict[str, Any] = {name: row[name] for name in _WORDS if row.get(name)}
    fields.setdefault("type", EntryType.FACT)
    if fields["type"] == EntryType.FACT:
        fields["tier"] = int(row.get("tier") or 2)
    if row.get("importance"):
        fields["importance"] = float(row["importance"])
    fields["pinned"] = row.get("pinned", "").strip().lower() in ("1", "true", "yes")
    fields["expires_at"] = time_of(row.get("expires_at"))
    slots = {name.removeprefix(_SLOT): value for name, value in row.items() if name.startswith(_SLOT) and value}
    who, at = row.get("who", ""), time_of(row.get("at"))
    return FileItem(number=number, content=row["content"], who=who, at=at, fields=fields, slots=slots)


def read_zep(path: Path, heard: Heard) -> Reader:
    """Episodes as turns of their days, and facts that hold as facts. Raises FileRefused."""
    for number, item in items(path, heard, "episodes", "items", "edges", "facts"):
        try:
            at = time_of(item.get("valid_at") or item.get("reference_time") or item.get("created_at"))
        except ValueError as problem:
            yield LeftOut(path.name, LeftOutReason.UNSTORABLE, number, str(problem))
            continue
        who = str(item.get("user_id") or item.get("group_id") or item.get("graph_id") or "")
        if "fact" in item:
            if not (item.get("invalid_at") or item.get("expired_at")):
                yield FileItem(number=number, content=str(item["fact"] or ""), who=who, at=at, fields=fact())
            continue
        content = str(item.get("content") or item.get("episode_body") or "")
        speaker = str(item.get("role") or item.get("role_type") or "").removeprefix("norole")
        words = f"{speaker}: {content}" if speaker and not content.startswith(f"{speaker}:") else content
        message = str(item.get("uuid") or f"item {number}"), 1
        yield FileItem(
            number=number, content=words if content.strip() else "", who=who, at=at, is_turn=True, message=message
        )
