"""How many questions a week asks an operator, and what happens without one: merges, replacements, each right or wrong.

    python -m evals.measurements questions_of_a_week [--share 7] [--errs 0.02] [--show]

Seven days of 1,000 turns of 56 people in both languages, alone and in groups (`simulated_week`), at the door a bot
speaks at, with extraction when a conversation pauses, the sweep of each night and the run of the week. `--share 7` has
a seventh of the people say a seventh of it: the counts are to be taken times seven. Nobody answers anything. The model
is scripted: it knows what is said, misses one of five replacements, and errs as often as `--errs` says, in its first
reading and in its second.
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

from channels_app import turns as door
from evals.measurements.compression import model
from evals.measurements.simulated_week import Model, Spec, Turn, Week, week
from memories.batches.approval import open_questions
from memories.batches.steps import ReplaceStep, step_of
from memories.choices import BatchState, BatchVerb, ChangeState
from memories.consolidation import compression, extraction
from memories.consolidation.capture import Turn as Captured
from memories.entries import write
from memories.index import worker
from memories.language.likeness import Likeness
from memories.models import Batch, BatchChange, Entry, Workspace
from memories.tenancy.resolver import Address

BEGINS = datetime(2026, 3, 2, tzinfo=UTC)
PEOPLE, TURNS = 56, 1_000
PAUSE = timedelta(hours=1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--share", type=int, default=7, help="one part of so many is played")
    parser.add_argument("--errs", type=float, default=0.02, help="how often the model errs")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--show", action="store_true", help="also every question, and what was wrong")


def main(options: argparse.Namespace) -> None:
    begun = time.monotonic()
    played = week(PEOPLE // options.share, TURNS // options.share, BEGINS, options.seed)
    counts_by_kind = Counter(turn.kind for turn in played.turns)
    print(f"{len(played.turns)} turns: " + ", ".join(f"{count} {kind}" for kind, count in counts_by_kind.most_common()))
    with model() as fake:
        reads = Model(played, options.errs)
        fake.otherwise, fake.reader = reads.answer, reads.read
        merges: list[tuple[str, str]] = []
        with _noted(merges):
            workspaces = play(played)
    counts, lines = judge(played, workspaces, merges)
    print(f"errors of the model: {reads.lies} of the first reading\n")
    print(f"| | played | a week of 7,000 turns (× {options.share}) |\n|---|--:|--:|")
    for name, count in counts.items():
        print(f"| {name} | {count} | {count * options.share} |")
    print(f"\n{time.monotonic() - begun:.0f} s, {time.process_time():.0f} s of them this process's")
    if options.show:
        print("\n".join(lines))


class _noted:
    """Notes which facts are made one where they are written."""

    def __init__(self, merges: list[tuple[str, str]]) -> None:
        self._merged, self._best = merges, write.best_candidate

    def __enter__(self) -> None:
        def best(one: Any, candidates: Any) -> Any:
            candidate = self._best(one, candidates)
            if candidate[0] is not None and candidate[1] is Likeness.ALIKE and one.draft.type == "fact":
                self._merged.append((candidate[0].content, one.draft.content))
            return candidate

        write.best_candidate = best

    def __exit__(self, *_error: object) -> None:
        write.best_candidate = self._best


def play(played: Week) -> dict[str, Workspace]:
    """The week: each turn when it is said, what has paused read within the hour, the nights and the Monday."""
    workspaces = {
        language: Workspace.objects.create(name=f"week {language}", language=name)
        for language, name in (("en", "en"), ("zh", "zh-hans"))
    }
    due = BEGINS
    for turn in played.turns:
        while turn.at >= due + PAUSE:
            due += PAUSE
            _read(due)
            if due.hour == 0:
                _night(workspaces, due)
        _say(workspaces[turn.language], turn)
    end = BEGINS + timedelta(days=7)
    _read(end)
    _night(workspaces, end)
    for workspace in workspaces.values():
        compression.compress_facts(workspace.pk, clock=lambda: end, run=f"compress:{workspace.pk}")
    return workspaces


def _say(workspace: Workspace, turn: Turn) -> None:
    group = {"chat": f"room-{turn.language}", "is_group": True} if turn.in_group else {}
    address = Address(platform="telegram", account="week", peer=turn.who, **group)
    exchange = Captured(address=address, user=turn.user, assistant=turn.assistant, at=turn.at, sender_name=turn.who)
    door.take_turn(workspace.caller("evals:week"), exchange, now=turn.at)


def _read(now: datetime) -> None:
    worker.drain(now=now)
    extraction.extract_ready(lambda: now)


def _night(workspaces: dict[str, Workspace], now: datetime) -> None:
    for workspace in workspaces.values():
        extraction.extract_all(lambda: now, workspace_id=workspace.pk)
        compression.compress_days(workspace.pk, clock=lambda: now, run=f"days:{workspace.pk}:{now.date()}")
    worker.drain(now=now)


def judge(
    played: Week, workspaces: dict[str, Workspace], merges: Sequence[tuple[str, str]]
) -> tuple[dict[str, int], list[str]]:
    """What an operator would have been asked, and what happened without one; of it right and wrong."""
    ours = {"workspace__in": list(workspaces.values())}
    counts: Counter[str] = Counter()
    lines: list[str] = []
    held_batches = Batch.objects.filter(**ours).exclude(held_because=[])
    open_now = {question.batch for question in open_questions([workspace.pk for workspace in workspaces.values()])}
    counts["questions asked"] = held_batches.count()
    counts["… that wait at the end"] = len(open_now)
    for row in _rows(held_batches):
        old, new = _specs(played, row)
        is_yes = old is not None and played.is_over(old, row.batch.created_at)
        counts["rows of them"] += 1
        counts["… that a person says yes to"] += is_yes
        why = ",".join(str(reason.get("code", reason)) for reason in row.batch.held_because)
        lines.append(f"asked ({why}): {_old(row)} → {_words(row)}{' YES' if is_yes else ''}")
    applied_batches = Batch.objects.filter(**ours, state=BatchState.APPLIED)
    for row in _rows(applied_batches, BatchVerb.SUPERSEDE):
        old, _new = _specs(played, row)
        right = old is not None and played.is_over(old, row.batch.created_at)
        counts["replaced at once"] += 1
        counts["… wrongly"] += not right
        lines += [] if right else [f"wrongly replaced: {_old(row)} → {_words(row)}"]
    for one, other in [*merges, *_merged_in_batches(applied_batches)]:
        right = played.facts.get(one) is not None and played.facts.get(one) == played.facts.get(other)
        counts["made one"] += 1
        counts["… that differ"] += not right
        lines += [] if right else [f"wrongly one: {one} = {other}"]
    live = Entry.objects.live().filter(**ours, type="fact").select_related("scope")
    _count_left(played, live, held_batches, counts, lines)
    counts["facts in use"] = live.count()
    names = (
        "questions asked", "… that wait at the end", "rows of them", "… that a person says yes to", "replaced at once",
        "… wrongly", "made one", "… that differ", "near-repetitions that stay two", "contradictions that stay, unasked",
        "facts in use",
    )  # fmt: skip
    return {name: counts[name] for name in names}, lines


def _count_left(played: Week, live: Any, held_batches: Any, counts: Counter[str], lines: list[str]) -> None:
    """What is left beside each other: the same said twice, and what speaks against the other and nobody is asked of."""
    by_scope: dict[int, list[tuple[Entry, Spec]]] = {}
    for fact in live:
        if spec := played.facts.get(fact.content):
            by_scope.setdefault(fact.scope_id, []).append((fact, spec))
    for facts in by_scope.values():
        for (one, ours_), (other, theirs) in combinations(facts, 2):
            same = ours_ == theirs
            counts["near-repetitions that stay two"] += same
            counts["contradictions that stay, unasked"] += ours_.speaks_against(theirs) and not _is_asked(
                held_batches, one, other
            )
            if same:
                lines.append(f"stay two: {one.content} | {other.content}")


def _rows(batches: Any, verb: str = "") -> Iterator[BatchChange]:
    rows = BatchChange.objects.filter(batch__in=batches).select_related("batch", "entry")
    rows = rows.filter(verb=verb, state=ChangeState.APPLIED) if verb else rows.exclude(entry=None)
    return iter(rows.order_by("batch_id", "position"))


def _old(row: BatchChange) -> str:
    return row.entry.content if row.entry else ""


def _words(row: BatchChange) -> str:
    successor = _successor(row)
    return successor.content if successor else f"({row.verb})"


def _successor(row: BatchChange) -> Entry | None:
    """What takes the place of a memory: another, or one the same batch makes."""
    step = step_of(row)
    if not isinstance(step, ReplaceStep):
        return None
    if step.into.entry:
        return Entry.objects.filter(pk=step.into.entry).first()
    change = BatchChange.objects.filter(batch=row.batch_id, position=step.into.position or 0).first()
    return change.entry if change else None


def _specs(played: Week, row: BatchChange) -> tuple[Spec | None, Spec | None]:
    new = _successor(row)
    old = played.facts.get(row.entry.content) if row.entry else None
    return old, played.facts.get(new.content) if new else None


def _merged_in_batches(batches: Any) -> Iterator[tuple[str, str]]:
    for batch in batches:
        for row in _rows([batch], BatchVerb.MERGE):
            if row.entry is not None and (into := _successor(row)) is not None:
                yield row.entry.content, into.content


def _is_asked(held_batches: Any, one: Entry, other: Entry) -> bool:
    return BatchChange.objects.filter(batch__in=held_batches, entry__in=[one.pk, other.pk]).exists()
