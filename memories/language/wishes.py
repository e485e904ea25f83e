"""Whether a message asks that something be kept for good («please never forget that», 请务必记住), by rules, no model.

«Do you remember…?» asks, «I'll never forget that day» and 我忘记了 tell: neither is a request.
"""

import re
from collections.abc import Iterator
from itertools import chain

from memories.language import text
from memories.language.asking import is_question
from memories.language.scripts import has_han
from memories.language.sentences import sentences
from memories.language.word_lists import pattern, word_set

_QUOTED = re.compile(r"^[ \t]{0,8}[>＞].*$", re.MULTILINE)
_ORDERED = pattern("wishes", "ordered")
_REQUESTED = pattern("wishes", "requested")
_NOT_FORGET = pattern("wishes", "kept_from_forgetting")
_SAID_LAST = pattern("wishes", "said_last")
_IS_TOLD = pattern("wishes", "is_told")
_IS_REPORTED = pattern("wishes", "is_reported")
_ORDERED_CHINESE = pattern("wishes", "ordered_chinese")
_REQUESTED_CHINESE = pattern("wishes", "requested_chinese")
_NOT_FORGET_CHINESE = pattern("wishes", "not_forget_chinese")
_NOTHING_NAMED = word_set("wishes", "nothing_named")
_NOTHING_NAMED_CHARS = frozenset("".join(filter(has_han, _NOTHING_NAMED)))


def asks_to_keep(message: str) -> bool:
    """Whether a message asks that something be remembered; what it quotes does not count."""
    return any(map(_asks, _plain_sentences(message)))


def names_what(message: str) -> bool:
    """Whether a request says itself what is to be kept; «please remember that» is about what was said before."""
    return not all(map(_names_nothing, text.words(" ".join(_plain_sentences(message)))))


def _names_nothing(word: str) -> bool:
    return _NOTHING_NAMED_CHARS.issuperset(word) if has_han(word) else word in _NOTHING_NAMED


def _plain_sentences(message: str) -> Iterator[str]:
    for sentence in sentences(_QUOTED.sub("", message)):
        if plain := " ".join(sentence.replace("’", "'").casefold().split()):
            yield plain


def _asks(sentence: str) -> bool:
    if has_han(sentence) and _asks_in_chinese(sentence):
        return True
    orders = () if is_question(sentence) else _ORDERED.finditer(sentence)
    asked = chain(orders, _REQUESTED.finditer(sentence))
    not_forget = chain(_NOT_FORGET.finditer(sentence), _SAID_LAST.finditer(sentence))
    own = chain(asked, (match for match in not_forget if not _IS_TOLD.search(sentence[: match.start()])))
    return any(not _IS_REPORTED.search(sentence[: match.start()]) for match in own)


def _asks_in_chinese(sentence: str) -> bool:
    if any(not match["who"] for match in _NOT_FORGET_CHINESE.finditer(sentence)) or _REQUESTED_CHINESE.search(sentence):
        return True
    return not is_question(sentence) and _ORDERED_CHINESE.search(sentence) is not None
