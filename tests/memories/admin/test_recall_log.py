"""Recall traces as a log: found by words, person, chat, verdict and day, each row readable without a key to codes."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.audit.models import AuditEvent, AuditRecord
from memories.models import RecallTrace
from memories.recall.traces import question_terms
from tests.memories.admin.conftest import House, enter, make_user

pytestmark = pytest.mark.django_db
LOG = "admin:memories_recalltrace_changelist"


def ask(house: House, message: str, **values: Any) -> RecallTrace:
    """A trace as a recall leaves it."""
    data = {"evidence": {"verdict": "found"}, "query": {"limit": 8}, "timings": {"total": 12.0}, **values}
    return RecallTrace.objects.create(
        workspace=house.workspace, bot=house.bot, scopes=[house.scope.pk], message=message,
        terms=question_terms(message), served=data.pop("served", []), created_at=timezone.now(), **data,
    )  # fmt: skip


def found(client: Client, **asked: str) -> list[str]:
    shown = client.get(reverse(LOG), asked)
    assert shown.status_code == 200
    return [trace.message for trace in shown.context["cl"].result_list]


@pytest.fixture
def questions(mine: House) -> House:
    RecallTrace.objects.filter(workspace=mine.workspace).delete()
    ask(mine, "When do the ovens cool down?", asker="u7")
    ask(mine, "退款上限是多少？", evidence={"verdict": "none"}, session_key=mine.session.key)
    ask(mine, "Which flour did Lena order?", evidence={"verdict": "weak"}, degraded=["embedding"])
    ask(mine, "Hello", evidence={}, served=[])
    return mine


@pytest.mark.parametrize(
    ("words", "count"), [("oven", 1), ("退款", 1), ("款", 1), ("flour lena", 1), ("“did Lena”", 1), ("flour oven", 0)]
)
def test_a_question_is_found_by_its_words(alice: Client, questions: House, words: str, count: int) -> None:
    assert len(found(alice, q=words)) == count


def test_it_is_found_by_its_id(alice: Client, questions: House) -> None:
    trace = RecallTrace.objects.get(message="Hello")
    assert found(alice, q=str(trace.uid)) == ["Hello"]


def test_the_views_hold_what_they_say(alice: Client, questions: House) -> None:
    ask(questions, "Who has the keys?", served=[questions.entry.pk], overlap=[])
    ask(questions, "Who has the car?", served=[questions.entry.pk], used=[questions.entry.pk], overlap=[])
    views = {name: found(alice, view=name) for name in ("unanswered", "weak", "unused", "degraded", "unneeded")}
    assert views == {
        "unanswered": ["退款上限是多少？"],
        "weak": ["Which flour did Lena order?"],
        "unused": ["Who has the keys?"],
        "degraded": ["Which flour did Lena order?"],
        "unneeded": ["Hello"],
    }


def test_a_person_is_found_by_id_and_by_name(alice: Client, questions: House) -> None:
    questions.scope.sender_names = {"u7": "Lena Holt"}
    questions.scope.save()
    assert found(alice, person="u7") == found(alice, person="lena holt") == ["When do the ovens cool down?"]
    assert found(alice, person="Nobody") == []
    assert "Lena Holt" in alice.get(reverse(LOG)).content.decode()


def test_a_chat_is_found_by_whom_it_is_with_and_a_channel_by_its_platform(alice: Client, questions: House) -> None:
    session = questions.session
    of_session = ["退款上限是多少？"]
    assert found(alice, chat=session.key) == found(alice, chat=session.peer) == of_session
    assert found(alice, channel="telegram") == found(alice, channel=f"telegram:{session.account}") == of_session
    assert found(alice, channel="lark") == found(alice, channel="telegram:another") == found(alice, chat="no") == []


def test_verdicts_and_what_was_missing_are_told_in_words(alice: Client, questions: House) -> None:
    ask(questions, "Who has the car?", served=[questions.entry.pk], used=[questions.entry.pk])
    shown = alice.get(reverse(LOG)).content.decode()
    assert all(words in shown for words in ("not enough", "perhaps", "no memory needed", "words alone", "1 used"))
    chinese = alice.get(reverse(LOG), headers={"Accept-Language": "zh-hans"}).content.decode()
    assert all(words in chinese for words in ("不够", "或许够", "无需记忆", "仅凭词语", "用到 1 条"))


def test_a_question_to_memory_of_then_says_so(alice: Client, questions: House) -> None:
    trace = ask(questions, "Who had the keys?", query={"limit": 8, "as_of": "2026-01-02T03:04:05+00:00"})
    assert "memory as of 2026-01-02" in alice.get(reverse(LOG)).content.decode()
    page = alice.get(reverse("admin:memories_recalltrace_change", args=[trace.pk])).content.decode()
    assert "Memory as of: 2026-01-02" in page


def test_the_log_leaves_as_a_file_and_that_is_noted(questions: House) -> None:
    owner = enter(make_user("olga", workspace=questions.workspace, is_staff=True))
    response = owner.get(reverse("admin:memories_recalltrace_csv"), {"view": "unanswered"})
    (_heading, row) = response.content.decode().strip().splitlines()
    assert "退款上限是多少？" in row and ",none," in row
    assert AuditRecord.objects.filter(event=AuditEvent.EXPORTED, about="recalls.csv").count() == 1


def test_nobody_else_finds_a_question(charlie: Client, questions: House, theirs: House) -> None:
    assert found(charlie, q="oven") == []
    assert found(charlie, chat=questions.session.key) == found(charlie, person="u7") == []
    page = charlie.get(reverse("admin:memories_recalltrace_csv")).content.decode()
    assert theirs.word in page and "oven" not in page
