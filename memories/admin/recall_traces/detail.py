"""The page of a trace: its candidates with every number, its steps, and a replay as of now (F5)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories import recall
from memories.admin.files.addresses import file_url
from memories.admin.recall_traces.events import event_rows
from memories.entries.versions import ServedVersion, served_versions
from memories.models import Entry, Policy, RecallTrace, Scope
from memories.models.state import State, state_of
from memories.recall import explanation, traces
from memories.recall.explanation import CandidateRecord

#: Labels of the reasons of candidates.
REASONS = {
    "served": _("served"),
    "limit": _("others were better"),
    "rank": _("others were better"),  # of traces before they said so
    "quota": _("its kind had its places"),
    "duplicate": _("said already by another that is served"),
    "floor": _("too far from the question"),
    "history": _("said by the conversation that was handed out"),
    "echo": _("only asked, or repeated from memory"),
    "expired": _("expired"),
    "archived": _("archived"),
    "superseded": _("something newer took its place"),
    "quarantined": _("in quarantine"),
    "suppressed": _("taken out by people"),
    "other_scope": _("not for this group to hear"),
    "other_project": _("of another project than was named"),
}
MODES = {
    "hybrid": _("words and meaning"),
    "vector": _("meaning alone"),
    "keyword": _("words as they stand"),
    "fts": _("full text"),
}
STEPS = {
    "need": _("does it need memory?"),
    "policies": _("policies"),
    "words": _("words"),
    "dates": _("days that are named"),
    "embedding": _("embedding"),
    "pending": _("waiting for the newest vectors"),
    "average": _("average of the scope"),
    "history": _("what the conversation says"),
    "search": _("search"),
    "rank": _("weighing"),
    "rerank": _("reranker"),
    "corrections": _("corrections first"),
    "quotas": _("quotas"),
    "evidence": _("is it enough?"),
    "context": _("context text"),
    "events": _("what was said then"),
    "passed_over": _("what may not be served"),
}
FEATURES = {
    "first_person": _("said in the first person"),
    "time_words": _("says when"),
    "own_vector": _("near by its own words"),
    "words_of_others": _("somebody else's words"),
    "answers_previous": _("answers the line before"),
    "mentions_speaker": _("speaks of the one who is asked about"),
    "word_pairs": _("words in the question's order"),
    "vector_rank": _("its place by meaning"),
}
SINCE = {
    State.DUE: _("past its time since"),
    State.EXPIRED: _("expired since"),
    State.ARCHIVED: _("archived since"),
    State.SUPERSEDED: _("replaced since"),
    State.QUARANTINED: _("in quarantine since"),
    State.SUPPRESSED: _("taken out since"),
}
CHANGES = {
    "came": (_("new"), "success"),
    "went": (_("gone"), "danger"),
    "up": (_("higher"), "info"),
    "down": (_("lower"), "warning"),
    "stayed": (_("same place"), None),
}
EMBED_SECONDS = 3.0  # people wait longer than bots do


@dataclass(frozen=True)
class CandidateRow:
    """One candidate with its entry, as far as that is still there."""

    line: CandidateRecord
    entry: Entry | None
    then: ServedVersion | None
    state: State | None  # now
    is_served: bool
    boosts: dict[str, float]

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


@dataclass(frozen=True)
class ReplayRow:
    """One memory of the same question asked again."""

    entry: Entry | None
    words: str
    before: int | None
    now: int | None
    label: Any
    color: str | None


def candidate_rows(trace: RecallTrace) -> list[CandidateRow]:
    """What was served first, in order, then what was left out; entries of other workspaces are never read."""
    kept = {line.entry: line for line in explanation.records_of(trace.candidates)}
    order = [*trace.served, *(pk for pk in kept if pk not in trace.served)]
    here = Entry.objects.filter(workspace_id=trace.workspace_id).select_related("scope")
    entries = here.in_bulk(order)
    then = served_versions(trace, entries, {line.entry: line.version for line in kept.values() if line.version})
    weights, now = explanation.weights_of(trace.candidates), timezone.now()
    policies = Policy.objects.of(trace.workspace_id)
    states = {pk: state_of(entry, policies.end_of(entry), now) for pk, entry in entries.items()}
    return [
        CandidateRow(
            line=line,
            entry=entries.get(pk),
            then=then.get(pk),
            state=states.get(pk),
            is_served=pk in trace.served,
            boosts=explanation.boosts(line, weights),
        )
        for pk, line in ((pk, kept.get(pk, CandidateRecord(entry=pk))) for pk in order)
    ]


def trace_context(trace: RecallTrace) -> dict[str, Any]:
    """The context of the page of a trace."""
    lines, events, cached = candidate_rows(trace), event_rows(trace), trace.evidence.get("cached_from")
    here = RecallTrace.objects.filter(workspace_id=trace.workspace_id)
    return {
        "trace": trace,
        "lines": lines,
        "served_lines": [line for line in lines if line.is_served],
        "left_out_lines": [line for line in lines if not line.is_served],
        "mode": MODES.get(trace.query.get("mode", "hybrid")),
        "highest": max((line.score or 0.0 for line in lines), default=0.0) or 1.0,
        "said_lines": events,
        "said_highest": max((line.event.score for line in events), default=0.0) or 1.0,
        "is_reranked": any(line.line.rerank for line in lines),
        "weights": explanation.weights_of(trace.candidates),
        "steps": _steps(trace),
        "cached_from": here.filter(uid=cached).first() if cached else None,
        "is_purged": trace.is_purged,
        "scopes": Scope.objects.filter(pk__in=trace.scopes, workspace_id=trace.workspace_id),
    }


def _steps(trace: RecallTrace) -> list[tuple[Any, float]]:
    """The steps in the order they were taken, then those of other versions."""
    took = trace.timings
    return [
        (STEPS.get(name, name), took[name])
        for name in [*STEPS, *(took.keys() - STEPS)]
        if name in took.keys() - {"total"}
    ]


def replay_context(trace: RecallTrace, *, now: datetime) -> dict[str, Any]:
    """The same question as of now, leaving no trace of its own; what came, went and moved."""
    result = recall.recall(
        traces.query_of(trace),
        now=now,
        zone=trace.workspace.zone(),
        embed_seconds=EMBED_SECONDS,
        recorded=False,
    )
    moves = traces.rank_changes(trace, result.served)
    entries = Entry.objects.filter(workspace_id=trace.workspace_id).in_bulk([move.entry_id for move in moves])
    then = served_versions(trace, entries)
    return {
        "again": [_change(move, entries.get(move.entry_id), then.get(move.entry_id)) for move in moves],
        "again_is_the_same": all(move.change == "stayed" for move in moves),
        "again_evidence": result.answerability.verdict,
        "again_degraded": result.degraded,
    }


def _change(move: traces.RankChange, entry: Entry | None, then: ServedVersion | None) -> ReplayRow:
    """In the words it is served with now; what is gone from the answer in those it was served with."""
    label, color = CHANGES[move.change]
    words = then.words if then and move.now is None else entry.content if entry else ""
    return ReplayRow(entry, words, move.before, move.now, label, color)


_NAMES = {
    "limit": _("At most"),
    "mode": _("Manner"),
    "need": _("Whether memory is needed"),
    "asker": _("By whom"),
    "resolved": _("Meant by the messages before"),
    "relations": _("Known of people"),
    "quotas": _("Quotas"),
    "token_budget": _("Tokens at most"),
    "filters": _("Only with"),
    "types": _("type"),
    "project": _("project"),
    "since": _("Since"),
    "until": _("Until"),
    "similarity": _("similarity"),
    "strength": _("Strength of the best"),
    "words": _("Share of the question's words"),
    "lead": _("Lead of the one who is asked about"),
    "entries": _("Memories searched"),
    "speaker": _("Names a speaker"),
    "date": _("Names a day"),
    "days": _("Days read"),
    "about_asker": _("About the one who asks"),
    "contrast": _("Nearer than typical questions"),
}


def query_label(values: dict[str, Any]) -> str:
    """`At most: 8 · Manner: hybrid`: what says nothing (empty, no, none) is left out."""
    kept = {name: value for name, value in values.items() if value not in (None, "", [], {}, False)}
    order = [*(name for name in _NAMES if name in kept), *(name for name in kept if name not in _NAMES)]
    return " · ".join(f"{_NAMES.get(name, name.replace('_', ' '))}: {_value_label(kept[name])}" for name in order)


def _value_label(value: Any) -> str:
    if value is True:
        return gettext("yes")
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list):
        return ", ".join(map(_value_label, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_value_label(inner)}" for name, inner in value.items())
    return str(value)
