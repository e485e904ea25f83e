"""The part of a long text that a question is about."""

from memories.language import text

PLACES = 200  # of words that are looked at
ELLIPSIS = "…"
_STOPWORDS = text.ENGLISH_STOPWORDS | text.CHINESE_STOPWORDS


def cut_around(content: str, question: str, limit: int) -> str:
    """A text of at most `limit` characters: the text itself, or where most words of the question stand in it."""
    if len(content) <= limit:
        return content
    places = _places(content.lower(), set(text.words(question)))
    first = max((at for at, _word in places), key=lambda at: _held(places, at, limit), default=0)
    last = max((at for at, _word in places if at < first + limit), default=0)
    begin = max(min((first + last - limit) // 2, len(content) - limit), 0)
    lead = ELLIPSIS if begin else ""
    end = ELLIPSIS if begin + limit < len(content) else ""
    return f"{lead}{content[begin + len(lead) : begin + limit - len(end)].strip()}{end}"


def _places(folded: str, words: set[str]) -> list[tuple[int, str]]:
    """Where the words stand; those that say nothing are looked for only where there are no others."""
    places: list[tuple[int, str]] = []
    for word in words - _STOPWORDS or words:
        at = folded.find(word)
        while at >= 0 and len(places) < PLACES:
            places.append((at, word))
            at = folded.find(word, at + len(word))
    return sorted(places)


def _held(places: list[tuple[int, str]], begin: int, limit: int) -> tuple[int, int]:
    """How many words stand within reach of a place; of equal places the first."""
    return len({word for at, word in places if begin <= at < begin + limit}), -begin
