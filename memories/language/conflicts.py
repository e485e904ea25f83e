"""When a newer statement takes the place of an older one, and when only a person can tell (D5).

Both are read as somebody (or something), a relation, and a value. The same somebody in the same relation to another
value is a conflict: a certain one where there can only be one value, or where the newer statement itself says that
something changed; else, where the values are of a kind, a doubtful one. What may both be true is none: people like tea
and coffee. Plans, hearsay and the past change nothing. Pure and deterministic.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from memories.language import entities, subjects, text
from memories.language.word_lists import pattern


class ConflictVerdict(Enum):
    """What a newer statement is to an older one."""

    CERTAIN = "certain"
    DOUBTFUL = "doubtful"
    NONE = "none"


#: What is longer makes more than one statement; matching it takes time that grows with the square of its length.
STATEMENT_CHARS = 1_000
_UNSURE = pattern("conflicts", "unsure")
_CHANGED = pattern("conflicts", "changed")
_NOW = pattern("conflicts", "now")
_BESIDE = pattern("conflicts", "beside")
_AND_SO_ON = re.compile(r"[,，;；。.!！]?$")
_ONLY_ONE = pattern("conflicts", "only_one")
_PERSON = pattern("conflicts", "person")
_LABEL = re.compile(r"\s?(?:numbers?|no\.?|号码?)?\s?#?\d")
_DIGIT = re.compile(r"\d")
_SELF = pattern("conflicts", "self")
_ANYBODY = pattern("conflicts", "anybody")
_ONE_OF_MANY = pattern("conflicts", "one_of_many")
_PLACE_IN_TIME = pattern("conflicts", "place_in_time")
_NUMBER = pattern("conflicts", "number")
_NEGATION = pattern("conflicts", "negation")


@dataclass(frozen=True)
class _Relation:
    """How statements about one thing are worded; `only_one`: nobody has two values of it."""

    name: str
    wording: re.Pattern[str]
    only_one: bool = False


def _relation(name: str, english: str, chinese: str, *, only_one: bool = False) -> _Relation:
    return _Relation(name, re.compile(rf"^(?P<who>.*?) (?:{english}) (?P<what>.+)$|^{chinese}$"), only_one)


#: The first that fits is taken.
_RELATIONS = (
    _relation(
        "home",
        r"(?:lives?|resides?|is living|settled|is based|are based|is located|are located|moved|relocated)"
        r"(?: from .+?)? (?:in|at|to)",
        r"(?P<who_>.*?)(?:从.+?)?(?:住在|居住在|定居在|定居|家在|搬到|搬去|搬家到|搬家去|搬至|位于|迁到|迁至)(?P<what_>.+)",
        only_one=True,
    ),
    _relation(
        "work",
        r"(?:works|work|is working|is employed) (?:at|for|by)",
        r"(?P<who_>.*?)(?:在(?P<what_>.+?)(?:工作|上班|任职|就职)|(?:就职于|任职于|供职于|入职|跳槽到|跳槽去)(?P<what__>.+))",
    ),
    _relation(
        "use",
        r"(?:uses?|is using|are using|switched(?: from .+?)? to|migrated(?: from .+?)? to)",
        r"(?P<who_>.*?)(?:从.+?)?(?:改用|换用|换成|使用|用的是|用)(?P<what_>.+)",
    ),
    _relation("prefer", r"prefers?", r"(?P<who_>.*?)(?:更喜欢|偏好|偏爱)(?P<what_>.+)"),
    _relation(
        "be",
        r"(?:is set to|was set to|(?:was |were |is |are )?(?:changed|renamed|moved|rescheduled|postponed)(?: from .+?)?"
        r" to|is called|is named|is|are|equals)",
        r"(?P<who_>.*?)(?:从.+?)?(?:改成|改为|改到|改名为|变成|推迟到|调整为|设为|设成|叫做|叫|是|为|在)(?P<what_>.+)",
    ),
)


@dataclass(frozen=True)
class _Claim:
    who: str
    relation: _Relation
    what: str


def judge(old: str, new: str) -> ConflictVerdict:
    """Whether the newer statement takes the place of the older one; a text too long to be one statement does not."""
    if max(len(old), len(new)) > STATEMENT_CHARS:
        return ConflictVerdict.NONE
    before, after = _plain(old), _plain(new)
    if before == after or _is_unsure(before) or _is_unsure(after) or subjects.are_of_two_things(old, new):
        return ConflictVerdict.NONE
    if _is_denial(before) != _is_denial(after):
        # One says what the other denies, in the same words
        ours, theirs = (text.join_words(text.words(_bare(_NEGATION.sub(" ", said)))) for said in (before, after))
        terms, others = set(text.terms(ours)), set(text.terms(theirs))
        if not terms or terms != others:
            return ConflictVerdict.NONE
        says_so = _CHANGED.search(after) or _NOW.search(after) or re.search(r"\bstopped\b", after)
        return ConflictVerdict.CERTAIN if says_so else ConflictVerdict.DOUBTFUL
    older, newer = _read(before), _read(after)
    if older and newer and older.relation.name == newer.relation.name:
        return (
            _judge_values(older, newer, after, (old, new)) if _is_same(older.who, newer.who) else ConflictVerdict.NONE
        )
    return _judge_frame(before, after)


@lru_cache(maxsize=2_048)  # a statement is compared with many
def _is_unsure(said: str) -> bool:
    return _UNSURE.search(said) is not None


@lru_cache(maxsize=2_048)
def _is_denial(said: str) -> bool:
    return _NEGATION.search(said) is not None


@lru_cache(maxsize=2_048)
def _plain(said: str) -> str:
    one_line = " ".join(said.casefold().replace("’", "'").split())
    return _AND_SO_ON.sub("", one_line)


def _bare(said: str) -> str:
    """Without the words that say when."""
    return " ".join(_BESIDE.sub(" ", _NOW.sub(" ", said)).split()).strip(" ,，、")


@lru_cache(maxsize=2_048)
def _words(said: str) -> list[str]:
    return text.words(_bare(said))


@lru_cache(maxsize=2_048)
def _read(said: str) -> _Claim | None:
    bare = _bare(said)
    for relation in _RELATIONS:
        if found := relation.wording.match(bare):
            groups = found.groupdict()
            who, what = (next((groups[n] for n in names if groups.get(n)), "") for names in (_WHO, _WHAT))
            return _Claim(who.strip(" ,，"), relation, what.strip(" ,，了"))
    return None


_WHO, _WHAT = ("who", "who_"), ("what", "what_", "what__")


def _is_same(one: str, other: str) -> bool:
    """Whether two statements are about the same; a «he» may be anybody."""
    if _ANYBODY.fullmatch(one) or _ANYBODY.fullmatch(other):
        return False
    if _SELF.fullmatch(one) and _SELF.fullmatch(other):
        return True
    ours, theirs = set(text.terms(one)), set(text.terms(other))
    return bool(ours) and ours == theirs


def _judge_values(older: _Claim, newer: _Claim, said: str, texts: tuple[str, str]) -> ConflictVerdict:
    if _is_part(older.what, newer.what):
        return ConflictVerdict.NONE
    says_so = _CHANGED.search(said) is not None
    names_the_old = says_so and _is_part(older.what, said)
    only_one = older.relation.only_one or _is_only_value(older, newer, texts)
    is_of_many = _ONE_OF_MANY.match(older.what) or _ONE_OF_MANY.match(newer.what)
    if names_the_old or (only_one and not is_of_many):
        return ConflictVerdict.CERTAIN
    if newer.relation.name == "use":
        return ConflictVerdict.DOUBTFUL if says_so or _NOW.search(said) else ConflictVerdict.NONE
    if says_so or (_NOW.search(said) and newer.relation.name != "be"):
        return ConflictVerdict.CERTAIN
    if newer.relation.name in ("work", "prefer") or _NOW.search(said):
        return ConflictVerdict.DOUBTFUL
    return (
        ConflictVerdict.DOUBTFUL if not is_of_many and _are_of_a_kind(older.what, newer.what) else ConflictVerdict.NONE
    )


def _is_only_value(older: _Claim, newer: _Claim, texts: tuple[str, str]) -> bool:
    """Whether both name what somebody has one of: a birthday, a port; of a wife, a boss only who it is.

    «Port 8080», «version 2.1» are called so: that is no value.
    """
    owned = [found for found in _ONLY_ONE.finditer(older.who) if not _LABEL.match(older.who, found.end())]
    if not owned or (_DIGIT.search(older.what) is None) != (_DIGIT.search(newer.what) is None):
        return False
    if not any(_PERSON.fullmatch(found.group()) for found in owned):
        return True
    names = {word for said in texts for name in entities.names(said) for word in text.words(name)}
    return all(names.issuperset(text.words(value)) for value in (older.what, newer.what))


def _is_part(one: str, other: str) -> bool:
    """Whether one value says what the other says, and perhaps more: «Hangzhou» and «Hangzhou, by the lake»."""
    ours, theirs = text.normalise(one), text.normalise(other)
    if not ours or not theirs:
        return True
    terms, others = set(text.terms(one)), set(text.terms(other))
    return ours in theirs or theirs in ours or bool(terms and others and (terms <= others or others <= terms))


def _are_of_a_kind(one: str, other: str) -> bool:
    return any(kind.search(one) and kind.search(other) for kind in (_NUMBER, _PLACE_IN_TIME))


def _judge_frame(before: str, after: str) -> ConflictVerdict:
    """The same sentence but for one place in it: «… listens on port 6543», «… listens on port 7654»."""
    older, newer = _words(before), _words(after)
    head = _common(older, newer)
    tail = _common(older[head:][::-1], newer[head:][::-1])
    was, becomes = older[head : len(older) - tail], newer[head : len(newer) - tail]
    frame = "".join([*older[:head], *older[len(older) - tail :]])
    if not (0 < len(was) <= 3 and 0 < len(becomes) <= 3) or len(frame) < 2 * len("".join(was)) or head == 0:
        return ConflictVerdict.NONE
    if not _are_of_a_kind(" ".join(was), " ".join(becomes)):
        return ConflictVerdict.NONE
    is_of_one = _NOW.search(after) and _ONLY_ONE.search(" ".join(older[max(head - 2, 0) : head]))
    return ConflictVerdict.CERTAIN if is_of_one or _CHANGED.search(after) else ConflictVerdict.DOUBTFUL


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    for place, (word, other_word) in enumerate(zip(one, other, strict=False)):
        if word != other_word:
            return place
    return min(len(one), len(other))
