"""Descriptions of the rows of a batch for people: what each changed, or would change, with values before and after."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import pgettext

from memories import entries
from memories.batches import steps
from memories.choices import BatchState, ChangeState, Operation, Outcome, SkipReason, category_rule
from memories.language.confidential import find_secrets
from memories.models import Batch, BatchChange, Change, DailyEvent, Entry, Slot, state

Values = tuple[Any, Any]  # before and after
#: Attributes described of an entry that an undo puts back, beside its content.
ATTRIBUTES = (
    "type", "tier", "category", "project", "topic", "importance", "pinned", "expires_at", "review_at", "verified_at",
    "verified_by",
)  # fmt: skip
#: Marks that take an entry out of use are described as set or not.
MARKS = {state.value: column for state, column in state.MARKS.items()}
_MADE = (ChangeState.APPLIED, ChangeState.UNDONE)


@dataclass(kw_only=True)
class Description:
    """One row of a batch, as people read it."""

    change: BatchChange
    step: steps.Step
    note: tuple[str, str] | None = None  # the code and the words
    before: str | None = None  # the content; None when the row creates it
    after: str | None = None  # None when the content stays
    columns: dict[str, Values] = field(default_factory=dict)
    slots: dict[str, Values] = field(default_factory=dict)
    into: Entry | None = None  # the successor
    into_position: int | None = None  # the row that creates the successor
    into_content: str = ""
    sources: list[Entry] = field(default_factory=list)  # entries replaced by the one it creates
    policy: tuple[steps.Values, steps.Values] | None = None  # before and after

    @property
    def secrets(self) -> list[str]:
        """The words it would store that are a credential: no entry holds them yet."""
        draft = getattr(self.step, "draft", None)
        category = draft.category if draft else self.columns.get("category", ("", ""))[1]
        entry = self.change.entry
        is_one = category_rule(category or (entry.category if entry else "")).is_secret
        return [words for words in (self.after, self.into_content) if words and (is_one or find_secrets(words))]


def describe(batch: Batch, changes: Sequence[BatchChange]) -> list[Description]:
    """Describe rows of a batch, in a constant number of queries."""
    rows = [Description(change=change, step=steps.step_of(change), note=note_of(change)) for change in changes]
    past = _Past.of(batch, rows)
    _describe_successors(batch, rows)

    # by position, the entries replaced by the one the row creates
    sources: defaultdict[int, list[Entry]] = defaultdict(list)
    if positions := [row.change.position for row in rows if isinstance(row.step, steps.CreateStep)]:
        replaced = steps.replaced_by_rows(BatchChange.objects.filter(batch=batch), positions)
        replaced = replaced.exclude(state=ChangeState.LEFT).select_related("entry").order_by("position")
        for change in replaced:
            step = steps.step_of(change)
            if change.entry and isinstance(step, steps.ReplaceStep):
                sources[step.into.position or 0].append(change.entry)
    for row in rows:
        if row.change.event or isinstance(row.step, steps.EventStep):
            # Describe the content of an event, and whether it is expired
            event, was = row.change.event, past.before(DailyEvent, row.change)
            if isinstance(row.step, steps.EventStep):
                row.after = row.step.content
                if event and "content" not in was and row.change.state in _MADE:
                    row.after = event.content  # the batch made it
                elif event:
                    row.before = was.get("content", event.content)
            elif event:
                became = past.undone[DailyEvent].get(event.pk, {})
                row.before, row.after = was.get("content", event.content), became.get("content")
                row.columns = _pairs({"expired_at": event.expired_at} | was, became)
        else:
            _describe_words(row, past)
        row.sources = sources.get(row.change.position, [])
    return rows


def note_of(change: BatchChange) -> tuple[str, str] | None:
    """Why a row was not applied as planned, as a code and in words; None for others."""
    code, _colon, detail = change.note.partition(": ")
    if code == SkipReason.STANDS:
        return code, str(SkipReason.STANDS.label) % {"batches": detail}
    if code in SkipReason.values:
        return code, detail or str(SkipReason(code).label)
    if code in Outcome.values:
        return code, str(_OUTCOMES.get(Outcome(code), Outcome(code).label)())
    return ("note", change.note) if change.note else None


def blocking_batches(change: BatchChange) -> list[str]:
    """The batches to undo before this row can be undone, where it was skipped because of them."""
    code, _colon, detail = change.note.partition(": ")
    return detail.split(", ") if code == SkipReason.STANDS and detail not in ("", "—") else []


_OUTCOMES: Mapping[Outcome, Any] = {
    Outcome.MERGED: lambda: pgettext("batch", "It became part of an entry that said nearly the same."),
    Outcome.SKIPPED: lambda: pgettext("batch", "An entry said exactly this already."),
}


def _describe_words(row: Description, past: "_Past") -> None:
    change, entry = row.change, row.change.entry
    was = past.before(Entry, change)
    row.before = was.get("content", entry.content if entry else None)
    match row.step:
        case steps.CreateStep(draft=draft):
            row.before, row.after = was.get("content"), draft.content
        case steps.EditStep(columns=columns, slots=slots):
            values = dict(columns)
            content = values.pop("content", None)
            row.after = None if content is None else str(content)
            row.columns = {name: (was.get(name, getattr(entry, name, None)), value) for name, value in values.items()}
            had = past.slots_of(change)
            row.slots = {name: (had.get(name), value) for name, value in slots.items()}
        case steps.PolicyStep() as step:
            row.policy = step.change
        case steps.UndoStep():
            became = past.undone[Entry].get(change.entry_id or 0, {})
            if entry and "expires_at" in was:  # the undo of an expiry whose time is over sets a new end
                became = became | {"expires_at": entry.expires_at}
            row.after = became.get("content")
            row.columns = _pairs({name: getattr(entry, name, None) for name in became} | was, became)


def _pairs(was: Mapping[str, Any], becomes: Mapping[str, Any]) -> dict[str, Values]:
    attributes = {name: (was[name], becomes[name]) for name in ATTRIBUTES if name in becomes}
    marks = {mark: (bool(was[name]), bool(becomes[name])) for mark, name in MARKS.items() if name in becomes}
    return attributes | marks


_Columns = dict[int, dict[str, Any]]  # by row
_COLUMN: Mapping[type[Entry | DailyEvent], str] = {Entry: "entry_id", DailyEvent: "event_id"}


@dataclass(kw_only=True)
class _Past:
    """Entries, events and slots before the batch, and before the batch it undoes."""

    changed: dict[type[Entry | DailyEvent], _Columns] = field(default_factory=lambda: {Entry: {}, DailyEvent: {}})
    undone: dict[type[Entry | DailyEvent], _Columns] = field(default_factory=lambda: {Entry: {}, DailyEvent: {}})
    slots: dict[int, dict[str, str]] = field(default_factory=dict)  # by entry, as they are
    old_slots: dict[int, dict[str, str | None]] = field(default_factory=dict)  # by entry, before the batch

    @classmethod
    def of(cls, batch: Batch, rows: Sequence[Description]) -> "_Past":
        past = cls()
        for model, column in _COLUMN.items():
            ids = [pk for row in rows if (pk := getattr(row.change, column)) is not None]
            if batch.state != BatchState.PROPOSED:
                past.changed[model] = _before(batch.pk, ids, model)
            if batch.undoes_id:
                past.undone[model] = _before(batch.undoes_id, ids, model)
        edited = [row.change for row in rows if isinstance(row.step, steps.EditStep) and row.step.slots]
        with_slots = [change.entry_id for change in edited if change.entry_id is not None]
        if not with_slots:
            return past
        names: dict[int, tuple[int, str]] = {}
        for slot in Slot.objects.filter(workspace_id=batch.workspace_id, entry_id__in=with_slots):
            past.slots.setdefault(slot.entry_id, {})[slot.name] = slot.value
            names[slot.pk] = (slot.entry_id, slot.name)
        changes = Change.objects.filter(batch_id=batch.pk, table_name=Slot._meta.db_table)
        for change in changes.order_by("-id").only("row_id", "op", "old"):
            if change.op == Operation.DELETE:
                names[change.row_id] = (change.old["entry_id"], change.old["name"])
            if change.row_id in names:
                entry, name = names[change.row_id]
                old = None if change.op == Operation.INSERT else change.old.get("value")
                past.old_slots.setdefault(entry, {})[name] = old
        return past

    def before(self, model: type[Entry | DailyEvent], change: BatchChange) -> dict[str, Any]:
        """The columns a row changed, before it; empty when it was not applied."""
        return self.changed[model].get(getattr(change, _COLUMN[model]), {}) if change.state in _MADE else {}

    def slots_of(self, change: BatchChange) -> dict[str, str | None]:
        entry = change.entry_id or 0
        old = self.old_slots.get(entry, {}) if change.state in _MADE else {}
        return {**self.slots.get(entry, {}), **old}


def _before(batch: int, rows: Sequence[int], model: type[Entry | DailyEvent]) -> _Columns:
    """By row, the columns a batch changed, before it; what it made counts as out of use."""
    prior = entries.rows_before(batch, model._meta.db_table, rows) if rows else {}
    expired = {"archived_at" if model is Entry else "expired_at": True}
    return {pk: row.columns | (expired if row.is_new else {}) for pk, row in prior.items()}


def _describe_successors(batch: Batch, rows: Iterable[Description]) -> None:
    """Describe the successors of entries: stored ones, and those that rows of the batch create."""
    replaced = [(row, row.step.into) for row in rows if isinstance(row.step, steps.ReplaceStep)]
    ids = {into.entry for _row, into in replaced if into.entry}
    positions = {into.position for _row, into in replaced if into.position}
    stored_entries = Entry.objects.filter(workspace_id=batch.workspace_id).in_bulk(ids) if ids else {}
    makers = BatchChange.objects.filter(batch=batch, position__in=positions).select_related("entry")
    by_position = {maker.position: maker for maker in makers} if positions else {}
    for row, into in replaced:
        if maker := by_position.get(into.position or 0):
            step = steps.step_of(maker)
            row.into_position, row.into = maker.position, maker.entry
            row.into_content = step.draft.content if isinstance(step, steps.CreateStep) else ""
        else:
            row.into = stored_entries.get(into.entry or 0)
            row.into_content = row.into.content if row.into else ""
