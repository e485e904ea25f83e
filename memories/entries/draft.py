"""The fields of an entry, and drafts: memories before they are stored, with the checks each of them passes.

The fields stand in one table: what writes, edits, reverts, rolls back and shows each of them. A new field is one line
of it, beside its column in models.entry and its translation. A test holds the table to the columns, to Draft, and to
what the API and the admin's form take.

A memory that holds a secret is a credential, whichever way it comes in, and says which kinds of secret it holds. By its
category it is masked in the admin, kept from groups, profiles, merges and webhooks; by its kinds a question is answered
with it that asks for one of them, and no other.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import Flag, auto
from types import MappingProxyType
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from memories.choices import (
    Category,
    EntryType,
    Origin,
    Outcome,
    ScopeKind,
    SecretsRule,
    Source,
    Suspicion,
    Verification,
    category_rule,
)
from memories.conf import conf
from memories.exceptions import InvalidDraft
from memories.language import text
from memories.language.confidential import find_secrets, mask
from memories.language.quoting import is_turn, suspicion_of
from memories.language.secret_forms import SecretKind
from memories.models import Entry, Scope
from memories.models.entry import SECRET_SUBTYPE
from memories.tenancy.resolver import kind_of_key


class Use(Flag):
    """What is done with a field of an entry."""

    NONE = 0
    DRAFT = auto()  # a draft names it, and it is stored as it is
    FORM = auto()  # people and bots may change it
    BULK = auto()  # nothing follows from it: it may be changed in many entries by one statement
    REVERT = auto()  # reverting to a version gives it back
    UNDO = auto()  # undoing a batch gives it back
    SHOW = auto()  # its changes are shown in the history


_STATE = Use.UNDO | Use.SHOW
_TEXT = _STATE | Use.REVERT
_PLAIN = _TEXT | Use.BULK

FIELDS: Mapping[str, Use] = {
    "content": _TEXT | Use.DRAFT | Use.FORM,
    "category": _PLAIN | Use.DRAFT | Use.FORM,
    "project": _TEXT | Use.DRAFT | Use.FORM,
    "topic": _PLAIN | Use.DRAFT | Use.FORM,
    "names": _TEXT | Use.DRAFT | Use.FORM,
    "importance": _PLAIN | Use.FORM,
    "pinned": _PLAIN | Use.DRAFT | Use.FORM,
    "expires_at": _PLAIN | Use.DRAFT | Use.FORM,
    "review_at": _PLAIN | Use.FORM,
    "verification": _TEXT | Use.DRAFT,
    "suspect": _PLAIN,
    "verified_at": _PLAIN,
    "verified_by": _PLAIN,
    "origin": _TEXT | Use.DRAFT,
    "trust": _TEXT | Use.DRAFT,
    "subject": _TEXT | Use.DRAFT | Use.FORM,
    "type": _TEXT | Use.DRAFT,
    "subtype": _TEXT | Use.DRAFT,
    "tier": _TEXT | Use.DRAFT,
    "source": _TEXT | Use.DRAFT,
    "channel": _TEXT,
    "chat_id": _TEXT,
    "session_id": _TEXT,
    "sender_id": _TEXT,
    "speaker": _TEXT,
    "thread_id": _TEXT,
    "chats": _STATE,
    "origins": _STATE,
    "read_at": Use.UNDO,
    "created_at": _STATE,
    "stated_at": _STATE,
    "expired_at": _STATE,
    "archived_at": _STATE,
    "superseded_by": _STATE,
    "suppressed_at": _STATE,
    "quarantined_at": _STATE,
    "path": _STATE | Use.DRAFT,
    "line_from": Use.UNDO | Use.DRAFT,
    "line_to": Use.UNDO | Use.DRAFT,
    "heading": _STATE | Use.DRAFT,
    "echo": Use.UNDO,
    "terms": Use.UNDO,
    "length": Use.UNDO,
    "fingerprint": Use.UNDO,
    "id": Use.NONE,
    "uid": Use.NONE,
    "workspace": Use.NONE,
    "scope": Use.NONE,
    "version": Use.NONE,
    "updated_at": Use.NONE,
}


def fields_with(use: Use) -> tuple[str, ...]:
    """The fields something is done with, in the order of the table."""
    return tuple(name for name, uses in FIELDS.items() if use in uses)


DRAFTED = fields_with(Use.DRAFT)
FORM_FIELDS = fields_with(Use.FORM)
BULK_EDITABLE = frozenset(fields_with(Use.BULK))
REVERTIBLE = frozenset(fields_with(Use.REVERT))
#: Slots that are columns of Entry; every other name is a row of Slot (A2).
COLUMN_SLOTS = ("channel", "chat_id", "session_id", "sender_id", "speaker", "thread_id")
#: Slots that say what the entry itself already says.
RESERVED_SLOTS = ("type", "scope", "source")
#: How a field that is a slot is named.
SLOT_FIELD = "slots."

_COLUMNS = {column.name: column for column in Entry._meta.concrete_fields}


def read_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns by name, from JSON to what they hold."""
    return {name: _COLUMNS[name].to_python(value) for name, value in columns.items()}


#: Names an entry may have, and characters of one.
NAMES_MOST, NAME_CHARS = 10, 100
_COLUMN_CHARS = {"channel": 40}
_FIELD_CHARS = {"subtype": 40, "project": 100, "topic": 100, "subject": 100, "path": 500, "heading": 300}


@dataclass(frozen=True, kw_only=True)
class QuotedWords:
    """Words of a message a draft rests on, by the positions of their characters in it."""

    origin: str
    start: int
    end: int
    quote: str
    at: datetime
    speaker: str = ""


@dataclass(frozen=True, kw_only=True)
class UnscopedDraft:
    """A memory before it is stored, without its scope."""

    type: str
    content: str
    source: str
    at: datetime  # when it was stated
    subtype: str = ""
    tier: int | None = None
    category: str = ""
    project: str = ""
    topic: str = ""
    names: tuple[str, ...] = ()  # what it is about, and its other names
    importance: float | None = None
    pinned: bool = False
    expires_at: datetime | None = None
    slots: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    chats: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    origin: str = ""  # who it comes from; empty: what its source says (memories.entries.evidence)
    trust: str = ""  # the least trusted of all it rests on; empty: its origin
    subject: str = ""  # whom or what it is about; empty: who said it, or nobody knows
    verification: str = Verification.NONE
    evidence: tuple[QuotedWords, ...] = ()
    path: str = ""  # of the file it is a line of
    line_from: int | None = None
    line_to: int | None = None
    heading: str = ""

    @property
    def weight(self) -> float:
        """The importance given, or that of the category (D2)."""
        return category_rule(self.category).importance if self.importance is None else self.importance

    def column(self, name: str) -> str:
        return self.slots.get(name, "")

    def free_slots(self) -> dict[str, str]:
        """The slots that become rows of their own."""
        return {
            name: value
            for name, value in self.slots.items()
            if name not in COLUMN_SLOTS and name not in RESERVED_SLOTS and value != ""
        }

    def in_scope(self, scope: Scope) -> "Draft":
        return Draft(scope=scope, **{field.name: getattr(self, field.name) for field in fields(UnscopedDraft)})


@dataclass(frozen=True, kw_only=True)
class Draft(UnscopedDraft):
    """A memory before it is stored."""

    scope: Scope


_LEFT_OUT_WHERE_EMPTY = (
    *("names", "origin", "trust", "subject", "verification", "evidence"),
    *("path", "line_from", "line_to", "heading"),
)


def serialize(draft: UnscopedDraft) -> dict[str, Any]:
    """A draft as JSON, without its scope; how it is verified, and its file, only where there is one."""
    values = {field.name: getattr(draft, field.name) for field in fields(UnscopedDraft)}
    for name in _LEFT_OUT_WHERE_EMPTY:
        if not values[name]:
            del values[name]
    for name, value in values.items():
        match value:
            case datetime():
                values[name] = value.isoformat()
            case tuple():
                values[name] = [
                    {**vars(item), "at": item.at.isoformat()} if isinstance(item, QuotedWords) else item
                    for item in value
                ]
            case Mapping():
                values[name] = dict(value)
    return values


#: What each of these may be. Made once: an enumeration makes its values anew each time it is asked.
_WORDS = {
    "type": EntryType.values,
    "source": Source.values,
    "category": ["", *Category.values],
    "verification": Verification.values,
    "origin": ["", *Origin.values],
    "trust": ["", *Origin.values],
}


def check(draft: Draft) -> None:
    """Raise InvalidDraft, naming the field, unless the draft can be stored."""
    for name, choices in _WORDS.items():
        if (value := getattr(draft, name)) not in choices:
            message = _("“%(value)s” is not a %(name)s; it is one of %(choices)s.")
            words = {"value": value, "name": name, "choices": ", ".join(filter(None, choices))}
            raise InvalidDraft(message % words, field=name)
    if (draft.type == EntryType.FACT) != (draft.tier in (1, 2)):
        raise InvalidDraft(_("A fact has tier 1 or 2; other entries have none."), field="tier")
    if not (math.isfinite(draft.weight) and 0 <= draft.weight <= 1):
        raise InvalidDraft(_("Importance lies between 0 and 1."), field="importance")
    check_content(draft.content)
    for name, limit in _FIELD_CHARS.items():
        value = getattr(draft, name)
        _check_characters(name, value)
        if len(value) > limit:
            raise InvalidDraft(_too_long(len(value), limit), field=name)
    if len(draft.names) > NAMES_MOST:
        message = _("%(count)d names; at most %(limit)d fit.") % {"count": len(draft.names), "limit": NAMES_MOST}
        raise InvalidDraft(message, field="names")
    for n, name in enumerate(draft.names):
        _check_characters(f"names.{n}", name)
        if not name.strip():
            raise InvalidDraft(_("An empty name names nothing."), field=f"names.{n}")
        if len(name) > NAME_CHARS:
            raise InvalidDraft(_too_long(len(name), NAME_CHARS), field=f"names.{n}")
    _check_slots(draft)


def check_is_read(draft: Draft) -> None:
    """Raise InvalidDraft where somebody saves on purpose what nobody would be served: a secret of a whole group."""
    is_asked = draft.source in (Source.TOOL, Source.MANUAL)
    if is_asked and draft.scope.kind == ScopeKind.CHAT and category_rule(draft.category).is_secret:
        message = _(
            "A group is never told a credential, not even its own: save it for a person, or without this category."
        )
        raise InvalidDraft(message, field="category")


def check_content(content: str) -> None:
    """Raise InvalidDraft unless this can be the content of a memory."""
    if text.is_blank(content):
        raise InvalidDraft(_("An empty memory says nothing."), field="content")
    if len(content) > conf.CONTENT_MAX_CHARS:
        raise InvalidDraft(_too_long(len(content), conf.CONTENT_MAX_CHARS), field="content")
    _check_characters("content", content)


def _too_long(length: int, limit: int) -> str:
    return _("%(length)d characters; at most %(limit)d fit.") % {"length": length, "limit": limit}


def _check_characters(name: str, value: str) -> None:
    if not text.is_storable(value):
        raise InvalidDraft(_("NUL and lone surrogates cannot be stored."), field=name)


def _check_slots(draft: Draft) -> None:
    chosen_slots = [name for name in draft.slots if name not in COLUMN_SLOTS]  # those of the address are no choice
    if len(chosen_slots) > conf.SLOT_LIMIT:
        message = _("{count} slots; at most {limit} fit.").format(count=len(chosen_slots), limit=conf.SLOT_LIMIT)
        raise InvalidDraft(message, field="slots")
    for name, value in draft.slots.items():
        if not name or len(name) > conf.SLOT_NAME_CHARS:
            message = _("A slot's name has 1 to {limit} characters.").format(limit=conf.SLOT_NAME_CHARS)
            raise InvalidDraft(message, field=f"slots.{name[:64]}")
        _check_characters(f"slots.{name}", name + value)
        if len(value) > (_COLUMN_CHARS.get(name) or (200 if name in COLUMN_SLOTS else conf.SLOT_VALUE_CHARS)):
            raise InvalidDraft(_("This value is too long."), field=f"slots.{name}")
    expected = {"type": draft.type, "scope": draft.scope.kind, "source": draft.source}
    for name, value in expected.items():
        if draft.slots.get(name, value) != value:
            message = _("This slot says “%(slot)s”, the entry “%(entry)s”.")
            raise InvalidDraft(message % {"slot": draft.slots[name], "entry": value}, field=f"slots.{name}")
    if draft.scope.kind == ScopeKind.USER and draft.type == EntryType.CHAT_TURN and not draft.column("sender_id"):
        raise InvalidDraft(_("A turn in a user's scope needs its sender."), field="slots.sender_id")


TAKEN_OUT = "taken_out"  #: reason of a suppressed draft: only saving it on purpose brings it back (A15)
QUARANTINED = "quarantined"  #: reason of a draft that rests on what is in quarantine
ERASED = "erased"  #: reason of a draft that repeats what was erased with a person: nothing brings it back (F7)


@dataclass(frozen=True)
class WriteResult:
    """What became of one draft."""

    entry: Entry
    outcome: Outcome
    linked: tuple[int, ...] = ()  # entries it resembles but was not merged with
    brought_back: bool = False  # saving it on purpose ended a suppression of its words
    is_quarantined: bool = False  # it rests on what is in quarantine

    @property
    def is_kept(self) -> bool:
        """Whether the draft is, or strengthens, an entry."""
        return self.outcome != Outcome.SUPPRESSED

    @property
    def is_kept_for_good(self) -> bool:
        """Whether it is stored as what somebody had remembered on purpose, which has no end of its own."""
        return self.is_kept and self.entry.type == EntryType.USER_EXPLICIT

    @property
    def reason(self) -> str | None:
        """Why nothing was written, as a code; None when something was."""
        if self.outcome != Outcome.SUPPRESSED:
            return None
        if self.is_quarantined:
            return QUARANTINED
        return ERASED if self.entry.pk is None else TAKEN_OUT


D = TypeVar("D", bound=UnscopedDraft)
#: What the rule of a channel has been applied to already (memories.consolidation.capture).
_CAPTURED = (Source.CONVERSATION_CAPTURE, Source.MEMORY_CAPTURE)


def subtype_of(kinds: Iterable[SecretKind]) -> str:
    """The subtype of a memory with secrets of these kinds."""
    ordered_kinds = sorted(set(kinds), key=list(SecretKind).index)
    subtype = SECRET_SUBTYPE + ",".join(ordered_kinds)
    while len(subtype) > 40:  # the rarest ones have to do without
        ordered_kinds.pop()
        subtype = SECRET_SUBTYPE + ",".join(ordered_kinds)
    return subtype


def guarded(draft: Draft) -> Draft:
    """A draft as it is stored: with a secret in it a credential, or without the secret where none are to be kept.

    A line of a file stays as it stands there.
    """
    is_settled = draft.source in _CAPTURED and draft.type != EntryType.FACT
    if conf.SECRETS == SecretsRule.OFF or is_settled or draft.subtype.startswith(SECRET_SUBTYPE):
        return draft
    kinds = {secret.kind for secret in find_secrets(draft.content)}
    if not kinds:
        return draft
    if conf.SECRETS == SecretsRule.MASK and not draft.path:
        return replace(draft, content=mask(draft.content))
    return as_credential(draft, kinds)


def as_credential(draft: D, kinds: Iterable[SecretKind]) -> D:
    """A draft that holds secrets of these kinds, marked as what it is."""
    importance = draft.importance if category_rule(draft.category).is_secret else None
    return replace(
        draft, category=Category.CREDENTIAL, subtype=draft.subtype or subtype_of(kinds), importance=importance
    )


def marks_of(entry: Entry, content: str) -> dict[str, str]:
    """The columns that change when an entry gets these words: with a secret among them it becomes a credential."""
    if conf.SECRETS == SecretsRule.OFF or category_rule(entry.category).is_secret:
        return {}
    kinds = {secret.kind for secret in find_secrets(content)}
    if not kinds:
        return {}
    return {"category": Category.CREDENTIAL.value, "subtype": entry.subtype or subtype_of(kinds)}


#: What a person says themselves, and what is made of it; neither tools nor what was imported.
_SPOKEN = (*_CAPTURED, Source.EXTRACTION, Source.COMPRESSION, Source.MANUAL)


def suspicion(draft: Draft) -> Suspicion:
    """How a draft, or the words it rests on, speaks to a model (A18).

    What an operator writes is theirs to say. A person may ask a bot for answers of some kind in their own direct chat:
    that is a preference, and one in no other place and from nobody else.
    """
    if draft.source == Source.MANUAL and not (draft.column("sender_id") or draft.column("chat_id")):
        return Suspicion.NONE
    texts = [draft.content, *(words.quote for words in draft.evidence)]
    is_of_turns = is_turn(draft.type, draft.content) or draft.type == EntryType.AUTO_CAPTURE
    suspicions = (suspicion_of(words, is_turn=is_of_turns) for words in texts)
    # said in a direct chat by whose memory it is
    is_spoken = draft.scope.kind == ScopeKind.USER and draft.source in _SPOKEN and bool(draft.chats)
    is_own = is_spoken and all(kind_of_key(chat) != ScopeKind.CHAT for chat in draft.chats)
    return next((kind for kind in suspicions if kind and not (kind == Suspicion.ORDER and is_own)), Suspicion.NONE)
