"""What a model says was said is believed when it stands in the messages it names: a table, in two languages (D5)."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from memories.verification import grounding
from memories.verification.grounding import GroundingFault, SourceMessage
from memories.verification.relative_dates import dates_of

TABLE = Path(__file__).with_name("grounding.txt")
SAID_ON = date(2026, 3, 4)
Case = tuple[list[SourceMessage], str]


def cases(wanted: str) -> Iterator[Case]:
    section = ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("["):
            section = line[1:-1].rsplit(" ", 1)[0]
        elif line and not line.startswith("#") and section == wanted:
            messages, said = line.rsplit(" = ", 1)
            yield [message(*one.split(": ", 1)) for one in messages.split(" | ")], said


def message(speaker: str, content: str) -> SourceMessage:
    return SourceMessage(content, speaker, SAID_ON, is_answer=speaker == "Assistant")


GOOD, BAD, GOOD_SUMMARIES, BAD_SUMMARIES = (
    list(cases(section)) for section in ("good", "bad", "summary good", "summary bad")
)


def names(of: list[Case]) -> list[str]:
    return [f"{messages[0].content[:20]} = {said}" for messages, said in of]


@pytest.mark.parametrize(("messages", "said"), BAD, ids=names(BAD))
def test_what_nobody_said_is_no_fact(messages: list[SourceMessage], said: str) -> None:
    assert grounding.fault(said, messages) is not None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nearly_all_that_was_said_is(language: str) -> None:
    of_it = [case for case in GOOD if case[1].isascii() == (language == "en")]
    refused = [said for messages, said in of_it if grounding.fault(said, messages)]
    assert len(of_it) >= 60 and len(refused) <= len(of_it) // 20, refused


@pytest.mark.parametrize(("messages", "said"), BAD_SUMMARIES, ids=names(BAD_SUMMARIES))
def test_what_nobody_said_is_told_of_no_day(messages: list[SourceMessage], said: str) -> None:
    assert grounding.fault_of_summary(said, messages) is not None


def test_what_was_said_is_told_of_its_day() -> None:
    refused = [said for messages, said in GOOD_SUMMARIES if grounding.fault_of_summary(said, messages)]
    assert len(GOOD_SUMMARIES) >= 12 and refused == []


def test_what_was_said_word_for_word_is_a_fact() -> None:
    own = {one.content for messages, _said in GOOD for one in messages if not one.is_answer}
    assert [said for said in own if grounding.fault(said, [message("Zoe", said)])] == []


def test_a_message_says_nothing_of_another() -> None:
    """Facts about one person, held against what the next one said."""
    pairs = zip(GOOD, GOOD[40:] + GOOD[:40], strict=True)
    apart = [(said, other) for (messages, said), (other, _said) in pairs if messages[-1].speaker != other[-1].speaker]
    kept = [said for said, other in apart if grounding.fault(said, other) is None]
    assert len(apart) > 100 and kept == []


def test_a_word_of_its_own_is_enough_to_be_refused() -> None:
    said = [message("Zoe", "I like green tea and long quiet walks by the lake in the morning")]
    one_new = "Zoe likes long quiet leisurely walks by the lake in the morning"
    assert grounding.fault(one_new, said) is GroundingFault.INVENTED
    assert (
        grounding.fault("Zoe likes long quiet walks by the lake in the morning with Tom", said)
        is GroundingFault.INVENTED
    )
    assert grounding.fault("Zoe likes 12 long quiet walks by the lake in the morning", said) is GroundingFault.INVENTED


def test_a_known_project_may_be_named_and_whoever_is_spoken_to() -> None:
    said = [message("Zoe", "the deploy is on Friday")]
    assert grounding.fault("The deploy of Atlas is on Friday", said) is GroundingFault.INVENTED
    assert grounding.fault("The deploy of Atlas is on Friday", said, known=["Atlas"]) is None
    asked = [message("Zoe", "I will help you on Friday, promised")]
    assert grounding.fault("Zoe will help Ben on Friday", asked) is GroundingFault.INVENTED
    assert grounding.fault("Zoe will help Ben on Friday", asked, others=["Ben"]) is None
    assert grounding.fault("The deploy with Ben is on Friday", said, others=["Ben"]) is GroundingFault.INVENTED


def test_somebody_is_believed_by_each_of_their_names() -> None:
    said = [message("u42", "我住在杭州")]
    assert grounding.fault("米娅住在杭州。", said) is not None
    assert grounding.fault("米娅住在杭州。", said, also_called={"u42": ["米娅"]}) is None


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("tomorrow", "3-5"), ("the day after tomorrow", "3-6"), ("yesterday", "3-3"), ("明天", "3-5"), ("后天", "3-6"),
        ("大后天", "3-7"), ("昨晚", "3-3"), ("next Friday", "3-13"), ("on Friday", "3-6"), ("下周三", "3-11"),
        ("上周三", "2-25"), ("in two weeks", "3-18"), ("三天前", "3-1"), ("10 days ago", "2-22"),
        ("next month", "month 4"),
        ("下个月", "month 4"), ("last year", "2025"), ("明年", "2027"), ("two years ago", "2024"), ("3 May", "2026"),
    ],
)  # fmt: skip
def test_what_a_word_means_depends_on_the_day_it_was_said(said: str, meant: str) -> None:
    assert meant in dates_of(f"I fly {said}" if said.isascii() else f"我{said}出发", SAID_ON)


def test_no_date_is_none() -> None:
    assert dates_of("I like tea, 我喜欢茶", SAID_ON) == set()
