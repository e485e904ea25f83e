"""Writing daily events, tier 3: what happened on a local day of a scope (D1). Nothing else writes their table."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import QuerySet

from memories.choices import Operation, Origin, SkipReason, Source
from memories.entries import files, history
from memories.entries.changes import BulkOutcome
from memories.entries.draft import check_content
from memories.entries.suppression import Tombstones
from memories.exceptions import ScopeFrozen
from memories.language import text
from memories.models import Change, DailyEvent, Entry, Scope, Suppression
from memories.models.change import acting
from memories.models.tenancy import lock_scopes

_TABLE = DailyEvent._meta.db_table
#: The end of a sentence, or of an item where a summary strings them together; a full stop within a figure is none.
_SENTENCES = re.compile(r"[!?。！？；;\n]+\s*|\.+(?=\s|$)\s*")
#: The bot's name in daily events.
ASSISTANT = "Assistant"


@dataclass(frozen=True, kw_only=True)
class EventDraft:
    """What happened on one local day of a scope, and the messages it rests on."""

    scope: Scope
    local_date: date
    content: str
    source: str = Source.EXTRACTION
    chats: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


def trust_of(days: Sequence[DailyEvent]) -> dict[int, Origin]:
    """By the id of each day the least trusted of the memories in its scope that rest on its messages (A19); a day of
    which none is kept is left out.
    """
    paths = sorted({path for day in days for path in day.origins})
    rows = Entry.objects.filter(scope__in={day.scope_id for day in days}, origins__overlap=paths)
    items = list(rows.values_list("scope_id", "origins", "trust")) if paths else []
    trusts = {
        day.pk: [trust for scope, own, trust in items if scope == day.scope_id and not set(own).isdisjoint(day.origins)]
        for day in days
    }
    return {pk: Origin.lowest(day_trusts) for pk, day_trusts in trusts.items() if day_trusts}


class SuppressedContent:
    """The suppressions of some scopes, for machines that write of days (A15); read once.

    The words of what is in quarantine count where texts are shown (`is_shown`): written anew they may be of a clean
    source.
    """

    def __init__(self, scopes: Iterable[Scope], *, is_shown: bool = False) -> None:
        self._words: dict[int, set[str]] = defaultdict(set)
        self._origins: dict[int, set[str]] = defaultdict(set)
        rows = Suppression.objects.filter(scope__in=list(scopes))
        for scope_id, fingerprint, wordings, origins, quarantine in rows.values_list(
            "scope_id", "fingerprint", "wordings", "origins", "quarantine"
        ):
            if is_shown or not (quarantine and origins):
                self._words[scope_id].update([fingerprint, *wordings])
            self._origins[scope_id].update(origins)

    def covers(self, scope: Scope, content: str, origins: Iterable[str]) -> bool:
        """Whether a text has suppressed words, or rests on a message of a suppressed memory."""
        if not self._origins[scope.pk].isdisjoint(origins):
            return True
        return bool(self._words[scope.pk]) and text.fingerprint(content) in self._words[scope.pk]


def write(drafts: Sequence[EventDraft], *, now: datetime, actor: str) -> list[DailyEvent]:
    """Store events, except suppressed ones. Raises ScopeFrozen or InvalidDraft; then none is stored."""
    return [event for event in write_each(drafts, now=now, actor=actor) if event is not None]


def write_each(drafts: Sequence[EventDraft], *, now: datetime, actor: str) -> list[DailyEvent | None]:
    """The same, with None for each suppressed draft."""
    if not drafts:
        return []
    scopes = Scope.objects.in_bulk({draft.scope.pk for draft in drafts})
    if any(scope.frozen for scope in scopes.values()):
        raise ScopeFrozen
    for draft in drafts:
        check_content(draft.content)
    with acting(actor):
        events = [
            None
            if is_taken_out
            else DailyEvent(
                workspace_id=draft.scope.workspace_id,
                scope=draft.scope,
                local_date=draft.local_date,
                content=draft.content,
                terms=sorted(text.terms(draft.content)),
                source=draft.source,
                chats=list(dict.fromkeys(draft.chats)),
                origins=list(dict.fromkeys(draft.origins)),
                created_at=now,
                updated_at=now,
            )
            for draft, is_taken_out in zip(drafts, _are_taken_out(drafts), strict=True)
        ]
        DailyEvent.objects.bulk_create(event for event in events if event is not None)
        return events


def _are_taken_out(drafts: Sequence[EventDraft]) -> list[bool]:
    """Of events, which repeat what was erased with a person, or what is suppressed."""
    if not drafts:
        return []
    texts = [(draft.content, draft.scope.key, draft.origins) for draft in drafts]
    erased = Tombstones.of_workspace(drafts[0].scope.workspace_id).covering(texts, everywhere=False)
    suppressed = SuppressedContent({draft.scope for draft in drafts})
    return [
        is_erased or suppressed.covers(draft.scope, draft.content, draft.origins)
        for draft, is_erased in zip(drafts, erased, strict=True)
    ]


def bring_in(scope: Scope, exported: Sequence[Mapping[str, Any]]) -> list[DailyEvent | None]:
    """Store events as an export tells them, by their columns; None in the place of each that was taken out of use here.

    Inside the caller's transaction, which says who acts. Raises ScopeFrozen.
    """
    locked = lock_scopes([scope])[scope.pk]
    suppressed = SuppressedContent([locked])
    events = [
        None
        if not columns["expired_at"] and suppressed.covers(locked, columns["content"], columns["origins"])
        else DailyEvent(
            workspace_id=locked.workspace_id, scope=locked, terms=sorted(text.terms(columns["content"])), **columns
        )
        for columns in exported
    ]
    DailyEvent.objects.bulk_create(event for event in events if event is not None)
    return events


def update(event: DailyEvent, content: str, *, now: datetime, actor: str) -> None:
    """Replace the content of an event; the former stays in its history. Raises ScopeFrozen or InvalidDraft."""
    check_content(content)
    event.content, event.terms, event.updated_at = content, sorted(text.terms(content)), now
    with acting(actor):
        lock_scopes([event.scope])
        event.save(update_fields=["content", "terms", "updated_at"])
    files.follow(files.places_of([event]))


def grow(
    scope: Scope, contents: Mapping[int, str], versions: Mapping[int, int | None], *, now: datetime, actor: str
) -> BulkOutcome:
    """Give events of a scope, by id, these contents; the night makes facts of each anew.

    Those changed since these versions are skipped, and what is suppressed. Raises ScopeFrozen or InvalidDraft.
    """
    for content in contents.values():
        check_content(content)
    outcome = BulkOutcome()
    with acting(actor):
        locked = lock_scopes([scope])[scope.pk]
        here = DailyEvent.objects.in_use().filter(workspace_id=scope.workspace_id, scope=locked, pk__in=contents)
        events = {event.pk: event for event in here.select_for_update(of=("self",)).order_by("pk")}
        outcome.skip(contents.keys() - events.keys(), SkipReason.GONE)
        outcome.skip({pk for pk in events if versions[pk] not in (None, events[pk].version)}, SkipReason.CHANGED)
        drafts = [
            EventDraft(scope=locked, local_date=event.local_date, content=contents[pk], origins=tuple(event.origins))
            for pk, event in events.items()
        ]
        pairs = zip(events, _are_taken_out(drafts), strict=True)
        outcome.skip((pk for pk, is_taken_out in pairs if is_taken_out), SkipReason.SUPPRESSED)
        outcome.applied = sorted(events.keys() - outcome.skipped.keys())
        for event in map(events.__getitem__, outcome.applied):
            event.content, event.terms = contents[event.pk], sorted(text.terms(contents[event.pk]))
            event.compressed_at, event.updated_at = None, now
        columns = ["content", "terms", "compressed_at", "updated_at"]
        DailyEvent.objects.bulk_update([events[pk] for pk in outcome.applied], columns)
    return outcome


def without_repeats(events: Sequence[DailyEvent]) -> list[DailyEvent]:
    """Events without the day notes whose every sentence stands in another event of their day.

    Without a model, the note of a day with little to condense is like that.
    """
    notes = [event for event in events if event.source == Source.COMPRESSION]
    if not notes:
        return list(events)
    places = {"scope__in": {note.scope_id for note in notes}, "local_date__in": {note.local_date for note in notes}}
    others_of_day: dict[tuple[int, date], str] = defaultdict(str)
    others = DailyEvent.objects.in_use().filter(**places).exclude(source=Source.COMPRESSION).order_by("pk")
    for scope_id, day, content in others.values_list("scope_id", "local_date", "content"):
        others_of_day[scope_id, day] += f"\n{text.normalise(content)}"
    repeats = {note.pk for note in notes if is_within(note.content, others_of_day[note.scope_id, note.local_date])}
    return [event for event in events if event.pk not in repeats]


def is_within(content: str, normalised: str) -> bool:
    """Whether every sentence of a text stands in another, normalised text."""
    return all(text.normalise(sentence) in normalised for sentence in _SENTENCES.split(content))


def mark_compressed(events: Sequence[DailyEvent], *, now: datetime, actor: str, batch: int | None = None) -> bool:
    """Mark events as made into facts; False, and none marked, when one was changed or expired since it was read.

    Inside the transaction that stores the facts, in batch `batch` where there are any.
    """
    expected = {event.pk: event.version for event in events}
    current = DailyEvent.objects.in_use().filter(pk__in=expected, compressed_at__isnull=True)
    with acting(actor, batch=batch):
        versions = dict(current.select_for_update(of=("self",)).order_by("pk").values_list("pk", "version"))
        if versions != expected:
            return False
        DailyEvent.objects.filter(pk__in=expected).update(compressed_at=now, updated_at=now)
    return True


def expire(events: QuerySet[DailyEvent], *, now: datetime, actor: str) -> int:
    """Take events out of use; the number that were in use. Raises ScopeFrozen."""
    return _mark(events.filter(expired_at__isnull=True), now, actor, expired_at=now)


def restore(events: QuerySet[DailyEvent], *, now: datetime, actor: str) -> int:
    """Bring events back into use; the number that were out of use. Raises ScopeFrozen."""
    return _mark(events.filter(expired_at__isnull=False), now, actor, expired_at=None)


def _mark(events: QuerySet[DailyEvent], now: datetime, actor: str, *, expired_at: datetime | None) -> int:
    with acting(actor):
        lock_scopes(Scope.objects.filter(pk__in=events.order_by().values("scope")))
        notes = files.places_of(events.filter(source=files.DAY_NOTE))
        count = events.update(expired_at=expired_at, updated_at=now)
        files.follow(notes)
    return count


def notes_of_days(scope: Scope, events: Sequence[int]) -> list[int]:
    """The notes in use of the days of some events of a scope."""
    days = DailyEvent.objects.filter(scope=scope, pk__in=list(events)).exclude(source=files.DAY_NOTE)
    notes = DailyEvent.objects.in_use().filter(scope=scope, source=files.DAY_NOTE)
    return list(notes.filter(local_date__in=days.values("local_date")).order_by("pk").values_list("pk", flat=True))


def rollback(scope: Scope, events: Sequence[int], *, of: int, by: int, force: bool, now: datetime) -> BulkOutcome:
    """Put events back as they were before batch `of`; one that it wrote is taken out of use.

    A note the batch did not touch was made of its events: it is taken out of use, and the night writes it anew of
    what is left of its day. Events changed since by anything but the undo, batch `by`, are skipped unless `force`.
    Inside the caller's transaction.
    """
    prior = history.rows_before(of, _TABLE, events) or {}
    untouched = Change.objects.filter(
        table_name=_TABLE, row_id__in=set(events) - prior.keys(), op=Operation.INSERT
    )  # made since
    prior |= {row: history.PriorRow(is_new=True, last_change=pk) for row, pk in untouched.values_list("row_id", "pk")}
    current = DailyEvent.objects.filter(scope=scope).select_for_update().in_bulk(list(events))
    outcome = BulkOutcome()
    outcome.skip(set(events) - current.keys(), SkipReason.GONE)
    if not force:
        changed_pks = history.changed_since_batch(prior, by=by, table=_TABLE)
        outcome.skip(changed_pks & current.keys(), SkipReason.CHANGED)
    outcome.applied = sorted(current.keys() - outcome.skipped.keys())
    for pk in outcome.applied:
        row = prior.get(pk, history.PriorRow())
        columns = row.restorable
        if row.is_new:
            columns = {} if current[pk].expired_at else _taken_out(current[pk], now)
        if columns:
            DailyEvent.objects.filter(pk=pk).update(**columns, updated_at=now)
        if current[pk].source == files.DAY_NOTE and current[pk].expired_at and not columns.get("expired_at", now):
            note = current[pk]  # is back, and those written of its day meanwhile are taken out
            others = DailyEvent.objects.in_use().filter(
                scope_id=note.scope_id, local_date=note.local_date, source=note.source
            )
            others.exclude(pk=note.pk).update(**_taken_out(note, now), updated_at=now)
    files.follow(files.places_of(current[pk] for pk in outcome.applied))
    return outcome


def _taken_out(event: DailyEvent, now: datetime) -> dict[str, datetime | None]:
    """What marks an event as out of use by an undo; of a note also that its day is to be condensed anew."""
    return {"expired_at": now} | ({"compressed_at": None} if event.source == files.DAY_NOTE else {})


def condensed_days(events: QuerySet[DailyEvent]) -> QuerySet[DailyEvent]:
    """The notes among events whose days need no other: in use, or taken out by people."""
    notes = events.filter(source=files.DAY_NOTE)
    return notes.exclude(expired_at__isnull=False, compressed_at__isnull=True)
