"""Removing what was found, a few hundred rows a transaction: after a kill the rest is still written down.

Before anything goes, what others wrote is put back, and tombstones and phrases are kept of the rest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Model

from memories.embeddings import text_hash
from memories.entries import evidence, removal, suppression
from memories.index import scope_statistics
from memories.index.search_rows import indexed_text
from memories.language.quoting import sides_of
from memories.models import (
    Batch,
    BatchChange,
    BufferedTurn,
    DailyEvent,
    EmbeddingCache,
    Entry,
    Erasure,
    Recorded,
    Scope,
    Tombstone,
)
from memories.models.change import acting, forget_history
from memories.models.table import Fate, children_first, tables
from memories.models.tenancy import lock_scopes
from memplatform import archive
from memplatform.erasure import collect, search
from memplatform.erasure.person import from_json, keys_of
from sessions_app import conversations
from sessions_app.models import Flush, Session, SessionEvent

CHUNK = 500
_ENTRY, _DAY, _EVENT = (model._meta.db_table for model in (Entry, DailyEvent, SessionEvent))


def put_others_back(erasure: Erasure, *, now: datetime) -> int:
    """Leave out of the erasure what others wrote first and the person only repeated, in the words it had; how many."""
    identities = {(identity.platform, identity.peer) for identity in from_json(erasure.identities)}
    own = set(keys_of(erasure))
    count = 0
    for entries in _target_entries(erasure):
        candidates = [
            entry
            for entry in entries
            if entry.scope.key not in own and (entry.channel, entry.sender_id) not in identities and entry.origins
        ]
        # Which of their messages are to go
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT origin FROM unnest(%s::text[]) origin"
                " WHERE substring(origin from '/event-([0-9]{1,18})$')::bigint IN (SELECT row_id"
                " FROM memories_erasuretarget WHERE erasure_id = %s AND table_name = %s)",
                [sorted({origin for entry in candidates for origin in entry.origins}), erasure.pk, _EVENT],
            )
            origins = {row[0] for row in cursor.fetchall()}
        candidates = [entry for entry in candidates if not origins.issuperset(entry.origins)]
        pks = [entry.pk for entry in candidates]
        archived_changes = archive.changes_of(erasure.workspace, pks)
        with transaction.atomic():
            states = removal.others_versions(erasure.workspace_id, pks, origins, archived=archived_changes)
            if states:
                count += removal.put_back(erasure.workspace_id, states, erasure=erasure.uid, now=now)
                targets = erasure.targets.filter(table_name=_ENTRY, row_id__in=states)
                targets.update(table_name=collect.PUT_BACK)  # their archived history goes with the archive's rows
    return count


def mark(erasure: Erasure) -> None:
    """Keep tombstones and phrases of what goes, and forget its cached embeddings. Safe to run again."""
    own = keys_of(erasure)
    phrases = set(erasure.phrases)
    for entries in _target_entries(erasure):
        texts = [(entry.scope.key, entry.content) for entry in entries]
        phrases |= search.phrases_of(_own_words(entry.content) for entry in entries)
        _bury(erasure, [mark for key, content in texts for mark in _content_marks(erasure, {key}, content)])
        _forget_embeddings([content for _key, content in texts])
        _forget_embeddings([indexed_text(row.content, row.echo, row.path, row.heading) for row in entries])
    for days in _rows(erasure, _DAY):
        events = list(DailyEvent.objects.filter(pk__in=days).select_related("scope"))
        phrases |= search.phrases_of(event.content for event in events)
        _bury(erasure, [mark for event in events for mark in _content_marks(erasure, {event.scope.key}, event.content)])
    for rows in _rows(erasure, _EVENT):
        messages = list(SessionEvent.objects.filter(pk__in=rows).select_related("session"))
        utterances = [message for message in messages if message.kind in ("user", "ambient")]
        phrases |= search.phrases_of(message.content for message in utterances)
        _bury(erasure, [mark for message in utterances for mark in _content_marks(erasure, own, message.content)])
        origins = [message.session.origin_of(message) for message in messages]
        _bury(erasure, [suppression.of_origin(erasure.workspace_id, origin) for origin in origins])
        _bury(erasure, [mark for message in messages for mark in conversations.marks(message.session, message)])
        _forget_embeddings([message.content for message in messages])
    erasure.phrases = sorted(phrases)[: search.MOST]
    erasure.save(update_fields=["phrases"])


def _content_marks(erasure: Erasure, keys: Iterable[str], content: str) -> list[str]:
    return [
        mark
        for words in {content, _own_words(content)}
        for mark in suppression.of_content(erasure.workspace_id, sorted(keys), words)
    ]


def _own_words(content: str) -> str:
    """Of a turn what the person wrote, of another text all of it."""
    sides = sides_of(content)
    return sides[0] if sides and sides[0] else content


def _bury(erasure: Erasure, digests: Iterable[str]) -> None:
    rows = [Tombstone(workspace_id=erasure.workspace_id, erasure=erasure, digest=digest) for digest in set(digests)]
    Tombstone.objects.bulk_create(rows, ignore_conflicts=True)


def _forget_embeddings(texts: Sequence[str]) -> None:
    EmbeddingCache.objects.filter(text_hash__in={text_hash(content) for content in texts}).delete()


def _target_entries(erasure: Erasure) -> Iterator[list[Entry]]:
    for rows in _rows(erasure, _ENTRY):
        yield list(Entry.objects.filter(pk__in=rows).select_related("scope"))


def _rows(erasure: Erasure, table: str) -> Iterator[list[int]]:
    """All ids found of a table, in pieces."""
    every = erasure.targets.filter(table_name=table).order_by("row_id").values_list("row_id", flat=True)
    rows = list(every)
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]


# ruff: noqa: S608 (names of tables)


def in_order() -> list[type[Model]]:
    """The tables rows are removed from.

    Entries go before messages: by the messages an erasure that goes on finds what others wrote too.
    """
    return children_first(model for model, table in tables() if table.fate in (Fate.REMOVED, Fate.CLEARED))


#: What is done to what hangs on rows before they go. The sessions of groups go on: in them the person's scope was only
#: who spoke last.
_BEFORE: Mapping[type[Model], Sequence[str]] = {
    Batch: ["UPDATE memories_batch SET undoes_id = NULL WHERE undoes_id = ANY(%(rows)s)"],
    Session: ["DELETE FROM sessions_app_flush WHERE workspace_id = %(workspace)s AND session_id = ANY(%(rows)s)"],
    Scope: [
        "UPDATE sessions_app_session SET user_scope_id = NULL WHERE user_scope_id = ANY(%(rows)s)",
        "UPDATE memories_refusedfact SET scope_id = NULL WHERE scope_id = ANY(%(rows)s)",
    ],
}
#: And after them: what waits beside turns waits no longer than it has to. An extraction batch that is empty goes, and
#: whoever works on another has to begin anew, without these.
_AFTER: Mapping[type[Model], Sequence[str]] = {
    BufferedTurn: [
        "DELETE FROM memories_extractionbatch b WHERE workspace_id = %(workspace)s"
        " AND NOT EXISTS (SELECT FROM memories_bufferedturn t WHERE t.batch_id = b.id)",
        "UPDATE memories_extractionbatch b SET state = 'waiting', claim = NULL, error = '', turn_count = left_in.turns,"
        " tokens = left_in.tokens FROM (SELECT batch_id, count(*) AS turns, sum(tokens) AS tokens"
        " FROM memories_bufferedturn WHERE workspace_id = %(workspace)s GROUP BY batch_id) left_in"
        " WHERE left_in.batch_id = b.id AND b.turn_count <> left_in.turns",
    ],
}
#: How rows are cleared that stay; every table whose words are taken out is here.
CLEARING: Mapping[type[Model], str] = {
    BatchChange: "UPDATE memories_batchchange SET draft = '{}', note = CASE state WHEN 'planned' THEN 'erased' ELSE ''"
    " END, state = CASE state WHEN 'planned' THEN 'left' ELSE state END",
    Flush: "UPDATE sessions_app_flush SET goes_on_with = ''",
}


def remove_all(erasure: Erasure, *, now: datetime) -> None:
    """Remove every row that was found and is still there; counts are kept with each transaction."""
    workspace = erasure.workspace_id
    for model in in_order():
        table = model._meta.db_table
        while rows := collect.take(erasure, table, CHUNK):
            with transaction.atomic(), acting(erasure.actor):
                if model is Entry:
                    scopes = Scope.objects.filter(pk__in=Entry.objects.filter(pk__in=rows).values("scope_id"))
                    for scope in lock_scopes(scopes, frozen_too=True).values():
                        scope_statistics.raise_version(scope)
                    count = removal.erase_entries(workspace, rows, now=now)
                elif model is DailyEvent:
                    count = removal.erase_days(workspace, rows, now=now)
                else:
                    if model is SessionEvent:
                        events = SessionEvent.objects.filter(workspace_id=workspace, pk__in=rows)
                        if origins := [event.session.origin_of(event) for event in events.select_related("session")]:
                            evidence.forget(workspace, origins)
                    count = _remove(model, workspace, rows)
                erasure.targets.filter(table_name=table, row_id__in=rows).delete()
                add(erasure, table, count)


def _remove(model: type[Model], workspace: int, rows: list[int]) -> int:
    """Remove or clear rows of a table, with what hangs on them; the history of some outlived them."""
    table = model._meta.db_table
    values: dict[str, Any] = {"workspace": workspace, "rows": rows}
    statement = CLEARING.get(model, f"DELETE FROM {table}")
    with connection.cursor() as cursor:
        for before in _BEFORE.get(model, ()):
            cursor.execute(before, values)
        cursor.execute(f"{statement} WHERE workspace_id = %(workspace)s AND id = ANY(%(rows)s)", values)
        count = int(cursor.rowcount)
        for after in _AFTER.get(model, ()):
            cursor.execute(after, values)
    if issubclass(model, Recorded):
        forget_history(workspace, table, rows)
    return count


def add(erasure: Erasure, name: str, count: int) -> None:
    """Count what was removed."""
    erasure.counts = {**erasure.counts, name: erasure.counts.get(name, 0) + count}
    erasure.save(update_fields=["counts"])
