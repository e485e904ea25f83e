"""The candidates of a recall as a table: each in the words it was served with, and what became of it since."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils import timezone

from memories.admin.files.addresses import file_url
from memories.admin.recall_traces.labels import FEATURES, REASONS, SINCE, signs_in_words
from memories.entries.history import ServedVersion, served_versions, word_diff
from memories.models import Entry, Policy, RecallTrace
from memories.models.state import State, state_of
from memories.recall import traces
from memories.recall.traces import CandidateRecord


@dataclass(frozen=True)
class CandidateRow:
    """One candidate with its entry, as far as that is still there."""

    line: CandidateRecord
    entry: Entry | None
    then: ServedVersion | None
    state: State | None  # now
    is_served: bool
    boosts: dict[str, float]
    is_named_used: bool = False  # the bot said that its answer used it
    is_in_answer: bool = False  # the words of the answer point to it

    @property
    def entry_id(self) -> int:
        return self.line.entry

    @property
    def address(self) -> str:
        return reverse("admin:memories_entry_change", args=[self.entry_id])

    @property
    def history(self) -> str:
        return reverse("admin:memories_entry_history", args=[self.entry_id])

    @property
    def file(self) -> tuple[str, str] | None:
        """The line it is of a file, and where that is shown."""
        entry = self.entry
        if entry is None or not entry.path:
            return None
        place = f"{entry.path}:{entry.line_from}" if entry.line_from else entry.path
        return place, file_url(entry.scope_id, entry.path, entry.line_from)

    @property
    def state_since(self) -> Any:
        """The label of its state, where it is no longer in use."""
        return None if self.state in (None, State.LIVE) else SINCE[State(self.state)]

    @property
    def wording(self) -> list[tuple[str, str]]:
        """What was reworded since, word by word; nothing where it says the same."""
        if self.then is None or self.entry is None or not self.then.is_reworded:
            return []
        return word_diff(self.then.words, self.entry.content)

    @property
    def signs(self) -> list[Any]:
        """What spoke for it, in words."""
        return signs_in_words(self.line)

    @property
    def features(self) -> list[tuple[Any, float]]:
        """What each feature added, by its label, the largest first."""
        added = sorted((self.line.features or {}).items(), key=lambda item: -abs(item[1]))
        return [(FEATURES.get(name, name), value) for name, value in added]

    @property
    def score(self) -> float | None:
        return self.line.score

    @property
    def reason(self) -> Any:
        return REASONS["served"] if self.is_served else REASONS.get(self.line.reason, self.line.reason)


def candidate_rows(trace: RecallTrace) -> list[CandidateRow]:
    """What was served first, in order, then what was left out; entries of other workspaces are never read."""
    kept = {line.entry: line for line in traces.records_of(trace.candidates)}
    order = [*trace.served, *(pk for pk in kept if pk not in trace.served)]
    here = Entry.objects.filter(workspace_id=trace.workspace_id).select_related("scope")
    entries = here.in_bulk(order)
    then = served_versions(trace, entries, {line.entry: line.version for line in kept.values() if line.version})
    weights, now = traces.weights_of(trace.candidates), timezone.now()
    policies = Policy.objects.of(trace.workspace_id)
    states = {pk: state_of(entry, policies.end_of(entry), now) for pk, entry in entries.items()}
    return [
        CandidateRow(
            line=line,
            entry=entries.get(pk),
            then=then.get(pk),
            state=states.get(pk),
            is_served=pk in trace.served,
            boosts=traces.boosts(line, weights),
            is_named_used=pk in (trace.used or ()),
            is_in_answer=pk in (trace.overlap or ()),
        )
        for pk, line in ((pk, kept.get(pk, CandidateRecord(entry=pk))) for pk in order)
    ]


def by_reason(lines: Sequence[CandidateRow]) -> list[tuple[Any, list[CandidateRow]]]:
    """What was left out by the reason why, in the order in which the reasons first come."""
    groups: dict[str, list[CandidateRow]] = {}
    for line in lines:
        groups.setdefault(str(line.reason), []).append(line)
    return list(groups.items())
