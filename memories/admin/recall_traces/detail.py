"""The page of a trace: what was served then and what was left out, its steps, and a replay as of now (F5)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memories import recall
from memories.admin.recall_traces.candidates import by_reason, candidate_rows
from memories.admin.recall_traces.events import event_rows
from memories.admin.recall_traces.labels import CHANGES, DEGRADED, MODES, STEPS
from memories.entries.history import ServedVersion, served_versions
from memories.models import Entry, RecallTrace, Scope
from memories.recall import traces

EMBED_SECONDS = 3.0  # people wait longer than bots do


@dataclass(frozen=True)
class ReplayRow:
    """One memory of the same question asked again."""

    entry: Entry | None
    words: str
    before: int | None
    now: int | None
    label: Any
    color: str | None


def trace_context(trace: RecallTrace) -> dict[str, Any]:
    """The context of the page of a trace."""
    lines, events, cached = candidate_rows(trace), event_rows(trace), trace.evidence.get("cached_from")
    here = RecallTrace.objects.filter(workspace_id=trace.workspace_id)
    return {
        "trace": trace,
        "lines": lines,
        "served_lines": [line for line in lines if line.is_served],
        "left_out": by_reason([line for line in lines if not line.is_served]),
        "uses": _uses(trace),
        "missing": [DEGRADED.get(part, part) for part in trace.degraded],
        "mode": MODES.get(trace.query.get("mode", "hybrid")),
        "highest": max((line.score or 0.0 for line in lines), default=0.0) or 1.0,
        "said_lines": events,
        "said_highest": max((line.event.score for line in events), default=0.0) or 1.0,
        "is_reranked": any(line.line.rerank for line in lines),
        "weights": traces.weights_of(trace.candidates),
        "steps": _steps(trace),
        "cached_from": here.filter(uid=cached).first() if cached else None,
        "is_purged": trace.is_purged,
        "scopes": Scope.objects.filter(pk__in=trace.scopes, workspace_id=trace.workspace_id),
    }


def _uses(trace: RecallTrace) -> str:
    """How it is known what the answer used: told by the bot, guessed from its words, or not at all."""
    if trace.used is not None:
        return "told"
    return "unknown" if trace.overlap is None else "guessed"


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
