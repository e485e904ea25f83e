"""Many at once: real threads, real transactions."""

import time
from typing import Any

import pytest

from channels_app.models import Channel
from memories import entries
from memories.index import worker
from memories.models import Entry, EntryIndex, IndexQueueItem, Scope, ScopeTerm, Workspace
from sessions_app.models import Session, SessionEvent
from tests.conftest import GROUP, NOW, TELEGRAM, Api, make_draft, make_key, make_scope
from tests.support.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)
WORDS = "the office coffee machine needs fresh filters and clean water every single morning"


def insist(token: str, turn: dict[str, Any]) -> Any:
    """What a bot is answered that tries again as long as it is told to (B7)."""
    while (answer := Api(token).post("turns", turn)).status_code == 409:
        assert answer.headers["Retry-After"] == "1"
        time.sleep(0.02)
    return answer


def test_eight_who_say_the_same_at_once_make_one_entry(scope: Scope) -> None:
    results = at_once(lambda n: entries.remember(make_draft(scope, WORDS), now=NOW, actor=f"bot:{n}"), 8)
    assert sorted(result.outcome for result in results) == ["created"] + ["skipped"] * 7
    assert len({result.entry.pk for result in results}) == 1
    assert Entry.objects.get().access.repeat_count == 7
    assert set(ScopeTerm.objects.values_list("entries", flat=True)) == {1}


def test_eight_who_reword_it_at_once_make_one_entry(scope: Scope) -> None:
    entries.remember(make_draft(scope, WORDS), now=NOW, actor="bot:0")
    endings = ("please", "kindly", "pls", "plz", "just", "thanks", "haha", "lol")
    at_once(lambda n: entries.remember(make_draft(scope, f"{WORDS} {endings[n]}"), now=NOW, actor=f"bot:{n}"), 8)
    entry = Entry.objects.get()
    assert set(ScopeTerm.objects.filter(entries__gt=0).values_list("term", flat=True)) == set(entry.terms)
    assert EntryIndex.objects.count() == 1


def test_many_scopes_written_in_opposite_orders_do_not_wait_in_a_circle(workspace: Workspace) -> None:
    scopes = [make_scope(workspace, f"telegram:direct_u{n}") for n in range(6)]

    def write(n: int) -> int:
        for turn in range(5):
            order = scopes if (n + turn) % 2 else scopes[::-1]
            drafts = [make_draft(scope, f"{WORDS} {'a' * (turn + 1)} {n}") for scope in order]
            entries.remember_many(drafts, now=NOW, actor=f"bot:{n}")
        return n

    assert sorted(at_once(write, 6)) == list(range(6))
    counted = {scope.pk: scope.entry_count for scope in Scope.objects.all()}
    assert counted == {scope.pk: scope.entries.count() for scope in scopes}


def test_embedders_and_rewording_writers_do_not_wait_in_a_circle(workspace: Workspace) -> None:
    scopes = [make_scope(workspace, f"telegram:direct_u{n}") for n in range(4)]
    place = {"session_id": "s", "chat_id": "c"}
    for scope in scopes:
        entries.remember(make_draft(scope, WORDS, slots=place), now=NOW, actor="t")
    endings = ("please", "indeed", "surely", "really", "again", "okay", "thanks", "folks")

    def work(n: int) -> str:
        for turn in range(8):
            if n < 3:
                worker.index_queued(now=NOW)
            else:
                order = scopes if turn % 2 else scopes[::-1]
                drafts = [make_draft(scope, f"{WORDS} {endings[turn]}", slots=place) for scope in order]
                entries.remember_many(drafts, now=NOW, actor=f"bot:{n}")
        return "done"

    assert at_once(work, 6) == ["done"] * 6
    worker.drain(now=NOW.replace(year=2027))
    assert not IndexQueueItem.objects.exists()
    assert EntryIndex.objects.filter(embedding=None).count() == 0


def test_first_turns_of_a_new_chat_at_once_begin_it_once(workspace: Workspace) -> None:
    token = make_key(workspace)
    texts = [f"member number {n} says hello {'x' * n}" for n in range(8)]
    turns = [{"address": {**GROUP, "peer": f"u{n}"}, "user": texts[n], "assistant": "hi"} for n in range(8)]
    answers = at_once(lambda n: insist(token, turns[n]), 8)
    assert [answer.status_code for answer in answers] == [201] * 8
    assert Channel.objects.count() == Session.objects.count() == 1
    assert Scope.objects.filter(kind="chat").count() == 1 and Scope.objects.filter(kind="user").count() == 8
    assert list(SessionEvent.objects.order_by("position").values_list("position", flat=True)) == list(range(1, 17))
    assert Session.objects.get().tokens == sum(SessionEvent.objects.values_list("tokens", flat=True))


def test_the_same_turn_at_once_is_remembered_once_and_heard_every_time(workspace: Workspace) -> None:
    token = make_key(workspace)
    turn = {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."}
    answers = at_once(lambda n: insist(token, turn), 8)
    assert sorted(answer.json()["entries"][0]["outcome"] for answer in answers) == ["created"] + ["skipped"] * 7
    assert Entry.objects.count() == 1 and SessionEvent.objects.count() == 16


def test_recalls_and_turns_do_not_disturb_each_other(workspace: Workspace) -> None:
    token = make_key(workspace)

    def call(n: int) -> int:
        if n % 2:
            return int(Api(token).post("recall", {"address": GROUP, "message": f"what about {n}?"}).status_code)
        turn = {"address": GROUP, "user": f"this is about {n} {'x' * n}", "assistant": "ok"}
        return int(insist(token, turn).status_code)

    assert sorted(at_once(call, 8)) == [200] * 4 + [201] * 4
