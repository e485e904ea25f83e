"""What a sentence says, as two are compared: its words by their classes, in order, and what of it is denied."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from memories.language import entities, stopwords, text
from memories.language.scripts import IDEOGRAPHS
from memories.verification import amounts, vocabulary

_LATIN = rf"[^\W_{IDEOGRAPHS}]"
_AMOUNT = re.compile(f"{amounts.MARK}[^{amounts.MARK}]*{amounts.MARK}")
_TOKEN = re.compile(
    rf"{amounts.MARK}(?P<amount>[^{amounts.MARK}]*){amounts.MARK}"
    r"|(?P<signed>[A-Za-z0-9~]*[./@_\\][A-Za-z0-9][A-Za-z0-9./@:_\\+-]*[A-Za-z0-9/])"
    rf"|(?P<word>{_LATIN}+(?:['-]{_LATIN}+)*)|(?P<chinese>[{IDEOGRAPHS}]+)|(?P<unit>[%€$£¥°])|(?P<end>[,.;:!?。、()])"
)
_REWRITTEN = (
    (re.compile(r"\b(?:does|do|did)(?: not|n't) (?:dislike|hate)\b|不讨厌", re.IGNORECASE), " does like 喜欢 "),
    (re.compile(r"\b(?:dislike[sd]?|hate[sd]?)\b", re.IGNORECASE), "does not like"),
    (re.compile("讨厌|討厭|厌恶"), "不喜欢"),
    (re.compile(r"\b(?:cannot|can't)\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"\band (?=(?:is|has|was|does|will|can|[a-z]+s)\b)"), "; "),
    (re.compile("(?:从来|從來|从|並|并|决|绝)(?=[不没])"), ""),
)
#: Endings by which words of one family differ: allerg-y, allerg-ic.
_FAMILY = frozenset(
    ["i", "y", "er", "or", "ist", "ic", "al", "ing", "ed", "ion", "s", "es", "e", "ly", "n", "an", "ian", "li"]
)
_FAMILY_STEM = 5
#: With these no Chinese name ends.
_NO_END = frozenset("有是在的和也很不会对与跟说从到")
#: Here what was denied ends, and at a sign.
_ENDING = frozenset(["but", "because", "although", "though", "while", "whereas"])
_CHINESE_ENDING = frozenset("但而")
_DIRECTIONS = frozenset(["from", "to", "by", "of", "从", "從", "到", "给", "給", "被", "由", "向"])


@dataclass(frozen=True)
class Token:
    """A piece of a sentence; `kind` is word, name, amount, careful, negation, direction, owner or end."""

    term: str
    kind: str
    denied: bool = False


@dataclass(frozen=True)
class Parse:
    """A sentence read; `content` as it stands, `bare` without its amounts."""

    content: str
    bare: str
    parts: tuple[Token, ...]

    @cached_property
    def amounts(self) -> set[str]:
        return self._terms("amount") | entities.numbers(self.bare)

    @cached_property
    def implied(self) -> set[str]:
        """Its amounts, and those that follow: 3 May is in May, 15:00 is in the afternoon."""
        return self.amounts | {more for amount in self.amounts for more in amounts.implied(amount)}

    @cached_property
    def words(self) -> set[str]:
        return self._terms("word")

    @cached_property
    def names(self) -> set[str]:
        return self._terms("name")

    @cached_property
    def careful(self) -> set[str]:
        return self._terms("careful")

    @cached_property
    def telling(self) -> set[str]:
        """All that says something."""
        return self.words | self.careful | self.names | self._terms("amount")

    @cached_property
    def denied(self) -> set[str]:
        return {part.term for part in self.parts if part.denied and part.kind in ("word", "name", "amount")}

    @cached_property
    def said(self) -> set[str]:
        """What is said and not denied."""
        return {part.term for part in self.parts if not part.denied and part.kind in ("word", "name", "amount")}

    @cached_property
    def is_negated(self) -> bool:
        return any(part.kind == "negation" for part in self.parts)

    @cached_property
    def touched(self) -> set[str]:
        """What is denied, and what it is denied of: of a clause with a negation all it says."""
        return self.words | self.names | self.careful | self.amounts if self.is_negated else set()

    @cached_property
    def clauses(self) -> "list[Parse]":
        """What stands between its signs, each by itself."""
        groups = groupby(self.parts, key=lambda part: part.kind == "end")
        return [Parse("", "", tuple(parts)) for is_end, parts in groups if not is_end]

    @cached_property
    def raw_words(self) -> set[str]:
        return set(text.words(self.bare))

    def _terms(self, kind: str) -> set[str]:
        return {part.term for part in self.parts if part.kind == kind}


def parse(content: str, names: Collection[str] = ()) -> Parse:
    """A sentence by its parts; `names` are folded, and found in all sentences that are compared."""
    said = amounts.normalise_amounts(unicodedata.normalize("NFKC", content).replace("’", "'"))
    return Parse(content, _AMOUNT.sub(" ", said), tuple(_with_denials(list(_parts(_rewritten(said), names)))))


def _rewritten(said: str) -> str:
    for pattern, rewrite in _REWRITTEN:
        said = pattern.sub(rewrite, said)
    return said


def _parts(said: str, names: Collection[str]) -> Iterator[Token]:
    chinese = _chinese_names(names)
    for match in _TOKEN.finditer(said):
        kind, found = str(match.lastgroup), match[0]
        if kind == "amount":
            yield Token(match["amount"], "amount")
        elif kind == "signed":
            yield Token(found.casefold(), "name")
        elif kind == "word":
            yield from _english(found, names)
        elif kind == "chinese":
            yield from _chinese(found, chinese)
        else:
            yield Token(found, "end" if kind == "end" else "word")


def _english(found: str, names: Collection[str]) -> Iterator[Token]:
    word = found.casefold()
    bare = word.removesuffix("'s")
    if bare in names:
        yield Token(bare, "name")
    elif bare in vocabulary.ENGLISH_NEGATIONS:
        yield Token("not", "negation")
    elif bare in vocabulary.ENGLISH_CAREFUL:
        yield Token(vocabulary.ENGLISH_CAREFUL[bare], "careful")
    elif bare in _DIRECTIONS:
        yield Token(bare, "direction")
    elif bare in _ENDING:
        yield Token(bare, "end")
    elif bare not in stopwords.ENGLISH and bare not in vocabulary.ENGLISH_LIGHT:
        known = vocabulary.ENGLISH.get(bare)
        yield Token(known or text.stem(bare), "word")
    if word.endswith("'s"):
        yield Token("'s", "owner")


def _chinese_names(names: Collection[str]) -> re.Pattern[str] | None:
    found = sorted((name for name in names if re.search(f"[{IDEOGRAPHS}]", name)), key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, found))})") if found else None


def _chinese(run: str, names: re.Pattern[str] | None) -> Iterator[Token]:
    pieces = names.split(run) if names else [run]
    for n, piece in enumerate(pieces):
        if n % 2:
            yield Token(piece, "name")
            continue
        for match in vocabulary.CHINESE_PARTS.finditer(piece):
            yield from _chinese_part(str(match.lastgroup), match[0], first=match.start() == 0 and n > 0)


def _chinese_part(kind: str, found: str, *, first: bool) -> Iterator[Token]:
    if kind == "negation":
        yield Token("不", "negation")
    elif found in vocabulary.CHINESE_CAREFUL:
        yield Token(vocabulary.CHINESE_CAREFUL[found], "careful")
    elif found in _CHINESE_ENDING:
        yield Token(found, "end")
    elif found in _DIRECTIONS:
        yield Token(found, "direction")
    elif found == "的" and first:
        yield Token("的", "owner")
    elif (known := vocabulary.CHINESE.get(found, found)) not in vocabulary.CHINESE_LIGHT:
        yield from (Token(known, "word"),) if known.isascii() else (Token(char, "word") for char in known)


def _with_denials(parts: list[Token]) -> Iterator[Token]:
    """From a negation to the end of its clause everything is denied."""
    denied = False
    for part in parts:
        denied = denied and part.kind != "end"
        yield Token(part.term, part.kind, denied)
        denied = denied or part.kind == "negation"


def names_in(contents: Sequence[str]) -> set[str]:
    """Names in any of them; a capital that is written small elsewhere is none."""
    small = {text.stem(word) for content in contents for word in re.findall(r"(?<![\w'’-])[a-z][a-z-]*", content)}
    found = {_cut(name) for content in contents for name in entities.names(content)}
    return {name for name in found if name and text.stem(name) not in small and name not in amounts.DAYS_AND_MONTHS}


def _cut(name: str) -> str:
    """The segmenter takes 张伟有 for a name."""
    return name[:-1] if len(name) > 2 and name[-1] in _NO_END else "" if name[0] in _NO_END else name


def is_among(term: str, there: Collection[str]) -> bool:
    """Whether a word is there, in this form or another of its family."""
    return term in there or any(_are_family(term, other) for other in there)


def _are_family(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _FAMILY_STEM and long.startswith(short) and long[len(short) :] in _FAMILY
