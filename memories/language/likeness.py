"""When two texts are one memory, and when a small difference makes them two (A10).

Two texts are one memory when they say the same words in the same order, apart from differences that carry no fact:
articles, particles, courtesies, fillers, synonyms, endings, a part that tells when in another place. Nothing is
guessed: whatever else differs, somebody may ask about: a number, a name, a negation, a colour. So words that differ in
number, date, degree, modality or direction are no synonyms; what has a second meaning is listed in pairs, which hold
for two words at the same place and no others.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from functools import lru_cache
from itertools import pairwise

from memories.language import text
from memories.language.amounts import numeral
from memories.language.text import HAN, NUMERALS, has_han, parts_of_speech
from memories.language.word_lists import classes, deferred, groups, pattern, word_set, words


def _english_groups() -> dict[str, str]:
    """Each word and the name of what it stands for, with its ending: a past is no present."""
    group_of: dict[str, str] = {}
    for group in groups("synonyms", "verbs"):
        name = group[0].split("/")[0]
        for verb in group:
            stem = verb.removesuffix("e")
            third = f"{verb}es" if verb.endswith(("s", "x", "ch", "sh", "o")) else f"{verb}s"
            forms = verb.split("/") if "/" in verb else [verb, third, f"{stem}ing", f"{stem}ed", f"{stem}ed"]
            for form, ending in zip(forms, ("", "s", "ing", "ed", "ed"), strict=True):
                group_of.setdefault(form, name + ending)
    for group in groups("synonyms", "nouns"):
        name = group[0].split("/")[0]
        for noun in group:
            singular, _slash, plural = noun.partition("/")
            group_of.setdefault(singular, name)
            group_of.setdefault(plural or f"{singular}s", f"{name}s")
    for group in groups("synonyms", "others"):
        name = next((word for word in group if "_" not in word), group[0])
        name = group_of.get(name, name)
        for word in group:
            group_of.setdefault(word, name)
    return group_of


_ENGLISH_GROUPS = _english_groups()
_CHINESE_GROUPS = {word: group[0] for group in reversed(groups("synonyms", "chinese")) for word in group}
_GROUP_OF = _ENGLISH_GROUPS | _CHINESE_GROUPS
_PAIRS = frozenset(
    frozenset(_GROUP_OF.get(word, word) for word in pair.split("/")) for pair in words("synonyms", "pairs")
)
#: Of how many words the longest word of several words is.
_LONGEST = max(word.count("_") + 1 for word in _ENGLISH_GROUPS)
#: What words of several words begin with, Chinese ones by the character.
_BEGINNINGS = {word.split("_")[0] for word in _ENGLISH_GROUPS if "_" in word} | {word[0] for word in _CHINESE_GROUPS}


#: What comes and goes beside what already counts for nothing.
_LIGHT_CHINESE = word_set("likeness", "light_chinese")
_LIGHT_BESIDE = word_set("likeness", "light_beside")
_STRESSED = word_set("likeness", "stressed")
_NEGATIONS = word_set("likeness", "chinese_negations")
_ENGLISH_NEGATIONS = word_set("likeness", "english_negations")
_TYING = word_set("likeness", "tying")
_BE, _HAVE = word_set("likeness", "be"), word_set("likeness", "have")
_IRREGULAR = word_set("likeness", "irregular")
_COUNTING = word_set("likeness", "counting")
_LOOK_BACK = 3
_NO_FORMS = word_set("likeness", "no_forms")
_STARTERS = word_set("likeness", "starters")
_ADVERBS = word_set("likeness", "adverbs")
_CHINESE_TIME = pattern("likeness", "chinese_time")
_CHINESE_TIMES = deferred(f"(?:{_CHINESE_TIME.pattern})+")
_TIMES = word_set("likeness", "times")
_TIME_STARTERS = word_set("likeness", "time_starters")
_HOURS = word_set("calendar", "numbers", "tens")
_MOST_MOVED = 6
_CLAUSE = deferred("[^,.;:!?，。；：！？\n]+")
#: 了 behind a verb, and not at the end.
_DONE = deferred(f"了(?=[{HAN}])(?![吗嗎吧呢啊])")
_MOST_COMPARED = 120  # words between the first difference and the last
_OF_FOR = frozenset(("of", "for"))  # «a picture of Anna» is not «a picture for Anna»
_NO_ADVERBS = word_set("likeness", "no_adverbs")
_STRESSED_BY = word_set("likeness", "intensifies")
_WEEK = deferred("星期|礼拜")
_CUT_CHARS, _MOST_CUT = 3, 8
_ALTERNATIVES = "|".join(sorted({*_CHINESE_GROUPS, *_LIGHT_CHINESE, *_STRESSED_BY}, key=len, reverse=True))
_LISTED_WORD = deferred(_ALTERNATIVES)
_LISTED_WORDS = deferred(f"(?:{_ALTERNATIVES})+")
_ASKING = word_set("likeness", "before_a_question")
_MOST_ADDED = 2  # words of a fuller text
_STRESSING = word_set("likeness", "stressing")


def _is_harmless(old: Sequence[str], new: Sequence[str], names: frozenset[str], *, may_move: bool) -> bool:
    """Whether two texts, as words, say the same though their words differ. Names are what they are.

    A part may stand elsewhere only where their clauses are the same.
    """
    ours, theirs = _group_names(tuple(old), names), _group_names(tuple(new), names)
    if ours == theirs or "".join(ours) == "".join(theirs):
        return bool(ours)
    if sorted(ours) == sorted(theirs):
        return may_move and _is_moved(ours, theirs, names)
    # what is between the words both begin and end with, and a few of these
    head = max(text.common_start(ours, theirs) - _LOOK_BACK, 0)
    tail = max(text.common_start(ours[:head:-1], theirs[:head:-1]) - 1, 0)
    ours, theirs = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    if max(len(ours), len(theirs)) > _MOST_COMPARED:
        return False
    left_out: list[str] = []
    added_words: list[str] = []
    for kind, start, end, other, until in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind == "replace" and not _is_harmless_change(ours, theirs, (start, end), (other, until), names):
            return False
        if kind in ("insert", "delete"):
            before = [*ours[max(start - _LOOK_BACK, 0) : start], *theirs[max(other - _LOOK_BACK, 0) : other]]
            if any(_denies(word, _ENGLISH_NEGATIONS, _STRESSED_BY) for word in before):
                return False
            left_out += ours[start:end]
            added_words += theirs[other:until]
    more = left_out or added_words
    if (left_out and added_words) or len(more) > _MOST_ADDED:
        return False
    return all(word in _STRESSING and word not in names for word in more)


def _is_time_moved(ours: str, theirs: str) -> bool:
    """Whether the one time a Chinese text names stands elsewhere: 周末我带孩子 and 我周末带孩子.

    Times that follow one another are one: 下周二下午三点.
    """
    here, there = (list(_CHINESE_TIMES.finditer(content)) for content in (ours, theirs))
    if [match[0] for match in here] != [match[0] for match in there] or len(here) != 1:
        return False
    start, until = here[0].span()
    other, end = there[0].span()
    over = ours[until : until + other - start] if other > start else ours[other:start]
    is_same = ours[:start] + ours[until:] == theirs[:other] + theirs[end:]
    return is_same and len(over) <= _MOST_MOVED and not _NEGATIONS.intersection(over)


def _group_names(words: tuple[str, ...], names: frozenset[str]) -> list[str]:
    """The words by the names of their groups, without those that say nothing."""
    group_names: list[str] = []
    n = 0
    while n < len(words):
        # as many words as are one of a group: «next to», 只 and 需要
        part = words[n : n + 1]
        may_go_on = words[n] in _BEGINNINGS or words[n][:1] in _BEGINNINGS
        for size in range(min(_LONGEST, len(words) - n) if may_go_on else 0, 1, -1):
            more = words[n : n + size]
            is_one = "_".join(more) in _ENGLISH_GROUPS or (has_han(more[0]) and "".join(more) in _CHINESE_GROUPS)
            if is_one and names.isdisjoint(more):
                part = more
                break
        joined = "".join(part)
        if len(part) == 1 and joined in names:
            group = joined
        elif has_han(joined):
            group = _CHINESE_GROUPS.get(joined, joined)
        else:
            group = _ENGLISH_GROUPS.get("_".join(part), "_".join(part))
        n += len(part)
        follows = words[n] if n < len(words) else ""
        for word in _cut(group):
            if not _says_nothing(word, group_names[-1] if group_names else "", follows):
                group_names.append(word)
    return group_names


@lru_cache(maxsize=4_096)
def _cut(word: str) -> tuple[str, ...]:
    """A Chinese word that is made of others of the lists, as these: 特别喜爱; any other as it is."""
    plain = _WEEK.sub("周", word)
    if plain in _CHINESE_GROUPS or not _CUT_CHARS <= len(plain) <= _MOST_CUT or not has_han(plain):
        return (_CHINESE_GROUPS.get(plain, plain),)
    if not _LISTED_WORDS.fullmatch(plain):
        return (plain,)
    return tuple(_CHINESE_GROUPS.get(part, part) for part in _LISTED_WORD.findall(plain) if part not in _STRESSED_BY)


def _says_nothing(word: str, before: str, follows: str) -> bool:
    if before in _TYING or _NEGATIONS.intersection(before) or before in _ENGLISH_NEGATIONS:
        return False
    if word in _BE:
        return follows.endswith("ing") and len(follows) > len("going")
    if word in _HAVE:
        return (follows.endswith("ed") and len(follows) > len("need")) or follows in _IRREGULAR
    if word in ("who", "which"):
        return bool(before) and before not in _ASKING
    if word == "是":
        return follows in _STRESSED
    return word in _LIGHT_BESIDE or (has_han(word) and _LIGHT_CHINESE.issuperset(word))


def _is_harmless_change(
    ours: list[str], theirs: list[str], own: tuple[int, int], other: tuple[int, int], names: frozenset[str]
) -> bool:
    """Whether what stands here in the one may stand there in the other."""
    block, change = ours[slice(*own)], theirs[slice(*other)]
    if "".join(block) == "".join(change):
        return True
    if len(block) != len(change):
        return False
    pairs = _PAIRS if names.isdisjoint(ours[own[1] : own[1] + 1]) else _PAIRS - {_OF_FOR}
    return all(
        {one, two} in pairs or _is_inflected(one, two, ours[: own[0] + n], theirs[: other[0] + n])
        for n, (one, two) in enumerate(zip(block, change, strict=True))
    )


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


def _is_moved(ours: list[str], theirs: list[str], names: frozenset[str]) -> bool:
    """Whether one part, that tells when or how, stands elsewhere and all else in its order."""
    start, end = text.common_start(ours, theirs), text.common_start(ours[::-1], theirs[::-1])
    here, there = ours[start : len(ours) - end], theirs[start : len(theirs) - end]
    whole = start == 0 and end == 0
    if len(here) > _MOST_COMPARED or any(map(_is_time, [*ours[:start], *ours[len(ours) - end :]])):
        return False  # beside another time one tells when of something else
    for place in range(1, len(here)):
        first, second = here[:place], here[place:]
        if second + first == there and any(
            _may_move(part, over, names, whole=whole) for part, over in ((first, second), (second, first))
        ):
            return True
    return False


def _may_move(part: list[str], over: list[str], names: frozenset[str], *, whole: bool) -> bool:
    """Whether a part that tells when or how may stand behind these words as well as before them."""
    first = part[0]
    if _ENGLISH_NEGATIONS.intersection(over) or any(_NEGATIONS.intersection(word) for word in [*part, *over]):
        return False
    if all(map(_is_time, part)):
        return not any(map(_is_time, over)) and len(over) <= _MOST_MOVED
    is_adverb = first in _ADVERBS or (first.isascii() and first.endswith("ly") and first not in _NO_ADVERBS)
    if len(part) == 1 and is_adverb and first not in names:
        return True
    if first in _TIME_STARTERS and len(part) > 1 and _TIMES.issuperset(part[1:]):
        # what only says when may stand on either side of a day: «at three in the afternoon», «at 9»
        kinds = (_TIME_STARTERS, _TIMES, _HOURS)
        is_when = over[0] == "at" and all(word.isdecimal() or any(word in kind for kind in kinds) for word in over)
        return is_when or _TIMES.isdisjoint(over)
    return whole and first in _STARTERS


@lru_cache(maxsize=1_024)
def _is_time(word: str) -> bool:
    return has_han(word) and (_CHINESE_TIME.fullmatch(word) is not None or parts_of_speech(word)[0][1] == "t")


_NUMBER = deferred(r"\d")
#: Where a word may begin or end: not between two letters that are no Chinese ones.
_EDGE = r"(?<![a-z\d](?=[a-z\d]))"
_CHINESE_NUMERALS = frozenset(f"{NUMERALS}半")

_PHRASE_WORDS = 5
_FEW = 2  # words that say nothing: so many more never make another memory
_PROVEN = 0.5  # Jaccard from which on what differs is read word by word: nothing of it may carry a fact
_AFTER_NO_COURTESY = word_set("likeness", "after_no_courtesy")
_ASKING_FOR = word_set("likeness", "asking_for")
_OPENING_WITH_YOU = word_set("likeness", "opening_with_you")
_PREDICATES = word_set("likeness", "predicates")
_NOT_LAST = word_set("likeness", "not_last")
#: «Hello Kitty», «OK Computer»: names.
_TWO_CAPITALS = deferred(r"\W*[A-Z]\w* [A-Z]\w")
#: Within a sentence: «Mark», «May», «Big Ben».
_INNER_CAPITAL = deferred(r"(?<=[a-z\d,;'’] )[A-Z][\w'’]*")
#: Elsewhere «using» is «with».
_USES = deferred(r"\b(am|are|is) using\b", re.IGNORECASE)


#: What is the same in full and in short: 三月三号, 九月份, 周五之前, 是一辆蓝色的车, and «the car's a Volvo», where
#: nothing is anybody's; «2 till 3», «to Anna and to Bob», «I don't like any fish», «I like fish a lot».
_LONGER = tuple(
    (deferred(longer, re.IGNORECASE), shorter)
    for longer, shorter in (
        (f"(?<=[{NUMERALS}\\d]月)份", ""),
        (
            f"([{NUMERALS}\\d]{{1,3}})月([{NUMERALS}\\d]{{1,3}})[日号]",
            lambda match: f"{numeral(match[1])}月{numeral(match[2])}日",
        ),
        ("(?<=[日号点月年天末一二三四五六])之(?=[前后])", ""),
        ("(?<=是)一(?=[辆只条间台部位本])", ""),
        (f"(?<=色)的(?=[{HAN}])", ""),
        (r"(?<=[a-z])['’]s(?= (?:an?|the) )", " is"),
        (r"(?<=\d) (?:till|until) (?=\d)", " to "),
        (r"\b(to|in|on|at|for|with)( [^,.;:!?\n]{1,40}) (and|or) \1 ", r"\1\2 \3 "),
        (r"(\bnot|n['’]t)( (?!just)[a-z]+)? any (?!more\b|longer\b|other\b|better\b|of\b)", r"\1\2 "),
        (r"^((?:i|we|he|she|they|my \w+) )(likes?|loves?|enjoys?)\b([^,.;:!?\n]*) a lot\b", r"\1really \2\3"),
        (r"\b(\d+)(?:st|nd|rd|th) of (?=[a-z])", r"\1 "),
    )
)
_AFTER_A = word_set("likeness", "after_a")
_ARTICLES = word_set("likeness", "articles")
_INTENSIFIES = word_set("likeness", "emphasis")
_LIGHT = word_set("likeness", "articles", "emphasis", "fillers")
_UNIVERSAL = word_set("likeness", "universal")
_BEFORE_NO_UNIVERSAL = word_set("likeness", "before_no_universal")
_AFTER_NO_UNIVERSAL = word_set("likeness", "after_no_universal")
_ENGLISH_DENIALS = word_set("likeness", "english_negations") | word_set("likeness", "denials")
_OPENING = word_set("likeness", "opening")
_CLOSING = word_set("likeness", "closing")
_BINDING = word_set("likeness", "binding")
_WRITTEN_OUT = {word: full.replace("_", " ") for word, full in classes("likeness", "written_out").items()}
_IS = frozenset(f"{word}'s" for word in words("likeness", "have_is"))
_BARE = {word.replace("'", ""): word for word in word_set("likeness", "contracted_negations", "contracted")}
_ENDINGS = {"n't": " not", "'re": " are", "'ve": " have", "'ll": " will"}
_AND = word_set("likeness", "and")
#: «Building A» is not «a building».
_LABEL = deferred(r"[a-z\d] A\b")

TELLING_WORDS = word_set("likeness", "telling_english")
TELLING_CHINESE = word_set("likeness", "telling_chinese")


class Likeness(Enum):
    """What a new text is beside an old one."""

    SAME = "same"  # the same words
    ALIKE = "alike"  # one memory, worded a little differently
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
        """How many words that say nothing, or no more than the rest says, only one of them has."""
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
        return is_same and all(self.fillers[article] == other.fillers[article] for article in ("a", "an"))


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
    if alike >= min(threshold, _PROVEN) or ours.has_the_signs_of(theirs):
        # line by line; or as a whole, where they are not of as many lines
        lines, others = old.splitlines(), new.splitlines()
        pairs = zip(lines, others, strict=True) if len(lines) == len(others) else [(old, new)]
        if all(one == other or _is_reworded(_read(one), _read(other)) for one, other in pairs):
            return Likeness.ALIKE, max(alike, threshold)
    near = max(alike, text.jaccard(ours.plain, theirs.plain))
    return (Likeness.APART if near >= threshold else Likeness.OTHER), alike


def _is_reworded(ours: _Read, theirs: _Read) -> bool:
    """Whether two texts, or lines of them, say the same."""
    if ours.marks != theirs.marks:
        return False
    # 买了 is not 买; 了 may stand at the end as well
    are_both_done = any(map(_DONE.search, ours.clauses)) == any(map(_DONE.search, theirs.clauses))
    if not (are_both_done or all("了" in "".join(read.clauses) for read in (ours, theirs))):
        return False
    if ours.says_as_much_as(theirs):
        return True
    # a part may move where the same stands between the signs, in any order, or one has a comma more
    own, other = (Counter("".join(sorted(clause)) for clause in read.clauses) for read in (ours, theirs))
    differing = sorted([(own - other).total(), (other - own).total()])
    is_one_clause = len(ours.clauses) == len(theirs.clauses) == 1
    may_move = is_one_clause or differing == [0, 0] or differing == [1, 2]
    old, new = ours.words_beside(theirs)
    if may_move and _is_time_moved(text.join_words(old), text.join_words(new)):
        return True
    return _is_harmless(old, new, ours.names | theirs.names, may_move=may_move)


def contains(old: str, new: str) -> bool:
    """Whether the old text already says all of the new one."""
    phrase = re.escape(text.normalise(new))
    return re.search(rf"{_EDGE}{phrase}{_EDGE}", text.normalise(old)) is not None


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
        or _NEGATIONS.intersection(word)
    )


@lru_cache(maxsize=2_048)  # a new text is compared with many, and those with the next one again
def _read(content: str) -> _Read:
    alone = frozenset(text.normalise(content).split())
    plain_content = _USES.sub(r"\1 utilizing", content)
    for longer, shorter in _LONGER:
        plain_content = longer.sub(shorter, plain_content)
    spelled = [part for word in text.words(plain_content) for part in _spelled(word)]
    words = spelled if _TWO_CAPITALS.match(content) else _within(spelled, alone)
    light = _LIGHT - {"a"} if _LABEL.search(content) else _LIGHT
    names = frozenset(word.casefold() for word in _INNER_CAPITAL.findall(content))
    universals = _universals(words, names)
    kept_words: list[str] = []
    bare: list[str] = []
    fillers: Counter[str] = Counter()
    for n, (before, word) in enumerate(pairwise(["", *words]), start=1):
        last = n == len(words)
        counts = word == "a" and not last and words[n] in _AFTER_A
        says_nothing = word in light and _NEGATIONS.isdisjoint(before)
        if says_nothing and before in _BINDING:
            says_nothing = word in _ARTICLES or (word in _INTENSIFIES and before in ("is", "是"))
        if says_nothing and not (counts or (word in _NOT_LAST and last)):
            fillers[word] += 1
        else:
            kept_words.append(word)
            bare += [] if n - 1 in universals else [word]
    substance, shingles = text.join_words(_with_list_sorted(kept_words)), text.shingles(content)
    plain = {shingle for shingle in shingles if not is_telling(shingle)}
    return _Read(
        substance,
        fillers,
        text.fingerprint(content),
        shingles,
        plain,
        text.marks(content),
        tuple(kept_words),
        tuple(_with_list_sorted(bare)),
        Counter(set(universals.values())),
        names,
        tuple(text.normalise(clause) for clause in _CLAUSE.findall(content) if clause.strip()),
    )


def _universals(words: list[str], names: frozenset[str]) -> dict[int, str]:
    """The words that only say that it is always so, or for all, each with the phrase it belongs to, by position.

    Behind a denial they are half of it («not always», 不都), and so is «all» before one.
    """
    phrase_of: dict[int, str] = {}
    for n, word in enumerate(words):
        size = 0 if n in phrase_of else _phrase(words[n:], _UNIVERSAL)
        if not size or (n and words[n - 1] in _BEFORE_NO_UNIVERSAL) or not names.isdisjoint(words[n : n + size]):
            continue
        following = [other for other in words[n + size :] if other not in _ARTICLES]
        if word == "all" and size == 1:
            first = "".join(following[:1])
            if first in names or first in _AFTER_NO_UNIVERSAL or _NUMBER.search(first):
                continue
            if any(_denies(other, _ENGLISH_DENIALS, _INTENSIFIES) for other in following if other != "without"):
                continue
        if not any(_denies(before, _ENGLISH_DENIALS, _INTENSIFIES) for before in words[:n]):
            phrase_of |= dict.fromkeys(range(n, n + size), "_".join(words[n : n + size]))
    return phrase_of


def _denies(word: str, english: frozenset[str], stressing: frozenset[str]) -> bool:
    """Whether a word is one of these denials, or holds a Chinese one; 非常 is no denial but stresses."""
    return word in english or bool(_NEGATIONS.intersection(word) and word not in stressing)


def _spelled(word: str) -> Iterator[str]:
    """A word as it is spelled in full: «don't» and «dont» are «do not»."""
    plain = word.replace("’", "'")
    plain = _BARE.get(plain, plain)
    plain = _WRITTEN_OUT.get(plain, plain)
    if plain in _IS:
        plain = plain.replace("'s", " is")
    for ending, full in _ENDINGS.items():
        plain = plain.removesuffix(ending) + full if plain.endswith(ending) else plain
    yield from plain.split()


def _within(words: list[str], alone: frozenset[str]) -> list[str]:
    """A text without the courtesies it begins and ends with; one that is nothing else stays as it is.

    `alone` are words that stand between signs.
    """
    start, end = 0, len(words)
    while size := _phrase(words[start:end], _OPENING):
        # none in «thanks to Anna», «请王芳吃饭», «好的酒店»
        phrase, following = "".join(words[start : start + size]), "".join(words[start + size : start + size + 1])
        if phrase.isascii():
            is_courtesy = following not in _AFTER_NO_COURTESY
        elif phrase in _ASKING_FOR:
            is_predicate = following[:1] in _PREDICATES
            is_courtesy = not (is_predicate or parts_of_speech(following or "。")[0][1].startswith(("n", "r")))
        else:
            is_courtesy = phrase in alone or phrase in _OPENING_WITH_YOU
        if not is_courtesy:
            break
        start += size
    while size := _phrase(words[start:end][::-1], _CLOSING, backwards=True):
        if end > size and words[end - size - 1] in _BINDING:
            break
        end -= size
    return words[start:end] or words


def _phrase(words: list[str], phrases: frozenset[str], *, backwards: bool = False) -> int:
    """Of how many words the longest of these phrases is that the words begin with; 0: none."""
    for size in range(min(_PHRASE_WORDS, len(words)), 0, -1):
        phrase = words[:size][::-1] if backwards else words[:size]
        if "_".join(phrase) in phrases or "".join(phrase) in phrases:
            return size
    return 0


def _with_list_sorted(words: list[str]) -> list[str]:
    """«… beef and garlic» is «… garlic and beef», at the end, where nothing belongs to one of them alone."""
    if len(words) > 3 and words[-2] in _AND:
        return [*words[:-3], *sorted((words[-3], words[-1])), "and"]
    return words
