"""The page of a trace leads to what the bot answered: by the bot's word, else by the question's words."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.batches import bulk_actions
from memories.models import Entry, RecallTrace
from sessions_app.models import SessionEvent
from tests.conftest import TELEGRAM, Api, make_key
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db


def page(client: Client, trace: RecallTrace) -> Any:
    return client.get(reverse("admin:memories_recalltrace_change", args=[trace.pk]))


def tell(house: House, answer: str, **more: Any) -> None:
    """A turn with the question of the trace, at the time of the trace."""
    address = {**TELEGRAM, "account": house.word, "peer": f"peer-{house.word}", "chat": f"chat-{house.word}"}
    turn = {"user": house.trace.message, "assistant": answer, "at": house.trace.created_at.isoformat(), **more}
    result = Api(make_key(house.workspace)).post("turns", {"address": address, **turn})
    assert result.status_code == 201, result.json()


def test_the_answer_the_bot_named_the_recall_with_stands_on_its_page(alice: Client, mine: House) -> None:
    entry = Entry.objects.get(pk=mine.trace.served[0])
    tell(mine, "Tea.", recall_id=str(mine.trace.uid), used=[str(entry.uid)])
    shown = page(alice, mine.trace)
    reply = shown.context["reply"]
    assert (reply.event.content, reply.is_named) == ("Tea.", True)
    words = shown.content.decode()
    assert "the bot named this recall with it" in words and "used: the bot says so" in words
    assert f"#m{reply.event.position}" in words


def test_without_its_word_the_answer_is_that_to_the_same_question_at_that_time(alice: Client, mine: House) -> None:
    tell(mine, "With milk.")
    shown = page(alice, mine.trace)
    assert (shown.context["reply"].event.content, shown.context["reply"].is_named) == ("With milk.", False)
    assert "It is not known which memories it used" in shown.content.decode()


def test_an_answer_of_another_day_or_of_another_recall_is_not_taken_for_it(alice: Client, mine: House) -> None:
    tell(mine, "Long ago.", at=(mine.trace.created_at - timedelta(hours=1)).isoformat())
    other = RecallTrace.objects.create(
        workspace=mine.workspace, scopes=[mine.scope.pk], message="?", served=[], created_at=timezone.now()
    )
    tell(mine, "Of another.", recall_id=str(other.uid))
    shown = page(alice, mine.trace)
    assert shown.context["reply"] is None
    assert "No answer is stored that belongs to this recall" in shown.content.decode()


def test_what_the_words_of_the_answer_point_to_is_marked_as_a_guess(alice: Client, mine: House) -> None:
    RecallTrace.objects.filter(pk=mine.trace.pk).update(overlap=mine.trace.served)
    tell(mine, "Tea.", recall_id=str(mine.trace.uid))
    RecallTrace.objects.filter(pk=mine.trace.pk).update(overlap=mine.trace.served)
    words = page(alice, mine.trace).content.decode()
    assert "used: its words are in the answer" in words and "used: the bot says so" not in words


def test_an_answer_people_took_out_says_so(alice: Client, mine: House) -> None:
    tell(mine, "Tea with lemon.", recall_id=str(mine.trace.uid))
    event = SessionEvent.objects.get(content="Tea with lemon.")
    resting = Entry.objects.filter(origins__contains=[event.session.origin_of(event)])
    bulk_actions.apply_action(resting, bulk_actions.SUPPRESS, now=timezone.now(), actor="user:alice", reason="wrong")
    assert page(alice, mine.trace).context["reply"].is_redacted


def test_what_was_left_out_is_folded_by_its_reason_with_its_number(alice: Client, mine: House) -> None:
    rows = [[pk, 0.5, None, 0, 1.0, 0.4, fate] for pk, fate in ((mine.entry.pk, "quota"), (8, "floor"), (9, "floor"))]
    RecallTrace.objects.filter(pk=mine.trace.pk).update(served=[], candidates=rows)
    shown = page(alice, mine.trace)
    folds = [(str(reason), len(lines)) for reason, lines in shown.context["left_out"]]
    assert folds == [("its kind had its places", 1), ("too far from the question", 2)]
    assert "some of the question’s words" in shown.content.decode()


def test_a_page_takes_as_many_statements_whatever_was_said_since(
    alice: Client, mine: House, django_assert_max_num_queries: Any
) -> None:
    for n in range(5):
        tell(mine, f"Tea {n}.", recall_id=str(mine.trace.uid))
    page(alice, mine.trace)
    with django_assert_max_num_queries(25):
        page(alice, mine.trace)


def test_who_did_it_and_the_rules_of_a_channel_are_told_in_words(alice: Client, mine: House) -> None:
    history = alice.get(reverse("admin:memories_entry_history", args=[mine.entry.pk])).content.decode()
    assert f">bot bot-{mine.word}</span>" in history and ">bot:" not in history
    address = reverse("admin:sessions_app_session_change", args=[mine.session.pk])
    shown = alice.get(address, headers={"Accept-Language": "zh-hans"}).content.decode()
    assert "每个聊天一个会话" in shown and "session_mode" not in shown
