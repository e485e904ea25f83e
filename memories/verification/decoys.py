"""Statements known to be false, made mechanically of statements that were offered: they try a second reading (D5).

A reading that takes one of them for true is not believed. No decoy is true of what its statement rests on: a number
nobody said, the opposite, a person who was not there.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence

from memories.language.amounts import amounts_in
from memories.language.names import fold
from memories.language.scripts import has_han
from memories.language.word_lists import words

_NUMBER = re.compile(r"\d+")
_NAMES = {True: words("decoys", "chinese_names"), False: words("decoys", "english_names")}
#: What turns a statement round: the first that is found in it.
_TURNS = (
    (re.compile(r"\b(is|was|are|were|has been|will|can|should) (?!not\b)"), r"\1 not "),
    (re.compile(r"\b(?:does not|do not|did not|doesn't|don't|didn't|isn't|wasn't|cannot|can't|never) ?"), ""),
    (re.compile(r"\b(has|owns|keeps) (?=an?\b|the\b|\d|two|three|four)"), "does not have "),
    (re.compile(r"(没有|没|不(?!过|久|同|错|仅))"), ""),
    (
        re.compile(
            r"(?<!只)(?<!还)(?<!不)(是|(?<![开聚机社年晚宴])会(?!议|计|场|员)|能|想|要|喜欢|爱|住在|打算|计划|属于|需要)"
        ),
        r"不\1",
    ),
    (re.compile(r"(?<![没只])有"), "没有"),
    (re.compile(r"(过敏)"), r"不\1"),
)


def decoys(statement: str, quote: str, told: str, people: Sequence[str], chance: random.Random) -> Iterator[str]:
    """False variants of a statement, in chance order; `told` is all that was said, `people` the names in it.

    The quote is turned round, and not the statement: the opposite of a lie may be true.
    """
    makers: list[Callable[[], str]] = [
        lambda: other_number(statement, told, chance),
        lambda: opposite(quote),
        lambda: other_person(statement, told, people, chance),
    ]
    chance.shuffle(makers)
    makers += [lambda: denied(quote), lambda: attributed(quote, told, chance)]  # of any quote
    for make in makers:
        if (made := make()) and made != statement and fold(made) not in fold(told):
            yield made


def other_number(statement: str, told: str, chance: random.Random) -> str:
    """The statement with another number in place of one of its numbers; empty where it has none."""
    found = list(_NUMBER.finditer(statement))
    if not found:
        return ""
    match = chance.choice(found)
    there = amounts_in(told) | set(_NUMBER.findall(told)) | {one.group() for one in found}
    value = int(match.group()[:9])
    near = (str(value + step) for step in (2, 3, 5, 7, 11, 13) if str(value + step) not in there)
    other = next(near, "")
    return statement[: match.start()] + other + statement[match.end() :] if other else ""


def opposite(statement: str) -> str:
    """The statement denied, or without its denial; empty where no rule turns it round."""
    for pattern, turned in _TURNS:
        made, count = pattern.subn(turned, statement, count=1)
        if count:
            return made
    return ""


def other_person(statement: str, told: str, people: Sequence[str], chance: random.Random) -> str:
    """The statement told of somebody who was never mentioned; empty where it names nobody."""
    named = [name for name in sorted(people, key=len, reverse=True) if name and name in statement]
    user = re.search(r"^(?:The user|User|用户)", statement)
    if not (named or user):
        return ""
    old = user.group() if user else named[0]
    return statement.replace(old, _stranger(statement, told, chance))


def denied(quote: str) -> str:
    """The words, said not to be true."""
    return f"{'并非如此：' if has_han(quote) else 'It is not true that: '}{quote}"


def attributed(quote: str, told: str, chance: random.Random) -> str:
    """The words in the mouth of somebody who was never mentioned."""
    stranger = _stranger(quote, told, chance)
    return f"{stranger}说：{quote}" if has_han(quote) else f"{stranger} said: {quote}"


def _stranger(words: str, told: str, chance: random.Random) -> str:
    """A name that occurs nowhere in what was said."""
    names = _NAMES[has_han(words)]
    return chance.choice([name for name in names if fold(name) not in fold(told + words)] or names)
