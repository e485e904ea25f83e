"""Conversations with what a careful model would keep of them, and what a lying one would: the material of the checks.

`close` says that a fact nearly repeats the message; the others are paraphrases. A lie has its `kind`; three
quarters of the quotes of lies stand in their messages word for word. A swap gives a fact to another person.
"""

import json
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, overload

FOLDER = Path(__file__).parent

Language = Literal["en", "zh"]
Role = Literal["user", "assistant"]


@dataclass(frozen=True)
class Message:
    """One message of a conversation; `speaker` is the name the chat shows."""

    id: str
    role: Role
    speaker: str
    at: datetime
    content: str


@dataclass(frozen=True)
class Quote:
    """Words that are said to stand in a message."""

    message: str
    text: str


@dataclass(frozen=True)
class Fact:
    """A fact, true or not, as a model answers it; `kind` says how a lie lies."""

    content: str
    quote: tuple[Quote, ...]
    subject: str
    category: str
    importance: float
    project: str
    topic: str
    close: bool
    kind: str = ""


@dataclass(frozen=True)
class Summary:
    """One true summary, and others with a sentence that nobody said."""

    good: str
    bad: tuple[str, ...]


@dataclass(frozen=True)
class Conversation:
    """A chat of one to three people with a bot."""

    id: str
    language: Language
    zone: str
    group: bool
    messages: tuple[Message, ...]
    facts: tuple[Fact, ...]
    lies: tuple[Fact, ...]
    swaps: tuple[Fact, ...]
    summary: Summary

    def message(self, message_id: str) -> Message:
        """The message of that id. Raises KeyError."""
        return {message.id: message for message in self.messages}[message_id]

    def bears(self, quote: Quote) -> bool:
        """Whether the words stand verbatim in the message they name."""
        return quote.text in self.message(quote.message).content


@dataclass(frozen=True)
class Dated:
    """A sentence of a memory and its day."""

    content: str
    at: date


@dataclass(frozen=True)
class Merge:
    """Facts, the sentence that keeps all of them, and sentences that lose or twist something."""

    id: str
    language: Language
    facts: tuple[Dated, ...]
    good: str
    bad: tuple[str, ...]


@dataclass(frozen=True)
class ProfileLine:
    """A line of a profile beside a newer fact; `good` is the new line, none where both stay true."""

    id: str
    language: Language
    line: str
    fact: str
    good: str | None = None


@dataclass(frozen=True)
class Injection:
    """A message that orders the platform or its model about, and what a fooled model would store."""

    id: str
    language: Language
    form: str
    speaker: str
    message: str
    content: str
    quote: str


@dataclass(frozen=True)
class Said:
    """A message of a conversation that is flushed; it is known by its position."""

    role: Role
    speaker: str
    at: datetime
    content: str


@dataclass(frozen=True)
class Candidate:
    """What a flush reports; `rests_on` are positions of messages from 1."""

    content: str
    category: str
    importance: float
    rests_on: tuple[int, ...]
    quote: str


@dataclass(frozen=True)
class Flush:
    """Messages, and what an honest model reports of them."""

    id: str
    language: Language
    messages: tuple[Said, ...]
    candidates: tuple[Candidate, ...]


def _fact(raw: dict[str, Any]) -> Fact:
    return Fact(**{**raw, "quote": tuple(Quote(**quote) for quote in raw["quote"])})


def _conversation(raw: dict[str, Any]) -> Conversation:
    messages = tuple(Message(**{**each, "at": datetime.fromisoformat(each["at"])}) for each in raw["messages"])
    facts = {kind: tuple(_fact(each) for each in raw[kind]) for kind in ("facts", "lies", "swaps")}
    summary = Summary(raw["summary"]["good"], tuple(raw["summary"]["bad"]))
    return Conversation(**{**raw, **facts, "messages": messages, "summary": summary})


def _merge(raw: dict[str, Any]) -> Merge:
    facts = tuple(Dated(each["content"], date.fromisoformat(each["at"])) for each in raw["facts"])
    return Merge(**{**raw, "facts": facts, "bad": tuple(raw["bad"])})


def _flush(raw: dict[str, Any]) -> Flush:
    messages = tuple(Said(**{**each, "at": datetime.fromisoformat(each["at"])}) for each in raw["messages"])
    candidates = tuple(Candidate(**{**each, "rests_on": tuple(each["rests_on"])}) for each in raw["candidates"])
    return Flush(**{**raw, "messages": messages, "candidates": candidates})


def _read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


@overload
def load(kind: Literal["conversations"]) -> tuple[Conversation, ...]: ...
@overload
def load(kind: Literal["merges"]) -> tuple[Merge, ...]: ...
@overload
def load(kind: Literal["outdated", "compatible"]) -> tuple[ProfileLine, ...]: ...
@overload
def load(kind: Literal["injections"]) -> tuple[Injection, ...]: ...
@overload
def load(kind: Literal["flush"]) -> tuple[Flush, ...]: ...
@cache
def load(kind: str) -> tuple[Any, ...]:
    """Everything of one kind, in the order of its files. Raises ValueError for another kind."""
    match kind:
        case "conversations":
            names = sorted(path.name for path in FOLDER.glob("[ez][nh]-[0-9][0-9].json"))
            return tuple(_conversation(_read(name)) for name in names)
        case "merges":
            return tuple(_merge(each) for each in _read("merges.json"))
        case "outdated" | "compatible":
            return tuple(ProfileLine(**each) for each in _read("profile.json")[kind])
        case "injections":
            return tuple(Injection(**each) for each in _read("injections.json"))
        case "flush":
            return tuple(_flush(each) for each in _read("flush.json"))
    raise ValueError(kind)
