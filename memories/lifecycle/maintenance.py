"""Maintenance of derived and temporary rows: the index queue, term counts, outdated records."""

from collections import Counter
from datetime import datetime

from django.db import connection

from memories import embeddings
from memories.audit.models import AuditRecord
from memories.conf import conf
from memories.entries.past import count_scope
from memories.exceptions import ScopeFrozen
from memories.index.search_rows import CHANNEL
from memories.models import Scope
from memories.models.entry import LIVE_SQL
from memories.models.lease import wake_on_commit

CHUNK = 5_000


def find_unindexed(*, now: datetime) -> dict[str, int]:
    """Queue live entries without a search row or a current vector; the number queued.

    Without an embedder only the search row counts. What is in the queue already stays as it is.
    """
    lacking, parameters = _lacking()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_indexqueueitem (entry_id, workspace_id, since, failures)"  # noqa: S608 (constants)
            f" SELECT e.id, e.workspace_id, %(now)s, 0 {lacking} ORDER BY e.id ON CONFLICT DO NOTHING",
            parameters | {"now": now},
        )
        queued = cursor.rowcount
    if queued:
        wake_on_commit(CHANNEL)
    return {"entries": queued}


def count_unindexed() -> dict[str, int]:
    """The number of live entries without a search row or a current vector that are not in the queue."""
    lacking, parameters = _lacking()
    listed = "EXISTS (SELECT 1 FROM memories_indexqueueitem s WHERE s.entry_id = e.id)"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {lacking} AND NOT {listed}", parameters)  # noqa: S608 (constants)
        return {"entries": int(cursor.fetchone()[0])}


def _lacking() -> tuple[str, dict[str, int | None]]:
    """A workspace that is changing its model is looked after by that change (memories.index.model_change)."""
    provider = embeddings.main_provider()
    model = embeddings.stored_model(embeddings.space_of(provider)) if provider else None
    lacking = ["i.entry_id IS NULL"]
    if provider:
        other = "v.entry_id IS NULL OR i.model_id IS DISTINCT FROM %(model)s"
        lacking += [f"((w.index_model_id IS NULL OR w.index_model_id = %(model)s) AND ({other}))"]
    return (
        " FROM memories_entry e JOIN memories_workspace w ON w.id = e.workspace_id"
        " LEFT JOIN memories_entryindex i ON i.entry_id = e.id"
        " LEFT JOIN memories_entryvector v ON v.entry_id = e.id AND v.model_id = %(model)s"
        f" AND v.fingerprint = e.fingerprint WHERE {LIVE_SQL} AND ({' OR '.join(lacking)})",
        {"model": model.pk if model else None},
    )


def count_terms_anew(workspace_id: int, *, is_dry: bool = False) -> dict[str, int]:
    """Compute term and entry counts, lengths, projects and nicknames of a workspace's scopes anew from live entries.

    Returns the number of scopes they were wrong in; dry, nothing is stored.
    """
    counted = frozen = 0
    for scope in Scope.objects.in_workspace(workspace_id).order_by("pk"):
        try:
            counted += count_scope(scope, is_dry)
        except ScopeFrozen:  # nobody writes there, so nothing changes
            frozen += 1
    return {"scopes": counted, "frozen": frozen}


def clean_up(*, now: datetime) -> dict[str, int]:
    """Remove outdated records in short transactions; the number of each kind. Locked ones wait for the next run."""
    counts: Counter[str] = Counter()
    with connection.cursor() as cursor:
        for name, (table, column, before) in _outdated_rows(now).items():
            counts[name], last = 0, CHUNK
            while last == CHUNK:
                cursor.execute(
                    f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE {column} < %s"  # noqa: S608 (constants)
                    " LIMIT %s FOR UPDATE SKIP LOCKED)",
                    [before, CHUNK],
                )
                last = int(cursor.rowcount)
                counts[name] += last
    return dict(counts) | {"audit": AuditRecord.forget(before=now - conf.AUDIT_TTL)}


def count_outdated(*, now: datetime) -> dict[str, int]:
    """The number of outdated records of each kind."""
    counts = {}
    with connection.cursor() as cursor:
        for name, (table, column, before) in _outdated_rows(now).items():
            cursor.execute(f"SELECT count(*) FROM {table} WHERE {column} < %s", [before])  # noqa: S608 (constants)
            counts[name] = int(cursor.fetchone()[0])
    return counts | {"audit": AuditRecord.objects.filter(at__lt=now - conf.AUDIT_TTL).count()}


def _outdated_rows(now: datetime) -> dict[str, tuple[str, str, datetime]]:
    """By kind, the table, its column of time, and the moment before which a record is outdated."""
    return {
        "traces": ("memories_recalltrace", "created_at", now - conf.TRACE_TTL),
        "idempotency_keys": ("memories_idempotencykey", "created_at", now - conf.IDEMPOTENCY_TTL),
        "key_usage": ("memories_keyusage", "minute", now - conf.KEY_USAGE_TTL),
        "cached_embeddings": ("memories_embeddingcache", "used_at", now - conf.EMBEDDING_CACHE_TTL),
        "refused_facts": ("memories_refusedfact", "created_at", now - conf.REFUSED_TTL),
        "deliveries": ("memories_webhookdelivery", "at", now - conf.WEBHOOK_DELIVERY_TTL),
        "job_runs": ("memories_jobrun", "started_at", now - conf.JOB_RUN_TTL),
    }
