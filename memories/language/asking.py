"""What a sentence asks: a question, or that something be kept for good. Rules, no model.

Whoever asks whether a sentence is a question names the signs that count there (`asking.txt`): a summary leaves out what
ends as a question does, and is to lose nothing else; a history takes all signs, for what was asked there was not
stated; of a turn nothing is kept that only asks, so requests count there. What needs memory (memories.recall.gate) and
what stored fingerprints are made of (`text.marks`) have words of their own.

A request to keep something is «please never forget that», 请务必记住. «Do you remember…?» asks, «I'll never forget that
day» and 我忘记了 tell: neither is a request.
"""

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import chain

from memories.language import text
from memories.language.sentences import sentences
from memories.language.text import has_han
from memories.language.word_lists import pattern, word_set


class Sign(Enum):
    """A sign of a question; its value is the section with its pattern."""

    CLOSING_MARK = "closing_mark"  # a question mark at the end, within quotes or brackets as well
    PARTICLE = "particle"  # 吗 or 呢 at the end
    MARK = "mark"  # a question mark anywhere
    OPENING = "opening"  # an English sentence begins with «what», «do», «is»
    WORD = "word"  # 谁, 什么, 多少 anywhere
    A_NOT_A = "a_not_a"  # 是不是, 有没有
    REQUEST_ENGLISH = "request_english"  # «tell me …», «I wonder …», a question without its mark
    REQUEST_CHINESE = "request_chinese"  # 告诉我, 我忘了, and words of a question


BY_ITS_END = (Sign.CLOSING_MARK, Sign.PARTICLE)
#: Those of a question; a request may be none.
ANY = (*BY_ITS_END, Sign.MARK, Sign.OPENING, Sign.WORD, Sign.A_NOT_A)
_PATTERNS = {sign: pattern("asking", sign.value) for sign in Sign}


def is_question(sentence: str, by: Iterable[Sign] = BY_ITS_END) -> bool:
    """Whether a sentence has one of these signs of a question."""
    return any(_PATTERNS[sign].search(sentence) for sign in by)


_QUOTED = re.compile(r"^[ \t]{0,8}[>＞].*$", re.MULTILINE)
_ORDERED = pattern("wishes", "ordered")
_REQUESTED = pattern("wishes", "requested")
_NOT_FORGET = pattern("wishes", "kept_from_forgetting")
_ENDS_IN_NOT_FORGETTING = pattern("wishes", "at_the_end")
_BEFORE_STATEMENT = pattern("wishes", "before_statement")
_IS_REPORTED = pattern("wishes", "is_reported")
_ORDERED_CHINESE = pattern("wishes", "ordered_chinese")
_REQUESTED_CHINESE = pattern("wishes", "requested_chinese")
_NOT_FORGET_CHINESE = pattern("wishes", "not_forget_chinese")
_NOTHING_NAMED = word_set("wishes", "nothing_named")
_NOTHING_NAMED_CHARS = frozenset("".join(filter(has_han, _NOTHING_NAMED)))


def asks_to_keep(message: str) -> bool:
    """Whether a message asks that something be remembered; what it quotes does not count."""
    return any(map(_asks, _plain_sentences(message)))


def only_asks_to_keep(message: str) -> bool:
    """Whether a message asks that something be remembered, and beside that no question."""
    others = (sentence for sentence in _plain_sentences(message) if not _asks(sentence))
    return asks_to_keep(message) and not any(is_question(sentence, by=ANY) for sentence in others)


def names_what(message: str) -> bool:
    """Whether a request says itself what is to be kept; «please remember that» is about the messages before."""
    words = text.words(" ".join(_plain_sentences(message)))
    return not all(_NOTHING_NAMED_CHARS.issuperset(word) if has_han(word) else word in _NOTHING_NAMED for word in words)


def _plain_sentences(message: str) -> Iterator[str]:
    for sentence in sentences(_QUOTED.sub("", message)):
        if plain := " ".join(sentence.replace("’", "'").casefold().split()):
            yield plain


def _asks(sentence: str) -> bool:
    may_order = not is_question(sentence)
    if has_han(sentence):
        not_forget_chinese = (match for match in _NOT_FORGET_CHINESE.finditer(sentence) if not match["who"])
        if any(not_forget_chinese) or _REQUESTED_CHINESE.search(sentence):
            return True
        if may_order and _ORDERED_CHINESE.search(sentence):
            return True
    asked = chain(_ORDERED.finditer(sentence) if may_order else (), _REQUESTED.finditer(sentence))
    not_forget = chain(_NOT_FORGET.finditer(sentence), _ENDS_IN_NOT_FORGETTING.finditer(sentence))
    own = chain(asked, (match for match in not_forget if not _BEFORE_STATEMENT.search(sentence[: match.start()])))
    return any(not _IS_REPORTED.search(sentence[: match.start()]) for match in own)
