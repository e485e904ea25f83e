"""Today's ranking on the questions people asked: on the live memory, which is read and not written."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from statistics import fmean
from typing import Any
from uuid import UUID

from evals.dataset import Question
from evals.judgements import JudgedMemory, JudgedQuestion
from evals.report import AnswerScore, figures, verdicts
from evals.run import EMBED_SECONDS, INGREDIENTS, LIMIT, Ingredient, override_settings
from memories.choices import NeedMode, ScopeKind
from memories.models import Entry, Scope, Workspace
from memories.recall import Query, Recall, SearchScope, recall
from memories.tenancy.resolver import ScopeRef

BY_HAND, WEAKLY = "judged by hand", "judged by use"
CUTS = (1, 5, 10)
#: What of a request narrows its question.
_NARROWING = ("mode", "types", "filters", "project", "quotas")


def ask_again(rows: Iterable[JudgedQuestion], workspace: Workspace) -> list[tuple[JudgedQuestion, AnswerScore]]:
    """Every question whose scopes are there, asked as it was then, of what had been said by then."""
    return [(row, _answer(row, result)) for row in rows if (result := _recall(row, workspace)) is not None]


def pool(rows: Iterable[JudgedQuestion], workspace: Workspace) -> Iterator[JudgedQuestion]:
    """The questions with what today's ranking finds beside what was served, so that both can be judged."""
    for row in rows:
        result = _recall(row, workspace)
        there = {memory.id for memory in row.served}
        entries = [item.entry for item in result.served] if result else []
        row.served += [_memory_found_today(entry) for entry in entries if str(entry.uid) not in there]
        yield row


def report(
    pairs: Sequence[tuple[JudgedQuestion, AnswerScore]], rows: Sequence[JudgedQuestion], workspace: Workspace
) -> dict[str, Any]:
    """The figures of what was judged by hand, and of what was used: those only tell what is still served."""
    answers = [answer for _, answer in pairs if answer.question.category]
    by_hand = [answer for answer in answers if answer.question.category == BY_HAND]
    # Memories judged to help that are not there any more, or were never of this workspace
    gold_uids = {UUID(uid) for answer in answers for uid in answer.question.gold}
    there = Entry.objects.live().filter(workspace_id=workspace.pk, uid__in=gold_uids).count()
    scope_keys = {key for row in rows for key in row.scopes}
    existing = Scope.objects.in_workspace(workspace.pk).filter(key__in=scope_keys).values_list("key", flat=True)
    return figures(answers, workspace.name) | {
        "unasked": {"questions": len(rows) - len(pairs), "scopes": sorted(scope_keys.difference(existing))},
        "unjudged": len(pairs) - len(answers),
        "gone": len(gold_uids) - there,
        "precision": {
            category: _precision([answer for answer in answers if answer.question.category == category])
            for category in (BY_HAND, WEAKLY)
        },
        "evidence": verdicts(by_hand),
    }


def live_ingredients() -> list[Ingredient]:
    """The ingredients that can be left out without making the search rows of the live memory anew."""
    return [step for step in INGREDIENTS if not step.rows]


def ablate_live(rows: Sequence[JudgedQuestion], workspace: Workspace) -> Iterator[tuple[str, list[AnswerScore]]]:
    """The judged answers without each ingredient."""
    for step in live_ingredients():
        with override_settings(step.off):
            answers = judged_answers(rows, workspace)
        yield step.name, answers


def judged_answers(rows: Sequence[JudgedQuestion], workspace: Workspace) -> list[AnswerScore]:
    """The answers to questions that were judged, by hand or by use."""
    return [answer for _, answer in ask_again(rows, workspace) if answer.question.category]


def _recall(row: JudgedQuestion, workspace: Workspace) -> Recall | None:
    """None when a scope of the question is not in this workspace, or no more."""
    scopes = {scope.key: scope for scope in Scope.objects.in_workspace(workspace.pk).filter(key__in=row.scopes)}
    if not row.scopes or len(scopes) < len(set(row.scopes)):
        return None
    asked_at = datetime.fromisoformat(row.asked_at)
    # What the request asked for besides; nothing said later is served
    extra = row.asked
    filters: dict[str, Any] = {name: extra[name] for name in _NARROWING if name in extra}
    times: dict[str, Any] = {name: datetime.fromisoformat(extra[name]) for name in ("since", "until") if name in extra}
    filters |= times | {"until": min(times.get("until", asked_at), asked_at)}
    query = Query(
        workspace_id=workspace.pk,
        places=_places([scopes[key] for key in row.scopes]),
        message=row.question,
        limit=LIMIT,
        need=NeedMode.OFF,
        cache=False,
        **filters,
    )
    return recall(query, now=asked_at, zone=workspace.zone(), embed_seconds=EMBED_SECONDS, recorded=False)


def _places(scopes: Sequence[Scope]) -> list[SearchScope]:
    """In a group a person's memories are asked for as strictly as the default has it: those of this chat alone (A3)."""
    chat = next((scope.key for scope in scopes if scope.kind == ScopeKind.CHAT), None)
    refs = [
        ScopeRef(
            key=scope.key,
            kind=scope.kind,
            only_chat=chat if scope.kind == ScopeKind.USER else None,
            in_group=chat is not None,
        )
        for scope in scopes
    ]
    return [SearchScope(scope, ref) for scope, ref in zip(scopes, refs, strict=True)]


def _answer(row: JudgedQuestion, result: Recall) -> AnswerScore:
    category = BY_HAND if row.relevant is not None else WEAKLY if row.weakly is not None else ""
    gold = row.relevant if row.relevant is not None else row.weakly or []
    question = Question(
        query_id=row.trace, scope=row.scopes[0], query=row.question, category=category, gold=frozenset(gold),
        groups=(), asked_at=None, before_seq=None,
    )  # fmt: skip
    return AnswerScore.of(question, result, lambda entry: [str(entry.uid)])


def _memory_found_today(entry: Entry) -> JudgedMemory:
    full = Entry.objects.get(pk=entry.pk)  # of candidates only some columns were read
    return JudgedMemory(id=str(full.uid), text=full.content, said_at=full.created_at.isoformat(), today=True)


def _precision(answers: Sequence[AnswerScore]) -> dict[str, float]:
    """The share of the first k that was judged to help; what nobody judged counts as no help."""
    judged = [answer for answer in answers if answer.question.gold and answer.found]
    return {f"precision@{k}": round(fmean(_right(answer, k) for answer in judged), 4) if judged else 0.0 for k in CUTS}


def _right(answer: AnswerScore, k: int) -> float:
    first = answer.found[:k]
    return sum(bool(item & answer.question.gold) for item in first) / len(first)
