"""The workspace of an evaluation: made for it, filled with the texts of a set, thrown away after it or kept by name.

Every text goes in through the same door as everybody's.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from evals.dataset import CorpusText, Dataset
from memories import embeddings, entries
from memories.choices import EntryType, ScopeKind, Source
from memories.conf import conf
from memories.entries.draft import Draft
from memories.evaluation import empty, remove, throwaway_workspace
from memories.exceptions import EmbedderFailed
from memories.index import search_rows, worker
from memories.models import EmbeddingCache, Entry, IndexQueueItem, RecallTrace, Scope, Workspace
from memories.recall import vector


@contextmanager
def workspace_for(keep: str | None, variant: str = "") -> Iterator[Workspace]:
    """The workspace kept under this name, made when there is none; without a name one that is thrown away.

    Each variant of a set is kept in a workspace of its own.
    """
    if not keep:
        with throwaway_workspace() as workspace:
            yield workspace
        return
    workspace, _made = Workspace.objects.get_or_create(name=_kept_name(keep, variant))
    try:
        yield workspace
    finally:
        RecallTrace.objects.filter(workspace_id=workspace.pk).delete()  # of questions nobody asked


def remove_kept(keep: str, variant: str = "") -> None:
    """Remove the workspace kept under this name."""
    for workspace in Workspace.objects.filter(name=_kept_name(keep, variant)):
        remove(workspace)


def _kept_name(keep: str, variant: str) -> str:
    return f"evaluation: {keep}"[: 100 - len(variant)] + variant


CHUNK = 500
#: Rows without a time are taken to have been said one after another from here on.
UNDATED = datetime(2020, 1, 1, tzinfo=UTC)
TRIES = 3
Progress = Callable[[str], None]


@dataclass
class IngestedScope:
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


def ingest(
    dataset: Dataset,
    workspace: Workspace,
    *,
    now: datetime,
    use_cache: bool = True,
    say: Progress = lambda line: None,
) -> dict[str, IngestedScope]:
    """The scopes of the set, remembered and indexed in this workspace, which is empty before."""
    begun = time.monotonic()
    memories = {name: _ingest_scope(workspace, name, rows, now) for name, rows in dataset.scopes.items()}
    texts = sum(map(len, dataset.scopes.values()))
    merged = sum(len(memory.entries) - len(memory.texts) for memory in memories.values())
    say(f"{texts} texts remembered in {time.monotonic() - begun:.0f} s, {merged} of them merged; embedding …")
    index_all(workspace, now, use_cache=use_cache, say=say)
    return memories


def reuse_or_ingest(
    dataset: Dataset, workspace: Workspace, *, now: datetime, use_cache: bool = True, say: Progress = lambda line: None
) -> dict[str, IngestedScope]:
    """The scopes as an earlier evaluation left them, blended anew by today's numbers; remembered if they are not."""
    memories = _ingested_before(dataset, workspace)
    if memories is None:
        empty(workspace)
        return ingest(dataset, workspace, now=now, use_cache=use_cache, say=say)
    say(f"{sum(map(len, dataset.scopes.values()))} texts kept from before; blending …")
    index_all(workspace, now, use_cache=use_cache, say=say)
    rebuild_rows(memories)
    return memories


def rebuild_rows(memories: Mapping[str, IngestedScope]) -> None:
    """Make the search rows anew from the raw vectors, by the numbers of the moment."""
    main = embeddings.main_model()
    model = main.pk if main else None
    for memory in memories.values():
        search_rows.rebuild(memory.scope.pk, model_id=model)
    vector.forget_centroids()


def _ingested_before(dataset: Dataset, workspace: Workspace) -> dict[str, IngestedScope] | None:
    """What is there, if it is this set and all of it: every text left its name on the entry it became."""
    scopes = {scope.key: scope for scope in Scope.objects.in_workspace(workspace.pk)}
    scopes_by_name = {name: scopes.get(name[:255]) for name in dataset.scopes}
    memories = {
        name: _read_scope(scope, dataset.scopes[name]) for name, scope in scopes_by_name.items() if scope is not None
    }
    entries = Entry.objects.filter(workspace_id=workspace.pk).count()
    if entries != sum(len(memory.texts) for memory in memories.values()):
        return None
    whole = all(name in memories and len(memories[name].entries) == len(rows) for name, rows in dataset.scopes.items())
    return memories if whole else None


def _read_scope(scope: Scope, rows: list[CorpusText]) -> IngestedScope:
    memory = IngestedScope(scope)
    origins = Entry.objects.filter(scope=scope, workspace_id=scope.workspace_id).values_list("pk", "origins")
    holders = {origin: entry for entry, names in origins for origin in names}
    for row in rows:
        if (entry := holders.get(_origin(row))) is not None:
            memory.texts[entry].add(row.doc_id)
            memory.entries.append((row.seq, entry))
    memory.last_at = _last_at(rows)
    return memory


def _ingest_scope(workspace: Workspace, name: str, rows: list[CorpusText], now: datetime) -> IngestedScope:
    scope = Scope.objects.create(workspace=workspace, key=name[:255], kind=ScopeKind.USER)
    memory = IngestedScope(scope)
    last_at = UNDATED
    for start in range(0, len(rows), CHUNK):
        drafts = []
        for row in rows[start : start + CHUNK]:
            last_at = row.at or last_at
            slots = {
                "doc_id": row.doc_id[: conf.SLOT_VALUE_CHARS],
                "session_id": row.session_id[:200],
                "speaker": row.speaker,
            }
            draft = Draft(
                scope=scope,
                type=EntryType.USER_EXPLICIT,
                content=row.text[: conf.CONTENT_MAX_CHARS],
                source=Source.MIGRATION,
                at=last_at,
                slots={name: value for name, value in slots.items() if value} | {"time": last_at.isoformat()},
                origins=(_origin(row),),
            )
            drafts.append(draft)
        remembered = entries.remember_many(drafts, now=now, actor="job:evaluate")
        for row, result in zip(rows[start : start + CHUNK], remembered, strict=True):
            memory.texts[result.entry.pk].add(row.doc_id)
            memory.entries.append((row.seq, result.entry.pk))
    memory.last_at = _last_at(rows)
    memory.scope.refresh_from_db()
    return memory


def _last_at(rows: list[CorpusText]) -> datetime:
    return max((row.at for row in rows if row.at), default=UNDATED)


def _origin(row: CorpusText) -> str:
    """A text's name on its entry; a set that changed its text is another set."""
    return f"{row.seq}:{row.digest}:{row.doc_id}"[:300]


def index_all(
    workspace: Workspace, now: datetime, *, use_cache: bool = True, say: Progress = lambda line: None
) -> None:
    """Wait until every row of the workspace is indexed; other embedders may be helping. Raises EmbedderFailed."""
    waiting = IndexQueueItem.objects.filter(workspace=workspace)
    reported_at = time.monotonic()
    while rows_left := waiting.count():
        if not worker.index_queued(now=datetime.now(UTC), limit=64, use_cache=use_cache):
            time.sleep(0.2)
        if waiting.filter(failures__gte=TRIES).exists():
            raise EmbedderFailed("The embedder keeps failing, so every answer would be degraded.")
        if time.monotonic() - reported_at > 10:
            say(f"{rows_left} to embed …")
            reported_at = time.monotonic()
    if not use_cache:
        EmbeddingCache.objects.filter(used_at__gte=now).delete()
