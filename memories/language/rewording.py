"""Whether a statement takes back another in other words, and whether it is about somebody or something else (D5, A7).

«Nordvane let me go» shares no word but the name with «I fix turbines for Nordvane», and takes it back all the same: it
says that what the older one names is over. «Java 升到 21 了» tells another version of the thing whose version the older
one tells. And «my sister left Lisbon» shares the name, and tells nothing of whether the author lives there. The forms
are few and right rather than complete; they stand in `rewording.txt`. Pure and deterministic.
"""

import re
import unicodedata
from collections.abc import Iterator

from memories.language import text
from memories.language.names import simplify
from memories.language.sentences import ANY, is_question
from memories.language.text import has_han
from memories.language.word_lists import pattern, patterns, words

#: Longer sentences say many things.
SENTENCE_CHARS = 160
_ENDINGS = [
    (pattern("rewording", f"{name}_before", re.IGNORECASE), patterns("rewording", f"{name}_over", re.IGNORECASE))
    for name in words("rewording", "endings")
]
_RENEWALS = [
    tuple(patterns("rewording", f"{name}_{when}", re.IGNORECASE) for when in ("before", "after"))
    for name in words("rewording", "renewals")
]
_KEPT_COMPANY = [pattern("rewording", f"{name}_before", re.IGNORECASE) for name in ("couple", "pet")]
_NAMED_FIRST = pattern("rewording", "named_first", re.IGNORECASE)
_UNDONE = pattern("rewording", "undone", re.IGNORECASE)
_ABOUT_OTHERS = patterns("rewording", "somebody_else", re.IGNORECASE)
_PART = patterns("rewording", "part", re.IGNORECASE)
_ELSEWHERE = pattern("rewording", "elsewhere", re.IGNORECASE)
_OWNER = pattern("rewording", "owner_chinese")
_NO_OWNER = pattern("rewording", "no_owner_chinese")
_OF_ONESELF = pattern("rewording", "of_oneself", re.IGNORECASE)
_LEFT_THING = pattern("rewording", "left_thing", re.IGNORECASE)
_NO_END = pattern("rewording", "no_end", re.IGNORECASE)
_LEFT_JOB = pattern("rewording", "left_job", re.IGNORECASE)


def revokes(newer: str, older: str) -> bool:
    """Whether a sentence says in other words that another no longer holds."""
    if max(len(newer), len(older)) > SENTENCE_CHARS:
        return False
    news, before = _plain(newer), _plain(older)
    if is_question(news, ANY) or _is_elsewhere(news, before):
        return False
    is_over = not _UNDONE.search(news) and any(
        _names(before, match["what"])
        for was, wordings in _ENDINGS
        if was.search(before)
        for wording in wordings
        for match in wording.finditer(news)
    )
    return is_over or any(
        what == what_before and value != value_before
        for befores, afters in _RENEWALS
        for what, value in _values(news, afters)
        for what_before, value_before in _values(before, befores)
    )


def is_about_another(newer: str, older: str) -> bool:
    """Whether a sentence is about somebody or something else than one that names some of the same."""
    if max(len(newer), len(older)) > SENTENCE_CHARS:
        return False
    news, before = _plain(newer), _plain(older)
    if _is_elsewhere(news, before):
        return True
    if not _OF_ONESELF.search(before):
        return False
    others = [*_ABOUT_OTHERS, *_PART]
    if any(not _names(before, match["who"]) for wording in others for match in wording.finditer(news)):
        return True
    owner = _OWNER.search(news)
    return owner is not None and not _NO_OWNER.search(owner["who"]) and not _names(before, owner["who"])


def is_end_of_another(newer: str, older: str) -> bool:
    """Whether a sentence that sounds like an end ends nothing of the other.

    Nothing is left, or an umbrella is, or a partner who is named in the other has left something of their own.
    """
    if max(len(newer), len(older)) > SENTENCE_CHARS:
        return False
    news, before = _plain(newer), _plain(older)
    if _NO_END.search(news):
        return True
    first = _NAMED_FIRST.search(news)
    if first and _names(before, first["what"]) and any(was.search(before) for was in _KEPT_COMPANY):
        return True
    left = _LEFT_THING.search(news)
    if left is None or _names(before, left["who"]):
        return False
    return not _LEFT_JOB.search(left.group())


def _plain(sentence: str) -> str:
    folded = simplify(unicodedata.normalize("NFKC", sentence)).replace("’", "'")
    return " ".join(folded.split()).rstrip(" .。!！")


def _names(sentence: str, name: str) -> bool:
    """Whether a sentence has all words of a name."""
    if has_han(name):
        return name in sentence
    ours = {text.stem(word) for word in text.words(sentence)}
    return {text.stem(word) for word in text.words(name)} <= ours


def _values(sentence: str, wordings: list[re.Pattern[str]]) -> Iterator[tuple[str, str]]:
    """Of which thing it tells which value."""
    for wording in wordings:
        for match in wording.finditer(sentence):
            groups = match.groupdict()
            yield (groups.get("what") or "").casefold(), match["value"].casefold()


def _is_elsewhere(news: str, before: str) -> bool:
    """Whether one of both names another environment, another team, and the other does not."""
    ours, theirs = (
        {match.group().casefold() for match in _ELSEWHERE.finditer(sentence)} for sentence in (news, before)
    )
    return ours != theirs
