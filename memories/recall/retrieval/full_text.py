"""How well the full text of some entries matches a question (C5)."""

import math
from collections.abc import Iterable, Mapping

from django.db import connection

from memories.language import text
from memories.models import Entry
from memories.recall.question.query import ParsedQuery


def full_text_ranks(entries: Mapping[int, Entry], parsed: ParsedQuery) -> dict[int, float]:
    """How well texts match, 0–1: the share of the question they hold, and how close together it stands in them.

    PostgreSQL is given terms in place of words, so that it has nothing to parse: to its own parser a Chinese sentence
    is one word. Of each text it ranks the terms it holds, all of them together; any of them alone would say nothing
    about how close they stand.
    """
    wanted = frozenset(parsed.terms)
    positions = {pk: text.term_positions(entry.content, wanted) for pk, entry in entries.items()}
    matching = [pk for pk, places in positions.items() if places]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT entry, ts_rank_cd('{1, 1, 1, 1}', vector::tsvector, wanted::tsquery, 32)"
            " FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS texts (entry, vector, wanted)",
            [
                matching,
                [_as_tsvector(positions[pk]) for pk in matching],
                [" & ".join(map(str, positions[pk])) for pk in matching],
            ],
        )
        close = dict(cursor.fetchall())
    return {pk: _share(positions[pk], parsed) * (1 + math.sqrt(close[pk])) / 2 for pk in matching}


def _as_tsvector(places: Mapping[int, set[int]]) -> str:
    return " ".join(f"{term}:{','.join(map(str, sorted(at)))}" for term, at in places.items())


def _share(terms: Iterable[int], parsed: ParsedQuery) -> float:
    shares = parsed.words.shares
    return sum(shares[term] for term in terms) / sum(shares.values())
