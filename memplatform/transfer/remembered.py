"""Bringing in what is remembered: days, entries, and what ties entries together, through their doors."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
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
    uids = [columns["uid"] for _n, _record, columns in rows]
    there = run.ids.here(_target(run, model), uids)
    there |= _the_same(run, model, [row for row in rows if row[2]["uid"] not in there])
    ids = run.ids.new(model, [uid for uid in uids if uid not in there])
    run.done.already[kind] += len(there)
    if run.is_dry:
        run.done.created[kind] += len(ids)
        return {}
    new: defaultdict[Scope, list[Row]] = defaultdict(list)
    for number, record, columns in rows:
        if columns["uid"] in ids:
            scope = run.scopes[UUID(record["scope"])]
            new[scope].append((number, record, columns | {"uid": ids[columns["uid"]]}))
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
        # What stands in the scope in the same words and came from elsewhere, the oldest first, by its words
        contents = [columns["content"] for _n, _record, columns in some]
        alike = (
            {"fingerprint__in": [text.fingerprint(content) for content in contents]}
            if model is Entry
            else {"content__in": contents}
        )
        taken_uids = set(run.ids.same.values())
        here: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
        for candidate in model._default_manager.filter(scope=scope, workspace=run.workspace, **alike).order_by("pk"):
            if candidate.uid not in run.brought and candidate.uid not in taken_uids:
                here[candidate.content, getattr(candidate, "type", "")].append(candidate)
        if not here:
            continue
        copies = [(record, dict(columns)) for _n, record, columns in some]
        _rename(run, [columns for _record, columns in copies])
        for record, columns in copies:
            candidates = here[columns["content"], columns.get("type", "")]
            counterpart = next((row for row in candidates if _is_same(row, columns, record)), None)
            if counterpart is not None:
                candidates.remove(counterpart)
                same[columns["uid"]] = counterpart
                run.ids.same[columns["uid"]] = counterpart.uid
    return same


def _is_same(row: Any, columns: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Whether a row in the same words is of the same time or message, and in use here as there."""
    marks = ("expired_at", "archived_at", "suppressed_at")
    is_over = record.get("superseded_by") is not None or any(columns.get(mark) for mark in marks)
    was_over = getattr(row, "superseded_by_id", None) is not None or any(getattr(row, mark, None) for mark in marks)
    time = "local_date" if isinstance(row, DailyEvent) else "stated_at"
    is_of_one = getattr(row, time) == columns[time] or not set(row.origins).isdisjoint(columns["origins"])
    return is_over == was_over and is_of_one


def _days(run: Import, page: Sequence[Line]) -> None:
    for scope, new in _new_by_scope(run, "day", DailyEvent, page).items():
        rows = _without_erased(run, scope, new)
        _rename(run, [columns for _n, _record, columns in rows])
        with run.batch(scope) as batch:
            events = daily_events.bring_in(scope, [columns for _n, _record, columns in rows])
            items = [event for event in events if event is not None]
            drafts = [
                EventDraft(scope=scope, local_date=event.local_date, content=event.content, source=event.source)
                for event in items
            ]
            steps = [
                PlanRow(step=EventStep.of(draft), event_id=event.pk) for draft, event in zip(drafts, items, strict=True)
            ]
            batches.add_applied(batch, steps)
        _count(run, "day", rows, events)


def _without_erased(run: Import, scope: Scope, rows: Sequence[Row]) -> list[Row]:
    """The rows but for those that were erased with a person, here or in any scope of the workspace."""
    texts = [(columns["content"], scope.key, columns["origins"]) for _n, _record, columns in rows]
    erased = suppression.Tombstones.of_workspace(run.workspace.pk).covering(texts, everywhere=True)
    run.leave_out([row[0] for row, is_erased in zip(rows, erased, strict=True) if is_erased], LeftOutReason.ERASED)
    return [row for row, is_erased in zip(rows, erased, strict=True) if not is_erased]


def _count(run: Import, kind: str, rows: Sequence[Row], items: Sequence[Any]) -> None:
    run.done.created[kind] += sum(item is not None for item in items)
    run.leave_out([row[0] for row, item in zip(rows, items, strict=True) if item is None], LeftOutReason.SUPPRESSED)


def _entries(run: Import, page: Sequence[Line]) -> None:
    for scope, new in _new_by_scope(run, "entry", Entry, page).items():
        rows = _without_erased(run, scope, new)
        evidence = {row[0]: [EVIDENCE.read(words) for words in row[1].get("evidence") or ()] for row in rows}
        _rename(
            run, [columns for _n, _record, columns in rows], [words for some in evidence.values() for words in some]
        )
        # What had taken the place of these entries at some time, as far as it is here, by its id there
        later_uids = (change["old"].get("superseded_by_id") for row in rows for change in row[1].get("history") or ())
        later = run.ids.here(_target(run, Entry), {UUID(uid) for uid in later_uids if uid})
        successors = {str(uid): entry.pk for uid, entry in later.items()}
        exported_entries = [_exported_entry(run, scope, row, evidence[row[0]], successors) for row in rows]
        with run.batch(scope) as batch:
            entries = exported.bring_in(scope, exported_entries)
            new_rows = [entry for entry in entries if entry is not None]
            drafts = [
                UnscopedDraft(
                    type=entry.type, content=entry.content, source=entry.source, at=entry.stated_at, tier=entry.tier
                )
                for entry in new_rows
            ]
            steps = [PlanRow.of(entry, CreateStep(draft=draft)) for entry, draft in zip(new_rows, drafts, strict=True)]
            batches.add_applied(batch, steps)
        _count(run, "entry", rows, entries)


def _exported_entry(
    run: Import, scope: Scope, row: Row, evidence: list[dict[str, Any]], successors: Mapping[str, int]
) -> ExportedEntry:
    _number, record, columns = row
    if columns["path"]:
        path = run.folder.place_of(scope, columns["path"])
        columns = columns | ({"path": path} if path else {"path": "", "line_from": None, "line_to": None})
    history = []
    for change in record.get("history") or ():
        past = CHANGE.read(change)
        if "superseded_by_id" in past["old"]:
            successor = successors.get(past["old"]["superseded_by_id"])
            past["old"] = {**past["old"], "superseded_by_id": successor}
        history.append(PastChange(slot=change["slot"], columns=past))
    return ExportedEntry(
        columns=columns,
        is_superseded=record["superseded_by"] is not None,
        slots={slot["number"]: SLOT.read(slot) for slot in record.get("slots") or ()},
        evidence=evidence,
        access=ACCESS.read(record["access"]) if record.get("access") else None,
        history=history,
    )


def _rename(run: Import, rows: Sequence[dict[str, Any]], evidence: Sequence[dict[str, Any]] = ()) -> None:
    """Name the messages and days these rest on as they are named here."""
    origins = {origin for columns in rows for origin in columns["origins"]} | {words["origin"] for words in evidence}
    names = by_number(run.workspace.pk, origins, run.session_of)
    days = {}
    for origin in (origin for origin in origins if origin.startswith(_DAY)):
        with suppress(ValueError):
            days[origin] = UUID(origin.removeprefix(_DAY))
    here = run.ids.here(_target(run, DailyEvent), set(days.values()))
    names |= {origin: f"{_DAY}{here[uid].uid}" for origin, uid in days.items() if uid in here}
    for columns in rows:
        columns["origins"] = [names.get(origin, origin) for origin in columns["origins"]]
    for words in evidence:
        words["origin"] = names.get(words["origin"], words["origin"])


def _with_entries(run: Import, page: Sequence[Line], *names: str) -> list[tuple[int, dict[str, Any], list[Entry]]]:
    """The lines of a page with the entries they name; those that name one that is not here are left out."""
    uids = {uid for _n, record in page for name in names if (uid := reference(record, name))}
    scopes = {scope.pk for scope in run.scopes.values()}  # a file says nothing of the memory of others
    here = run.ids.here(_target(run, Entry).select_related("scope"), uids)
    of_scopes = {uid: entry for uid, entry in here.items() if entry.scope_id in scopes}
    rows = [(number, record, [of_scopes.get(UUID(record[name])) for name in names]) for number, record in page]
    run.leave_out([number for number, _record, entries in rows if None in entries], LeftOutReason.NO_ENTRY)
    return [(n, record, [entry for entry in entries if entry]) for n, record, entries in rows if None not in entries]


def _successors(run: Import, page: Sequence[Line]) -> None:
    if run.is_dry:
        return
    of_scope: defaultdict[Scope, list[NamedSuccessor]] = defaultdict(list)
    lines = [(number, record) for number, record in page if reference(record, "entry") not in run.ids.same]
    for _number, record, (entry, by) in _with_entries(run, lines, "entry", "by"):
        columns = columns_of(SUCCESSOR, [(0, record)])[0][2]
        successor = NamedSuccessor(entry=entry.pk, successor=by.pk, **columns)
        if successor.is_news(entry):
            of_scope[entry.scope].append(successor)
    for scope, some in of_scope.items():
        with run.batch(scope):
            exported.name_successors(some)


#: What hangs on entries, and by what two of it are the same.
_TIED: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "link": (Link, ("from_entry_id", "to_entry_id", "kind")),
    "suppression": (Suppression, ("entry_id",)),
}


def _tie(run: Import, page: Sequence[Line], *, kind: str, names: tuple[str, ...]) -> None:
    """Bring in what hangs on entries; what people took out there stays out, unless it was brought back here."""
    if run.is_dry:
        run.done.created[kind] += len(page)
        return
    ready: defaultdict[Scope, list[dict[str, Any]]] = defaultdict(list)
    lines = _with_entries(run, page, *names)
    # What of the kind hangs on these entries already
    model, key = _TIED[kind]
    hanging = model.objects.filter(**{f"{names[0]}__in": [entries[0].pk for _n, _record, entries in lines]})
    there = set(hanging.values_list(*key))
    for _number, record, entries in lines:
        columns = columns_of(kind, [(0, record)])[0][2]
        columns |= {f"{name}_id": entry.pk for name, entry in zip(names, entries, strict=True)}
        if (kind == "suppression" and entries[0].is_live()) or tuple(columns[name] for name in key) in there:
            run.done.already[kind] += 1
            continue
        if kind == "suppression":
            columns["scope_id"] = run.scopes[UUID(record["scope"])].pk
        ready[entries[0].scope].append(columns | {"workspace_id": run.workspace.pk})
    for scope, rows in ready.items():
        if kind == "suppression":
            _rename(run, rows)
        with run.batch(scope):
            exported.tie(model, rows)
        run.done.created[kind] += len(rows)


BRING: Mapping[str, Callable[[Import, Sequence[Line]], None]] = {
    "day": _days,
    "entry": _entries,
    SUCCESSOR: _successors,
    "link": partial(_tie, kind="link", names=("from_entry", "to_entry")),
    "suppression": partial(_tie, kind="suppression", names=("entry",)),
}
