"""No text keeps a pattern busy: each reads 64 KB made against it in less than a tenth of a second."""

import gc
import re
import time
from collections.abc import Iterator

import pytest

from memories.conf import MemorySettings
from memories.language import attributes, compare, lasting, names
from memories.recall import gate, people
from tests.support import pumped
from tests.support.pumped import Used

WHOLE = 65_536  # characters: as much as a turn may hold
SECONDS = 0.1
#: What the product cuts texts to before these meet them; by the beginning of their name.
BOUNDS = {
    "memories.language.names.": names.LOOK_CHARS,
    "memories.language.names:": names.LOOK_CHARS,
    "memories.recall.gate.ACKNOWLEDGEMENT": gate.ACKNOWLEDGEMENT_CHARS,
    "memories.recall.gate.SMALL_TALK": gate.SMALL_TALK_CHARS,
    "memories.recall.gate._ABOUT_THE_BOT": gate.SMALL_TALK_CHARS,
    "memories.recall.gate._SOCIAL": gate.ACKNOWLEDGEMENT_CHARS,
    "memories.recall.people._ENGLISH": people.LOOK_CHARS,
    "memories.recall.people._CHINESE": people.LOOK_CHARS,
    "memories.recall.question._SPOKEN": gate.LOOK_CHARS,
    "memories.language.statement._RELATIONS": compare.STATEMENT_CHARS,
    "memories.language.likeness._LISTED_WORD": 8,  # a run of signs is cut into listed words only if it is as short
    "memories.language.likeness._LISTED_WORDS": 8,
    "memories.language.amounts:": 100,  # an amount that was read before
    "memories.conf:": 1_000,  # what an operator sets
}
BOUNDS |= {
    f"memories.language.lasting.{name}": lasting.SENTENCE_CHARS
    for name in ("_ENGLISH", "_CHINESE", "_UNSURE", "_PASSING", "_GAP", "_CLAUSE")
}
BOUNDS["memories.language.lasting._BORROWED"] = lasting.MESSAGE_CHARS
BOUNDS["memories.language.attributes._KINDS"] = 600  # as compare has them, too
BOUNDS["memories.language.attributes."] = attributes.SENTENCE_CHARS
#: What is longer is no statement about one thing.
BOUNDS |= {
    f"memories.language.{name}": 600
    for name in (
        *("compare._USER_OR_US", "compare._PRONOUN"),
        *("statement._NO_NEWS", "statement._AWAY", "statement._BESIDE", "statement._OVER", "statement._DENIED_BY_END"),
        *("statement._NEW_HOME", "statement._NEW_WORK", "statement._NEW_TOOL", "statement._AT_"),
        *("statement._WITH_TOOL", "statement._CLAUSE", "statement._WHO_FIRST"),
        *("statement._CHINESE_WHO", "statement._CHINESE_TIMES", "statement._CHINESE_VERBS"),
    )
}
BOUNDS |= {
    f"memories.recall.gate{name}": 2 * gate.LOOK_CHARS + 1
    for name in (
        *("._CODE_LINE", "._STATEMENT", "._WORD", "._POSITIVE", "._OF_A_KIND", "._ATTRIBUTE"),
        *("._ONE_FOR_ALL", "._CERTAIN", "._SOMEBODY", "._LIVED", "._EASY_IT", "._TECHNICAL", "._ZH_"),
        *("._HOW_OF_TECHNOLOGY", "._WORLD_", "._LIFE"),
    )
}
MOST_TEXTS = 100  # made of one pattern
FIXED = [
    " ",
    "a",
    "的",
    "一",
    "1",
    "A",
    " a",
    "a ",
    "。",
    ".",
    "\n",
    "<at>",
    "<at a",
    "eyJ-",
    "I am ",
    "我是",
    '"',
    "1.",
]
FIXED += [
    "aB1-",
    "Abc ",
    "a.b",
    "、",
    "昨天",
    "@a",
    "，",
    "a\n",
    "--",
    "```",
    "(",
    "1-",
    "\t",
    "is ",
    "不",
    "User: ",
    "😀",
    "a\u0301",
]


def bound_of(name: str) -> int:
    return next((chars for begin, chars in BOUNDS.items() if name.startswith(begin)), WHOLE)


def hostile(one: Used, size: int) -> Iterator[str]:
    for piece in FIXED:
        yield (piece * (size // len(piece) + 1))[:size]
    made = list(dict.fromkeys(pumped.pumped(one.pattern, size)))
    yield from made[:: len(made) // MOST_TEXTS + 1]


def seconds(one: Used, text: str) -> float:
    """Of this thread's processor: what others do at the same time does not count.

    What takes long is timed again, twice: a processor that is shared or throttled is slow once, such a pattern always.
    """
    spent = [_seconds_once(one, text)]
    while SECONDS < min(spent) < 10 * SECONDS and len(spent) < 3:
        spent.append(_seconds_once(one, text))
    return min(spent)


def _seconds_once(one: Used, text: str) -> float:
    gc.disable()  # a collection of all that the tests before have left takes a second
    try:
        begun = time.thread_time()
        one.run(text)
        return time.thread_time() - begun
    finally:
        gc.enable()


def worst(one: Used, size: int) -> tuple[float, str]:
    """The slowest of all texts; one that shows no growth when short is not tried at length."""
    slowest = (0.0, "")
    for text in dict.fromkeys(hostile(one, size)):
        if (spent := seconds(one, text[:23] + text[-1])) > SECONDS:  # it doubles with each character
            return spent, text[:24]
        little, more = (seconds(one, text[: size // share - 1] + text[-1]) for share in (128, 32))
        if more < 6 * little + 0.000_02:  # it grows as the text does
            continue
        spent = 0.0
        for share in (16, 4, 1):
            spent = seconds(one, text[: size // share - 1] + text[-1])
            if spent * share * share < SECONDS:
                break
            if spent > SECONDS:
                return spent, text[:40]
        slowest = max(slowest, (spent, text[:40]))
    return slowest


@pytest.mark.thorough
@pytest.mark.parametrize("package", pumped.PACKAGES)
def test_a_pattern_reads_a_text_made_against_it_in_no_time(package: str) -> None:
    """A test for each pattern would have every process of a run import the whole product and compile them all."""
    slow = []
    for one in pumped.patterns():
        if one.name.startswith((f"{package}.", f"{package}:")):
            spent, text = worst(one, min(bound_of(one.name), WHOLE))
            if spent >= SECONDS:
                slow.append(f"{one.name} takes {spent:.2f} s for {text!r}…: {one.pattern.pattern}")
    assert not slow, "\n".join(slow)


@pytest.mark.thorough
def test_every_kind_of_pattern_is_found() -> None:
    """In a module, in a list, in an object, and where it is used."""
    names = {pattern.name for pattern in pumped.patterns()}
    assert {name.partition(":")[0].partition(".")[0] for name in names} == set(pumped.PACKAGES)
    assert {"sessions_app.models._MENTION", "memories.language.confidential._FORMS[0]"} <= names
    assert any(name.startswith("memories.language.statement._RELATIONS[0]") for name in names)
    assert any(re.fullmatch(r"memories\.tenancy\.resolver:\d+", name) for name in names)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "slow",
    [r"<at\b[^>]*>.*?</at>", r"\beyJ[\w-]+\.[\w-]+", r"(?:a|ab|b)+$", r"\s*$", r"(\d+(?:\.\d+)?)\s*x", r"(a+)+b"],
)
def test_a_slow_pattern_is_found_out(slow: str) -> None:
    spent, _text = worst(Used("slow", re.compile(slow), is_anchored=False), WHOLE)
    assert spent > SECONDS


@pytest.mark.thorough
def test_bounds_are_of_patterns_there_are() -> None:
    names = [pattern.name for pattern in pumped.patterns()]
    assert all(any(name.startswith(begin) for name in names) for begin in BOUNDS)
    assert max(BOUNDS.values()) < MemorySettings().CONTENT_MAX_CHARS
