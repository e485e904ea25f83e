"""Bringing in what is remembered: days, entries, and what ties entries together, through their doors."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from memories import batches
from memories.batches.steps import CreateStep, EventStep, PlanRow
from memories.entries import daily_events, exported, suppression
from memories.entries.daily_events import EventDraft
from memories.entries.draft import UnscopedDraft
from memories.entries.exported import ExportedEntry, NamedSuccessor, PastChange
from memories.imports.batch import LeftOutReason
from memories.language import text
from memories.models import DailyEvent, Entry, Link, Scope, Suppression
from memories.models.change import acting
from memplatform.transfer.records import (
    ACCESS,
    CHANGE,
    EVIDENCE,
    SLOT,
    SUCCESSOR,
    Line,
    Row,
    by_number,
    columns_of,
    reference,
)
from memplatform.transfer.run import Import

_DAY = "daily/"  # how words of a day's note name it (memories.entries.evidence)


def _target(run: Import, model: type[Entry | DailyEvent]) -> Any:
    rows = model._default_manager.filter(workspace=run.workspace)
    return rows.filter(scope=run.into) if run.into else rows


def _new_by_scope(
    run: Import, kind: str, model: type[Entry | DailyEvent], page: Sequence[Line]
) -> dict[Scope, list[Row]]:
    """The rows of a page that are not here yet, under the ids they get here, by the scope they go to."""
    rows = columns_of(kind, page)
    uids = [told["uid"] for _n, _record, told in rows]
    there = run.ids.here(_target(run, model), uids)
    there |= _the_same(run, model, [row for row in rows if row[2]["uid"] not in there])
    ids = run.ids.new(model, [uid for uid in uids if uid not in there])
    run.done.already[kind] += len(there)
    if run.is_dry:
        run.done.created[kind] += len(ids)
        return {}
    new: defaultdict[Scope, list[Row]] = defaultdict(list)
    for number, record, told in rows:
        if told["uid"] in ids:
            scope = run.scopes[UUID(record["scope"])]
            new[scope].append((number, record, told | {"uid": ids[told["uid"]]}))
    return new


def _the_same(run: Import, model: type[Entry | DailyEvent], rows: Sequence[Row]) -> dict[UUID, Any]:
    """What stood in the same scope before and is the same memory or event, by the ids of these there.

    What the export itself brings is the same as nothing else of it.
    """
    by_scope: defaultdict[Scope, list[Row]] = defaultdict(list)
    for row in rows:
        scope = run.scopes[UUID(row[1]["scope"])]
        if scope.pk is not None and scope.pk not in run.begun:
            by_scope[scope].append(row)
    same: dict[UUID, Any] = {}
    for scope, some in by_scope.items():
        here = _with_these_words(run, model, scope, some)
        if not here:
            continue
        copies = [(record, dict(columns)) for _n, record, columns in some]
        _rename(run, [columns for _record, columns in copies])
        for record, columns in copies:
            candidates = here[_words(columns)]
            counterpart = next((row for row in candidates if _is_one(row, columns, record)), None)
            if counterpart is not None:
                candidates.remove(counterpart)
                same[columns["uid"]] = counterpart
                run.ids.same[columns["uid"]] = counterpart.uid
    return same


def _with_these_words(
    run: Import, model: type[Entry | DailyEvent], scope: Scope, rows: Sequence[Row]
) -> defaultdict[tuple[str, str], list[Any]]:
    """What stands in a scope in the words of these rows and came from elsewhere, the oldest first, by its words."""
    here: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    contents = [columns["content"] for _n, _record, columns in rows]
    alike = (
        {"fingerprint__in": [text.fingerprint(content) for content in contents]}
        if model is Entry
        else {"content__in": contents}
    )
    gone = set(run.ids.same.values())
    for row in model._default_manager.filter(scope=scope, workspace=run.workspace, **alike).order_by("pk"):
        if row.uid not in run.brought and row.uid not in gone:
            here[row.content, getattr(row, "type", "")].append(row)
    return here


def _words(columns: Mapping[str, Any]) -> tuple[str, str]:
    return columns["content"], columns.get("type", "")


def _is_one(row: Any, columns: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Whether a row in the same words is of the same time or message, and in use here as there."""
    marks = ("expired_at", "archived_at", "suppressed_at")
    is_over = record.get("superseded_by") is not None or any(columns.get(mark) for mark in marks)
    was_over = getattr(row, "superseded_by_id", None) is not None or any(getattr(row, mark, None) for mark in marks)
    time = "local_date" if isinstance(row, DailyEvent) else "stated_at"
    is_of_one = getattr(row, time) == columns[time] or not set(row.origins).isdisjoint(columns["origins"])
    return is_over == was_over and is_of_one


def _days(run: Import, page: Sequence[Line]) -> None:
    for scope, found in _new_by_scope(run, "day", DailyEvent, page).items():
        rows = _without_erased(run, scope, found)
        _rename(run, [told for _n, _record, told in rows])
        batch = run.batch(scope)
        with acting(run.actor, batch=batch.pk, run=batch.run):
            events = daily_events.bring_in(scope, [told for _n, _record, told in rows])
            made = [event for event in events if event is not None]
            batches.add_applied(batch, [PlanRow(step=_event_step(scope, one), event_id=one.pk) for one in made])
        _count(run, "day", rows, events)


def _without_erased(run: Import, scope: Scope, rows: Sequence[Row]) -> list[Row]:
    """The rows but for those that were erased with a person, here or in any scope of the workspace."""
    texts = [(told["content"], scope.key, told["origins"]) for _n, _record, told in rows]
    erased = suppression.Tombstones.of_workspace(run.workspace.pk).covering(texts, everywhere=True)
    run.leave_out([row[0] for row, gone in zip(rows, erased, strict=True) if gone], LeftOutReason.ERASED)
    return [row for row, gone in zip(rows, erased, strict=True) if not gone]


def _event_step(scope: Scope, event: DailyEvent) -> EventStep:
    return EventStep.of(
        EventDraft(scope=scope, local_date=event.local_date, content=event.content, source=event.source)
    )


def _count(run: Import, kind: str, rows: Sequence[Row], made: Sequence[Any]) -> None:
    run.done.created[kind] += sum(one is not None for one in made)
    run.leave_out([row[0] for row, one in zip(rows, made, strict=True) if one is None], LeftOutReason.SUPPRESSED)


def _entries(run: Import, page: Sequence[Line]) -> None:
    for scope, found in _new_by_scope(run, "entry", Entry, page).items():
        rows = _without_erased(run, scope, found)
        evidence = {row[0]: [EVIDENCE.read(words) for words in row[1].get("evidence") or ()] for row in rows}
        _rename(run, [told for _n, _record, told in rows], [words for some in evidence.values() for words in some])
        successors = _successors_then(run, rows)
        told = [_exported(run, scope, row, evidence[row[0]], successors) for row in rows]
        batch = run.batch(scope)
        with acting(run.actor, batch=batch.pk, run=batch.run):
            entries = exported.bring_in(scope, told)
            made = [entry for entry in entries if entry is not None]
            batches.add_applied(batch, [PlanRow.of(entry, _create_step(entry)) for entry in made])
        _count(run, "entry", rows, entries)


def _create_step(entry: Entry) -> CreateStep:
    return CreateStep(
        draft=UnscopedDraft(
            type=entry.type, content=entry.content, source=entry.source, at=entry.stated_at, tier=entry.tier
        )
    )


def _exported(
    run: Import, scope: Scope, row: Row, evidence: list[dict[str, Any]], successors: Mapping[str, int]
) -> ExportedEntry:
    _number, record, told = row
    if told["path"]:
        path = run.folder.place_of(scope, told["path"])
        told = told | ({"path": path} if path else {"path": "", "line_from": None, "line_to": None})
    return ExportedEntry(
        columns=told,
        is_superseded=record["superseded_by"] is not None,
        slots={slot["number"]: SLOT.read(slot) for slot in record.get("slots") or ()},
        evidence=evidence,
        access=ACCESS.read(record["access"]) if record.get("access") else None,
        history=[_past(change, successors) for change in record.get("history") or ()],
    )


def _past(change: Mapping[str, Any], successors: Mapping[str, int]) -> PastChange:
    columns = CHANGE.read(change)
    if "superseded_by_id" in columns["old"]:
        successor = successors.get(columns["old"]["superseded_by_id"])
        columns["old"] = {**columns["old"], "superseded_by_id": successor}
    return PastChange(slot=change["slot"], columns=columns)


def _successors_then(run: Import, rows: Sequence[Row]) -> dict[str, int]:
    """What had taken the place of these entries at some time, as far as it is here, by its id there."""
    named = (change["old"].get("superseded_by_id") for row in rows for change in row[1].get("history") or ())
    found = run.ids.here(_target(run, Entry), {UUID(uid) for uid in named if uid})
    return {str(uid): entry.pk for uid, entry in found.items()}


def _rename(run: Import, told: Sequence[dict[str, Any]], evidence: Sequence[dict[str, Any]] = ()) -> None:
    """Name the messages and days these rest on as they are named here."""
    origins = {origin for columns in told for origin in columns["origins"]} | {words["origin"] for words in evidence}
    names = by_number(run.workspace.pk, origins, run.session_of)
    days = {origin: uid for origin in origins if (uid := _day_uid(origin))}
    here = run.ids.here(_target(run, DailyEvent), set(days.values()))
    names |= {origin: f"{_DAY}{here[uid].uid}" for origin, uid in days.items() if uid in here}
    for columns in told:
        columns["origins"] = [names.get(origin, origin) for origin in columns["origins"]]
    for words in evidence:
        words["origin"] = names.get(words["origin"], words["origin"])


def _day_uid(origin: str) -> UUID | None:
    try:
        return UUID(origin.removeprefix(_DAY)) if origin.startswith(_DAY) else None
    except ValueError:
        return None


def _with_entries(run: Import, page: Sequence[Line], *names: str) -> list[tuple[int, dict[str, Any], list[Entry]]]:
    """The lines of a page with the entries they name; those that name one that is not here are left out."""
    wanted = {uid for _n, record in page for name in names if (uid := reference(record, name))}
    scopes = {scope.pk for scope in run.scopes.values()}  # a file says nothing of the memory of others
    here = run.ids.here(_target(run, Entry).select_related("scope"), wanted)
    found = {uid: entry for uid, entry in here.items() if entry.scope_id in scopes}
    rows = [(number, record, [found.get(UUID(record[name])) for name in names]) for number, record in page]
    run.leave_out([number for number, _record, entries in rows if None in entries], LeftOutReason.NO_ENTRY)
    return [(n, record, [one for one in entries if one]) for n, record, entries in rows if None not in entries]


def _successors(run: Import, page: Sequence[Line]) -> None:
    if run.is_dry:
        return
    of_scope: defaultdict[Scope, list[NamedSuccessor]] = defaultdict(list)
    brought = [(number, record) for number, record in page if reference(record, "entry") not in run.ids.same]
    for _number, record, (entry, by) in _with_entries(run, brought, "entry", "by"):
        told = columns_of(SUCCESSOR, [(0, record)])[0][2]
        named = NamedSuccessor(entry=entry.pk, successor=by.pk, **told)
        if named.is_news(entry):
            of_scope[entry.scope].append(named)
    for scope, some in of_scope.items():
        batch = run.batch(scope)
        with acting(run.actor, batch=batch.pk, run=batch.run):
            exported.name_successors(some)


def _links(run: Import, page: Sequence[Line]) -> None:
    _tie(run, "link", page, ("from_entry", "to_entry"), exported.link)


def _suppressions(run: Import, page: Sequence[Line]) -> None:
    """What people took out there stays out here, unless somebody has brought it back here."""
    _tie(run, "suppression", page, ("entry",), exported.suppress_again)


def _tie(
    run: Import,
    kind: str,
    page: Sequence[Line],
    names: tuple[str, ...],
    store: Callable[[Iterable[Mapping[str, Any]]], None],
) -> None:
    if run.is_dry:
        run.done.created[kind] += len(page)
        return
    ready: defaultdict[Scope, list[dict[str, Any]]] = defaultdict(list)
    named = _with_entries(run, page, *names)
    first = [entries[0].pk for _n, _record, entries in named]
    there = _tied(kind, first)
    for _number, record, entries in named:
        columns = columns_of(kind, [(0, record)])[0][2]
        columns |= {f"{name}_id": entry.pk for name, entry in zip(names, entries, strict=True)}
        if (kind == "suppression" and entries[0].is_live()) or _key(kind, columns) in there:
            run.done.already[kind] += 1
            continue
        if kind == "suppression":
            columns["scope_id"] = run.scopes[UUID(record["scope"])].pk
        ready[entries[0].scope].append(columns | {"workspace_id": run.workspace.pk})
    for scope, rows in ready.items():
        if kind == "suppression":
            _rename(run, rows)
        batch = run.batch(scope)
        with acting(run.actor, batch=batch.pk, run=batch.run):
            store(rows)
        run.done.created[kind] += len(rows)


def _tied(kind: str, entries: Sequence[int]) -> set[tuple[Any, ...]]:
    """What of the kind hangs on these entries already."""
    if kind == "link":
        return set(Link.objects.filter(from_entry__in=entries).values_list("from_entry_id", "to_entry_id", "kind"))
    return set(Suppression.objects.filter(entry__in=entries).values_list("entry_id"))


def _key(kind: str, columns: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("from_entry_id", "to_entry_id", "kind") if kind == "link" else ("entry_id",)
    return tuple(columns[name] for name in names)


BRING: Mapping[str, Callable[[Import, Sequence[Line]], None]] = {
    "day": _days,
    "entry": _entries,
    SUCCESSOR: _successors,
    "link": _links,
    "suppression": _suppressions,
}
