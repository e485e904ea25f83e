"""Statements are held against what was said in every language alike: quotes, amounts, codes, names, persons (D5)."""

from datetime import date

import pytest

from memories import verification
from memories.choices import Refusal
from memories.language.persons import People
from memories.verification import Conversation, Message

ON = date(2026, 3, 4)  # a Wednesday


def message(content: str, speaker: str = "Sam", pk: str = "m1", *, is_answer: bool = False) -> Message:
    return Message(pk, content, speaker, ON, is_answer)


def fault(
    content: str, *messages: Message, quote: str = "", subject: str = "speaker", names: tuple[str, ...] = ()
) -> Refusal | None:
    """What is wrong with a statement that quotes these words, or all of them, of a conversation."""
    own = [item.speaker for item in messages if not item.is_answer]
    conversation = Conversation(messages, People.of(own[:1], own[1:]), names)
    parts = [(item, quote or item.content) for item in messages if not quote or quote in item.content]
    return verification.fault(content, subject, verification.locate(parts), conversation)


@pytest.mark.parametrize(
    ("statement", "stated"),
    [
        ("nuts make me swell up, so no pesto for me", "Sam is allergic to nuts."),
        ("I've been off cigarettes since New Year", "The user quit smoking."),
        ("we're going with Postgres after all", "The team chose Postgres."),
        ("花生我一吃就肿，别给我放", "用户对花生过敏。"),
        ("这周末搬家，累死了", "用户这周末搬家。"),
    ],
)
def test_words_of_its_own_are_no_fault(statement: str, stated: str) -> None:
    assert fault(stated, message(statement)) is None


def test_a_statement_without_its_words_in_the_message_is_refused() -> None:
    result = message("nuts make me swell up")
    conversation = Conversation([result], People.of(["Sam"]))
    quoted = verification.locate([(result, "nuts make me ill")])
    assert verification.fault("Sam is allergic to nuts.", "speaker", quoted, conversation) is Refusal.NO_QUOTE
    one_of_two = verification.locate([(result, "nuts"), (result, "almonds")])
    assert verification.fault("Sam is allergic to nuts.", "speaker", one_of_two, conversation) is Refusal.NO_QUOTE


def test_what_only_the_bot_said_is_nobodys_word() -> None:
    result, answer = message("any idea?"), message("You could try Riga.", "Assistant", "m2", is_answer=True)
    assert fault("Sam wants to go to Riga.", result, answer, quote="try Riga") is Refusal.BOT
    agreed = message("Riga it is!", pk="m3")
    assert fault("Sam goes to Riga.", result, answer, agreed, quote="Riga") is None


@pytest.mark.parametrize(
    ("statement", "stated", "is_there"),
    [
        ("the budget is 4,500 euros", "The budget is 4500 euros.", True),
        ("the budget is 4,500 euros", "The budget is 5,400 euros.", False),
        ("my two sisters live in Riga", "Sam has 2 sisters in Riga.", True),
        ("my sisters Ida and Eva", "Sam has two sisters, Ida and Eva.", True),  # counted
        ("I fly tomorrow", "Sam flies on 5 March 2026.", True),
        ("I fly tomorrow", "Sam flies on 6 March 2026.", False),
        ("明天下午三点面试", "用户3月5日15点面试。", True),
        ("明天下午三点面试", "用户3月7日面试。", False),
        ("预算是四千五", "预算是4500元。", True),
        ("预算是四千五", "预算是5400元。", False),
    ],
)
def test_a_number_or_date_has_to_be_said_in_any_form(statement: str, stated: str, is_there: bool) -> None:
    assert fault(stated, message(statement), subject="the plan") is (None if is_there else Refusal.AMOUNT)


@pytest.mark.parametrize(
    ("stated", "is_there"),
    [
        ("The config is in /etc/nginx/site.conf", True),
        ("The config is in /etc/nginx/other.conf", False),
        ("Staging runs v2.3.1-rc4", True),
        ("Staging runs v2.3.1-rc5", False),
    ],
)
def test_an_address_or_code_has_to_stand_there_as_it_is(stated: str, is_there: bool) -> None:
    result = message("staging runs v2.3.1-rc4, see /etc/nginx/site.conf")
    assert (fault(stated, result, subject="staging") is None) == is_there


def test_a_name_has_to_be_said_or_known() -> None:
    result = message("the deploy is on Friday")
    assert fault("The deploy of Atlas is on Friday.", result, subject="the deploy") is Refusal.NAME
    assert fault("The deploy of Atlas is on Friday.", result, subject="the deploy", names=("Atlas",)) is None
    assert fault("Sam has the deploy on Friday.", result) is None  # who speaks is known


@pytest.mark.parametrize(
    ("statement", "stated", "subject"),
    [
        ("my roommate is allergic to nuts", "Sam is allergic to nuts.", "speaker"),
        ("my roommate is allergic to nuts", "Sam is allergic to nuts.", "my roommate"),
        ("Tom plays chess, I play go", "Tom plays go.", "Tom"),
        ("室友对猫过敏", "用户对猫过敏。", "speaker"),
        ("闺女在广州上班", "用户在广州上班。", "speaker"),
    ],
)
def test_what_was_said_of_one_person_is_never_written_of_another(statement: str, stated: str, subject: str) -> None:
    assert (
        fault(stated, message(statement), message("hello", "Tom", "m2"), quote=statement, subject=subject)
        is Refusal.SUBJECT
    )


@pytest.mark.parametrize(
    ("statement", "stated", "subject"),
    [
        ("my roommate is allergic to cats", "Sam's roommate is allergic to cats.", "my roommate"),
        ("Tom plays chess, I play go", "Tom plays chess.", "Tom"),
        ("Tom plays chess, I play go", "Sam plays go.", "speaker"),
        ("室友对猫过敏", "用户的室友对猫过敏。", "我室友"),
        ("闺女在广州上班", "用户的女儿在广州上班。", "女儿"),
        ("the printer is broken again", "The printer is broken.", "the printer"),
    ],
)
def test_it_is_written_of_whom_it_was_said(statement: str, stated: str, subject: str) -> None:
    assert fault(stated, message(statement), message("hello", "Tom", "m2"), quote=statement, subject=subject) is None


def test_a_summary_may_tell_of_everybody_and_invents_nothing() -> None:
    results = [message("my roommate moves out on 5 March"), message("我在杭州等你", "Mia", "m2")]
    conversation = Conversation(results, People.of(["Sam"], ["Mia"]))
    assert (
        verification.invention("Sam's roommate moves out on 5 March; Mia waits in Hangzhou.", conversation)
        is Refusal.NAME
    )
    assert verification.invention("Sam's roommate moves out on 5 March; Mia waits.", conversation) is None
    assert verification.invention("Sam's roommate moves out on 6 March.", conversation) is Refusal.AMOUNT
