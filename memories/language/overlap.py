"""How much of a text stands in what it claims to rest on: models invent, and what they invent shares few words (D5)."""

from collections.abc import Iterable

from memories.language import text

#: Of a long text about a whole conversation at least so much stands in it.
LEAST = 0.15


def share(said: str, sources: Iterable[str]) -> float:
    """The share of what a text says that its sources say too, 0–1, word by word; numbers and names are words.

    A text of nothing but common words says nothing of its own: 1.
    """
    own = set(text.terms(said))
    heard = {term for source in sources for term in text.terms(source)}
    return len(own & heard) / len(own) if own else 1.0
