"""What strangers meet first: a memory of few things told to a bot, asked in plain questions, by the product's own door.

Every fact is told as a turn, in a memory of 1, 6 and 12 of them; then its questions are asked as a person or a model
asks them, and the questions that nothing there answers. The memories of named things hold facts that name them.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any

from evals.relevance import DATA, REPLIES, bare_name, read
from memories import entries
from memories.choices import EntryType, ScopeKind, Source
from memories.entries.draft import Draft
from memories.evaluation import throwaway_workspace
from memories.index import worker
from memories.language.quoting import turn_of
from memories.models import IndexQueueItem, Scope, Workspace
from memories.recall import Query, Recall, SearchScope, recall
from memories.recall.query import Serve
from memories.tenancy.resolver import ScopeRef

SIZES = (1, 6, 12)
#: The questions of a fact, in their order.
KINDS = ("plain", "other words", "other words", "search", "request")
UNANSWERABLE, NAMED, REMARKS = "unanswerable", "named", "remarks"
JUDGING = "named_judging"  # of the same form, and never fitted on
MOMENT = datetime(2026, 3, 2, 9, tzinfo=UTC)
EMBED_SECONDS = 60.0

Figures = Mapping[str, float]


@dataclass(frozen=True)
class FilledMemory:
    """A scope that was filled, and the fact each of its entries holds."""

    scope: Scope
    facts: Mapping[int, str]

    def ask(
        self, message: str, serve: str | float, *, limit: int = 8, beside: Sequence["FilledMemory"] = ()
    ) -> tuple[Recall, list[str]]:
        """The answer of this memory, and of those `beside` it, an hour later, and the facts that were served."""
        memories = [self, *beside]
        for memory in memories:
            memory.scope.refresh_from_db()
        query = Query(
            workspace_id=self.scope.workspace_id,
            places=[SearchScope(one.scope, ScopeRef(key=one.scope.key, kind=ScopeKind.USER)) for one in memories],
            message=message,
            limit=limit,
            serve=serve,
        )
        result = recall(query, now=MOMENT + timedelta(hours=2), embed_seconds=EMBED_SECONDS, recorded=False)
        facts = {pk: fact for memory in memories for pk, fact in memory.facts.items()}
        return result, [facts[item.entry.pk] for item in result.served]


def fill(
    workspace: Workspace,
    key: str,
    facts: Mapping[str, str],
    language: str,
    *,
    as_turns: bool,
    names: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> FilledMemory:
    """A scope with these facts, by their ids, each told a minute after the other; `names` of some, by the same ids."""
    scope = Scope.objects.create(workspace=workspace, key=key, kind=ScopeKind.USER)
    drafts = [
        Draft(
            scope=scope,
            type=EntryType.CHAT_TURN if as_turns else EntryType.FACT,
            content=turn_of(content, REPLIES[language]) if as_turns else content,
            tier=None if as_turns else 2,
            source=Source.TOOL,
            at=MOMENT + timedelta(minutes=n),
            slots={"sender_id": "ou_1", "channel": "telegram"},
            origins=(f"told:{key}:{n}",),
            names=tuple(names.get(fact, ())),
        )
        for n, (fact, content) in enumerate(facts.items())
    ]
    results = entries.remember_many(drafts, now=MOMENT + timedelta(hours=1), actor="job:evaluate")
    return FilledMemory(scope, {result.entry.pk: fact for result, fact in zip(results, facts, strict=True)})


def index(workspace: Workspace) -> None:
    """Embed all that waits."""
    while IndexQueueItem.objects.filter(workspace=workspace).exists():
        worker.index_queued(now=datetime.now(UTC), limit=64)


def measure(language: str, *, serve: str | float = "likely", folder: Path = DATA) -> dict[str, Figures]:
    """The figures of one language, by kind of question and size of the memory."""
    report: dict[str, Figures] = {}
    for size in SIZES:
        report |= {f"{kind}, {size}": figures for kind, figures in _first_minutes(language, size, serve, folder)}
    for name in (NAMED, JUDGING):
        if name == NAMED or (folder / f"{name}.{language}.jsonl").exists():
            report[name.replace("_", ", ")] = _named(language, serve, folder, name)
            report[f"{name.removeprefix('named_')}, scopes"] = _named(language, serve, folder, name, apart=True)
    return {**report, REMARKS: _remarks(language, folder)}


def _first_minutes(language: str, size: int, serve: str | float, folder: Path) -> list[tuple[str, Figures]]:
    """The figures of memories of one size, by kind of question."""
    lot = random.Random(size)  # noqa: S311 (no secret)
    facts = read(f"first_minutes.{language}.jsonl", folder)
    rows_by_kind: dict[str, list[dict[str, float]]] = defaultdict(list)
    with throwaway_workspace() as workspace:
        memories = []
        for fact in facts:
            unclear = {fact["id"], *fact["distractors"], *sum(fact["distractors_by_question"], [])}
            others = [row for row in facts if row["id"] not in unclear and fact["id"] not in row["distractors"]]
            sample = [fact, *lot.sample(others, size - 1)]
            lot.shuffle(sample)
            rows = {row["id"]: row["fact"] for row in sample}
            memories.append(fill(workspace, fact["id"], rows, language, as_turns=True))
        index(workspace)
        for fact, memory in zip(facts, memories, strict=True):
            for kind, question in zip(KINDS, fact["questions"], strict=True):
                result, served_facts = memory.ask(question, serve)
                data = {"first": served_facts[:1] == [fact["id"]], "served": fact["id"] in served_facts}
                rows_by_kind[kind].append(data | _plain_figures(result, served_facts))
        for row, memory in zip(read(f"unanswerable.{language}.jsonl", folder), memories, strict=False):
            rows_by_kind[UNANSWERABLE].append(_plain_figures(*memory.ask(row["question"], serve)))
    return [(kind, {name: fmean(row[name] for row in rows) for name in rows[0]}) for kind, rows in rows_by_kind.items()]


def _plain_figures(result: Recall, served_facts: Sequence[str]) -> dict[str, float]:
    return {
        "nothing": not served_facts,
        "found": result.answerability.verdict == "found",
        "memories": len(served_facts),
        "tokens": result.tokens,
    }


def _named(language: str, serve: str | float, folder: Path, name: str, *, apart: bool = False) -> Figures:
    """Precision and recall over all questions about named things, and what a prompt pays.

    `apart`: each thing has a scope of its own, and a question that something answers is asked in those it is about.
    """
    memories = read(f"{name}.{language}.jsonl", folder)
    memory_count = right = relevant_count = tokens = questions = 0
    with throwaway_workspace() as workspace:
        places_by_memory = []
        for memory in memories:
            facts: dict[str, list[Any]] = defaultdict(list)
            for fact in memory["facts"]:
                facts[fact["about"][0] if apart and fact["about"] else ""].append(fact)
            places_by_memory.append(
                {subject: _fill_named(workspace, memory, subject, facts[subject], language) for subject in facts}
            )
        index(workspace)
        for memory, places in zip(memories, places_by_memory, strict=True):
            for row in memory["questions"]:
                asked_places = [place for place in places.values() if set(row["relevant"]) & set(place.facts.values())]
                if not (asked_places := asked_places if apart else list(places.values())):
                    continue
                result, served_facts = asked_places[0].ask(row["question"], serve, beside=asked_places[1:])
                memory_count, relevant_count = memory_count + len(served_facts), relevant_count + len(row["relevant"])
                right += len(set(served_facts) & set(row["relevant"]))
                tokens, questions = tokens + result.tokens, questions + 1
    return {
        "precision": right / max(memory_count, 1),
        "recall": right / max(relevant_count, 1),
        "memories": memory_count / questions,
        "tokens": tokens / questions,
    }


def _fill_named(
    workspace: Workspace, memory: Mapping[str, Any], subject: str, facts: Sequence[Mapping[str, Any]], language: str
) -> FilledMemory:
    rows = {fact["id"]: fact["text"] for fact in facts}
    names = {fact["id"]: [bare_name(name) for name in fact["about"]] for fact in facts}
    key = f"named {memory['memory']} {subject}"
    return fill(workspace, key, rows, language, as_turns=False, names=names)


def _remarks(language: str, folder: Path) -> Figures:
    """Of remarks that bear on something earlier without a word of it: how often that is served, among all of them.

    One memory holds what was told before each of them and what bears on none.
    """
    cases = read(f"remarks.{language}.jsonl", folder)
    rows = {case["id"]: case["earlier"] for case in cases}
    rows |= {f"{case['id']} {n}": other for case in cases for n, other in enumerate(case["others"])}
    order = random.Random(len(rows)).sample(sorted(rows), len(rows))  # noqa: S311 (no secret)
    rows = {row: rows[row] for row in order}
    with throwaway_workspace() as workspace:
        memory = fill(workspace, REMARKS, rows, language, as_turns=True)
        index(workspace)
        answers = [memory.ask(case["remark"], Serve.WIDE, limit=10) for case in cases]
    places = [
        served_rows.index(case["id"]) + 1 if case["id"] in served_rows else 0
        for case, (_result, served_rows) in zip(cases, answers, strict=True)
    ]
    within = {f"within {most}": fmean(1 <= place <= most for place in places) for most in (1, 5, 10)}
    return {**within, "memories": fmean(len(served_rows) for _result, served_rows in answers)}


def table(report: Mapping[str, Figures]) -> list[str]:
    """The figures as lines for people."""
    names = list(dict.fromkeys(name for figures in report.values() for name in figures))
    lines = [f"{'':18}" + "".join(f"{name:>11}" for name in names)]
    for kind, figures in report.items():
        cells = (f"{figures[name]:11.3f}" if name in figures else f"{'':11}" for name in names)
        lines.append(f"{kind:18}" + "".join(cells))
    return lines
