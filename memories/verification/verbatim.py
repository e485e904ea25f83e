"""Whether a text only repeats its sources: one of them, or some side by side; that needs no judgement (D6).

Reading finds most of what is wrong with a rewording, and never all of it: «Sam loves nuts and is allergic to cheese»
holds no word its sources do not. So what is made of true statements without a person is only what they say
themselves.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from memories.language.scripts import has_han
from memories.verification import amounts, vocabulary

#: Without these a sentence is the same.
_DROPPED = frozenset(["a", "an", "the", "的", ",", "，"])
_TOKEN = re.compile(
    rf"{amounts.MARK}[^{amounts.MARK}]*{amounts.MARK}"
    r"|(?P<latin>[^\W_\u3000-\u9fff\uf900-\ufaff]+(?:['./@:_\\+-]+[^\W_\u3000-\u9fff\uf900-\ufaff]+)*)"
    r"|(?P<chinese>[\u3005\u3007\u3400-\u9fff\uf900-\ufaff]+)|(?P<sign>[^\s\w])"
)
_WHEN_OR_WHERE = frozenset(["at", "on", "in", "during", "every", "since", "for"])
#: What a sentence ends with says nothing, and neither does a comma; all other signs do.
_ENDS = frozenset(".。!！;；,，")
_BETWEEN = re.compile(r"[.;]\s+|[。；]\s*(?=\S)")
_Sequence = tuple[str, ...]


def is_made_of(said: str, sources: Sequence[str]) -> bool:
    """Whether a text is whole sources side by side, each once, and every other source repeats one of them."""
    if all(are_equivalent(said, source) for source in sources):
        return True
    pieces, told = _pieces(said, sources), [_sequence(source) for source in sources]
    is_all_theirs = all(any(_are_alike(piece, one) for one in told) for piece in pieces)
    return is_all_theirs and all(sum(_are_alike(one, piece) for piece in pieces) == 1 for one in told)


def repeats(said: str, sources: Sequence[str]) -> bool:
    """Whether a text is nothing but whole sources, of which it may leave out some."""
    told = [_sequence(source) for source in sources]
    return all(any(_are_alike(piece, one) for one in told) for piece in _pieces(said, sources))


def contains(said: str, source: str) -> bool:
    """Whether a text says all of a source, as one of its sentences."""
    return any(_are_alike(_sequence(source), piece) for piece in _pieces(said, [source]))


def join_sources(sources: Sequence[str]) -> str:
    """Sources as one text that is made of them."""
    bare = list(dict.fromkeys(source.strip().rstrip("".join(_ENDS)) for source in sources))
    return ("；" if any(has_han(source) for source in bare) else "; ").join(bare)


def _pieces(said: str, sources: Sequence[str]) -> list[_Sequence]:
    """Its sentences, or itself where it is a source of several."""
    whole = _sequence(said)
    if whole in {_sequence(source) for source in sources}:
        return [whole]
    return [_sequence(piece) for piece in _BETWEEN.split(said.strip())]


def are_equivalent(one: str, other: str) -> bool:
    """Whether two texts are the same words in the same order, as far as words may stand for one another.

    Of several sentences each, in whatever order these come.
    """
    if _are_alike(_sequence(one), _sequence(other)):
        return True
    ours, theirs = (sorted(map(_sequence, _BETWEEN.split(said.strip()))) for said in (one, other))
    return len(ours) > 1 and ours == theirs


def _are_alike(one: _Sequence, other: _Sequence) -> bool:
    """The same, or the same but that what says when or where has gone to the other end: «At night it runs»."""
    if one == other:
        return True
    if len(one) != len(other):
        return False
    turns = (n for n in range(1, len(one)) if one[n:] + one[:n] == other)
    return any(one[0] in _WHEN_OR_WHERE or other[0] in _WHEN_OR_WHERE for _turn in turns)


def _sequence(said: str) -> _Sequence:
    plain = amounts.normalise_amounts(unicodedata.normalize("NFKC", said).replace("’", "'"))
    tokens = [token for token in _tokens(plain) if token not in _DROPPED]
    while tokens and tokens[-1] in _ENDS:
        tokens.pop()
    return tuple(tokens)


def _tokens(plain: str) -> Iterator[str]:
    for match in _TOKEN.finditer(plain):
        if match["latin"]:
            word = match["latin"].casefold()
            yield vocabulary.ENGLISH.get(word) or vocabulary.ENGLISH_CAREFUL.get(word) or word
        elif match["chinese"]:
            for part in vocabulary.CHINESE_PARTS.finditer(match["chinese"]):
                yield vocabulary.CHINESE.get(part[0]) or vocabulary.CHINESE_CAREFUL.get(part[0]) or part[0]
        else:
            yield match[0]
