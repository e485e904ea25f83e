"""Before anything goes: what others said is put back, and tombstones and phrases are kept of the rest."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from django.db import connection, transaction

from memories.embeddings.base import text_hash
from memories.entries import erase, suppression
from memories.index.contextual import indexed_text
from memories.language.turns import sides_of
from memories.models import DailyEvent, EmbeddingCache, Entry, Erasure, Tombstone
from memplatform.erasure import collect, phrases
from memplatform.erasure.person import from_json, own_keys
from sessions_app.lifecycle import conversations
from sessions_app.models import SessionEvent

CHUNK = 500
_ENTRY, _DAY, _EVENT = (model._meta.db_table for model in (Entry, DailyEvent, SessionEvent))


def put_others_back(erasure: Erasure, *, now: datetime) -> int:
    """Leave out of the erasure what others wrote first and the person only repeated, in the words it had; how many."""
    identities = {(one.platform, one.peer) for one in from_json(erasure.identities)}
    own = set(own_keys(erasure.workspace, from_json(erasure.identities)))
    count = 0
    for entries in _entries(erasure):
        mixed = [
            entry
            for entry in entries
            if entry.scope.key not in own and (entry.channel, entry.sender_id) not in identities and entry.origins
        ]
        origins = _found_origins(erasure, {origin for entry in mixed for origin in entry.origins})
        mixed = [entry for entry in mixed if not origins.issuperset(entry.origins)]
        with transaction.atomic():
            states = erase.others_versions(erasure.workspace_id, [entry.pk for entry in mixed], origins)
            if states:
                count += erase.put_back(erasure.workspace_id, states, erasure=erasure.uid, now=now)
                collect.done(erasure, _ENTRY, sorted(states))
    return count


def mark(erasure: Erasure) -> None:
    """Keep tombstones and phrases of what goes, and forget its cached embeddings. Safe to run again."""
    identities = from_json(erasure.identities)
    own = own_keys(erasure.workspace, identities)
    found = set(erasure.phrases)
    for entries in _entries(erasure):
        texts = [(entry.scope.key, entry.content) for entry in entries]
        found |= phrases.of_texts(_said(entry.content) for entry in entries)
        _bury(erasure, [mark for key, content in texts for mark in _content_marks(erasure, {key}, content)])
        _forget_embeddings([*(content for _key, content in texts), *map(_embedded, entries)])
    for days in _rows(erasure, _DAY):
        events = list(DailyEvent.objects.filter(pk__in=days).select_related("scope"))
        found |= phrases.of_texts(event.content for event in events)
        _bury(erasure, [mark for event in events for mark in _content_marks(erasure, {event.scope.key}, event.content)])
    for rows in _rows(erasure, _EVENT):
        messages = list(SessionEvent.objects.filter(pk__in=rows).select_related("session"))
        said = [one for one in messages if one.kind in ("user", "ambient")]
        found |= phrases.of_texts(one.content for one in said)
        _bury(erasure, [mark for one in said for mark in _content_marks(erasure, own, one.content)])
        _bury(erasure, [suppression.of_origin(erasure.workspace_id, one.session.origin_of(one)) for one in messages])
        _bury(erasure, [mark for one in messages for mark in conversations.marks(one.session, one)])
        _forget_embeddings([one.content for one in messages])
    erasure.phrases = phrases.fewest(found)
    erasure.save(update_fields=["phrases"])


def _content_marks(erasure: Erasure, keys: Iterable[str], content: str) -> list[str]:
    return [
        mark
        for one in {content, _said(content)}
        for mark in suppression.of_content(erasure.workspace_id, sorted(keys), one)
    ]


def _said(content: str) -> str:
    """Of a turn what the person said, of another text all of it."""
    sides = sides_of(content)
    return sides[0] if sides and sides[0] else content


def _embedded(entry: Entry) -> str:
    return indexed_text(entry.content, entry.echo, entry.path, entry.heading)


def _bury(erasure: Erasure, digests: Iterable[str]) -> None:
    rows = [Tombstone(workspace_id=erasure.workspace_id, erasure=erasure, digest=one) for one in set(digests)]
    Tombstone.objects.bulk_create(rows, ignore_conflicts=True)


def _forget_embeddings(texts: Sequence[str]) -> None:
    EmbeddingCache.objects.filter(text_hash__in={text_hash(one) for one in texts}).delete()


def _entries(erasure: Erasure) -> Iterator[list[Entry]]:
    for rows in _rows(erasure, _ENTRY):
        yield list(Entry.objects.filter(pk__in=rows).select_related("scope"))


def _rows(erasure: Erasure, table: str) -> Iterator[list[int]]:
    """All ids found of a table, in pieces."""
    every = erasure.targets.filter(table_name=table).order_by("row_id").values_list("row_id", flat=True)
    rows = list(every)
    for start in range(0, len(rows), CHUNK):
        yield rows[start : start + CHUNK]


def _found_origins(erasure: Erasure, origins: set[str]) -> set[str]:
    """Which of these messages are to go."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT origin FROM unnest(%s::text[]) origin"
            " WHERE substring(origin from '/event-([0-9]{1,18})$')::bigint IN (SELECT row_id"
            " FROM memories_erasuretarget WHERE erasure_id = %s AND table_name = %s)",
            [sorted(origins), erasure.pk, _EVENT],
        )
        return {row[0] for row in cursor.fetchall()}
