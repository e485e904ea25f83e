"""One evaluation: remember the corpus, wait for the index, ask every question."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from memories import embedder, store
from memories.choices import EntryType, NeedMode, ScopeKind, Source
from memories.conf import conf
from memories.drafts import Draft
from memories.evaluation.dataset import Dataset, Question, Row
from memories.evaluation.scores import Answer
from memories.exceptions import EmbedderFailed
from memories.models import EmbeddingCache, Scope, StaleEntry, Workspace
from memories.retrieval import Place, Query, recall
from memories.scoping import ScopeRef

CHUNK = 500
LIMIT = 10
#: Rows without a time are taken to have been said one after another from here on.
UNDATED = datetime(2020, 1, 1, tzinfo=UTC)
EMBED_SECONDS = 600.0
TRIES = 3
Progress = Callable[[str], None]


@dataclass
class Memory:
    """A scope as it was remembered: which texts each entry holds, and which entry each text became."""

    scope: Scope
    texts: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    entries: list[tuple[int, int]] = field(default_factory=list)  # (seq, entry), in order
    last_at: datetime = UNDATED

    def first_entry_from(self, seq: int) -> int | None:
        """The first entry begun by a text at or after this place; what was begun before may be served."""
        begun: dict[int, int] = {}
        for at, entry in self.entries:
            begun.setdefault(entry, at)
        return min((entry for entry, at in begun.items() if at >= seq), default=None)


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


def remember_all(
    dataset: Dataset,
    workspace: Workspace,
    *,
    now: datetime,
    use_cache: bool = True,
    say: Progress = lambda line: None,
) -> dict[str, Memory]:
    """The scopes of the set, remembered and indexed in this workspace, which is empty before."""
    memories = {name: _remember(workspace, name, rows, now) for name, rows in dataset.scopes.items()}
    merged = sum(len(memory.entries) - len(memory.texts) for memory in memories.values())
    say(f"{sum(map(len, dataset.scopes.values()))} texts remembered, {merged} of them merged; embedding …")
    _drain(workspace, now, use_cache, say)
    return memories


def ask_all(dataset: Dataset, workspace: Workspace, memories: Mapping[str, Memory]) -> list[Answer]:
    """Every question of the set, asked through the same recall as everybody's."""
    return [
        _ask(workspace, memories[question.scope], question)
        for question in dataset.questions
        if question.scope in memories
    ]


def _remember(workspace: Workspace, name: str, rows: list[Row], now: datetime) -> Memory:
    scope = Scope.objects.create(workspace=workspace, key=name[:255], kind=ScopeKind.USER)
    memory = Memory(scope)
    last_at = UNDATED
    for start in range(0, len(rows), CHUNK):
        drafts = []
        for row in rows[start : start + CHUNK]:
            last_at = row.at or last_at
            drafts.append(_draft(scope, row, last_at))
        remembered = store.remember_many(drafts, now=now, actor="job:evaluate")
        for row, result in zip(rows[start : start + CHUNK], remembered, strict=True):
            memory.texts[result.entry.pk].add(row.doc_id)
            memory.entries.append((row.seq, result.entry.pk))
    memory.last_at = max((row.at for row in rows if row.at), default=last_at)
    memory.scope.refresh_from_db()
    return memory


def _draft(scope: Scope, row: Row, at: datetime) -> Draft:
    slots = {
        "doc_id": row.doc_id[: conf.SLOT_VALUE_CHARS],
        "session_id": row.session_id[:200],
        "speaker": row.speaker,
    }
    return Draft(
        scope=scope,
        type=EntryType.USER_EXPLICIT,
        content=row.text[: conf.CONTENT_MAX_CHARS],
        source=Source.MIGRATION,
        at=at,
        slots={name: value for name, value in slots.items() if value} | {"time": at.isoformat()},
    )


def _drain(workspace: Workspace, now: datetime, use_cache: bool, say: Progress) -> None:
    """Wait until every row of the workspace is indexed; other embedders may be helping. Raises EmbedderFailed."""
    waiting = StaleEntry.objects.filter(workspace=workspace)
    said = time.monotonic()
    while left := waiting.count():
        if not embedder.index_stale(now=datetime.now(UTC), limit=64, use_cache=use_cache):
            time.sleep(0.2)
        if waiting.filter(failures__gte=TRIES).exists():
            raise EmbedderFailed("The embedder keeps failing, so every answer would be degraded.")
        if time.monotonic() - said > 10:
            say(f"{left} to embed …")
            said = time.monotonic()
    if not use_cache:
        EmbeddingCache.objects.filter(used_at__gte=now).delete()


def _ask(workspace: Workspace, memory: Memory, question: Question) -> Answer:
    before = None if question.before_seq is None else memory.first_entry_from(question.before_seq)
    query = Query(
        workspace_id=workspace.pk,
        places=[Place(memory.scope, ScopeRef(key=memory.scope.key, kind=ScopeKind.USER))],
        message=question.query,
        limit=LIMIT,
        need=NeedMode.OFF,
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
        evidence=result.evidence.verdict,
    )
