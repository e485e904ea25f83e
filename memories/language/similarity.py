"""When two texts are one memory, and when a small difference makes them two (A10).

Two texts are one memory when they say the same words in the same order, apart from differences that carry no fact:
articles, particles, courtesies, fillers, synonyms, endings, a part that tells when in another place. Whatever else
differs, somebody may ask about: a number, a name, a negation, a colour.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import pairwise

import rjieba

from memories.language import differences, text
from memories.language.scripts import has_han
from memories.language.word_lists import word_set, words

_NUMBER = re.compile(r"\d")
#: Where a word may begin or end: not between two letters that are no Chinese ones.
_EDGE = r"(?<![a-z\d](?=[a-z\d]))"
_CHINESE_NUMERALS = frozenset("零〇一二两兩三四五六七八九十百千万萬亿億半")
_NEGATION_CHARS = frozenset("不没沒无無非未别別莫勿否")

_PHRASE_WORDS = 5
_FEW = 2  # words that say nothing: so many more never make another memory
#: After «thanks» and «so» these begin no statement of their own.
_AFTER_NO_COURTESY = frozenset({"to", "for", "god"})
_ASKING_FOR = frozenset({"请", "請", "麻烦", "麻煩", "拜托", "拜託"})
_OPENING_WITH_YOU = frozenset({"麻烦你", "请你", "請你", "劳驾"})
_PREDICATES = frozenset("很大多的了死在是")
_NOT_LAST = frozenset({"that", "来", "來"})
#: «Hello Kitty», «OK Computer»: names.
_TWO_CAPITALS = re.compile(r"\W*[A-Z]\w* [A-Z]\w")
#: Within a sentence: «Mark», «May», «Big Ben».
_INNER_CAPITAL = re.compile(r"(?<=[a-z\d,;'’] )[A-Z][\w'’]*")
#: Elsewhere «using» is «with».
_USES = re.compile(r"\b(am|are|is) using\b", re.IGNORECASE)
#: «A few», «a little»: not few, and not little.
_AFTER_A = frozenset({"few", "little", "lot", "bit", "couple"})
_ARTICLES = word_set("similarity", "articles")
_INTENSIFIES = word_set("similarity", "emphasis")
_LIGHT = word_set("similarity", "articles", "emphasis", "fillers")
_UNIVERSAL = word_set("similarity", "universal")
_BEFORE_NO_UNIVERSAL = word_set("similarity", "before_no_universal")
_AFTER_NO_UNIVERSAL = word_set("similarity", "after_no_universal")
_ENGLISH_DENIALS = word_set("differences", "english_negations") | word_set("similarity", "denials")
_OPENING = word_set("similarity", "opening")
_CLOSING = word_set("similarity", "closing")
_BINDING = word_set("similarity", "binding")
#: Words that are written in two ways.
_ALSO_WRITTEN = {
    **dict.fromkeys(("裡", "里面", "裡面", "里边"), "里"),
    "using": "with",
    "您": "你",
    "妳": "你",
    "gonna": "going to",
    "wanna": "want to",
    "cannot": "can not",
}
_CONTRACTED = {"won't": "will not", "can't": "can not", "shan't": "shall not", "let's": "let us", "i'm": "i am"} | {
    f"{who}'{ending}": f"{who} {full}"
    for who in ("i", "you", "we", "they", "he", "she", "it")
    for ending, full in (("d", "would"), ("ll", "will"))
}
_IS = frozenset(f"{word}'s" for word in words("similarity", "have_is"))
_BARE = {word.replace("'", ""): word for word in word_set("similarity", "contracted_negations", "contracted")}
_ENDINGS = {"n't": " not", "'re": " are", "'ve": " have", "'ll": " will"}
_AND = frozenset({"and", "和", "跟", "与", "與", "以及"})
#: «Building A» is not «a building».
_LABEL = re.compile(r"[a-z\d] A\b")

TELLING_WORDS = word_set("similarity", "telling_english")
TELLING_CHINESE = word_set("similarity", "telling_chinese")


class Likeness(Enum):
    """What a new text is beside an old one."""

    SAME = "same"  # the same words
    ALIKE = "alike"  # one memory, said a little differently
    APART = "apart"  # nearly the same words, but what differs matters
    OTHER = "other"  # different texts


@dataclass(frozen=True)
class _Read:
    """What a text says, Chinese without gaps, for it is cut by guess; the words that say nothing; and how it looks."""

    substance: str
    fillers: Counter[str]
    fingerprint: str
    shingles: set[str]
    plain: set[str]  # without numbers, dates and negations
    marks: list[str]
    kept: tuple[str, ...]  # the words that say something
    bare: tuple[str, ...]  # these without the universal ones
    universals: Counter[str]  # which say more of what holds anyway
    names: frozenset[str]
    clauses: tuple[str, ...]

    def fillers_beside(self, other: "_Read") -> int:
        """How many words that say nothing, or no more than is said, only one of them has."""
        own, others = self.fillers + self.universals, other.fillers + other.universals
        return ((own - others) + (others - own)).total()

    def has_the_signs_of(self, other: "_Read") -> bool:
        """Whether what says something is written with the same signs, in any order."""
        ours, theirs = (text.join_words(words) for words in self.words_beside(other))
        return len(ours) == len(theirs) and sorted(ours) == sorted(theirs)

    def words_beside(self, other: "_Read") -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What says something in both; universal words do not, but for «all», which tells «pills» from «a pill»."""
        if self.universals["all"] != other.universals["all"]:
            return self.kept, other.kept
        return self.bare, other.bare

    def says_as_much_as(self, other: "_Read") -> bool:
        """Whether what says something is the same but for universal words; «all the cake» is not «a cake»."""
        if self.substance == other.substance:
            return True
        is_same = text.join_words(self.bare) == text.join_words(other.bare)
        return is_same and all(self.fillers[one] == other.fillers[one] for one in ("a", "an"))


def compare(old: str, new: str, *, threshold: float) -> tuple[Likeness, float]:
    """Whether a new text repeats, rewords or only resembles an old one, and their Jaccard similarity.

    Texts resemble each other from `threshold` on, and with a filler or two more they do in any case. Which words differ
    then decides: «port 8080» and «port 9090» are nearly the same text, and two memories.
    """
    ours, theirs = _read(old), _read(new)
    if ours.fingerprint == theirs.fingerprint:
        return Likeness.SAME, 1.0
    alike = text.jaccard(ours.shingles, theirs.shingles)
    if ours.substance and ours.marks == theirs.marks and ours.says_as_much_as(theirs):
        alike = max(alike, threshold) if ours.fillers_beside(theirs) <= _FEW else alike
        return (Likeness.ALIKE if alike >= threshold else Likeness.OTHER), alike
    if (alike >= threshold or ours.has_the_signs_of(theirs)) and _say_the_same(old, new):
        return Likeness.ALIKE, max(alike, threshold)
    near = max(alike, text.jaccard(ours.plain, theirs.plain))
    return (Likeness.APART if near >= threshold else Likeness.OTHER), alike


def _say_the_same(old: str, new: str) -> bool:
    """Whether two texts say the same line by line; or as a whole, where they are not of as many lines."""
    lines, others = old.splitlines(), new.splitlines()
    if len(lines) != len(others):
        return _is_reworded(_read(old), _read(new))
    return all(one == other or _is_reworded(_read(one), _read(other)) for one, other in zip(lines, others, strict=True))


def _is_reworded(ours: _Read, theirs: _Read) -> bool:
    if ours.marks != theirs.marks or not differences.are_as_done(ours.clauses, theirs.clauses):
        return False
    if ours.says_as_much_as(theirs):
        return True
    names = ours.names | theirs.names
    old, new = ours.words_beside(theirs)
    is_one_clause = len(ours.clauses) == len(theirs.clauses) == 1
    may_move = is_one_clause or differences.are_same_clauses(ours.clauses, theirs.clauses)
    if may_move and differences.is_time_moved(text.join_words(old), text.join_words(new)):
        return True
    return differences.are_harmless(old, new, names.__contains__, may_move=may_move)


def contains(old: str, new: str) -> bool:
    """Whether the old text already says all of the new one."""
    said = re.escape(text.normalise(new))
    return re.search(rf"{_EDGE}{said}{_EDGE}", text.normalise(old)) is not None


def says_all(old: str, new: str) -> bool:
    """Whether the new text only leaves out words of the old one: a «please» more is another wording."""
    rest = iter(_pieces(old))
    return all(piece in rest for piece in _pieces(new))


def _pieces(content: str) -> list[str]:
    """The words of a text in order, Chinese ones by their characters: «看看» is longer than «看»."""
    return [piece for word in text.normalise(content).split() for piece in (word if has_han(word) else [word])]


def is_telling(word: str) -> bool:
    """Whether a word counts, dates, negates or turns a statement round."""
    return bool(
        _NUMBER.search(word)
        or word.replace("’", "'") in TELLING_WORDS
        or word in TELLING_CHINESE
        or _CHINESE_NUMERALS.intersection(word)
        or _NEGATION_CHARS.intersection(word)
    )


@lru_cache(maxsize=2_048)  # a new text is compared with many, and those with the next one again
def _read(content: str) -> _Read:
    alone = frozenset(text.normalise(content).split())
    spelled = [part for word in text.words(_USES.sub(r"\1 utilizing", content)) for part in _spelled(word)]
    words = spelled if _TWO_CAPITALS.match(content) else _within(spelled, alone)
    light = _LIGHT - {"a"} if _LABEL.search(content) else _LIGHT
    names = frozenset(word.casefold() for word in _INNER_CAPITAL.findall(content))
    universals = _universals(words, names)
    kept: list[str] = []
    bare: list[str] = []
    fillers: Counter[str] = Counter()
    for n, (before, word) in enumerate(pairwise(["", *words]), start=1):
        last = n == len(words)
        counts = word == "a" and not last and words[n] in _AFTER_A
        if _is_light(word, before, light) and not (counts or (word in _NOT_LAST and last)):
            fillers[word] += 1
        else:
            kept.append(word)
            bare += [] if n - 1 in universals else [word]
    substance, shingles = text.join_words(_with_list_sorted(kept)), text.shingles(content)
    plain = {shingle for shingle in shingles if not is_telling(shingle)}
    return _Read(
        substance,
        fillers,
        text.fingerprint(content),
        shingles,
        plain,
        text.marks(content),
        tuple(kept),
        tuple(_with_list_sorted(bare)),
        Counter(set(universals.values())),
        names,
        differences.clauses(content),
    )


def _universals(words: list[str], names: frozenset[str]) -> dict[int, str]:
    """The words that only say that it is always so, or for all, each with the phrase it belongs to, by position.

    Behind a denial they are half of it («not always», 不都), and so is «all» before one.
    """
    found: dict[int, str] = {}
    for n, word in enumerate(words):
        size = 0 if n in found else _phrase(words[n:], _UNIVERSAL)
        if not size or (n and words[n - 1] in _BEFORE_NO_UNIVERSAL) or not names.isdisjoint(words[n : n + size]):
            continue
        following = [other for other in words[n + size :] if other not in _ARTICLES]
        if word == "all" and size == 1 and (not _may_be_all_of(following) or not names.isdisjoint(following[:1])):
            continue
        if not any(map(_denies, words[:n])):
            found |= dict.fromkeys(range(n, n + size), "_".join(words[n : n + size]))
    return found


def _may_be_all_of(following: list[str]) -> bool:
    """Whether «all» may be left out before these words."""
    first = "".join(following[:1])
    is_other = first in _AFTER_NO_UNIVERSAL or _NUMBER.search(first)
    return not is_other and not any(_denies(word) for word in following if word != "without")


def _denies(word: str) -> bool:
    return word in _ENGLISH_DENIALS or bool(_NEGATION_CHARS.intersection(word) and word not in _INTENSIFIES)


def _spelled(word: str) -> Iterator[str]:
    """A word as it is spelled in full: «don't» and «dont» are «do not»."""
    plain = word.replace("’", "'")
    plain = _BARE.get(plain, plain)
    plain = _CONTRACTED.get(plain) or _ALSO_WRITTEN.get(plain) or plain
    if plain in _IS:
        plain = plain.replace("'s", " is")
    for ending, full in _ENDINGS.items():
        plain = plain.removesuffix(ending) + full if plain.endswith(ending) else plain
    yield from plain.split()


def _within(words: list[str], alone: frozenset[str]) -> list[str]:
    """A text without the courtesies it begins and ends with; one that is nothing else stays as it is."""
    start, end = 0, len(words)
    while (size := _phrase(words[start:end], _OPENING)) and _is_courtesy(words[start : start + size + 1], size, alone):
        start += size
    while size := _phrase(words[start:end][::-1], _CLOSING, backwards=True):
        if end > size and words[end - size - 1] in _BINDING:
            break
        end -= size
    return words[start:end] or words


def _is_courtesy(words: list[str], size: int, alone: frozenset[str]) -> bool:
    """Whether an opening is one: not in «thanks to Anna», «请王芳吃饭», «好的酒店»; `alone` stands between signs."""
    said, following = "".join(words[:size]), "".join(words[size:])
    if said.isascii():
        return following not in _AFTER_NO_COURTESY
    if said in _ASKING_FOR:
        return not (following[:1] in _PREDICATES or rjieba.tag(following or "。")[0][1].startswith(("n", "r")))
    return said in alone or said in _OPENING_WITH_YOU


def _phrase(words: list[str], known: frozenset[str], *, backwards: bool = False) -> int:
    """Of how many words the longest known phrase is that these begin with; 0: none."""
    for size in range(min(_PHRASE_WORDS, len(words)), 0, -1):
        phrase = words[:size][::-1] if backwards else words[:size]
        if "_".join(phrase) in known or "".join(phrase) in known:
            return size
    return 0


def _is_light(word: str, before: str, light: frozenset[str]) -> bool:
    """Whether a word says nothing where it stands."""
    if word not in light:
        return False
    if _NEGATION_CHARS.intersection(before):
        return False
    return before not in _BINDING or (word in _ARTICLES or (word in _INTENSIFIES and before in ("is", "是")))


def _with_list_sorted(words: list[str]) -> list[str]:
    """«… beef and garlic» is «… garlic and beef», at the end, where nothing belongs to one of them alone."""
    if len(words) > 3 and words[-2] in _AND:
        return [*words[:-3], *sorted((words[-3], words[-1])), "and"]
    return words
