"""Whether the words by which two texts differ change what is said (A10).

Nothing is guessed: a difference is harmless when it is one of those listed here. Any other word may hold a fact.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

import rjieba

from memories.language import synonyms, text
from memories.language.scripts import HAN, has_han
from memories.language.word_lists import pattern, word_set

#: What comes and goes beside what already counts for nothing.
_LIGHT_CHINESE = frozenset("的地得了着都也还就会里而便所个")
_LIGHT = frozenset({"its", "currently", "现在"})  # of each group its name
#: Before these 是 and 的 only stress where or how: 是在北京工作的.
_STRESSED = frozenset("在从由用跟")
_NEGATIONS = frozenset("不没沒无無非未别別莫勿否")
_ENGLISH_NEGATIONS = word_set("differences", "english_negations")
_BINDING = word_set("differences", "binding")
_BE = frozenset({"is", "am", "are"})
_HAVE = frozenset({"has", "have"})
_IRREGULAR = word_set("differences", "irregular")
_COUNTING = word_set("differences", "counting")
_LOOK_BACK = 3
_NO_FORMS = word_set("differences", "no_forms")
_STARTERS = word_set("differences", "starters")
_ADVERBS = word_set("differences", "adverbs")
_CHINESE_TIME = pattern("differences", "chinese_time")
_TIMES = word_set("differences", "times")
_TIME_STARTERS = frozenset(["in", "on", "at", "every", "each", "during", "this", "last", "next"])
_MOST_MOVED = 6
_CLAUSE = re.compile("[^,.;:!?，。；：！？\n]+")
#: 了 behind a verb, and not at the end.
_DONE = re.compile(f"了(?=[{HAN}])(?![吗嗎吧呢啊])")
_MOST_COMPARED = 120  # words between the first difference and the last
_OF_FOR = frozenset(("of", "for"))  # «a picture of Anna» is not «a picture for Anna»
_NO_ADVERBS = word_set("differences", "no_adverbs")
_INTENSIFIES = word_set("differences", "intensifies")
_WEEK = re.compile("星期|礼拜")
_CUT_CHARS, _MOST_CUT = 3, 8
_ALTERNATIVES = "|".join(sorted({*synonyms.CHINESE, *_LIGHT_CHINESE, *_INTENSIFIES}, key=len, reverse=True))
_KNOWN = re.compile(_ALTERNATIVES)
_MADE_OF_KNOWN = re.compile(f"(?:{_ALTERNATIVES})+")
_ASKING = word_set("differences", "asking")
_MOST_ADDED = 2  # words of a fuller text
_STRESSING = word_set("differences", "stressing")


def clauses(content: str) -> tuple[str, ...]:
    """What stands between the signs of a text, folded."""
    return tuple(text.normalise(clause) for clause in _CLAUSE.findall(content) if clause.strip())


def are_as_done(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether both say that something was done, or none does: 买了 is not 买; 了 may stand at the end as well."""
    own, other = ("".join(one) for one in (ours, theirs))
    if any(map(_DONE.search, ours)) == any(map(_DONE.search, theirs)):
        return True
    return "了" in own and "了" in other


def are_same_clauses(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether the same stands between the signs, in any order; or one has a comma more."""
    own, other = (Counter("".join(sorted(clause)) for clause in one) for one in (ours, theirs))
    less, more = sorted([(own - other).total(), (other - own).total()])
    return more == 0 or (less, more) == (1, 2)


def are_harmless(old: Sequence[str], new: Sequence[str], is_name: Callable[[str], bool], *, may_move: bool) -> bool:
    """Whether two texts, as words, say the same though their words differ. Names are what they are.

    A part may stand elsewhere only where their clauses are the same.
    """
    ours, theirs = _known(tuple(old), is_name), _known(tuple(new), is_name)
    if ours == theirs or "".join(ours) == "".join(theirs):
        return bool(ours)
    if sorted(ours) == sorted(theirs):
        return may_move and _is_moved(ours, theirs, is_name)
    ours, theirs = _without_the_same_ends(ours, theirs)
    if max(len(ours), len(theirs)) > _MOST_COMPARED:
        return False
    left_out: list[str] = []
    added: list[str] = []
    for kind, start, end, other, until in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind == "replace" and not _is_harmless_change(ours, theirs, (start, end), (other, until), is_name):
            return False
        if kind in ("insert", "delete"):
            if any(
                map(_denies, [*ours[max(start - _LOOK_BACK, 0) : start], *theirs[max(other - _LOOK_BACK, 0) : other]])
            ):
                return False
            left_out += ours[start:end]
            added += theirs[other:until]
    more = left_out or added
    if (left_out and added) or len(more) > _MOST_ADDED:
        return False
    return all(word in _STRESSING and not is_name(word) for word in more)


def is_time_moved(ours: str, theirs: str) -> bool:
    """Whether the one time a Chinese text names stands elsewhere: 周末我带孩子 and 我周末带孩子."""
    here, there = (list(_CHINESE_TIME.finditer(content)) for content in (ours, theirs))
    if [match[0] for match in here] != [match[0] for match in there] or len(here) != 1:
        return False
    start, until = here[0].span()
    other, end = there[0].span()
    over = ours[until : until + other - start] if other > start else ours[other:start]
    is_same = ours[:start] + ours[until:] == theirs[:other] + theirs[end:]
    return is_same and len(over) <= _MOST_MOVED and not _NEGATIONS.intersection(over)


def _denies(word: str) -> bool:
    return word in _ENGLISH_NEGATIONS or bool(_NEGATIONS.intersection(word) and word not in _INTENSIFIES)


def _without_the_same_ends(ours: list[str], theirs: list[str]) -> tuple[list[str], list[str]]:
    """What is between the words both begin and end with, and a few of these."""
    start = max(_first_difference(ours, theirs) - _LOOK_BACK, 0)
    end = max(_first_difference(ours[:start:-1], theirs[:start:-1]) - 1, 0)
    return ours[start : len(ours) - end], theirs[start : len(theirs) - end]


def _first_difference(ours: Sequence[str], theirs: Sequence[str]) -> int:
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((n for n, (one, two) in pairs if one != two), min(len(ours), len(theirs)))


def _known(words: tuple[str, ...], is_name: Callable[[str], bool]) -> list[str]:
    """The words by the names of their groups, without those that say nothing."""
    found: list[str] = []
    n = 0
    while n < len(words):
        size = _size(words, n, is_name)
        follows = words[n + size] if n + size < len(words) else ""
        for word in _cut(_group_of(words[n : n + size], is_name)):
            if not _says_nothing(word, found[-1] if found else "", follows):
                found.append(word)
        n += size
    return found


@lru_cache(maxsize=4_096)
def _cut(word: str) -> tuple[str, ...]:
    """A Chinese word that is made of known ones, as these: 特别喜爱; any other as it is."""
    plain = _WEEK.sub("周", word)
    if plain in synonyms.CHINESE or not _CUT_CHARS <= len(plain) <= _MOST_CUT or not has_han(plain):
        return (synonyms.CHINESE.get(plain, plain),)
    if not _MADE_OF_KNOWN.fullmatch(plain):
        return (plain,)
    return tuple(synonyms.CHINESE.get(part, part) for part in _KNOWN.findall(plain) if part not in _INTENSIFIES)


def _size(words: tuple[str, ...], start: int, is_name: Callable[[str], bool]) -> int:
    """How many words from here on are one of a group: «next to», 只 and 需要."""
    for size in range(min(synonyms.LONGEST, len(words) - start), 1, -1):
        part = words[start : start + size]
        if any(map(is_name, part)):
            continue
        if "_".join(part) in synonyms.ENGLISH or (has_han(part[0]) and "".join(part) in synonyms.CHINESE):
            return size
    return 1


def _group_of(part: Sequence[str], is_name: Callable[[str], bool]) -> str:
    if len(part) == 1 and is_name(part[0]):
        return part[0]
    joined = "".join(part)
    if has_han(joined):
        return synonyms.CHINESE.get(joined, joined)
    return synonyms.ENGLISH.get("_".join(part), "_".join(part))


def _says_nothing(word: str, before: str, follows: str) -> bool:
    if before in _BINDING or _NEGATIONS.intersection(before) or before in _ENGLISH_NEGATIONS:
        return False
    if word in _BE:
        return follows.endswith("ing") and len(follows) > len("going")
    if word in _HAVE:
        return (follows.endswith("ed") and len(follows) > len("need")) or follows in _IRREGULAR
    if word in ("who", "which"):
        return bool(before) and before not in _ASKING
    if word == "是":
        return follows in _STRESSED
    return word in _LIGHT or (has_han(word) and _LIGHT_CHINESE.issuperset(word))


def _is_harmless_change(
    ours: list[str], theirs: list[str], own: tuple[int, int], other: tuple[int, int], is_name: Callable[[str], bool]
) -> bool:
    """Whether what stands here in the one may stand there in the other."""
    block, change = ours[slice(*own)], theirs[slice(*other)]
    if "".join(block) == "".join(change):
        return True
    if len(block) != len(change):
        return False
    named = any(map(is_name, ours[own[1] : own[1] + 1]))
    return all(
        _may_stand_for(one, two, named=named) or _is_inflected(one, two, ours[: own[0] + n], theirs[: other[0] + n])
        for n, (one, two) in enumerate(zip(block, change, strict=True))
    )


def _may_stand_for(one: str, two: str, *, named: bool) -> bool:
    pair = frozenset((one, two))
    return pair in synonyms.PAIRS and not (named and pair == _OF_FOR)


def _is_inflected(one: str, two: str, before: list[str], other_before: list[str]) -> bool:
    """Whether two words are forms of one, of which neither tells when, or of how many."""
    short, long = sorted((one, two), key=len)
    if not (short.isascii() and short.isalpha() and long.isalpha()) or {short, long} & _NO_FORMS:
        return False
    stem = short.removesuffix("s") if long.endswith("ing") else short
    if len(stem) < 3 or not long.startswith(stem[:-1]):
        return False
    if long in _ing_forms(stem) or (short.endswith("ing") and short in _ing_forms(long.removesuffix("s"))):
        return True
    is_plural = long in (f"{short}s", f"{short}es") or (short.endswith("y") and long == f"{short[:-1]}ies")
    return is_plural and not _COUNTING.intersection([*before[-_LOOK_BACK:], *other_before[-_LOOK_BACK:]])


def _ing_forms(stem: str) -> tuple[str, ...]:
    return f"{stem}ing", f"{stem[:-1]}ing" if stem.endswith("e") else "", f"{stem}{stem[-1]}ing"


def _is_moved(ours: list[str], theirs: list[str], is_name: Callable[[str], bool]) -> bool:
    """Whether one part, that tells when or how, stands elsewhere and all else in its order."""
    start, end = _first_difference(ours, theirs), _first_difference(ours[::-1], theirs[::-1])
    here, there = ours[start : len(ours) - end], theirs[start : len(theirs) - end]
    whole = start == 0 and end == 0
    if len(here) > _MOST_COMPARED or any(map(_is_time, [*ours[:start], *ours[len(ours) - end :]])):
        return False  # beside another time one tells when of something else
    for cut in range(1, len(here)):
        first, second = here[:cut], here[cut:]
        if second + first == there and any(
            _may_move(part, over, is_name, whole=whole) for part, over in ((first, second), (second, first))
        ):
            return True
    return False


def _may_move(part: list[str], over: list[str], is_name: Callable[[str], bool], *, whole: bool) -> bool:
    if _ENGLISH_NEGATIONS.intersection(over) or any(_NEGATIONS.intersection(word) for word in [*part, *over]):
        return False
    if all(map(_is_time, part)):
        return not any(map(_is_time, over)) and len(over) <= _MOST_MOVED
    if len(part) == 1 and (part[0] in _ADVERBS or _is_adverb(part[0])) and not is_name(part[0]):
        return True
    if part[0] in _TIME_STARTERS and len(part) > 1 and _TIMES.issuperset(part[1:]):
        return _TIMES.isdisjoint(over)
    return whole and part[0] in _STARTERS


def _is_adverb(word: str) -> bool:
    return word.isascii() and word.endswith("ly") and word not in _NO_ADVERBS


@lru_cache(maxsize=1_024)
def _is_time(word: str) -> bool:
    return has_han(word) and (_CHINESE_TIME.fullmatch(word) is not None or rjieba.tag(word)[0][1] == "t")
