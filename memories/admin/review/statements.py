"""What a proposal does, as pairs: what holds now and what would hold, each with the words it rests on."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from django.db.models import F
from django.utils.translation import gettext_lazy

from memories import batches
from memories.admin.batches.detail import VERB_COLORS, ChangeRow, change_row
from memories.admin.entries.page import QuoteLine, quote_lines
from memories.batches import Description
from memories.batches.steps import CreateStep, ReplaceStep, step_of
from memories.choices import BatchVerb, ChangeState, Verification
from memories.entries.history import word_diff
from memories.models import Batch, BatchChange, Entry

#: Rows that are read of a proposal, and pairs the page shows; its batch page has the rest.
ROWS_READ, PAIRS_SHOWN = 60, 20
VERIFICATION_COLORS = {Verification.QUOTED: "warning", Verification.VERIFIED: "success"}

Words = list[tuple[str, str]]  # pieces of a text with the sign of each: kept, gone or new


@dataclass(kw_only=True)
class Statement:
    """A memory as it is, or as the proposal would write it."""

    words: Words
    entry: Entry | None = None
    verification: str = Verification.NONE
    quotes: list[QuoteLine] = field(default_factory=list)
    rests_on: list["Statement"] = field(default_factory=list)
    is_changed: bool = False  # since the proposal was made, which will leave it alone

    @property
    def verification_label(self) -> str:
        return str(Verification(self.verification).label) if self.verification else ""

    @property
    def verification_color(self) -> str | None:
        return VERIFICATION_COLORS.get(Verification(self.verification))


@dataclass(kw_only=True)
class Pair:
    """One thing the proposal does, for people to decide on; `position` is the row that stands for it."""

    position: int
    verb: Any
    verb_color: str | None
    before: list[Statement]
    after: Statement | None
    row: ChangeRow

    @property
    def fate(self) -> str:
        """What becomes of it, where no other statement takes its place."""
        return str(_FATES.get(BatchVerb(self.row.description.change.verb), ""))


_FATES = {
    BatchVerb.PURGE: gettext_lazy("It is removed for good, with its history."),
    BatchVerb.EXPIRE: gettext_lazy("Nothing takes its place: it is not recalled any more."),
    BatchVerb.ARCHIVE: gettext_lazy("Nothing takes its place: it is not recalled any more."),
    BatchVerb.SUPERSEDE: gettext_lazy("What takes its place is not there any more."),
    BatchVerb.MERGE: gettext_lazy("What takes its place is not there any more."),
    BatchVerb.RESTORE: gettext_lazy("It can be recalled again."),
}


def pairs_of(batch: Batch) -> tuple[list[Pair], int]:
    """What a proposal does, what people cared for and what is important first; and how many rows are not shown."""
    changes = BatchChange.objects.filter(workspace_id=batch.workspace_id, batch=batch, state=ChangeState.PLANNED)
    found = changes.select_related("entry", "event").order_by(
        F("entry__pinned").desc(nulls_last=True), F("entry__importance").desc(nulls_last=True), "position"
    )
    read = list(found[: ROWS_READ + 1])
    rows = read[:ROWS_READ]
    known = {row.position for row in rows}
    missing = {into for row in rows if (into := _into_position(row)) and into not in known}
    rows += list(found.filter(position__in=missing)) if missing else []
    groups: dict[int, list[Description]] = {}
    for description in batches.describe(batch, rows):
        key = description.into_position or description.change.position
        groups.setdefault(key, []).append(description)
    shown = dict(list(groups.items())[:PAIRS_SHOWN])
    evidence = _Evidence(batch, chain.from_iterable(shown.values()))
    pairs = [_pair(batch, position, group, evidence) for position, group in shown.items()]
    covered = sum(len(group) for group in shown.values())
    return pairs, max((changes.count() if len(read) > ROWS_READ else len(rows)) - covered, 0)


def _into_position(change: BatchChange) -> int | None:
    step = step_of(change)
    return step.into.position if isinstance(step, ReplaceStep) else None


class _Evidence:
    """The quotes of everything a proposal's shown rows name, and the entries new statements rest on."""

    def __init__(self, batch: Batch, rows: Iterable[Description]) -> None:
        rows = list(rows)
        wanted = {
            pk for row in rows if isinstance(row.step, CreateStep) for pk in (*row.step.sources, *row.step.rests_on)
        }
        stored = Entry.objects.filter(workspace_id=batch.workspace_id)
        self.entries = stored.in_bulk(wanted) if wanted else {}
        named = [row.change.entry_id for row in rows] + [row.into.pk for row in rows if row.into]
        named += [source.pk for row in rows for source in row.sources]
        self._quotes = quote_lines({pk for pk in (*named, *wanted) if pk}, batch.workspace_id)

    def of(self, entry: Entry | None) -> list[QuoteLine]:
        return self._quotes.get(entry.pk, []) if entry else []


def _pair(batch: Batch, position: int, group: Sequence[Description], evidence: _Evidence) -> Pair:
    """The rows that share a successor as one pair; any other row as its own."""
    maker = next((row for row in group if isinstance(row.step, CreateStep)), None)
    replaced = [row for row in group if row is not maker]
    lead = replaced[0] if replaced else group[0]
    old = [_old(row, evidence) for row in replaced or group if row.before is not None]
    new = _new(maker or lead, {one.entry.pk for one in old if one.entry}, evidence)
    if new is not None and len(old) == 1:
        pieces = word_diff(_text(old[0]), _text(new))
        old[0].words = [piece for piece in pieces if piece[0] != "+"]
        new.words = [piece for piece in pieces if piece[0] != "-"]
    verb = BatchVerb(lead.change.verb)
    return Pair(
        position=position,
        verb=verb.label,
        verb_color=VERB_COLORS.get(verb),
        before=old,
        after=new,
        row=change_row(batch, lead),
    )


def _old(row: Description, evidence: _Evidence) -> Statement:
    entry = row.change.entry
    return Statement(
        words=_plain(row.before or ""),
        entry=entry,
        verification=entry.verification if entry else Verification.NONE,
        quotes=evidence.of(entry),
        is_changed=bool(entry and row.change.expected_version and entry.version != row.change.expected_version),
    )


def _new(row: Description, shown: Collection[int], evidence: _Evidence) -> Statement | None:
    """What takes the place of the old: an entry that is there, one the row writes, or other words."""
    if row.into is not None:
        return _stored(row.into, evidence)
    if isinstance(row.step, CreateStep):
        resting = [pk for pk in _resting_on(row) if pk not in shown]
        found = [evidence.entries[pk] for pk in resting if pk in evidence.entries]
        return Statement(
            words=_plain(row.step.draft.content),
            verification=row.step.draft.verification,
            rests_on=[_stored(entry, evidence) for entry in found],
        )
    content = row.into_content or row.after
    return Statement(words=_plain(content)) if content else None


def _resting_on(row: Description) -> list[int]:
    """The entries that a new one rests on and that stay in use."""
    return list(dict.fromkeys((*row.step.sources, *row.step.rests_on))) if isinstance(row.step, CreateStep) else []


def _stored(entry: Entry, evidence: _Evidence) -> Statement:
    return Statement(
        words=_plain(entry.content), entry=entry, verification=entry.verification, quotes=evidence.of(entry)
    )


def _plain(content: str) -> Words:
    return [("=", content)]


def _text(one: Statement) -> str:
    return "".join(words for _sign, words in one.words)
