"""What somebody tells of themselves: what there is one of at a time, whether it is told anew, and what lasts (D5).

Where somebody lives, for whom they work, what they are called, eat, drive: of these the value told last holds, and what
was told before it is over, though the two sentences may share no word. What there may be more of (allergies, pets,
languages) is none of them. `replaces` is right rather than complete: of most attributes the newer sentence has to tell
of a change itself («moved to», now, 现在, 换), both values have to be of one sort (a town is in its country), and the
older sentence must tell nothing besides. The wordings are in `attributes.txt`.

So are `lasting_sentences`, which of a message tell something lasting about its author: a sentence is taken where it is
worded as one of the things people tell of themselves, in the first person, and nothing in it or around it speaks
against that: no question, hearsay, plan, condition or joke by mark, nothing of the moment, nothing another speaks or
writes. What is not taken stays in its conversation. Their words are in `lasting.txt`; how often both are right is
measured by `python -m evals.measurements lasting`. Pure and deterministic.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

from memories.language import text
from memories.language.amounts import amounts_in
from memories.language.names import simplify
from memories.language.text import ANY, HAN, has_han, is_question, spoken_sentences
from memories.language.word_lists import classes, pattern, patterns, word_set, words

#: Longer sentences say many things.
SENTENCE_CHARS = 160
#: Words of another clause that the older sentence may have besides: «for good», «by the way».
FEW_WORDS, FEW_CHARACTERS = 3, 5
_ATTRIBUTES = words("attributes", "attributes")
_WORDINGS = [
    (name.removesuffix("_over"), name.endswith("_over"), wording)
    for name in _ATTRIBUTES
    for wording in patterns("attributes", name, re.IGNORECASE)
]
_ONLY_ONE = word_set("attributes", "only_one")
_COUNTED = word_set("attributes", "counted")
_SAME = {word.replace("_", " "): first.replace("_", " ") for word, first in classes("attributes", "same").items()}
_REGIONS, _TOWNS = (
    frozenset(word.replace("_", " ") for word in word_set("attributes", section)) for section in ("regions", "towns")
)
_CHANGED = pattern("attributes", "changed", re.IGNORECASE)
_FLEETING = pattern("attributes", "fleeting", re.IGNORECASE)
_BESIDE = pattern("attributes", "beside", re.IGNORECASE)
_NO_PLACE = pattern("attributes", "no_place", re.IGNORECASE)
_NO_EMPLOYER = pattern("attributes", "no_employer", re.IGNORECASE)
_NO_TOOL = pattern("attributes", "no_tool", re.IGNORECASE)
_UNSURE = pattern("attributes", "unsure", re.IGNORECASE)
_KINDS = patterns("statement", "kinds", re.IGNORECASE)
_CLAUSES = re.compile(r"[,;:!?，；：！？。–—]|\.(?=\s|$)|\band\b|\bbut\b")
_FILLER = pattern("attributes", "filler", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?|my|our) ", re.IGNORECASE)
_PLACE_NAME = re.compile(r"[市省县区州镇]$")


@dataclass(frozen=True)
class Value:
    """One value of an attribute, as a sentence tells it of its author."""

    attribute: str
    key: str  # of several of a kind, which: a favourite colour
    value: str
    is_over: bool  # it says that this value holds no more

    @cached_property
    def words(self) -> frozenset[str]:
        """What is compared of it: its amounts where it counts something, else its words."""
        if self.attribute in _COUNTED and (amounts := amounts_in(f" {self.value.title()}")):
            return frozenset(amounts)
        return frozenset(text.words(self.value)) or frozenset({self.value})

    @cached_property
    def sort(self) -> object:
        """What it must have in common with another value that takes its place."""
        if self.attribute == "home":
            return self.value in _REGIONS
        if self.attribute == "employer":
            return self.value in _TOWNS or _PLACE_NAME.search(self.value) is not None
        return ""

    def is_like(self, other: "Value") -> bool:
        """Whether one says what the other says, and perhaps more: «Hangzhou» and «Hangzhou, by the lake»."""
        if self.attribute == "birthday":
            # Whether two dates may be one: the same day, or a day and its month
            months = [
                {day.split()[-1].split("-")[0] for day in days if " " in day or "-" in day}
                for days in (self.words, other.words)
            ]
            days = [{day for day in amounts if "-" in day} for amounts in (self.words, other.words)]
            if all(months) and months[0] != months[1]:
                return False
            return not (all(days) and days[0] != days[1]) if all(months) else True
        if self.words <= other.words or other.words <= self.words:
            return True
        return has_han(self.value) and (self.value in other.value or other.value in self.value)


@dataclass(frozen=True)
class Reading:
    """What a sentence tells of its author that there is one of at a time."""

    values: tuple[Value, ...] = ()
    is_new: bool = False  # it tells of a change, or takes something back
    is_alone: bool = True  # it tells nothing besides


NOTHING = Reading()


def replaces(newer: str, older: str) -> bool:
    """Whether a newer sentence of somebody tells anew all that an older one of them told."""
    news, before = read(newer), read(older)
    if not (news.values and before.values and before.is_alone):
        return False
    keys = {(value.attribute, value.key) for value in before.values}
    replaced = {
        (theirs.attribute, theirs.key)
        for ours in news.values
        for theirs in before.values
        if _takes_place(ours, theirs, is_new=news.is_new)
    }
    return keys == replaced


def is_of_author(sentence: str) -> bool:
    """Whether a sentence tells of its author what there is one of at a time, and little besides."""
    reading = read(sentence)
    return bool(reading.values) and reading.is_alone


def _takes_place(newer: Value, older: Value, *, is_new: bool) -> bool:
    if (newer.attribute, newer.key) != (older.attribute, older.key) or older.is_over:
        return False
    if newer.is_over or newer.is_like(older):
        return newer.is_over and newer.is_like(older)
    return newer.sort == older.sort and (is_new or newer.attribute in _ONLY_ONE)


@lru_cache(maxsize=8_192)
def read(sentence: str) -> Reading:
    """What a sentence tells of its author that there is one of at a time; nothing where it is not sure."""
    plain = " ".join(simplify(unicodedata.normalize("NFKC", sentence)).replace("’", "'").split())
    if len(plain) > SENTENCE_CHARS or is_question(plain, ANY):
        return NOTHING
    if _UNSURE.search(plain) or _FLEETING.search(plain) or _BESIDE.search(plain):
        return NOTHING
    values = list(_values(plain))
    if not values:
        return NOTHING
    ends = [span for span, _value in values]
    return Reading(
        tuple(dict.fromkeys(value for _span, value in values)),
        is_new=_CHANGED.search(plain) is not None,
        is_alone=_is_alone(plain, ends),
    )


def _values(plain: str) -> Iterator[tuple[tuple[int, int], Value]]:
    for attribute, is_over, wording in _WORDINGS:
        for match in wording.finditer(plain):
            groups = match.groupdict()
            value, key = (" ".join((groups.get(name) or "").casefold().split()) for name in ("value", "key"))
            if attribute == "home" and _NO_PLACE.search(value):
                continue
            if attribute == "employer" and _NO_EMPLOYER.search(value):
                continue
            if attribute == "tool":  # one of a kind: an editor, a phone
                kinds = [str(n) for n, kind in enumerate(_KINDS) if kind.search(match.group())]
                if not kinds or _NO_TOOL.search(value):
                    continue
                key = kinds[0]
            if attribute == "favourite" and not key:
                key = "颜色"
            if attribute == "consumes":
                value = value or "yes"
            value = _SAME.get(value, value)
            value = _SAME.get(bare := _ARTICLE.sub("", value), bare)
            if value:
                yield match.span(), Value(attribute, _SAME.get(key, key), value, is_over)


def _is_alone(plain: str, spans: list[tuple[int, int]]) -> bool:
    """Whether the sentence tells little outside of these."""
    begin = 0
    for end in [*(match.start() for match in _CLAUSES.finditer(plain)), len(plain)]:
        clause = _FILLER.sub(" ", plain[begin:end]).strip(" ,，.。")
        is_read = any(start < end and begin < stop for start, stop in spans)
        long = len(clause) > FEW_CHARACTERS if has_han(clause) else len(clause.split()) > FEW_WORDS
        if long and not is_read:
            return False
        begin = end + 1
    return True


# -- what lasts

#: Longer messages are pasted rather than typed, longer sentences say many things, shorter ones too little.
MESSAGE_CHARS, LASTING_CHARS, LEAST_CHARS = 600, 200, 4
#: A space between an ideograph and what it stands beside: 穿 42 码.
_GAP = re.compile(rf"(?<=[{HAN}]) | (?=[{HAN}])")
_BORROWED = pattern("lasting", "borrowed", re.IGNORECASE | re.MULTILINE)
_UNSURE_ENGLISH, _UNSURE_CHINESE = pattern("lasting", "unsure_english"), pattern("lasting", "unsure_chinese")
_PASSING_ENGLISH, _PASSING_CHINESE = pattern("lasting", "passing_english"), pattern("lasting", "passing_chinese")
_ENGLISH, _ENGLISH_NAMED = pattern("lasting", "english"), pattern("lasting", "english_named")
_ENGLISH_ORDER, _CHINESE_ORDER = pattern("lasting", "english_order"), pattern("lasting", "chinese_order")
_CHINESE = pattern("lasting", "chinese")
_FIGURE, _FIGURE_NAMED, _FIGURE_CHINESE = (
    pattern("figures", section) for section in ("english", "english_named", "chinese")
)
_MARKS = " \t,;:(–—，；：（"
_ONE_CLAUSE = re.compile(r"[^,;，；。！!]*")


def lasting_sentences(message: str) -> list[str]:
    """The sentences of a message that tell something lasting about its author, as they stand there, in their order."""
    if len(message) > MESSAGE_CHARS or _BORROWED.search(message):
        return []
    return [
        sentence
        for sentence in spoken_sentences(message)
        if LEAST_CHARS <= len(sentence) <= LASTING_CHARS and _is_lasting(sentence)
    ]


def _is_lasting(sentence: str) -> bool:
    plain = sentence.replace("’", "'")
    is_chinese = has_han(plain)
    # a joke, an idiom, an exaggeration: of a boss who is a monster nothing lasts
    if is_chinese:
        figure = _FIGURE_CHINESE.search(simplify(plain))
    else:
        figure = _FIGURE.search(plain.casefold()) or _FIGURE_NAMED.search(plain)
    if figure:
        return False
    if is_of_author(sentence):
        return True
    if is_question(plain, ANY):
        return False

    if is_chinese:
        folded = _GAP.sub("", plain.rstrip("。.！!～~ "))
        matches = chain(_CHINESE.finditer(folded), _CHINESE_ORDER.finditer(folded))
        unsure, passing = _UNSURE_CHINESE, _PASSING_CHINESE
    else:
        folded = plain.casefold()
        matches = chain(_ENGLISH.finditer(folded), _ENGLISH_ORDER.finditer(folded), _ENGLISH_NAMED.finditer(plain))
        unsure, passing = _UNSURE_ENGLISH, _PASSING_ENGLISH
    if unsure.search(folded):
        return False
    # in a clause that is neither of the moment nor over; other clauses may tell why
    for match in matches:
        begin = match.end() - len(match.group().lstrip(_MARKS))
        clause = _ONE_CLAUSE.match(folded, begin)
        if clause and not passing.search(clause.group()):
            return True
    return False
