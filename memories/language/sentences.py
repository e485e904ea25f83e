"""Where the sentences of a text begin and end, and what kind of sentence one is, in English and Chinese."""

import re
from collections.abc import Iterable
from functools import cache

from memories.language import text
from memories.language.text import begins_with_han
from memories.language.word_lists import words

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKUP = re.compile(r"^[\s>#*•·\-–—]+|^\d+[.)、]\s+|\*\*|__|`", re.MULTILINE)
#: Where a sentence ends: after Chinese marks at once, after Western ones before a space; a point in 3.5 ends nothing.
_ENDS = re.compile(r"(?<=[。！？；…])|(?<=[.!?;])\s+|\n+")
#: As it was written, with lists and abbreviations: only . ! ? and the end of a line end a sentence, «;» and «…» do not.
_SPOKEN = re.compile(r"[^。！？!?\n]+?(?:[。！？!?]+|\.(?=\s|$)|\n|$)")
#: Where one of these ends; «3.» begins one, at the beginning of a line.
_SPOKEN_END = re.compile(r"[。！？!?]+|(?<!\b\d)(?<!\b\d\d)\.(?=\s)")
#: What stands before the first word of a sentence, or of what is quoted.
_BEGINS_AFTER = frozenset('.!?。！？:"“')


def sentences(content: str) -> list[str]:
    """The sentences of a message, without its blocks of code and its markup."""
    return _ENDS.split(_MARKUP.sub("", _FENCE.sub("\n", content)))


def begins_a_sentence(before: str, marks: frozenset[str] = _BEGINS_AFTER) -> bool:
    """Whether what follows this text begins a sentence: after one of these marks, or on a line of its own."""
    bare = before.rstrip()
    return not bare or bare[-1] in marks or "\n" in before[len(bare) :]


def is_pleasantry(sentence: str) -> bool:
    """Whether a sentence greets, thanks or agrees, and tells nothing."""
    return _empty_words().issuperset(text.words(sentence))


def spoken_sentences(content: str) -> list[str]:
    """The sentences of a message with their marks and whatever else was typed, each on one line."""
    return [" ".join(match.group().split()) for match in _SPOKEN.finditer(content)]


def nearest_sentence(content: str, texts: Iterable[str]) -> str:
    """The sentence of some texts that shares most words with another; of equal ones the first, of none nothing."""
    own = set(text.terms(content))
    candidates = [sentence for other in texts for sentence in spoken_sentences(other) if sentence]
    return max(candidates, key=lambda sentence: len(own.intersection(text.terms(sentence))), default="")


def joined(parts: Iterable[str]) -> str:
    """Sentences as a text: Chinese ones follow without a space."""
    return "".join(sentence if begins_with_han(sentence) else f" {sentence}" for sentence in parts).strip()


def cut_at_sentence(content: str, max_tokens: int) -> str:
    """The beginning of a text, at most so many tokens; it ends with a sentence, if that keeps a third."""
    cut = text.first_tokens(content, max_tokens)
    ends = [match.end() for match in _SPOKEN_END.finditer(cut)] if cut != content else []
    return cut[: ends[-1]] if ends and ends[-1] * 3 > len(cut) else cut


@cache
def _empty_words() -> frozenset[str]:
    """A sentence of nothing but these is left out."""
    return (
        frozenset(text.words(" ".join(words("summary", "pleasantries"))))
        | text.ENGLISH_STOPWORDS
        | text.CHINESE_STOPWORDS
    )
