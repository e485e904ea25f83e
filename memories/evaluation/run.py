"""One evaluation: every question asked through the same recall as everybody's."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import cycle

from memories.choices import NeedMode, ScopeKind
from memories.evaluation.dataset import Dataset, Question
from memories.evaluation.memory import Memory, Progress, remember_all
from memories.evaluation.scores import Answer
from memories.models import Workspace
from memories.recall import Place, Query, recall
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
) -> list[Answer]:
    """Every question of the set answered from this workspace, which is empty before."""
    return ask_all(dataset, workspace, remember_all(dataset, workspace, now=now, use_cache=use_cache, say=say))


def ask_all(dataset: Dataset, workspace: Workspace, memories: Mapping[str, Memory]) -> list[Answer]:
    """Every question of the set about a scope that is there."""
    return [
        _ask(workspace, memories[question.scope], question)
        for question in dataset.questions
        if question.scope in memories
    ]


def ask_elsewhere(questions: Iterable[Question], workspace: Workspace, memories: Mapping[str, Memory]) -> list[Answer]:
    """Questions nothing here answers: each asked in a scope it is not about, the scopes in turn."""
    answers = []
    scopes = cycle(memories)
    for question in questions:
        strange = next((name for name, _ in zip(scopes, memories, strict=False) if name != question.scope), None)
        if strange is not None:
            answers.append(_ask(workspace, memories[strange], _unanswerable(question)))
    return answers


def _unanswerable(question: Question) -> Question:
    return replace(question, category=ELSEWHERE, gold=frozenset(), groups=(), asked_at=None, before_seq=None)


def _ask(workspace: Workspace, memory: Memory, question: Question) -> Answer:
    before = None if question.before_seq is None else memory.first_entry_from(question.before_seq)
    query = Query(
        workspace_id=workspace.pk,
        places=[Place(memory.scope, ScopeRef(key=memory.scope.key, kind=ScopeKind.USER))],
        message=question.query,
        limit=LIMIT,
        need=NeedMode.OFF,
        cache=False,
        quotas=False,
        before_entry=before,
    )
    asked_at = question.asked_at or memory.last_at + timedelta(seconds=1)
    result = recall(query, now=asked_at, embed_seconds=EMBED_SECONDS)
    return Answer(
        question=question,
        found=[frozenset(memory.texts[item.entry.pk]) for item in result.served],
        milliseconds=result.timings["total"],
        embedding_milliseconds=result.timings.get("embedding", 0.0),
        degraded=bool(result.degraded),
        evidence=result.answerability.verdict,
        strength=result.answerability.strength,
    )
