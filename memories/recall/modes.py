"""The ways to search: meaning and words together, either of them, words as they stand, or full text (C5).

All of them obey the same walls, quotas and filters. Where words as they stand or full text are asked for, nothing but
the match decides the order, and of equal matches the newer comes first.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from django.db import connection

from memories.language import stopwords, text
from memories.models import Entry
from memories.recall.date_ranges import DateRange
from memories.recall.literals import literals
from memories.recall.query import Words
from memories.recall.similarity import CentredQuery

MAX_WORDS = 32  # words of one question that are looked for
SHORTLIST = 100  # entries whose full text is read, those that hold the rarest words of the question
_STOPWORDS = stopwords.ENGLISH | stopwords.CHINESE


class Mode(StrEnum):
    """What a search goes by."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    KEYWORD = "keyword"
    FTS = "fts"


#: Neither boosts nor age count where one looks for words.
BY_MATCH_ALONE = frozenset({Mode.KEYWORD, Mode.FTS})


@dataclass(frozen=True)
class ParsedQuery:
    """What the search makes of a query: its words, where it points, the days it names."""

    words: Words
    direction: CentredQuery | None
    date_ranges: Sequence[DateRange]
    needles: Sequence[str] = ()  # looked for as they stand
    terms: Sequence[int] = ()  # one of them has to be an entry's own word
    limit: int | None = None  # how many are looked at; None: as configured


def content_words(message: str) -> list[str]:
    """The words of a message, folded; those that tell nothing only when there are no others."""
    said = [word.replace("’", "'").removesuffix("'s") for word in text.words(message)]
    telling = [word for word in said if word not in _STOPWORDS]
    return list(dict.fromkeys(telling or said))[:MAX_WORDS]


def parse_for_match(mode: str, message: str, words: Words) -> ParsedQuery:
    """What a search by matches alone looks for: names are words like others there."""
    if mode == Mode.KEYWORD:
        return ParsedQuery(replace(words, named=[]), None, [], needles=literals(message))
    terms = list(text.terms(message))
    rarest = max(words.shares.values(), default=1 / max(len(terms), 1))
    shares = {term: words.shares.get(term, rarest) for term in terms}
    single = text.telling_characters(message)
    return ParsedQuery(replace(words, shares=shares, named=[]), None, [], needles=single, terms=terms, limit=SHORTLIST)


def full_text_ranks(entries: Mapping[int, Entry], parsed: ParsedQuery) -> dict[int, float]:
    """How well texts match, 0–1: the share of the question they hold, and how close together it stands in them.

    PostgreSQL is given terms in place of words, so that it has nothing to parse: to its own parser a Chinese sentence
    is one word. Of each text it ranks the terms it holds, all of them together; any of them alone would say nothing
    about how close they stand.
    """
    wanted = frozenset(parsed.terms)
    held = {pk: text.term_positions(entry.content, wanted) for pk, entry in entries.items()}
    matching = [pk for pk, places in held.items() if places]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT entry, ts_rank_cd('{1, 1, 1, 1}', said::tsvector, wanted::tsquery, 32)"
            " FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS texts (entry, said, wanted)",
            [
                matching,
                [_as_tsvector(held[pk]) for pk in matching],
                [" & ".join(map(str, held[pk])) for pk in matching],
            ],
        )
        close = dict(cursor.fetchall())
    return {pk: _share(held[pk], parsed) * (1 + math.sqrt(close[pk])) / 2 for pk in matching}


def _as_tsvector(places: Mapping[int, set[int]]) -> str:
    return " ".join(f"{term}:{','.join(map(str, sorted(at)))}" for term, at in places.items())


def _share(terms: Iterable[int], parsed: ParsedQuery) -> float:
    shares = parsed.words.shares
    return sum(shares[term] for term in terms) / sum(shares.values())
