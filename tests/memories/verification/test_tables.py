"""Sentences that say what was said and sentences that do not, in two languages: what the checks see without a reader.

What they let pass is quoted, and not believed: a reader is asked, and until then it replaces and joins nothing.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import pytest

from memories import verification
from memories.choices import Refusal
from memories.consolidation.statements import conversation_of
from memories.language import amounts
from memories.language.calendar import dates_of
from memories.verification import Conversation, Message

FOLDER = Path(__file__).parent
SAID_ON = date(2026, 3, 4)
Case = tuple[list[Message], str]


def lines(name: str) -> Iterator[tuple[str, str]]:
    """The lines of a table, each with its section."""
    section = ""
    for line in (FOLDER / name).read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            yield section, line


def stated(wanted: str) -> Iterator[Case]:
    """Messages, and what a model says was said in them."""
    for section, line in lines("grounding.txt"):
        if section.rsplit(" ", 1)[0] == wanted:
            talk, statement = line.rsplit(" = ", 1)
            spoken = [item.split(": ", 1) for item in talk.split(" | ")]
            messages = [
                Message(f"m{n}", content, speaker, SAID_ON, speaker == "Assistant")
                for n, (speaker, content) in enumerate(spoken, start=1)
            ]
            yield messages, statement


def merged(wanted: str) -> Iterator[tuple[list[str], str]]:
    """Facts, and what a model makes of them."""
    for section, line in lines("rewordings.txt"):
        if section.split()[0] == wanted:
            facts, statement = line.split(" = ")
            yield facts.split(" | "), statement


def refusal(messages: Sequence[Message], statement: str) -> Refusal | None:
    """What speaks against it where it rests on all that was said."""
    authors = {message.speaker: "" for message in messages if not message.is_answer}
    quotes = verification.locate([(message, message.content) for message in messages])
    return verification.fault(statement, "", quotes, conversation_of(messages, authors, None))


def loses_or_invents(facts: Sequence[str], statement: str) -> bool:
    as_said = [Message(f"f{n}", fact, "", SAID_ON) for n, fact in enumerate(facts, start=1)]
    is_invented = verification.invention(statement, Conversation(as_said)) is not None
    becomes = Conversation([Message("new", statement, "", SAID_ON)])
    return is_invented or any(verification.invention(fact, becomes) is not None for fact in facts)


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nearly_all_that_was_said_passes(language: str) -> None:
    of_it = [case for case in stated("good") if case[1].isascii() == (language == "en")]
    refused = [statement for messages, statement in of_it if refusal(messages, statement)]
    assert len(of_it) >= 60 and len(refused) <= len(of_it) // 20, refused


@pytest.mark.thorough
def test_what_the_checks_see_of_lies() -> None:
    of_it = list(stated("bad"))
    caught = [statement for messages, statement in of_it if refusal(messages, statement)]
    assert len(of_it) == 268 and len(caught) >= 58


def test_of_good_summaries_none_and_of_bad_ones_what_nobody_named_is_seen() -> None:
    def invents(case: Case) -> bool:
        messages, statement = case
        return verification.invention(statement, conversation_of(messages, {}, None)) is not None

    good, bad = list(stated("summary good")), list(stated("summary bad"))
    assert [statement for messages, statement in good if invents((messages, statement))] == []
    assert len(bad) == 18 and sum(map(invents, bad)) >= 8


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nearly_all_good_rewordings_pass(language: str) -> None:
    of_it = [case for case in merged("good") if case[1].isascii() == (language == "en")]
    refused = [statement for facts, statement in of_it if loses_or_invents(facts, statement)]
    assert len(of_it) >= 45 and len(refused) <= len(of_it) // 10, refused


def test_what_the_checks_see_of_false_rewordings() -> None:
    of_it = list(merged("bad"))
    caught = [statement for facts, statement in of_it if loses_or_invents(facts, statement)]
    assert len(of_it) == 125 and len(caught) >= 15


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("at 3 pm", "at 15:00"), ("下午三点半", "15:30"), ("3 May", "May 3rd"), ("五月三日", "5月3号"),
        ("in December", "in 十二月"), ("2026-03-02", "2026 3月2日"), ("on Mondays", "on 星期一"),
        ("twenty-one cats", "21 cats"), ("两百五十元", "250元"), ("1,000 euros", "1000 euros"),
        ("the second floor", "the 2nd floor"), ("二楼", "2楼"), ("two hundred", "200"),
    ],
)  # fmt: skip
def test_amounts_are_written_in_one_way(text: str, other: str) -> None:
    assert amounts.normalise_amounts(text).split() == amounts.normalise_amounts(other).split()


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("3 May", "5 March"), ("3 am", "3 pm"), ("10.0.0.1", "10.0.0.2"), ("-5", "5"), ("1.5", "15"), ("周一", "周二"),
        ("两点", "两个"),
    ],
)  # fmt: skip
def test_other_amounts_stay_others(text: str, other: str) -> None:
    assert amounts.normalise_amounts(text).split() != amounts.normalise_amounts(other).split()


@pytest.mark.parametrize(
    ("statement", "meant"),
    [
        ("tomorrow", "3-5"), ("the day after tomorrow", "3-6"), ("yesterday", "3-3"), ("明天", "3-5"), ("后天", "3-6"),
        ("大后天", "3-7"), ("昨晚", "3-3"), ("next Friday", "3-13"), ("on Friday", "3-6"), ("下周三", "3-11"),
        ("上周三", "2-25"), ("in two weeks", "3-18"), ("三天前", "3-1"), ("10 days ago", "2-22"),
        ("twenty-three days ago", "2-9"), ("in fifteen days", "3-19"), ("二十三天前", "2-9"),
        ("next month", "month 4"),
        ("下个月", "month 4"), ("last year", "2025"), ("明年", "2027"), ("two years ago", "2024"), ("3 May", "2026"),
    ],
)  # fmt: skip
def test_what_a_word_means_depends_on_the_day_it_was_said(statement: str, meant: str) -> None:
    assert meant in dates_of(f"I fly {statement}" if statement.isascii() else f"我{statement}出发", SAID_ON)


@pytest.mark.parametrize(
    ("statement", "other"),
    [
        ("twenty-three days ago", "3-1"),
        ("a hundred and three days ago", "3-1"),
        ("一百零三天前", "3-1"),
        ("1200天前", "8-16"),
    ],
)
def test_a_part_of_a_number_is_no_count(statement: str, other: str) -> None:
    assert other not in dates_of(f"I flew {statement}" if statement.isascii() else f"我{statement}出发", SAID_ON)


def test_no_date_is_none() -> None:
    assert dates_of("I like tea, 我喜欢茶", SAID_ON) == set()
