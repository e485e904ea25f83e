"""The vector of a question: begun while the database is asked, and seen from the scopes that are searched (A7, A12)."""

from datetime import datetime
from typing import TYPE_CHECKING

from memories import embeddings
from memories.conf import conf
from memories.embeddings.base import typical_of, unrelated_of
from memories.index import models_in_use
from memories.language import relations, text
from memories.recall.gate.decision import decide
from memories.recall.question.dialogue import person_lines
from memories.recall.question.opening import Opening
from memories.recall.question.query import Query, searched_part
from memories.recall.question.references import expanded
from memories.recall.question.similarity import CentredQuery, centre_query, centroid_of, is_cjk, pending_wait

if TYPE_CHECKING:
    from memories.recall import Recall

#: In `degraded`: what was said seconds ago has no vector yet, and is found by its words alone.
PENDING = "embedding_pending"
#: In `degraded`: the model was changed and nobody embeds by the old one; what is not embedded anew is found by words.
REEMBEDDING = "reembedding"


def begin(message: str) -> None:
    """Begin to embed a message before anything is known of its scopes: most are embedded as they stand.

    What needs no memory is not embedded, and «my sister» waits for the scopes, which may know her name. Where something
    else changes the text, as what «she» means, `vector_of` embeds that.
    """
    if decide(message).retrieve and not any(relations.mentioned(message)):
        plain = text.last_tokens(person_lines(searched_part(message)), conf.EMBED_QUERY_TOKENS)
        embeddings.begin_query(plain, seconds=conf.EMBED_RECALL_SECONDS)


def vector_of(
    query: Query, message: str, result: "Recall", opening: Opening, *, now: datetime, seconds: float
) -> CentredQuery | None:
    """The vector of a message, seen from the scopes that are asked; None when nobody embeds in time."""
    end = text.last_tokens(expanded(person_lines(message), query), conf.EMBED_QUERY_TOKENS)
    model = opening.model
    space = models_in_use.served_space(model)
    embedded = result.timed("embedding", lambda: embeddings.embed_query(end, seconds=seconds, space=space))
    if embedded is None:
        result.degraded.append("embedding")
        return None
    provider, patience = embedded.provider, conf.EMBED_PENDING_SECONDS
    may_be_pending = patience > 0 and query.as_of is None and (opening.may_be_pending or space is None)
    if may_be_pending and result.timed(
        "pending", lambda: pending_wait.wait(query.scope_ids, provider, now=now, seconds=patience)
    ):
        result.degraded.append(PENDING)
    if space is None:
        if model is not None:
            result.degraded.append(REEMBEDDING)
        model = models_in_use.stored_model(embeddings.space_of(provider))
    if model is None:  # nothing is indexed yet
        return None
    centroid = result.timed("average", lambda: centroid_of(query.scopes, model))
    known = unrelated_of(provider), typical_of(provider)
    return centre_query(embedded.vectors[0], centroid, model, *known, cjk=is_cjk(query.message))
