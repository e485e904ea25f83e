"""What a newer statement is to an older one: a conflict, its end, a correction; by rules, no model (D1, D5, A7).

Three judgements, each with more to lose than the next. `judge` tells when a newer statement takes the place of an older
one, and when only a person can tell. Both are read as somebody (or something), a relation, and a value. The same
somebody in the same relation to another value is a conflict: a certain one where there can only be one value, or where
the newer statement itself says that something changed; else, where the values are of a kind, a doubtful one. What may
both be true is none: people like tea and coffee. Plans, hearsay and the past change nothing.

`outdates` tells when a line of the profile is untrue: what it says of the same somebody is over (no longer, left,
不再, 离职), or a new home, employer or tool stands in its place. A second phone, another pet, a journey change nothing.
It hides a line and removes nothing.

`corrects` tells when a newer statement says otherwise of the same thing. It moves the newer one before the older one
and marks that one; it hides nothing, so it goes by the least. Which words count for which judgement stands in
`conflicts.txt`, `contradictions.txt` and `corrections.txt`. Pure and deterministic.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import product

from memories.language import subjects, text
from memories.language.asking import is_question
from memories.language.names import numbers, proper_names
from memories.language.sentences import spoken_sentences
from memories.language.text import HAN, begins_with_han, has_han
from memories.language.word_lists import pattern, patterns, remembered, word_set, words


class ConflictVerdict(Enum):
    """What a newer statement is to an older one."""

    CERTAIN = "certain"
    DOUBTFUL = "doubtful"
    NONE = "none"


#: What is longer makes more than one statement; matching it takes time that grows with the square of its length.
STATEMENT_CHARS = 1_000
_NO_FACT = pattern("conflicts", "unsure")
_SAYS_IT_CHANGED = pattern("conflicts", "changed")
_NOW = pattern("conflicts", "now")
_TIMELY = pattern("conflicts", "beside")
_AND_SO_ON = re.compile(r"[,，;；。.!！]?$")
_ONLY_ONE = pattern("conflicts", "only_one")
_PERSON = pattern("conflicts", "person")
_LABEL = re.compile(r"\s?(?:numbers?|no\.?|号码?)?\s?#?\d")
_DIGIT = re.compile(r"\d")
_USER = pattern("conflicts", "self")
_ANYBODY = pattern("conflicts", "anybody")
_ONE_OF_MANY = pattern("conflicts", "one_of_many")
_PLACE_IN_TIME = pattern("conflicts", "place_in_time")
_NUMBER = pattern("conflicts", "number")
_DENIAL = pattern("conflicts", "negation")


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
    before, after = _one_line(old), _one_line(new)
    if before == after or _is_no_fact(before) or _is_no_fact(after) or subjects.are_of_two_things(old, new):
        return ConflictVerdict.NONE
    if _is_denial(before) != _is_denial(after):
        # One says what the other denies, in the same words
        ours, theirs = (text.join_words(text.words(_bare(_DENIAL.sub(" ", said)))) for said in (before, after))
        terms, others = set(text.terms(ours)), set(text.terms(theirs))
        if not terms or terms != others:
            return ConflictVerdict.NONE
        says_so = _SAYS_IT_CHANGED.search(after) or _NOW.search(after) or re.search(r"\bstopped\b", after)
        return ConflictVerdict.CERTAIN if says_so else ConflictVerdict.DOUBTFUL
    older, newer = _read(before), _read(after)
    if older and newer and older.relation.name == newer.relation.name:
        return (
            _judge_values(older, newer, after, (old, new))
            if _is_same_owner(older.who, newer.who)
            else ConflictVerdict.NONE
        )
    return _judge_frame(before, after)


@lru_cache(maxsize=2_048)  # a statement is compared with many
def _is_no_fact(said: str) -> bool:
    return _NO_FACT.search(said) is not None


@lru_cache(maxsize=2_048)
def _is_denial(said: str) -> bool:
    return _DENIAL.search(said) is not None


@lru_cache(maxsize=2_048)
def _one_line(said: str) -> str:
    one_line = " ".join(said.casefold().replace("’", "'").split())
    return _AND_SO_ON.sub("", one_line)


def _bare(said: str) -> str:
    """Without the words that say when."""
    return " ".join(_TIMELY.sub(" ", _NOW.sub(" ", said)).split()).strip(" ,，、")


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


def _is_same_owner(one: str, other: str) -> bool:
    """Whether two statements are about the same; a «he» may be anybody."""
    if _ANYBODY.fullmatch(one) or _ANYBODY.fullmatch(other):
        return False
    if _USER.fullmatch(one) and _USER.fullmatch(other):
        return True
    ours, theirs = set(text.terms(one)), set(text.terms(other))
    return bool(ours) and ours == theirs


def _judge_values(older: _Claim, newer: _Claim, said: str, texts: tuple[str, str]) -> ConflictVerdict:
    if _is_part(older.what, newer.what):
        return ConflictVerdict.NONE
    says_so = _SAYS_IT_CHANGED.search(said) is not None
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
    names = {word for said in texts for name in proper_names(said) for word in text.words(name)}
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
    return ConflictVerdict.CERTAIN if is_of_one or _SAYS_IT_CHANGED.search(after) else ConflictVerdict.DOUBTFUL


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    for place, (word, other_word) in enumerate(zip(one, other, strict=False)):
        if word != other_word:
            return place
    return min(len(one), len(other))


# -- whether what a line says is over

_LINE_CHARS = 600  # what is longer is no statement about one thing
_CLAUSE = re.compile(r"\s*(?:[,.;!?，。；！？\n]+|\band\b|\bbut\b|\bso\b)\s*", re.IGNORECASE)
_NO_NEWS = pattern("contradictions", "unsure")
_AWAY = pattern("contradictions", "away")
_ADDS = pattern("contradictions", "beside")
_OVER = pattern("contradictions", "over")
_DENIES_BY_END = re.compile(r"不(?P<what>.+?)了$|没(?:有)?(?P<had>.+?)了$")
_NEW_HOME = pattern("contradictions", "new_home")
_NEW_WORK = pattern("contradictions", "new_work")
_NEW_TOOL = pattern("contradictions", "new_tool")
_AT_HOME = pattern("contradictions", "at_home")
_AT_WORK = pattern("contradictions", "at_work")
_WITH_TOOL = pattern("contradictions", "with_tool")
_KINDS = patterns("contradictions", "kinds", re.IGNORECASE)
_USER_OR_US = pattern("contradictions", "self")
_PRONOUN = pattern("contradictions", "pronoun")
_WHO_FIRST = re.compile(r"^(?P<who>(?:the user|user|my \w+(?:'s \w+)?|our \w+|(?:the )?[\w-]+?'s \w+|[\w-]+))\s+(?=\S)")
_CHINESE_WHO = re.compile(
    rf"^(?P<who>(?:用户|本人)?[{HAN}]{{0,6}}?)(?:的?(?:家|公司))?(?=现在|目前|如今|已经|已|早|不|没|刚"
    r"|最近|上个?[周月]|去年|今年|从|在|住|定居|用|使用|改|换|搬|喜欢|爱"
    r"|养|有|是|叫|姓|辞|离|入职|跳槽|加入|戒|卖|停|退|开|每|会|说|学|吃|喝|做|分手|失业|被|结婚|放弃|取消|和"
    r"|跟|最|对|打)"
)
_VERBS = frozenset(map(text.stem, words("contradictions", "plain_verbs")))
_CHINESE_TIMES = pattern("contradictions", "chinese_times")
_CHINESE_VERBS = pattern("contradictions", "chinese_verbs")
_is_away = remembered(_AWAY)
_adds_to_it = remembered(_ADDS)
_names_new_home = remembered(_NEW_HOME)
_names_new_work = remembered(_NEW_WORK)
_names_new_tool = remembered(_NEW_TOOL)
_is_of_home = remembered(_AT_HOME)
_is_of_work = remembered(_AT_WORK)
_is_of_tool = remembered(_WITH_TOOL)
_is_denied_by_end = remembered(_DENIES_BY_END)


def outdates(newer: str, line: str) -> bool:
    """Whether a newer statement makes an older one untrue."""
    if max(len(newer), len(line)) > _LINE_CHARS:
        return False
    older, said = _folded(line), _folded(newer)
    if older == said or _is_over(older) or _is_no_news(older):
        return False
    subject, things = _person_of(older), subjects.tells_apart(line)
    who, which = "", frozenset[str]()
    for part in _clauses(newer):
        clause = _folded(part)
        if (own := _person_of(clause)) and not (who and _PRONOUN.fullmatch(own)):
            who, which = own, subjects.tells_apart(part)
        if _is_no_news(clause) or not _is_same_person(who, subject) or subjects.are_apart(which, things):
            continue
        if _ends(clause, who, older, subject) or (
            not _adds_to_it(said)
            and (
                _is_of_the_same(clause, older)
                and not _is_away(clause)
                and not (_telling(older, "") <= _telling(clause, ""))
            )
        ):
            return True
    return not _adds_to_it(said) and not _is_no_news(said) and judge(line, newer) is ConflictVerdict.CERTAIN


@lru_cache(maxsize=2_048)  # a statement is compared with many
def _clauses(content: str) -> tuple[str, ...]:
    return tuple(part for part in map(str.strip, _CLAUSE.split(content.replace("’", "'"))) if _folded(part))


@lru_cache(maxsize=2_048)
def _is_no_news(said: str) -> bool:
    return _NO_NEWS.search(said) is not None


@lru_cache(maxsize=2_048)
def _is_over(said: str) -> bool:
    return _OVER.search(said) is not None


@lru_cache(maxsize=2_048)
def _folded(said: str) -> str:
    return " ".join(said.casefold().replace("’", "'").split()).strip(" .。!！")


@lru_cache(maxsize=2_048)
def _person_of(said: str) -> str:
    """Who is spoken of; empty where nobody is named."""
    chinese = begins_with_han(said)
    found = (_CHINESE_WHO if chinese else _WHO_FIRST).match(said)
    if chinese:
        return found["who"].removesuffix("的") or "我" if found else ""
    who = found["who"] if found else ""
    return "" if who in _NOBODY else who


_NOBODY = word_set("contradictions", "nobody")


def _is_same_person(one: str, other: str) -> bool:
    if not one or not other or _PRONOUN.fullmatch(one):
        return False
    return one == other or bool(_USER_OR_US.fullmatch(one) and _USER_OR_US.fullmatch(other))


def _ends(clause: str, who: str, older: str, subject: str) -> bool:
    """Whether it says that what the line tells is over."""
    if not (_is_over(clause) or _is_denied_by_end(clause)) or _is_away(clause):
        return False
    over = _telling(_OVER.sub(" ", clause).split(" to ")[0], who)
    told = _telling(older, subject)
    return bool(over) and all(
        word in told or (begins_with_han(word) and any(word in one for one in told)) for word in over
    )


@lru_cache(maxsize=2_048)
def _telling(said: str, who: str) -> frozenset[str]:
    """What is told, by stems and Chinese words, without who it is of and the plainest verbs."""
    rest = said.removeprefix(who)
    bare = _CHINESE_VERBS.sub(" ", _CHINESE_TIMES.sub(" ", rest).replace("不", " ").replace("没", " "))
    words = {text.stem(word.removesuffix("'s")) for word in text.words(bare)}
    return frozenset(word for word in words if word not in _VERBS and word not in _TELLS_LITTLE)


_TELLS_LITTLE = word_set("contradictions", "light")


def _is_of_the_same(clause: str, older: str) -> bool:
    """Whether both tell of a home, of work, or of a tool of one kind; nearly no two statements do."""
    if _names_new_home(clause) and _is_of_home(older):
        return True
    if _names_new_work(clause) and _is_of_work(older):
        return True
    if _names_new_tool(clause) and _is_of_tool(older):
        return any(kind.search(clause) and kind.search(older) for kind in _KINDS)
    return False


# -- whether it says otherwise of the same thing

MOST_CHARS = 160  # what is longer is no statement about one thing
MOST_OTHER_WORDS = 3  # a statement that denies another may hold besides
NAME_WORDS = 4  # longer ones are no names
FEW_WORDS, FEW_CHARACTERS = 14, 24  # of a text that takes back what was said just before it

_UNSURE = pattern("corrections", "unsure", re.IGNORECASE)
_CHANGED = pattern("corrections", "changed", re.IGNORECASE)
_TAKEN_BACK = pattern("corrections", "taken_back", re.IGNORECASE)
_SURELY_TAKEN_BACK = pattern("corrections", "surely_taken_back", re.IGNORECASE)
_EVENT = pattern("corrections", "event", re.IGNORECASE)
_GONE = pattern("corrections", "gone", re.IGNORECASE)
_NEGATION = pattern("corrections", "negation", re.IGNORECASE)
_CLOSING = pattern("corrections", "closing", re.IGNORECASE)
_NOTE = re.compile(r"\A\W{0,8}+(?P<key>[^\s:：\[\]][^:：\n\[\]]{1,29}?)\s{0,3}(?:[:：]|->|→)\s{0,3}\S")
_CHINESE_VALUE = re.compile(
    r"[零〇一二两三四五六七八九十百千万\d点點半刻号號月日年周星期时時分元块塊楼樓层層把早晚上下午]+"
)
_LIGHT = frozenset(map(text.stem, word_set("corrections", "light")))
_tells_of_change = remembered(_CHANGED)
_tells_of_an_event = remembered(_EVENT)
_tells_of_an_end = remembered(_GONE)
_is_denied = remembered(_NEGATION)


def corrects(newer: str, older: str) -> bool:
    """Whether a newer text says otherwise of what an older one says."""
    return max(len(newer), len(older)) <= MOST_CHARS and _corrects(newer, older)


@lru_cache(maxsize=8_192)  # the same memories are candidates question after question
def _corrects(newer: str, older: str) -> bool:
    if _normalised(newer) == _normalised(older):
        return False
    if not _tells_of_change(newer) and topic_of(newer).isdisjoint(topic_of(older)):
        return False
    return any(
        _says_otherwise(one, other) or outdates(one, other)
        for other in _sure_statements(older)
        for one in _sure_statements(newer)
        if not subjects.are_of_two_things(one, other)
    )


@lru_cache(maxsize=2_048)
def _normalised(content: str) -> str:
    return text.normalise(content)


@lru_cache(maxsize=2_048)
def _sure_statements(content: str) -> tuple[str, ...]:
    return tuple(one for one in spoken_sentences(content) if not _UNSURE.search(one))


def contests(one: str, other: str) -> bool:
    """Whether two texts say of the same thing what can hardly both be true, whichever was said first."""
    if max(len(one), len(other)) > MOST_CHARS:
        return False
    pairs = product(_sure_statements(one), _sure_statements(other))
    return any(_contest(*pair) for pair in pairs if not subjects.are_of_two_things(*pair))


@lru_cache(maxsize=8_192)
def _contest(one: str, other: str) -> bool:
    if ConflictVerdict.NONE is not judge(one, other) or ConflictVerdict.NONE is not judge(other, one):
        return True
    about, before = topic_of(one), topic_of(other)
    if not (about & before) or (about - before and before - about):
        return False
    has_other_value = any(_differ(values(one), values(other)) for values in (_numbers, _names))
    return has_other_value or (about == before and _is_denied(one) != _is_denied(other))


def contests_answer(answer: str, question: str, statement: str) -> bool:
    """Whether an answer, which may leave out what was asked about, says otherwise than a statement: «It is at 9.»"""
    if contests(answer, statement):
        return True
    topic = topic_of(statement)
    if max(len(answer), len(question), len(statement)) > MOST_CHARS or not topic or not _sure_statements(statement):
        return False
    return topic <= topic_of(question) | topic_of(answer) and any(
        _differ(values(statement), values(answer)) for values in (_numbers, _names)
    )


def may_take_back(said: str) -> bool:
    """Whether a text is of the kind that takes back what was said just before it."""
    first = next(iter(spoken_sentences(said)), "")
    return (
        bool(_TAKEN_BACK.search(first))
        and (len(said) <= FEW_CHARACTERS if has_han(said) else len(said.split()) <= FEW_WORDS)
        and not (_CLOSING.search(said) or is_question(said))
    )


@lru_cache(maxsize=4_096)  # recall reads the same turns question after question
def takes_back_anywhere(said: str) -> bool:
    """Whether any sentence begins as one that takes something back; cheap, for nearly none does."""
    return any(_TAKEN_BACK.search(sentence) for sentence in spoken_sentences(said))


def takes_back(newer: str, older: str) -> bool:
    """Whether a text corrects the one before it without naming its subject: «I meant Tuesday», «说错了，是周三»."""
    if not may_take_back(newer) or not older:
        return False
    if _SURELY_TAKEN_BACK.search(newer):
        return True
    return any(found(newer) and found(older) and found(newer) != found(older) for found in (numbers, proper_names))


def _says_otherwise(newer: str, older: str) -> bool:
    """Of the same thing another number, date or name, its denial, or its end."""
    about, before = topic_of(newer), topic_of(older)
    common = about & before
    has_changed = _tells_of_change(newer)
    shared_names = _names(newer) & _names(older)
    if _tells_of_an_end(newer) and (common or shared_names):
        return True
    has_other_value = any(_differ(values(newer), values(older)) for values in (_numbers, _names))
    if has_changed and shared_names and _names(newer) - _names(older) and not common:
        return True
    if not common:
        return False
    key = _key(newer)
    if bool(key) and key <= before:
        return has_other_value or has_changed or _key(newer) == _key(older)
    if not (about - before and before - about):
        if _is_denied(newer) != _is_denied(older):
            return before <= about and len(about - before) <= MOST_OTHER_WORDS and not _tells_of_an_event(older)
        if has_other_value:
            is_state = about == before and not (_tells_of_an_event(newer) or _tells_of_an_event(older))
            return has_changed or (is_state and _differ_at_the_end(newer, older))
    if not has_changed or about == before or _tells_of_an_event(older):
        return False
    if _first_of_topic(newer) == _first_of_topic(older) or (has_other_value and _first_of_topic(newer) in before):
        return True
    # Whether both are the same sentence but for one word, which is not the first, and for words such as «now»
    ours, theirs = ([word for word in text.words(one) if not _CHANGED.fullmatch(word)] for one in (newer, older))
    if len(ours) != len(theirs) or ours[:1] != theirs[:1]:
        return False
    return sum(one != other for one, other in zip(ours, theirs, strict=True)) == 1


def _differ_at_the_end(newer: str, older: str) -> bool:
    """Whether most of what both are about stands before they differ: «note 14 …» and «note 44 …» are two things."""
    ours, theirs = text.words(newer), text.words(older)
    same = next((n for n, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), len(ours))
    before = len(_topic(" ".join(ours[:same])))
    return 2 * before >= len(_topic(newer))


@lru_cache(maxsize=2_048)
def _key(note: str) -> frozenset[str]:
    """What stands before the colon of a note such as «Therapist: Dr. Lindqvist»; nothing of any other text."""
    found = _NOTE.match(note)
    return topic_of(found["key"]) if found and not any(map(str.isdigit, found["key"])) else frozenset()


def _differ(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    return bool(ours and theirs) and not ours <= theirs


@lru_cache(maxsize=2_048)  # a statement is compared with many
def _names(statement: str) -> frozenset[str]:
    """What looks like a name in it."""
    return frozenset(proper_names(statement))


@lru_cache(maxsize=2_048)
def _numbers(statement: str) -> frozenset[str]:
    spelled = {word for word in text.words(statement) if _CHINESE_VALUE.fullmatch(word)}
    return frozenset(numbers(statement) | spelled)


@lru_cache(maxsize=2_048)
def topic_of(statement: str) -> frozenset[str]:
    """What a statement is about: its content words without its values and the plainest verbs, as stems."""
    return frozenset(_topic(statement))


def _first_of_topic(statement: str) -> str:
    """The first word of what it is about."""
    return next(iter(_topic(statement)), "")


@lru_cache(maxsize=2_048)
def _topic(statement: str) -> tuple[str, ...]:
    values = {word for name in _names(statement) for word in text.words(name) if len(text.words(name)) <= NAME_WORDS}
    values |= {word for number in _numbers(statement) for word in text.words(number)}
    words = (word.replace("’", "'").removesuffix("'s").removesuffix("了") for word in text.words(statement))
    return tuple(
        stem
        for word in words
        if word and word not in values and word not in text.ENGLISH_STOPWORDS and word not in text.CHINESE_STOPWORDS
        if (stem := text.stem(word)) not in _LIGHT
        and not any(map(str.isdigit, word))
        and not _CHINESE_VALUE.fullmatch(word)
    )
