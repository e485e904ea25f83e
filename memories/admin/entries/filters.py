"""Search of entries by their words, with the index that recall uses: no scan over all texts."""

import re
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from memories.language import text
from memories.tenancy import row_level_security

#: So many entries are looked up by their ids; of more the newest are read until a page is full.
FEW = 10_000
_QUOTED = re.compile(r'["“”]([^"“”]+)["“”]')


def search(entries: QuerySet[Any], query: str) -> QuerySet[Any]:
    """Entries with every word of the query: English words by their stem, Chinese ones by each pair of characters.

    An id finds its entry. What stands in quotation marks is looked for as it is written, as are words too common to be
    in the index; that reads the texts, after the index has narrowed them down.
    """
    query = query.strip()
    if (by_id := _by_id(query)) is not None:
        return entries.filter(by_id)
    loose = [word for word in text.normalise(query).split() if not _is_indexed(word)]
    terms = {term for shingle in text.shingles(query) if _is_indexed(shingle) for term in _terms_of(shingle)}
    if terms:
        found = _with_terms(sorted(terms))
        entries = entries.filter(pk__in=found) if found is not None else entries.filter(terms__contains=sorted(terms))
    for phrase in [*_QUOTED.findall(query), *loose]:
        entries = entries.filter(content__icontains=phrase.replace("\0", ""))
    return entries


def _with_terms(terms: list[int]) -> list[int] | None:
    """The entries with all these terms in the workspaces of the request; None where they are many, or it has none.

    The many are soon found among the newest.
    """
    if not row_level_security.is_inside():
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT memplatform_entries_with_terms(%s, %s)", [terms, FEW + 1])
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
