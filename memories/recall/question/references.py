"""What a question leaves out is added to what is searched, from the messages before and what a scope knows (D1).

Neither is stored or shown as the question; a trace tells what was added.
"""

import re
from dataclasses import replace

from memories.language import references
from memories.recall.question.people import relations_named
from memories.recall.question.query import BY_MATCH_ALONE, Query
from memories.recall.retrieval.filters import is_group


def resolve(query: Query) -> Query:
    """A query with what its message leaves out; as it is where nothing is left out, and of words as they were typed.

    Where several hear the answer nobody's sister is named by what a person's memory knows (A3).
    """
    if query.mode in BY_MATCH_ALONE:
        return query
    is_private = not any(map(is_group, query.places))
    relations = relations_named(query.message, query.scopes) if is_private else ()
    resolved = query.resolved or references.resolve(query.message, query.recent)
    return replace(query, resolved=resolved, relations=relations) if resolved or relations else query


def expanded(message: str, query: Query) -> str:
    """A message as it is embedded: with what was meant behind the words it belongs to, and «my sister» by her name."""
    for said, meant in query.resolved:
        message = _with_words(message, said, f"{said} ({' '.join(meant)})")
    for said, meant in query.relations:
        message = _with_words(message, said, meant[0])
    return message


def _with_words(message: str, said: str, instead: str) -> str:
    """A message with other words for some of it; behind it where it does not say them."""
    pattern = rf"(?<!\w){re.escape(said)}(?!\w)" if said.isascii() else re.escape(said)
    replaced, count = re.subn(pattern, lambda _match: instead, message, count=1)
    return replaced if count else f"{message} {instead}"
