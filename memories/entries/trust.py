"""Whose words a memory is, and the least trusted of all it rests on (A19).

Both are decided where entries are written. A writer that knows more than its source says names it in its draft: a fact
names whom it is about and which of its words are the bot's. What is made of several memories comes from the least
trusted of them. The same words of somebody more trusted are believed as theirs; a rewording is not.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypedDict

from django.utils.translation import gettext as _

from memories.choices import Act, Origin, ScopeKind, Source
from memories.entries.draft import Draft
from memories.exceptions import InvalidDraft
from memories.models import Entry, Policy

#: What is not said in a conversation.
_BY_SOURCE: Mapping[str, Origin] = {
    Source.MANUAL: Origin.OPERATOR,
    Source.TOOL: Origin.BOT,
    Source.FILE: Origin.FILE,
    Source.MIGRATION: Origin.IMPORT,
}
#: How actors of the history begin: people who work here, bots, and persons in their own chat.
_STAFF, _BOT, _PERSON = ("user:", "command:"), "bot:", "person:"


def check_profile(draft: Draft) -> None:
    """Raise InvalidDraft for a line of the profile of a source that may not enter it in this workspace."""
    own = settled(draft)
    if not Policy.objects.of(draft.scope.workspace_id).may(own.trust, Act.PROFILE):
        message = _("By the policies of this workspace this is no line of a profile; it comes from: %(source)s.")
        raise InvalidDraft(message % {"source": Origin(own.trust).label}, field="tier")


class Trusted(Protocol):
    """An entry, or a draft of one whose origin is decided."""

    @property
    def origin(self) -> str: ...

    @property
    def trust(self) -> str: ...


def settled(draft: Draft) -> Draft:
    """A draft that says who it comes from, and how far it is trusted."""
    origin = draft.origin or _BY_SOURCE.get(draft.source) or _speaker_by_scope(draft.scope.kind, draft.subject)
    trust = Origin.lowest([origin, draft.trust or origin])
    return draft if (draft.origin, draft.trust) == (origin, trust) else replace(draft, origin=origin, trust=trust)


class Lineage(TypedDict, total=False):
    """Columns of a draft: whose words it is, and how far it is trusted."""

    origin: str
    trust: str


def _speaker_by_scope(scope_kind: str, subject: str) -> Origin:
    """Who speaks in a memory of this kind, as far as it says: in a group's, any member of anybody."""
    return speaker_of(scope_kind, is_about_self=scope_kind == ScopeKind.USER and not subject)


def speaker_of(scope_kind: str, *, is_about_self: bool) -> Origin:
    """Who speaks: a person of themselves; of others the person whose memory it is, or a member of a group."""
    if is_about_self:
        return Origin.SELF
    return Origin.OTHER if scope_kind == ScopeKind.USER else Origin.MEMBER


def words_of(
    scope_kind: str, *, spoken: bool, answered: bool, used_tools: bool = False, is_about_self: bool
) -> Lineage:
    """Origin and trust of what rests on words of a person, on answers of the bot, and on what its tools gave."""
    speaker = speaker_of(scope_kind, is_about_self=is_about_self) if spoken else Origin.BOT
    origins = [speaker, *([Origin.BOT] if answered else []), *([Origin.TOOL] if used_tools else [])]
    return {"origin": speaker, "trust": Origin.lowest(origins)}


def inherited(sources: Iterable[Trusted]) -> Lineage:
    """Origin and trust of what is made of these: the lowest of each; nothing of nothing."""
    rows = list(sources)
    if not rows:
        return {}
    return {
        "origin": Origin.lowest(source.origin for source in rows),
        "trust": Origin.lowest(source.trust for source in rows),
    }


def lower(entry: Entry, sources: Iterable[Trusted]) -> bool:
    """Trust an entry no more than what it is made of; whether that changes it."""
    before = entry.trust
    entry.trust = Origin.lowest([before, *(source.trust for source in sources)])
    return entry.trust != before


def raise_to(entry: Entry, draft: Draft) -> None:
    """Believe an entry as its words of somebody more trusted are, who says the same."""
    entry.origin = Origin.highest([entry.origin, draft.origin])
    entry.trust = Origin.highest([entry.trust, draft.trust])


def reworded_by(entry: Entry, actor: str) -> dict[str, Any]:
    """Origin and trust of an entry whose words somebody changes: an operator's, the person's own, or the bot's.

    Anybody else shortens or copies what is there: it comes from whom it came from.
    """
    if actor.startswith(_STAFF):
        return {"origin": Origin.OPERATOR, "trust": Origin.OPERATOR}
    if actor.startswith(_BOT):
        return {"origin": Origin.BOT, "trust": Origin.lowest([Origin.BOT, entry.trust])}
    if actor.startswith(_PERSON):
        speaker = _speaker_by_scope(entry.scope.kind, entry.subject)
        return {"origin": speaker, "trust": speaker}
    return {}
