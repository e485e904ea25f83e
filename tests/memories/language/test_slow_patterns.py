"""No text keeps a pattern busy: what it takes for 64 KB made against it grows as the text does."""

import gc
import math
import re
import time
from collections.abc import Iterator

import pytest

from memories.conf import MemorySettings
from memories.language import attributes, compare, names
from memories.recall import gate, people
from tests.support import pumped
from tests.support.pumped import Pumped, Used

WHOLE = 65_536  # characters: as much as a turn may hold
#: A plain pattern that reads 64 KB in some milliseconds; the others are measured in it, so that no machine is too slow.
YARDSTICK = Used("yardstick", re.compile(r"(?:x|ye|zed)+q|(?<!a)的z"), is_anchored=False)
TIMES, TIMES_IF_EVEN = 30, 300  # if it grows faster than the text; if it does not
STEEP = 8  # times as long for four times the text; with its square it would be sixteen
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
    f"memories.language.attributes.{name}": attributes.LASTING_CHARS
    for name in ("_ENGLISH", "_CHINESE", "_UNSURE_", "_PASSING", "_GAP", "_ONE_CLAUSE")
}
BOUNDS["memories.language.attributes._BORROWED"] = attributes.MESSAGE_CHARS
BOUNDS["memories.language.attributes._KINDS"] = 600  # as compare has them, too
BOUNDS |= {
    f"memories.language.attributes.{name}": attributes.SENTENCE_CHARS
    for name in (
        *("_WORDINGS", "_CHANGED", "_FLEETING", "_BESIDE", "_NO_", "_UNSURE", "_CLAUSES", "_FILLER", "_ARTICLE"),
        "_PLACE_NAME",
    )
}
#: What takes another back in other words, or is about somebody else.
BOUNDS |= {
    f"memories.language.compare.{name}": compare.MOST_CHARS
    for name in (
        *("_ENDINGS", "_RENEWALS", "_NAMED_FIRST", "_UNDONE", "_ABOUT_OTHERS", "_PART", "_ELSEWHERE"),
        *("_OWNER", "_NO_OWNER", "_OF_ONESELF", "_LEFT_", "_NO_END"),
    )
}
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


def hostile(one: Used) -> Iterator[Pumped]:
    yield from (Pumped("", piece) for piece in FIXED)
    made = list(dict.fromkeys(pumped.pumped(one.pattern)))
    yield from made[:: len(made) // MOST_TEXTS + 1]


def seconds(one: Used, text: str, times: int = 1) -> float:
    """Of this thread's processor: what others do at the same time does not count. The least of so many trials."""
    gc.disable()  # a collection of all that the tests before have left takes a second
    try:
        least = math.inf
        for _ in range(times):
            begun = time.thread_time()
            one.run(text)
            least = min(least, time.thread_time() - begun)
        return least
    finally:
        gc.enable()


def yardsticks(one: Used, text: str) -> float:
    """How many times as long as the yardstick a pattern takes for a text; what takes long is timed again beside it."""
    once = seconds(one, text)
    if once < 0.01 or once / seconds(YARDSTICK, "的" * WHOLE) < TIMES:
        return 0.0
    return seconds(one, text, 3) / seconds(YARDSTICK, "的" * WHOLE, 3)


def is_slow(one: Used, made: Pumped, size: int) -> bool:
    """A text that shows no growth when short is not tried at length."""
    if yardsticks(one, made.of(len(made.begin) + 24)[:24]) > TIMES:  # it doubles with each character
        return True
    little, more = (seconds(one, made.of(size // share)) for share in (128, 32))
    if more < 6 * little + 0.000_02:  # it grows as the text does
        return False
    before, plain = seconds(one, made.of(size // 64)), seconds(YARDSTICK, "的" * WHOLE)
    for share in (16, 4, 1):  # the shorter one first: of a slow pattern the whole would take minutes
        now = seconds(one, text := made.of(size // share))
        if now * share**2 < 0.01:  # with the square of the text it would not be slow either
            return False
        is_steep, before = now > STEEP * before, now
        if is_steep and now * share > TIMES * plain and _is_steep(one, made, size // share):
            return True
        if now > TIMES_IF_EVEN * plain:
            return yardsticks(one, text) > TIMES_IF_EVEN
    return False


def _is_steep(one: Used, made: Pumped, size: int) -> bool:
    """Timed again, as one trial may have met a busy machine."""
    return seconds(one, made.of(size), 3) > STEEP * seconds(one, made.of(size // 4), 3)


def slow_text(one: Used, size: int) -> str:
    """The beginning of a text that keeps a pattern busy; none does: empty."""
    return next((made.of(size)[:40] for made in hostile(one) if is_slow(one, made, size)), "")


@pytest.mark.thorough
@pytest.mark.parametrize("package", pumped.PACKAGES)
def test_a_pattern_reads_a_text_made_against_it_in_no_time(package: str) -> None:
    """A test for each pattern would have every process of a run import the whole product and compile them all."""
    slow = []
    for one in pumped.patterns():
        is_here = one.name.startswith((f"{package}.", f"{package}:"))
        if is_here and (text := slow_text(one, min(bound_of(one.name), WHOLE))):
            slow.append(f"{one.name} is slow for {text!r}…: {one.pattern.pattern}")
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
    assert slow_text(Used("slow", re.compile(slow), is_anchored=False), WHOLE)


@pytest.mark.thorough
def test_bounds_are_of_patterns_there_are() -> None:
    names = [pattern.name for pattern in pumped.patterns()]
    assert all(any(name.startswith(begin) for name in names) for begin in BOUNDS)
    assert max(BOUNDS.values()) < MemorySettings().CONTENT_MAX_CHARS
