"""A workspace changes its embedding model in the background, while recall goes on by the old one (C14).

Every text gets its raw vector by the new model; from these the search rows' vectors are staged; then all rows of the
workspace are switched at once, and what is left of the old model is removed. Each step is short and can be repeated: a
process that is killed leaves nothing to be put right, and the next begins where vectors are missing. Where no provider
of the old model is configured any more, nothing is staged: rows are switched one by one.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.module_loading import import_string

from memories import embeddings, postgresql
from memories.conf import conf
from memories.embeddings import ModelChange, space_of_model
from memories.index import search_rows
from memories.index.search_rows import blend_embedding, dense_literal, indexed_text, raw_vectors, write_vectors
from memories.models import EmbeddingModel, Workspace
from memories.models.entry import LIVE_SQL

log = logging.getLogger(__name__)
#: Advisory lock: one process changes models at a time.
LOCK = 7 << 56
#: Vectors that are staged, and old ones that are removed, in one step.
STAGED_AT_ONCE, REMOVED_AT_ONCE = 200, 5_000
#: Seconds until it is looked again, when there is nothing to change or the new model does not answer.
PAUSE_SECONDS = 5.0
#: A provider that gives no vector for this gives none at all.
PROBE = "hello"

#: Entry, fingerprint, content, echo, path, heading.
_Text = tuple[int, str, str, str | None, str, str]
_WITHOUT_VECTOR = f"""
SELECT e.id, e.fingerprint, e.content, e.echo, e.path, e.heading FROM memories_entry e
LEFT JOIN memories_entryvector v ON v.entry_id = e.id AND v.model_id = %(new)s AND v.fingerprint = e.fingerprint
WHERE e.workspace_id = %(workspace)s AND e.id > %(after)s AND v.entry_id IS NULL
    AND ({LIVE_SQL} OR {search_rows.COUNTS_SQL})
ORDER BY e.id LIMIT %(limit)s
"""  # noqa: S608 (names of ours)
_UNSTAGED = f"""
SELECT e.id FROM memories_entry e
JOIN memories_entryvector v ON v.entry_id = e.id AND v.model_id = %(new)s AND v.fingerprint = e.fingerprint
JOIN memories_entryindex i ON i.entry_id = e.id AND i.model_id IS DISTINCT FROM %(new)s
LEFT JOIN memories_stagedvector s ON s.entry_id = e.id AND s.model_id = %(new)s AND s.fingerprint = e.fingerprint
WHERE e.workspace_id = %(workspace)s AND e.id > %(after)s AND s.entry_id IS NULL AND {LIVE_SQL}
ORDER BY e.id LIMIT %(limit)s
"""  # noqa: S608 (names of ours)
_COUNT = f"""
SELECT count(*), count(v.entry_id) FROM memories_entry e
LEFT JOIN memories_entryvector v ON v.entry_id = e.id AND v.model_id = %(new)s AND v.fingerprint = e.fingerprint
WHERE e.workspace_id = %(workspace)s AND {LIVE_SQL}
"""  # noqa: S608 (names of ours)
_STAGE = """
INSERT INTO memories_stagedvector (workspace_id, entry_id, model_id, fingerprint, embedding)
SELECT e.workspace_id, e.id, %s, v.fingerprint, new.embedding::halfvec
FROM unnest(%s::bigint[], %s::text[]) AS new (entry, embedding)
JOIN memories_entry e ON e.id = new.entry
JOIN memories_entryvector v ON v.entry_id = e.id AND v.model_id = %s
ORDER BY e.id ON CONFLICT (entry_id, model_id) DO UPDATE
SET fingerprint = excluded.fingerprint, embedding = excluded.embedding
"""
#: The rows of a workspace, locked in the order in which they are written everywhere.
_LOCK_ROWS = "SELECT entry_id FROM memories_entryindex WHERE scope_id = ANY(%(scopes)s) ORDER BY entry_id FOR UPDATE"
_SWITCH = """
UPDATE memories_entryindex i SET model_id = s.model_id, embedding = s.embedding
FROM memories_stagedvector s JOIN memories_entry e ON e.id = s.entry_id AND e.fingerprint = s.fingerprint
WHERE i.entry_id = s.entry_id AND s.workspace_id = %(workspace)s AND s.model_id = %(new)s
"""
#: What has no vector of the new model loses the old one, which is compared with nothing any more; what is live waits.
_CLEAR = f"""
WITH cleared AS (
    UPDATE memories_entryindex SET model_id = NULL, embedding = NULL
    WHERE scope_id = ANY(%(scopes)s) AND model_id <> %(new)s RETURNING entry_id
)
INSERT INTO memories_indexqueueitem (entry_id, workspace_id, since, failures)
SELECT e.id, e.workspace_id, clock_timestamp(), 0 FROM cleared c JOIN memories_entry e ON e.id = c.entry_id
WHERE {LIVE_SQL} ORDER BY e.id ON CONFLICT (entry_id) DO NOTHING
"""  # noqa: S608 (names of ours)
_REMOVE = """
DELETE FROM {table} WHERE id IN (
    SELECT v.id FROM {table} v JOIN memories_workspace w ON w.id = v.workspace_id
    WHERE v.model_id = ANY(%s) AND w.index_model_id = %s LIMIT %s)
"""


@dataclass(frozen=True)
class Progress:
    """How far a change has come, in live entries."""

    change: ModelChange
    entries: int
    embedded: int


@dataclass
class _Sweep:
    """How far this process has gone through the entries of a workspace."""

    embedded_to: int = 0
    blended_to: int = 0
    refused: int = 0  # texts the new model gave no vector for


def progress_of(change: ModelChange) -> Progress:
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, _parameters(change))
        return Progress(change, *cursor.fetchone())


class ModelChanger:
    """What one embedder process does for workspaces that change their model."""

    def __init__(self) -> None:
        self._sweeps: dict[tuple[int, int], _Sweep] = {}

    def __call__(self, *, now: datetime) -> float:
        """Do a little; the seconds until there is more, 0 when there is."""
        with postgresql.lock_of_session(LOCK) as is_alone:
            if not is_alone:
                return PAUSE_SECONDS
            main = embeddings.main_model()
            for change in embeddings.model_changes():
                if self._advance(change):
                    return 0.0
            # Some vectors of models that workspaces have left
            others = list(EmbeddingModel.objects.exclude(pk=main.pk).values_list("pk", flat=True)) if main else []
            if main is None or not others:
                return PAUSE_SECONDS
            row_count = 0
            with connection.cursor() as cursor:
                for table in ("memories_entryvector", "memories_stagedvector"):
                    cursor.execute(_REMOVE.replace("{table}", table), [others, main.pk, REMOVED_AT_ONCE])
                    row_count += cursor.rowcount
            return 0.0 if row_count else PAUSE_SECONDS

    def _advance(self, change: ModelChange) -> bool:
        """One step of a change; False when the new model does not answer."""
        sweep = self._sweeps.setdefault((change.workspace.pk, change.new.pk), _Sweep())
        batch = _rows(_WITHOUT_VECTOR, change, after=sweep.embedded_to, limit=conf.EMBED_BATCH)
        if batch:
            return self._embed(batch, change, sweep)
        if unstaged := _rows(_UNSTAGED, change, after=sweep.blended_to, limit=STAGED_AT_ONCE):
            _blend([row[0] for row in unstaged], change)
            sweep.blended_to = unstaged[-1][0]
            return True
        if len(_rows(_UNSTAGED, change, after=0, limit=conf.EMBED_BATCH + 1)) > conf.EMBED_BATCH:
            sweep.blended_to = 0  # of what was staged, neighbours have changed
            return True
        # What the packages above have to do before the switch, a little at a time: `prepare` says whether it is done
        works = map(import_string, settings.MEMORY_EMBEDDER_WORK)
        missing = len(_rows(_WITHOUT_VECTOR, change, after=0, limit=sweep.refused + conf.EMBED_BATCH + 1))
        if missing > sweep.refused + conf.EMBED_BATCH:
            sweep.embedded_to = sweep.refused = 0
        elif all(work.prepare(change) for work in works if hasattr(work, "prepare")):
            # Have a workspace searched by the new model from here on
            with transaction.atomic(), connection.cursor() as cursor:
                Workspace.objects.select_for_update().get(pk=change.workspace.pk)
                cursor.execute(
                    "SELECT id FROM memories_scope WHERE workspace_id = %s ORDER BY id", [change.workspace.pk]
                )
                scopes = [scope for (scope,) in cursor.fetchall()]
                parameters = _parameters(change) | {"scopes": scopes}
                cursor.execute(
                    "SELECT pg_advisory_xact_lock(%s + id) FROM unnest(%s::bigint[]) AS id",
                    [search_rows.BLEND_LOCK, scopes],
                )
                cursor.execute(_LOCK_ROWS, parameters)
                cursor.execute(_SWITCH, parameters)
                cursor.execute(_CLEAR, parameters)
                cursor.execute("DELETE FROM memories_stagedvector WHERE workspace_id = %s", [change.workspace.pk])
                Workspace.objects.filter(pk=change.workspace.pk).update(index_model=change.new)
                search_rows.raise_versions(scopes)
            log.info("workspace %s is searched by %s now", change.workspace.pk, change.new)
            self._sweeps.clear()
        return True

    def _embed(self, batch: Sequence[_Text], change: ModelChange, sweep: _Sweep) -> bool:
        """Embed these texts by the new model, one by one if it must be; False when it does not answer at all."""
        groups = [batch] if _embed_entries(batch, change) else [[text] for text in batch]
        seconds, space = conf.EMBED_WRITE_SECONDS, space_of_model(change.new)
        if len(groups) > 1 and not embeddings.embed_passages([PROBE], seconds=seconds, use_cache=False, space=space):
            return False
        for text in batch if len(groups) > 1 else ():
            sweep.refused += not _embed_entries([text], change)
        sweep.embedded_to = batch[-1][0]
        return True


#: Called by the embedder, while no entry waits.
change_models = ModelChanger()


def finish(*, now: datetime) -> None:
    """Change what is to be changed to its end (tests, benchmarks)."""
    changer = ModelChanger()
    while changer(now=now) == 0:
        pass


def _parameters(change: ModelChange) -> dict[str, int]:
    return {"workspace": change.workspace.pk, "new": change.new.pk}


def _rows(statement: str, change: ModelChange, *, after: int, limit: int) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, _parameters(change) | {"after": after, "limit": limit})
        return list(cursor.fetchall())


def _embed_entries(texts: Sequence[_Text], change: ModelChange) -> bool:
    """Store the raw vectors of these entries by the new model; False when it gave none."""
    answer = embeddings.embed_passages(
        [indexed_text(content, echo, path, heading) for _entry, _fingerprint, content, echo, path, heading in texts],
        seconds=conf.EMBED_WRITE_SECONDS * len(texts),
        space=space_of_model(change.new),
    )
    if answer is None:
        return False
    entries = [entry for entry, *_ in texts]
    write_vectors([text[:2] for text in texts], answer.vectors, model_id=change.new.pk)
    near = search_rows.neighbours(entries)
    touched = set(entries).union(*near.values(), search_rows.keepers_of(entries))
    if change.goes_on:
        search_rows.unstage(touched)
    else:
        _blend(touched, change)
    return True


def _blend(entries: Collection[int], change: ModelChange) -> None:
    """Blend these entries' new vectors with their neighbours'; into staged ones while the old model is searched by."""
    model_id = change.new.pk
    try:
        if not change.goes_on:
            search_rows.blend(entries, model_id=model_id)
            return
        with transaction.atomic(), connection.cursor() as cursor:
            search_rows.lock_scopes(entries)
            near = search_rows.neighbours(entries)
            for entry, parts in search_rows.sources_of(near).items():
                near[entry] += parts
            vectors = raw_vectors({*near, *(n for around in near.values() for n in around)}, model_id)
            mixed = {
                entry: blend_embedding(vectors[entry], [vectors[n] for n in around if n in vectors])
                for entry, around in near.items()
                if entry in vectors
            }
            cursor.execute(_STAGE, [model_id, list(mixed), [*map(dense_literal, mixed.values())], model_id])
    except IntegrityError:  # those that are left are found again
        log.info("entries vanished while they were embedded anew")
