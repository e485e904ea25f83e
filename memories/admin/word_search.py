"""Search of rows by their words, with the index terms recall uses: no scan over all texts."""

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from memories.language import text
from memories.tenancy import row_level_security

#: So many rows are looked up by their ids; of more the newest are read until a page is full.
FEW = 10_000
_QUOTED = re.compile(r'["“”]([^"“”]+)["“”]')


@dataclass(frozen=True)
class WordIndex:
    """Where the words of a kind of rows stand: the column of their text, and the function that asks their index."""

    column: str
    function: str  # of the database; named here, never by a request
    has_characters: bool = False  # single Chinese characters are terms as well


ENTRIES = WordIndex("content", "memplatform_entries_with_terms")
TRACES = WordIndex("message", "memplatform_traces_with_terms", has_characters=True)


class WordSearch:
    """For the admin of rows whose words are indexed."""

    word_index = ENTRIES

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return (search(queryset, search_term, self.word_index) if search_term.strip() else queryset), False


def search(rows: QuerySet[Any], query: str, index: WordIndex = ENTRIES) -> QuerySet[Any]:
    """Rows with every word of the query: English words by their stem, Chinese ones by each pair of characters.

    An id finds its row. What stands in quotation marks is looked for as it is written, as are words too common to be
    in the index; that reads the texts, after the index has narrowed them down.
    """
    query = query.strip()
    if (by_id := _by_id(query)) is not None:
        return rows.filter(by_id)
    characters = {char for char in text.shingles(query) if index.has_characters and char in text.characters(char)}
    words = {word for word in text.shingles(query) if _is_indexed(word)}
    terms = {term for word in words for term in _terms_of(word)} | {text.dimension_of(char) for char in characters}
    if terms:
        found = _with_terms(sorted(terms), index)
        rows = rows.filter(pk__in=found) if found is not None else rows.filter(terms__contains=sorted(terms))
    loose = [word for word in text.normalise(query).split() if not _is_indexed(word) and word not in characters]
    for phrase in [*_QUOTED.findall(query), *loose]:
        rows = rows.filter(**{f"{index.column}__icontains": phrase.replace("\0", "")})
    return rows


def _with_terms(terms: list[int], index: WordIndex) -> list[int] | None:
    """The rows with all these terms in the workspaces of the request; None where they are many, or it has none.

    The many are soon found among the newest.
    """
    if not row_level_security.is_inside():
        return None
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {index.function}(%s, %s)", [terms, FEW + 1])  # noqa: S608 (a name of ours)
        found: list[int] = cursor.fetchone()[0]
    return found if len(found) <= FEW else None


def _by_id(query: str) -> Q | None:
    try:
        return Q(uid=UUID(query)) if len(query) >= 32 else None
    except ValueError:
        return None


def _terms_of(shingle: str) -> set[int]:
    """A pair of characters is a term of every entry that holds it, however the words around it were cut."""
    whole, parts = text.dimension_of(shingle), set(text.terms(shingle))
    return {whole} if whole in parts else parts


def _is_indexed(word: str) -> bool:
    """Neither a single Chinese character, which is a term only where it is a word, nor a word found everywhere."""
    return bool(text.terms(word)) and (len(word) > 1 or word.isascii())
