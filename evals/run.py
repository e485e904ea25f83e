"""One evaluation: every question asked through the same recall as everybody's, or without an ingredient of it.

Without a part, rows are blended anew from the raw vectors that are stored; nothing is embedded twice.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import cycle
from typing import Any

from django.conf import settings

from evals.dataset import Dataset, Question
from evals.report import AnswerScore
from evals.workspace import IngestedScope, Progress, ingest, rebuild_rows
from memories.choices import NeedMode, ScopeKind
from memories.models import Workspace
from memories.recall import Query, SearchScope, recall
from memories.recall.ranking import FEATURES
from memories.tenancy.resolver import ScopeRef

LIMIT = 10
EMBED_SECONDS = 600.0
ELSEWHERE = "elsewhere"


def evaluate(
    dataset: Dataset,
    workspace: Workspace,
    *,
    now: datetime,
    use_cache: bool = True,
    say: Progress = lambda line: None,
) -> list[AnswerScore]:
    """Every question of the set answered from this workspace, which is empty before."""
    memories = ingest(dataset, workspace, now=now, use_cache=use_cache, say=say)
    return ask_all(dataset.questions, workspace, memories)


def ask_all(
    questions: Iterable[Question], workspace: Workspace, memories: Mapping[str, IngestedScope]
) -> list[AnswerScore]:
    """Every question about a scope that is there."""
    return [_ask(workspace, memories[question.scope], question) for question in questions if question.scope in memories]


def move_elsewhere(questions: Iterable[Question], scopes: Collection[str]) -> list[Question]:
    """Questions nothing here answers: each moved to a scope it is not about, the scopes in turn."""
    questions_elsewhere = []
    turn = cycle(scopes)
    for question in questions:
        strange = next((name for name, _ in zip(turn, scopes, strict=False) if name != question.scope), None)
        if strange is not None:
            questions_elsewhere.append(
                replace(
                    question,
                    scope=strange,
                    category=ELSEWHERE,
                    gold=frozenset(),
                    groups=(),
                    asked_at=None,
                    before_seq=None,
                )
            )
    return questions_elsewhere


def _ask(workspace: Workspace, memory: IngestedScope, question: Question) -> AnswerScore:
    before = None if question.before_seq is None else memory.first_entry_from(question.before_seq)
    query = Query(
        workspace_id=workspace.pk,
        places=[SearchScope(memory.scope, ScopeRef(key=memory.scope.key, kind=ScopeKind.USER))],
        message=question.query,
        limit=LIMIT,
        need=NeedMode.OFF,
        cache=False,
        quotas=False,
        before_entry=before,
    )
    asked_at = question.asked_at or memory.last_at + timedelta(seconds=1)
    result = recall(query, now=asked_at, embed_seconds=EMBED_SECONDS)
    return AnswerScore.of(question, result, lambda entry: memory.texts[entry.pk])


EVERYTHING = 1_000_000
#: What search rows are made by: with another of these they are made anew.
ROW_NUMBERS = {"BM25_K1", "BM25_B", "INDEX_TERMS", "BLEND_REACH", "BLEND_KEYWORDS", "BLEND_VECTOR"}


@dataclass(frozen=True)
class Ingredient:
    """An ingredient, and the settings that switch it off; `rows` are those of them the search rows are made by."""

    name: str
    off: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> dict[str, Any]:
        return {name: value for name, value in self.off.items() if name in ROW_NUMBERS}


INGREDIENTS = (
    Ingredient("all of it"),
    Ingredient("- average taken out", {"AVERAGE_SHARE": 0.0}),
    Ingredient("- 15 terms are enough", {"FULL_TERMS": EVERYTHING}),
    Ingredient("- dates", {"DATE_BOOST": 0.0}),
    Ingredient("- days after a date", {"DATE_TAIL": timedelta(0)}),
    Ingredient("- speaker", {"SPEAKER_BOOST": 0.0}),
    Ingredient("- features", {"FEATURES_OFF": ",".join(FEATURES)}),
    *(Ingredient(f"- {name.replace('_', ' ')}", {"FEATURES_OFF": name}) for name in FEATURES),
    Ingredient("- floor of similarity", {"MIN_SIMILARITY": -100.0}),
    Ingredient("- vectors", {"ALPHA": 0.0}),
    Ingredient("- keywords", {"ALPHA": 1.0, "MIN_SIMILARITY": -100.0}),
    Ingredient("- cap on terms", {"INDEX_TERMS": EVERYTHING}),
    Ingredient("- neighbours' words", {"BLEND_KEYWORDS": False}),
    Ingredient("- neighbours' vectors", {"BLEND_VECTOR": 0.0}),
    Ingredient("- neighbours", {"BLEND_REACH": 0}),
    Ingredient(
        "none of it",
        {
            "BLEND_REACH": 0,
            "AVERAGE_SHARE": 0.0,
            "FULL_TERMS": EVERYTHING,
            "DATE_BOOST": 0.0,
            "SPEAKER_BOOST": 0.0,
            "FEATURES_OFF": ",".join(FEATURES),
        },
    ),
)


def ablate(
    dataset: Dataset,
    workspace: Workspace,
    memories: Mapping[str, IngestedScope],
    steps: Sequence[Ingredient] = INGREDIENTS,
) -> Iterator[tuple[str, list[AnswerScore]]]:
    """The answers without each ingredient; the search rows are left as they were."""
    rows_of: Mapping[str, Any] = {}
    try:
        for step in steps:
            with override_settings(step.off):
                if step.rows != rows_of:  # steps that share their rows need them made once
                    rebuild_rows(memories)
                    rows_of = step.rows
                yield step.name, ask_all(dataset.questions, workspace, memories)
    finally:
        if rows_of:
            rebuild_rows(memories)


@contextmanager
def override_settings(numbers: Mapping[str, Any]) -> Iterator[None]:
    """These numbers for the length of a block, in this process."""
    names = {f"MEMORY_{name}": value for name, value in numbers.items()}
    before = {name: getattr(settings, name) for name in names if hasattr(settings, name)}
    for name, value in names.items():
        setattr(settings, name, value)
    try:
        yield
    finally:
        for name in names:
            if name in before:
                setattr(settings, name, before[name])
            else:
                delattr(settings, name)
