"""The door of tier 3: the only code that writes what happened on a day (D1)."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memories import entries
from memories.choices import SkipReason, Source
from memories.conf import conf
from memories.entries import BulkOutcome
from memories.exceptions import InvalidDraft, ScopeFrozen
from memories.language import text
from memories.models import DailyEvent, Scope, Suppression
from memories.models.change import acting

_TABLE = DailyEvent._meta.db_table
#: What an undo never gives back: names, and what rises with every change.
_KEPT = frozenset({"id", "uid", "workspace_id", "scope_id", "version", "updated_at"})

#: Where a sentence ends; a full stop within a figure ends none.
_SENTENCES = re.compile(r"[!?。！？；\n]+|\.(?=\s|$)")

#: Who answers, as days name it.
ASSISTANT = "Assistant"


@dataclass(frozen=True, kw_only=True)
class EventDraft:
    """What is to be told of one local day of a scope, and the messages it rests on."""

    scope: Scope
    local_date: date
    content: str
    source: str = Source.EXTRACTION
    chats: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


class SuppressedContent:
    """What people took out of some scopes, which no machine tells of again (A15); read once."""

    def __init__(self, scopes: Iterable[Scope]) -> None:
        self._words: dict[int, set[str]] = defaultdict(set)
        self._origins: dict[int, set[str]] = defaultdict(set)
        found = Suppression.objects.filter(scope__in=list(scopes)).values_list(
            "scope_id", "fingerprint", "wordings", "origins"
        )
        for scope_id, fingerprint, wordings, origins in found:
            self._words[scope_id].update([fingerprint, *wordings])
            self._origins[scope_id].update(origins)

    def holds(self, scope: Scope, content: str, origins: Iterable[str]) -> bool:
        """Whether it says what was taken out, or rests on a message whose memory was."""
        if not self._origins[scope.pk].isdisjoint(origins):
            return True
        return bool(self._words[scope.pk]) and text.fingerprint(content) in self._words[scope.pk]


def write(days: Sequence[EventDraft], *, now: datetime, actor: str) -> list[DailyEvent]:
    """Store what is told of days, less what people took out. Raises ScopeFrozen, InvalidDraft; then none is stored."""
    return [event for event in write_each(days, now=now, actor=actor) if event is not None]


def write_each(days: Sequence[EventDraft], *, now: datetime, actor: str) -> list[DailyEvent | None]:
    """The same, with None for each that people took out."""
    if not days:
        return []
    scopes = Scope.objects.in_bulk({day.scope.pk for day in days})
    if any(scope.frozen for scope in scopes.values()):
        raise ScopeFrozen
    for day in days:
        check(day.content)
    with acting(actor):
        taken_out = SuppressedContent(scopes.values())
        told = [None if taken_out.holds(day.scope, day.content, day.origins) else _event(day, now) for day in days]
        DailyEvent.objects.bulk_create(event for event in told if event is not None)
        return told


def _event(day: EventDraft, now: datetime) -> DailyEvent:
    return DailyEvent(
        workspace_id=day.scope.workspace_id,
        scope=day.scope,
        local_date=day.local_date,
        content=day.content,
        terms=sorted(text.terms(day.content)),
        source=day.source,
        chats=list(dict.fromkeys(day.chats)),
        origins=list(dict.fromkeys(day.origins)),
        created_at=now,
        updated_at=now,
    )


def check(content: str) -> None:
    """Raise InvalidDraft unless this can be told of a day."""
    if not content.strip():
        raise InvalidDraft(_("An empty memory says nothing."), field="content")
    if len(content) > conf.CONTENT_MAX_CHARS:
        said = _("%(length)d characters; at most %(limit)d fit.")
        raise InvalidDraft(said % {"length": len(content), "limit": conf.CONTENT_MAX_CHARS}, field="content")
    if not text.is_storable(content):
        raise InvalidDraft(_("NUL and lone surrogates cannot be stored."), field="content")


def update(event: DailyEvent, content: str, *, now: datetime, actor: str) -> None:
    """Have it say something else; what it said stays in its history. Raises InvalidDraft."""
    check(content)
    event.content, event.terms, event.updated_at = content, sorted(text.terms(content)), now
    with acting(actor):
        event.save(update_fields=["content", "terms", "updated_at"])


def without_repeats(events: Sequence[DailyEvent]) -> list[DailyEvent]:
    """Events less the notes of days that only repeat, sentence by sentence, what else is told of their day.

    Such is a note that no model wrote of a day with little to condense.
    """
    notes = [event for event in events if event.source == Source.COMPRESSION]
    if not notes:
        return list(events)
    places = {"scope__in": {note.scope_id for note in notes}, "local_date__in": {note.local_date for note in notes}}
    told: dict[tuple[int, date], str] = defaultdict(str)
    others = DailyEvent.objects.in_use().filter(**places).exclude(source=Source.COMPRESSION).order_by("pk")
    for scope_id, day, content in others.values_list("scope_id", "local_date", "content"):
        told[scope_id, day] += f"\n{text.normalise(content)}"
    repeats = {note.pk for note in notes if _is_said_by(note.content, told[note.scope_id, note.local_date])}
    return [event for event in events if event.pk not in repeats]


def _is_said_by(content: str, said: str) -> bool:
    return all(text.normalise(sentence) in said for sentence in _SENTENCES.split(content))


def mark_compressed(events: Sequence[DailyEvent], *, now: datetime, actor: str) -> bool:
    """Say that facts were made of these; not of any when one of them was changed, taken out or done since it was read.

    Inside the transaction that stores the facts.
    """
    versions = {event.pk: event.version for event in events}
    held = DailyEvent.objects.in_use().filter(pk__in=versions, compressed_at__isnull=True)
    with acting(actor):
        found = dict(held.select_for_update(of=("self",)).order_by("pk").values_list("pk", "version"))
        if found != versions:
            return False
        DailyEvent.objects.filter(pk__in=versions).update(compressed_at=now, updated_at=now)
    return True


def expire(events: QuerySet[DailyEvent], *, now: datetime, actor: str) -> int:
    """Take events out of use; how many were in use."""
    with acting(actor):
        return events.filter(expired_at__isnull=True).update(expired_at=now, updated_at=now)


def restore(events: QuerySet[DailyEvent], *, now: datetime, actor: str) -> int:
    """Bring events back into use; how many were out."""
    with acting(actor):
        return events.filter(expired_at__isnull=False).update(expired_at=None, updated_at=now)


def rollback(scope: Scope, events: Sequence[int], *, of: int, by: int, force: bool, now: datetime) -> BulkOutcome:
    """Give events back what they were before batch `of`; one that it told is out of use then.

    Those that anything but this undo, the batch `by`, has changed since are left alone unless `force`: reworded, taken
    out, or made into facts. Inside the caller's transaction.
    """
    were = entries.rows_before(of, _TABLE, events)
    found = DailyEvent.objects.filter(scope=scope).select_for_update().in_bulk(list(events))
    outcome = BulkOutcome()
    outcome.skip(set(events) - found.keys(), SkipReason.GONE)
    if not force:
        outcome.skip(
            changed_since({pk: row.last for pk, row in were.items()}, by=by) & found.keys(), SkipReason.CHANGED
        )
    outcome.applied = sorted(found.keys() - outcome.skipped.keys())
    for pk in outcome.applied:
        was = were.get(pk, entries.PriorRow())
        columns = {name: value for name, value in was.columns.items() if name not in _KEPT}
        if was.made:
            columns = {} if found[pk].expired_at else {"expired_at": now}
        if columns:
            DailyEvent.objects.filter(pk=pk).update(**columns, updated_at=now)
    return outcome


def changed_since(lasts: Mapping[int, int], *, by: int = 0) -> set[int]:
    """Events that anything but batch `by` has changed after their change `lasts` names, and not taken back since."""
    return entries.changed_since(lasts, by=by, table=_TABLE)
