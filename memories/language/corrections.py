"""Whether a newer statement corrects an older one: it says otherwise of the same thing (A7).

By rules, no model. What is decided here moves the newer statement before the older one and marks that one; it hides
and removes nothing, so it may go by less than a conflict of facts (memories.language.contradiction).
"""

import re
from functools import lru_cache
from itertools import product

from memories.language import entities, stopwords, subjects, text
from memories.language.asking import is_question
from memories.language.conflicts import ConflictVerdict, judge
from memories.language.contradiction import outdates
from memories.language.scripts import has_han
from memories.language.sentences import spoken_sentences
from memories.language.word_lists import pattern, remembered, word_set

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
    return any(
        found(newer) and found(older) and found(newer) != found(older) for found in (entities.numbers, entities.names)
    )


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
    if _subject(newer) == _subject(older) or (has_other_value and _subject(newer) in before):
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
    return frozenset(entities.names(statement))


@lru_cache(maxsize=2_048)
def _numbers(statement: str) -> frozenset[str]:
    spelled = {word for word in text.words(statement) if _CHINESE_VALUE.fullmatch(word)}
    return frozenset(entities.numbers(statement) | spelled)


@lru_cache(maxsize=2_048)
def topic_of(statement: str) -> frozenset[str]:
    """What a statement is about: its content words without its values and the plainest verbs, as stems."""
    return frozenset(_topic(statement))


def _subject(statement: str) -> str:
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
        if word and word not in values and word not in stopwords.ENGLISH and word not in stopwords.CHINESE
        if (stem := text.stem(word)) not in _LIGHT
        and not any(map(str.isdigit, word))
        and not _CHINESE_VALUE.fullmatch(word)
    )
