"""What a memory rests on: quoted words, and whose words it is.

The words a model's facts rest on are stored with the fact, and forgotten with the message (D5, A15).

Whose words a memory is, and the least trusted of all it rests on (A19), are decided where entries are written. A writer
that knows more than its source says names it in its draft: a fact names whom it is about and which of its words are the
bot's. What is made of several memories comes from the least trusted of them. The same words of somebody more trusted
are believed as theirs; a rewording is not.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol, TypedDict

from django.db import connection
from django.db.models import Exists, Func, OuterRef, Q, Value
from django.utils.translation import gettext as _

from memories.choices import Act, Origin, ScopeKind, Source, Verification
from memories.entries.draft import Draft, QuotedWords
from memories.exceptions import InvalidDraft
from memories.index import scope_statistics
from memories.models import DailyEvent, Entry, Evidence, Policy, Scope, Suppression
from memories.models.change import acting
from memories.models.tenancy import lock_scopes

#: Where words of a day's note stand: this, and the id of the note.
_DAY = "daily/"


def of_day(event: DailyEvent) -> str:
    """The origin of words that stand in the note of a day."""
    return f"{_DAY}{event.uid}"


def add(quoted: Iterable[tuple[Entry, QuotedWords]]) -> None:
    """Store quotes beside entries; one that is there stays as it is."""
    rows = [Evidence(workspace_id=entry.workspace_id, entry=entry, **vars(words)) for entry, words in quoted]
    if rows:
        Evidence.objects.bulk_create(rows, ignore_conflicts=True)


def inherit_quotes(keeper: Entry, merged: Sequence[Entry]) -> None:
    """Let the quotes of entries count for the one they became part of."""
    rows = list(Evidence.objects.filter(entry__in=[entry.pk for entry in merged]))
    for row in rows:
        row.pk, row.entry = None, keeper
    Evidence.objects.bulk_create(rows, ignore_conflicts=True)


def evidence_of(entries: Collection[int], workspace_id: int) -> dict[int, list[Evidence]]:
    """The quotes of entries in the order of their messages; none of a redacted message, or of a day's note gone since.

    One statement, none of nothing, another where days are quoted.
    """
    if not entries:
        return {}
    conversation = Func(OuterRef("origin"), Value("/[^/]*$"), Value(""), function="regexp_replace")
    redacted = Suppression.objects.filter(  # something rests on its message that people suppressed
        Q(conversation=conversation) | Q(conversation="*"),
        workspace_id=OuterRef("workspace_id"),
        origins__contains=[OuterRef("origin")],
    )
    rows = list(Evidence.objects.filter(~Exists(redacted), workspace_id=workspace_id, entry__in=list(entries)))
    stale_origins: set[str] = set()  # notes of days that are out of use, or say no more what is quoted
    if of_days := [row for row in rows if row.origin.startswith(_DAY)]:
        uids = {row.origin.removeprefix(_DAY) for row in of_days}
        events = DailyEvent.objects.in_use().filter(workspace_id=workspace_id, uid__in=uids)
        content = {of_day(event): event.content for event in events}
        stale_origins = {row.origin for row in of_days if row.quote not in content.get(row.origin, "")}
    quotes: dict[int, list[Evidence]] = {}
    for row in (row for row in rows if row.origin not in stale_origins):
        quotes.setdefault(row.entry_id, []).append(row)
    return quotes


def verify(scope: Scope, versions: Mapping[int, int], *, now: datetime, actor: str) -> int:
    """Mark quoted facts of a scope as verified, those that stand in these versions; how many. Raises ScopeFrozen."""
    with acting(actor):
        locked = lock_scopes([scope])[scope.pk]
        rows = Entry.objects.in_scope(scope).live().filter(pk__in=versions, verification=Verification.QUOTED)
        same = [pk for pk, version in rows.values_list("pk", "version") if versions[pk] == version]
        Entry.objects.filter(pk__in=same).update(verification=Verification.VERIFIED, updated_at=now)
        scope_statistics.raise_version(locked)
    return len(same)


#: Of what was made of a plan, and of what is still planned.
_FORGET_PLANS = """
UPDATE memories_batchchange SET draft = draft - 'evidence'
WHERE workspace_id = %(workspace)s AND (entry_id = ANY(%(entries)s) OR state = 'planned') AND draft ? 'evidence'
    AND EXISTS (
        SELECT 1 FROM jsonb_array_elements(draft -> 'evidence') v WHERE v ->> 'origin' = ANY(%(origins)s)
    )
"""
#: By a set, for a list would be read through for every message of every row.
_FORGET_REFUSED = """
DELETE FROM memories_refusedfact WHERE workspace_id = %s AND id IN (
    SELECT r.id FROM memories_refusedfact r CROSS JOIN LATERAL unnest(r.origins) named (origin)
    WHERE named.origin IN (SELECT unnest(%s::text[]))
)
"""


def forget(workspace_id: int, origins: Collection[str]) -> int:
    """Forget the words of messages that are removed; how many quotes these were."""
    days = DailyEvent.objects.filter(workspace_id=workspace_id, origins__overlap=list(origins))
    all_origins = [*origins, *(of_day(event) for event in days.only("uid"))]
    quotes = Evidence.objects.filter(workspace_id=workspace_id, origin__in=all_origins)
    entries = sorted(set(quotes.values_list("entry_id", flat=True)))
    with connection.cursor() as cursor:
        cursor.execute(_FORGET_PLANS, {"workspace": workspace_id, "entries": entries, "origins": all_origins})
        cursor.execute(_FORGET_REFUSED, [workspace_id, all_origins])
    return quotes.delete()[0]


def quoting_days(workspace_id: int, days: Collection[int]) -> set[int]:
    """The entries that quote these days."""
    day_origins = [of_day(event) for event in DailyEvent.objects.filter(workspace_id=workspace_id, pk__in=days)]
    quotes = Evidence.objects.filter(workspace_id=workspace_id, origin__in=day_origins)
    return set(quotes.values_list("entry_id", flat=True))


def days_quoted_by(workspace_id: int, entries: Collection[int]) -> set[int]:
    """The days that these entries quote."""
    quotes = Evidence.objects.filter(workspace_id=workspace_id, entry__in=entries, origin__startswith=_DAY)
    uids = {origin.removeprefix(_DAY) for origin in quotes.values_list("origin", flat=True)}
    return set(DailyEvent.objects.filter(workspace_id=workspace_id, uid__in=uids).values_list("pk", flat=True))


#: By sets, for lists would be read through for every message of every row.
_OF_MESSAGES = """
    SELECT DISTINCT r.id FROM {table} r CROSS JOIN LATERAL unnest(r.origins) named (origin)
    WHERE r.workspace_id = %(workspace)s AND named.origin IN (SELECT unnest(%(origins)s::text[]))
"""
_ENTRIES = f"""
    {_OF_MESSAGES.format(table="memories_entry")}
    UNION
    SELECT v.entry_id FROM memories_evidence v WHERE v.workspace_id = %(workspace)s
        AND v.origin IN (SELECT unnest(%(origins)s::text[]) UNION ALL
                         SELECT 'daily/' || d.uid FROM memories_dailyevent d WHERE d.id = ANY(%(days)s))
    UNION
    SELECT l.to_entry_id FROM memories_link l WHERE l.workspace_id = %(workspace)s AND l.kind = 'source_of'
        AND l.from_entry_id IN (SELECT unnest(%(entries)s::bigint[]))
    UNION
    SELECT l.from_entry_id FROM memories_link l WHERE l.workspace_id = %(workspace)s AND l.kind = 'merged_from'
        AND l.to_entry_id IN (SELECT unnest(%(entries)s::bigint[]))
"""  # noqa: S608 (names of ours)
_DAYS = _OF_MESSAGES.format(table="memories_dailyevent")


@dataclass(frozen=True)
class Lineage:
    """What rests on some messages and entries, with these."""

    entries: frozenset[int]
    days: frozenset[int]
    origins: frozenset[str]


def lineage_of(workspace_id: int, *, entries: Iterable[int] = (), origins: Iterable[str] = ()) -> Lineage:
    """Entries and days that rest on these messages, or were made of these entries, at whatever remove.

    Only the given messages count: what was found may rest on others too, which are nobody's fault.
    """
    lineage, messages = set(entries), sorted(set(origins))
    days = _ids(_DAYS, workspace=workspace_id, origins=messages)
    new: Collection[int] = lineage | {0}  # messages alone lead to entries as well
    while new:
        rows = _ids(_ENTRIES, workspace=workspace_id, origins=messages, days=sorted(days), entries=sorted(lineage))
        new = rows - lineage
        lineage |= new
    return Lineage(frozenset(lineage), frozenset(days), frozenset(messages))


def _ids(statement: str, **values: Any) -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return {row[0] for row in cursor.fetchall()}


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


class Provenance(TypedDict, total=False):
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
) -> Provenance:
    """Origin and trust of what rests on words of a person, on answers of the bot, and on what its tools gave."""
    speaker = speaker_of(scope_kind, is_about_self=is_about_self) if spoken else Origin.BOT
    origins = [speaker, *([Origin.BOT] if answered else []), *([Origin.TOOL] if used_tools else [])]
    return {"origin": speaker, "trust": Origin.lowest(origins)}


def inherited_trust(sources: Iterable[Trusted]) -> Provenance:
    """Origin and trust of what is made of these: the lowest of each; nothing of nothing."""
    rows = list(sources)
    if not rows:
        return {}
    return {
        "origin": Origin.lowest(source.origin for source in rows),
        "trust": Origin.lowest(source.trust for source in rows),
    }


def lower_trust(entry: Entry, sources: Iterable[Trusted]) -> bool:
    """Trust an entry no more than what it is made of; whether that changes it."""
    before = entry.trust
    entry.trust = Origin.lowest([before, *(source.trust for source in sources)])
    return entry.trust != before


def raise_trust(entry: Entry, draft: Draft) -> None:
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
