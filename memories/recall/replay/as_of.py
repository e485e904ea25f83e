"""Recall as of a moment: today's ranking over memory as it was then (F6).

What was taken out of use since is found as it was. What may not be heard any more is found too, so that its place is
told, but without its words: what people took out since (A15), and what the place where it is asked may not hear today.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.utils.translation import gettext as _

from memories import embeddings
from memories.conf import conf
from memories.entries import past
from memories.exceptions import InvalidMoment
from memories.index import models_in_use
from memories.index.indexed_text import indexed_text
from memories.models import EmbeddingModel, Entry, Scope, Workspace
from memories.recall.retrieval.filters import CredentialGuard, audience_filter, credential_guard

if TYPE_CHECKING:
    from memories.recall.question.query import Query

#: Wordings of before that are embedded for one question; others are found by their words.
WORDINGS_MOST = 500
_REWORDED = """
SELECT e.id, coalesce(c.past ->> 'fingerprint', e.fingerprint), coalesce(c.past ->> 'content', e.content),
    CASE WHEN c.past ? 'echo' THEN c.past ->> 'echo' ELSE e.echo END,
    coalesce(c.past ->> 'path', e.path), coalesce(c.past ->> 'heading', e.heading)
FROM memories_entry e CROSS JOIN LATERAL (
    SELECT jsonb_object_agg(k.key, k.value ORDER BY h.version DESC, h.id DESC) AS past, bool_or(h.op = 'I') AS is_new
    FROM memories_change h LEFT JOIN LATERAL jsonb_each(h.old) k ON true
    WHERE h.table_name = 'memories_entry' AND h.row_id = e.id AND h.at > %(moment)s AND k.key IS NOT NULL
) c
WHERE e.workspace_id = %(workspace)s AND e.scope_id = ANY(%(scopes)s::bigint[]) AND c.past ?| '{content,path,heading}'
ORDER BY e.created_at DESC, e.id DESC LIMIT %(most)s
"""
_UNHEARD = """
SELECT entry_id FROM memories_suppression WHERE scope_id = ANY(%(scopes)s::bigint[]) AND entry_id IS NOT NULL
UNION SELECT id FROM memories_entry WHERE scope_id = ANY(%(scopes)s::bigint[])
    AND (suppressed_at IS NOT NULL OR quarantined_at IS NOT NULL)
"""
_NOT_HEARD_HERE = """
UNION SELECT e.id FROM memories_entry e JOIN memories_entryindex i ON i.entry_id = e.id
WHERE e.scope_id = ANY(%(scopes)s::bigint[]) AND NOT ({heard})
"""
#: Rows that nobody can bring back: purged ones of these scopes, and those that went with a person.
_ERASED = """
SELECT (SELECT count(*) FROM memories_batchchange c JOIN memories_batch b ON b.id = c.batch_id
        WHERE b.workspace_id = %(workspace)s AND b.scope_id = ANY(%(scopes)s::bigint[]) AND b.applied_at > %(moment)s
            AND c.verb = 'purge' AND c.state = 'applied')
    + (SELECT coalesce(sum((x.counts ->> 'memories_entry')::int), 0) FROM memories_erasure x
        WHERE x.workspace_id = %(workspace)s AND (x.finished_at IS NULL OR x.finished_at > %(moment)s))
"""


@dataclass(frozen=True)
class Past:
    """What is known today of memory as it was asked at a moment."""

    moment: datetime
    erased_since: int = 0  # memories of before that nobody can bring back
    unheard: frozenset[int] = frozenset()
    guard: CredentialGuard = field(default_factory=CredentialGuard)

    def withholds(self, entry: Entry) -> bool:
        """Whether no bot may be told its words any more."""
        return entry.pk in self.unheard or self.guard.reveals(entry.content, entry.origins)


def check_moment(workspace_id: int, moment: datetime, *, now: datetime) -> None:
    """Raises InvalidMoment, where memory has no state at this moment: it is still to come, or before the workspace."""
    if moment > now:
        raise InvalidMoment(_("This moment is still to come."))
    made_at = Workspace.objects.values_list("created_at", flat=True).get(pk=workspace_id)
    if moment < made_at:
        raise InvalidMoment(_("The workspace was made later, at %s.") % made_at.isoformat(timespec="seconds"))


@contextmanager
def as_of(query: "Query", moment: datetime) -> Iterator["Query"]:
    """The query as of a moment; inside, memory is as it was then.

    Words of then are embedded before, if nobody remembers their vectors. The owner's reranker is asked inside, in a
    transaction that nobody waits for.
    """
    model = models_in_use.searched_model(query.workspace_id)
    known = _today(query, moment)
    vectors = _vectors_of_then(query, moment, model)
    with past.as_they_were(
        query.workspace_id, query.scope_ids, moment, model_id=model.pk if model else None, reworded=vectors
    ):
        scopes = Scope.objects.in_bulk(query.scope_ids)
        places = [replace(place, scope=scopes[place.scope.pk]) for place in query.places if place.scope.pk in scopes]
        yield replace(query, places=places, opening=None, past=known, cache=False)


def _today(query: "Query", moment: datetime) -> Past:
    """What may not be told today of these scopes, and how much is gone."""
    given: dict[str, Any] = {"workspace": query.workspace_id, "scopes": query.scope_ids, "moment": moment}
    conditions, parameters = audience_filter(query)
    statement = _UNHEARD
    if conditions:
        statement += _NOT_HEARD_HERE.replace("{heard}", " AND ".join(conditions))
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters | given)
        unheard = frozenset(pk for (pk,) in cursor.fetchall())
        cursor.execute(_ERASED, given)
        (erased,) = cursor.fetchone()
    return Past(moment, erased, unheard, credential_guard(query.workspace_id, query.scopes))


def _vectors_of_then(query: "Query", moment: datetime, model: EmbeddingModel | None) -> list[past.Reworded]:
    """The vectors of what is worded otherwise today: remembered, or made now; none where nobody embeds in time."""
    if model is None:
        return []
    given: dict[str, Any] = {
        "workspace": query.workspace_id,
        "scopes": query.scope_ids,
        "moment": moment,
        "most": WORDINGS_MOST,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REWORDED, given)
        rows = cursor.fetchall()
    found: list[past.Reworded] = []
    for start in range(0, len(rows), conf.EMBED_BATCH):
        some = rows[start : start + conf.EMBED_BATCH]
        texts = [indexed_text(*said) for _pk, _words, *said in some]
        answer = embeddings.embed_passages(
            texts, seconds=conf.EMBED_WRITE_SECONDS * len(texts), space=models_in_use.space_of(model)
        )
        if answer is None:
            break
        found += [past.Reworded(row[0], row[1], vector) for row, vector in zip(some, answer.vectors, strict=True)]
    return found
