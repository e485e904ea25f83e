"""The texts of a set, remembered through the same door as everybody's, and found again in a workspace that was kept."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memories import embeddings, entries
from memories.choices import EntryType, ScopeKind, Source
from memories.conf import conf
from memories.entries.draft import Draft
from memories.evaluation.dataset import Dataset, Row
from memories.evaluation.throwaway import empty
from memories.exceptions import EmbedderFailed
from memories.index import search_rows, worker
from memories.models import EmbeddingCache, Entry, IndexQueueItem, Scope, Workspace
from memories.recall import similarity

CHUNK = 500
#: Rows without a time are taken to have been said one after another from here on.
UNDATED = datetime(2020, 1, 1, tzinfo=UTC)
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


def remember_all(
    dataset: Dataset,
    workspace: Workspace,
    *,
    now: datetime,
    use_cache: bool = True,
    say: Progress = lambda line: None,
) -> dict[str, Memory]:
    """The scopes of the set, remembered and indexed in this workspace, which is empty before."""
    begun = time.monotonic()
    memories = {name: _remember(workspace, name, rows, now) for name, rows in dataset.scopes.items()}
    texts = sum(map(len, dataset.scopes.values()))
    merged = sum(len(memory.entries) - len(memory.texts) for memory in memories.values())
    say(f"{texts} texts remembered in {time.monotonic() - begun:.0f} s, {merged} of them merged; embedding …")
    _drain(workspace, now, use_cache, say)
    return memories


def kept_or_remembered(
    dataset: Dataset, workspace: Workspace, *, now: datetime, use_cache: bool = True, say: Progress = lambda line: None
) -> dict[str, Memory]:
    """The scopes as an earlier evaluation left them, blended anew by today's numbers; remembered if they are not."""
    memories = _kept(dataset, workspace)
    if memories is None:
        empty(workspace)
        return remember_all(dataset, workspace, now=now, use_cache=use_cache, say=say)
    say(f"{sum(map(len, dataset.scopes.values()))} texts kept from before; blending …")
    _drain(workspace, now, use_cache, say)
    blend(memories)
    return memories


def blend(memories: Mapping[str, Memory]) -> None:
    """Make the search rows anew from the raw vectors, by the numbers of the moment."""
    provider = embeddings.main_model()
    model = worker.model_of(provider).pk if provider else None
    for memory in memories.values():
        search_rows.rebuild(memory.scope.pk, model_id=model)
    similarity.forget_centroids()


def _kept(dataset: Dataset, workspace: Workspace) -> dict[str, Memory] | None:
    """What is there, if it is this set and all of it: every text left its name on the entry it became."""
    scopes = {scope.key: scope for scope in Scope.objects.in_workspace(workspace.pk)}
    found = {name: scopes.get(name[:255]) for name in dataset.scopes}
    memories = {name: _read(scope, dataset.scopes[name]) for name, scope in found.items() if scope is not None}
    entries = Entry.objects.filter(workspace_id=workspace.pk).count()
    if entries != sum(len(memory.texts) for memory in memories.values()):
        return None
    whole = all(name in memories and len(memories[name].entries) == len(rows) for name, rows in dataset.scopes.items())
    return memories if whole else None


def _read(scope: Scope, rows: list[Row]) -> Memory:
    memory = Memory(scope)
    origins = Entry.objects.filter(scope=scope, workspace_id=scope.workspace_id).values_list("pk", "origins")
    holders = {origin: entry for entry, names in origins for origin in names}
    for row in rows:
        if (entry := holders.get(_origin(row))) is not None:
            memory.texts[entry].add(row.doc_id)
            memory.entries.append((row.seq, entry))
    memory.last_at = _last_at(rows)
    return memory


def _remember(workspace: Workspace, name: str, rows: list[Row], now: datetime) -> Memory:
    scope = Scope.objects.create(workspace=workspace, key=name[:255], kind=ScopeKind.USER)
    memory = Memory(scope)
    last_at = UNDATED
    for start in range(0, len(rows), CHUNK):
        drafts = []
        for row in rows[start : start + CHUNK]:
            last_at = row.at or last_at
            drafts.append(_draft(scope, row, last_at))
        remembered = entries.remember_many(drafts, now=now, actor="job:evaluate")
        for row, result in zip(rows[start : start + CHUNK], remembered, strict=True):
            memory.texts[result.entry.pk].add(row.doc_id)
            memory.entries.append((row.seq, result.entry.pk))
    memory.last_at = _last_at(rows)
    memory.scope.refresh_from_db()
    return memory


def _last_at(rows: list[Row]) -> datetime:
    return max((row.at for row in rows if row.at), default=UNDATED)


def _origin(row: Row) -> str:
    """A text's name on its entry; a set that changed its text is another set."""
    return f"{row.seq}:{row.digest}:{row.doc_id}"[:300]


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
        origins=(_origin(row),),
    )


def _drain(workspace: Workspace, now: datetime, use_cache: bool, say: Progress) -> None:
    """Wait until every row of the workspace is indexed; other embedders may be helping. Raises EmbedderFailed."""
    waiting = IndexQueueItem.objects.filter(workspace=workspace)
    said = time.monotonic()
    while left := waiting.count():
        if not worker.index_stale(now=datetime.now(UTC), limit=64, use_cache=use_cache):
            time.sleep(0.2)
        if waiting.filter(failures__gte=TRIES).exists():
            raise EmbedderFailed("The embedder keeps failing, so every answer would be degraded.")
        if time.monotonic() - said > 10:
            say(f"{left} to embed …")
            said = time.monotonic()
    if not use_cache:
        EmbeddingCache.objects.filter(used_at__gte=now).delete()
