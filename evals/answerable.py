"""Can young memories tell whether they hold an answer? Two hundred questions of our own, half of them unanswerable.

Memories of 1 to 30 texts in English, in Chinese and in both, each once as notes and once as turns of a conversation.
Weights are fitted on the half called «fit»; what is claimed is the half called «check».
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memories import entries
from memories.choices import EntryType, ScopeKind, Source
from memories.entries.draft import Draft
from memories.evaluation import throwaway_workspace
from memories.index import worker
from memories.models import Scope
from memories.recall import Query, SearchScope, recall
from memories.recall.vector import is_cjk
from memories.tenancy.resolver import ScopeRef

QUESTIONS = Path(__file__).parent / "data" / "answerable.txt"
FORMS = ("notes", "turns")


@dataclass
class Young:
    """A memory with its questions; True: it holds the answer."""

    half: str
    texts: list[str] = field(default_factory=list)
    questions: list[tuple[str, bool]] = field(default_factory=list)


def read(path: Path = QUESTIONS) -> list[Young]:
    """Every memory of the file."""
    memories: list[Young] = []
    for line in path.read_text().splitlines():
        kind, text = line[:1], line[2:]
        if kind == "=":
            memories.append(Young(text))
        elif kind == "-":
            memories[-1].texts.append(text)
        elif kind in ("+", "!"):
            memories[-1].questions.append((text, kind == "+"))
    return memories


def ask_all(memories: list[Young]) -> Iterator[dict[str, Any]]:
    """Each question asked through the product, in a workspace that is thrown away."""
    with throwaway_workspace() as workspace:
        for form in FORMS:
            for n, young in enumerate(memories):
                scope = _remember(workspace, f"{form}{n}", young, form)
                for question, is_answerable in young.questions:
                    about = {"form": form, "half": young.half, "size": len(young.texts), "question": question}
                    yield about | {"answerable": is_answerable} | _ask(scope, question)


def _remember(workspace: Any, name: str, young: Young, form: str) -> Any:
    scope = Scope.objects.create(workspace=workspace, key=name, kind=ScopeKind.USER)
    begun = datetime(2026, 1, 5, 9, tzinfo=UTC)
    drafts = [
        Draft(
            scope=scope,
            type=EntryType.USER_EXPLICIT if form == "notes" else EntryType.CHAT_TURN,
            content=text if form == "notes" else f"User: {text}\nAssistant: {'好的。' if is_cjk(text) else 'Noted.'}",
            source=Source.TOOL if form == "notes" else Source.CONVERSATION_CAPTURE,
            at=begun + timedelta(hours=n),
            slots={} if form == "notes" else {"sender_id": "u1", "chat_id": "c1", "session_id": f"s{n // 4}"},
        )
        for n, text in enumerate(young.texts)
    ]
    entries.remember_many(drafts, now=begun + timedelta(days=2), actor="job:evaluate")
    worker.drain(now=datetime.now(UTC))
    scope.refresh_from_db()
    return scope


def _ask(scope: Any, question: str) -> dict[str, Any]:
    query = Query(
        workspace_id=scope.workspace_id,
        places=[SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))],
        message=question,
        limit=8,
        need="off",
    )
    result = recall(query, now=datetime(2026, 1, 8, tzinfo=UTC), embed_seconds=60, recorded=False)
    best = result.served[0].entry.content if result.served else None
    return {"served": len(result.served), "best": best, **result.answerability.as_json()}


def report(answers: list[dict[str, Any]]) -> list[str]:
    """The shares of the verdicts, by half and form."""
    lines = []
    for half in ("fit", "check"):
        for form in FORMS:
            of_form = [answer for answer in answers if (answer["half"], answer["form"]) == (half, form)]
            for is_answerable in (True, False):
                group = [answer for answer in of_form if answer["answerable"] == is_answerable]
                verdicts = Counter(answer["verdict"] for answer in group)
                shares = ", ".join(f"{name} {verdicts[name] / len(group):.3f}" for name in ("found", "weak", "none"))
                empty = sum(answer["served"] == 0 for answer in group) / len(group)
                kind = "answerable" if is_answerable else "unanswerable"
                lines.append(f"{half:5} {form:5} {kind:12} {len(group):4}: {shares}; nothing served {empty:.3f}")
    return lines
