"""The kinds of memory: of a person or a chat, by type and by category, with one rule for each type and category."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

T = TypeVar("T")
#: When a line of a file was written that does not say so: before all that is dated, so that no time speaks for it.
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)


class ScopeKind(TextChoices):
    """Whose memory a scope is."""

    USER = "user", _("User")
    CHAT = "chat", _("Chat")


@dataclass(frozen=True)
class TypeRule:
    """The defaults of a type of entry, by kind of scope; policies of a workspace override them."""

    quotas: Mapping[str, int]  # how many a recall serves before the best of the rest fill up (A8)
    ttls: Mapping[str, timedelta] = field(default_factory=dict)  # not listed: never ends by itself (A9)
    is_merged: bool = True  # near-duplicates become one; lines of files never do (C2)


def _by_scope(user: T, chat: T) -> dict[str, T]:
    return {ScopeKind.USER: user, ScopeKind.CHAT: chat}


class EntryType(TextChoices):
    """The type of an entry, which sets its time to live and how many are served."""

    rule: TypeRule

    def __new__(cls, value: str, rule: TypeRule) -> "EntryType":
        member = str.__new__(cls, value)
        member._value_, member.rule = value, rule
        return member

    CHAT_TURN = (
        "chat_turn",
        TypeRule(_by_scope(2, 2), _by_scope(timedelta(days=30), timedelta(days=14))),
        _("Chat turn"),
    )
    AUTO_CAPTURE = (
        "auto_capture",
        TypeRule(_by_scope(3, 1), _by_scope(timedelta(days=90), timedelta(days=90))),
        _("Auto capture"),
    )
    WORKFLOW_TRACE = (
        "workflow_trace",
        TypeRule(_by_scope(1, 1), _by_scope(timedelta(days=180), timedelta(days=180))),
        _("Workflow trace"),
    )
    USER_EXPLICIT = "user_explicit", TypeRule(_by_scope(2, 2)), _("User explicit")
    FACT = "fact", TypeRule(_by_scope(5, 5)), _("Fact")
    NOTE = "note", TypeRule(_by_scope(2, 2), is_merged=False), _("Note")


_TYPE_RULES = {entry_type.value: entry_type.rule for entry_type in EntryType}


def type_rule(entry_type: str) -> TypeRule:
    """The rule of a type by its stored value. Raises KeyError."""
    return _TYPE_RULES[entry_type]


@dataclass(frozen=True)
class Curve:
    """`floor + (1 - floor)·e^(-rate·days)`: what is left of a memory so many days after it was last used (D4)."""

    floor: float
    rate: float  # per day

    def at(self, days: float) -> float:
        return self.floor + (1 - self.floor) * math.exp(-self.rate * max(days, 0.0))


_STEADY = Curve(1.0, 0.0)
_SLOW = Curve(0.3, 0.004)
_MEDIUM = Curve(0.1, 0.023)
_FAST = Curve(0.0, 0.099)


@dataclass(frozen=True)
class CategoryRule:
    """Everything that is decided by what a memory is about."""

    curve: Curve
    importance: float  # where nobody says one (D2)
    passes: int = 0  # archived without a person when a scope is full: 1 first, and where it has faded; 0 never (D1)
    lasts: bool = False  # it holds until a newer fact contradicts it; what happened, happened
    is_flushed: bool = False  # asked for when a conversation is flushed: no secrets, no chatter
    is_secret: bool = False  # kept from groups, profiles and merges


class Category(TextChoices):
    """What a memory is about, which sets how fast it fades."""

    rule: CategoryRule

    def __new__(cls, value: str, rule: CategoryRule) -> "Category":
        member = str.__new__(cls, value)
        member._value_, member.rule = value, rule
        return member

    IDENTITY = "identity", CategoryRule(_STEADY, 1.0, lasts=True, is_flushed=True), _("Identity")
    CONFIG = "config", CategoryRule(_STEADY, 0.8, lasts=True, is_flushed=True), _("Configuration")
    CREDENTIAL = "credential", CategoryRule(_STEADY, 0.8, lasts=True, is_secret=True), _("Credential")
    DECISION = "decision", CategoryRule(_SLOW, 0.8, lasts=True, is_flushed=True), _("Decision")
    SOLUTION = "solution", CategoryRule(_SLOW, 0.8, lasts=True, is_flushed=True), _("Solution")
    EVENT = "event", CategoryRule(_MEDIUM, 0.5, passes=2, is_flushed=True), _("Event")
    CONVERSATION = "conversation", CategoryRule(_MEDIUM, 0.5, passes=2), _("Conversation")
    TEMP = "temp", CategoryRule(_FAST, 0.2, passes=1), _("Temporary")
    DEBUG = "debug", CategoryRule(_FAST, 0.2, passes=1), _("Debug")


#: Of a memory without a category.
_UNSORTED = CategoryRule(_STEADY, 0.5)
_CATEGORY_RULES = {category.value: category.rule for category in Category}
SECRET = tuple(category for category in Category if category.rule.is_secret)
LASTING = tuple(category for category in Category if category.rule.lasts)
FLUSHED = tuple(category for category in Category if category.rule.is_flushed)
#: Categories that are archived when a scope is full, in order; those of one place have one curve.
PASSING = tuple(
    tuple(category for category in Category if category.rule.passes == turn)
    for turn in sorted({category.rule.passes for category in Category} - {0})
)


def category_rule(category: str) -> CategoryRule:
    """The rule of a category by its stored value; no category has one too."""
    return _CATEGORY_RULES.get(category, _UNSORTED)


#: Days a turn counts in full that no model has drawn facts from.
FRESH_DAYS = 30


def unread_decay(days: float) -> float:
    """What is left, 0–1, of a turn that no model has drawn facts from: it stays, and sinks."""
    return _SLOW.at(days - FRESH_DAYS)


def decay(category: str, days: float) -> float:
    """What is left of a memory, 0–1, so many days after it was last used (D4)."""
    return category_rule(category).curve.at(days)
