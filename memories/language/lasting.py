"""Which sentences of a message tell something lasting about the one who wrote it, as rules are sure of it (D5).

Right rather than complete: a sentence is taken where it is worded as one of the things people tell of themselves, in
the first person, and nothing in it or around it speaks against that: no question, hearsay, plan, condition or joke by
mark, nothing of the moment, nothing another speaks or writes. What is not taken stays in its conversation. The words
are in `lasting.txt`; how often they are right is measured by `python -m evals.measurements lasting`. Pure and
deterministic.
"""

import re
from collections.abc import Iterable
from itertools import chain

from memories.language import attributes
from memories.language.names import simplify
from memories.language.sentences import ANY, is_question, spoken_sentences
from memories.language.text import HAN, has_han
from memories.language.word_lists import pattern

#: Longer messages are pasted rather than typed, longer sentences say many things, shorter ones too little.
MESSAGE_CHARS, SENTENCE_CHARS, LEAST_CHARS = 600, 200, 4
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
_CLAUSE = re.compile(r"[^,;，；。！!]*")


def lasting_sentences(message: str) -> list[str]:
    """The sentences of a message that tell something lasting about its author, as they stand there, in their order."""
    if len(message) > MESSAGE_CHARS or _BORROWED.search(message):
        return []
    return [
        sentence
        for sentence in spoken_sentences(message)
        if LEAST_CHARS <= len(sentence) <= SENTENCE_CHARS and _is_lasting(sentence)
    ]


def _is_lasting(sentence: str) -> bool:
    plain = sentence.replace("’", "'")
    # a joke, an idiom, an exaggeration: of a boss who is a monster nothing lasts
    figure = _FIGURE_CHINESE.search(simplify(plain)) if has_han(plain) else _FIGURE.search(plain.casefold())
    if figure or (not has_han(plain) and _FIGURE_NAMED.search(plain)):
        return False
    if attributes.is_of_author(sentence):
        return True
    if is_question(plain, ANY):
        return False
    if has_han(plain):
        plain = _GAP.sub("", plain.rstrip("。.！!～~ "))
        matches = chain(_CHINESE.finditer(plain), _CHINESE_ORDER.finditer(plain))
        return not _UNSURE_CHINESE.search(plain) and _any_lasts(plain, matches, _PASSING_CHINESE)
    folded = plain.casefold()
    matches = chain(_ENGLISH.finditer(folded), _ENGLISH_ORDER.finditer(folded), _ENGLISH_NAMED.finditer(plain))
    return not _UNSURE_ENGLISH.search(folded) and _any_lasts(folded, matches, _PASSING_ENGLISH)


def _any_lasts(sentence: str, matches: Iterable[re.Match[str]], passing: re.Pattern[str]) -> bool:
    """Whether one of them is in a clause that is neither of the moment nor over; other clauses may tell why."""
    for match in matches:
        begin = match.end() - len(match.group().lstrip(_MARKS))
        clause = _CLAUSE.match(sentence, begin)
        if clause and not passing.search(clause.group()):
            return True
    return False
