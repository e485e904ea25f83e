"""Linked peers share one memory, and get their own back when they are unlinked (E1)."""

import functools
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from channels_app.models import Channel
from channels_app.people import linking
from channels_app.people.peers import Peer, PeopleUnclear
from memories import batches, entries
from memories.batches import moving
from memories.choices import EntryType, Source
from memories.exceptions import ScopeFrozen
from memories.models import Batch, Entry, Scope, Workspace
from tests.channels_app.people.conftest import (
    ANN_LARK,
    ANN_TG,
    FROM_LARK,
    FROM_TG,
    identity,
    link,
    live_in,
    recalled,
    say,
)
from tests.conftest import NOW, Api, make_draft

pytestmark = pytest.mark.django_db
BOB = Peer("wechat", "w1")


def test_linked_accounts_write_to_and_recall_from_one_memory(office: Api, workspace: Workspace) -> None:
    assert "Mochi" not in recalled(office, FROM_LARK, "what is my cat called?")
    person = link(workspace)
    assert say(office, FROM_LARK, "My flight to Oslo leaves at nine") == f"direct_{person.key}"
    assert say(office, FROM_TG, "I am learning to sail") == f"direct_{person.key}"
    assert "Mochi" in recalled(office, FROM_LARK, "what is my cat called?")
    assert "Oslo" in recalled(office, FROM_TG, "when does my flight to Oslo leave?")
    assert live_in("direct_telegram%3au42") == live_in("direct_lark%3aou_9") == set()


def test_unlinked_each_has_its_own_memory_again(office: Api, workspace: Workspace) -> None:
    before = {key: live_in(key) for key in ("direct_telegram%3au42", "direct_lark%3aou_9")}
    person = link(workspace)
    say(office, FROM_LARK, "My flight to Oslo leaves at nine")
    linking.separate(identity(ANN_LARK), actor="user:ops", now=NOW)
    linking.unite_waiting(now=NOW)
    assert any("Oslo" in content for content in live_in("direct_lark%3aou_9") - before["direct_lark%3aou_9"])
    assert live_in("direct_lark%3aou_9") >= before["direct_lark%3aou_9"]
    assert live_in(f"direct_{person.key}") == before["direct_telegram%3au42"]
    assert say(office, FROM_LARK, "I bought a bicycle") == "direct_lark%3aou_9"
    linking.separate(identity(ANN_TG), actor="user:ops", now=NOW)
    linking.unite_waiting(now=NOW)
    assert live_in("direct_telegram%3au42") == before["direct_telegram%3au42"]
    assert live_in(f"direct_{person.key}") == set()
    assert say(office, FROM_TG, "The boiler was repaired") == "direct_telegram%3au42"


@pytest.mark.parametrize("peers", [(ANN_TG, ANN_LARK), (ANN_LARK, ANN_TG)])
@pytest.mark.parametrize("leaving", [ANN_TG, ANN_LARK])
def test_what_both_said_stays_with_either_whoever_came_first(
    office: Api, workspace: Workspace, peers: tuple[Peer, Peer], leaving: Peer
) -> None:
    for peer in peers:
        fact = {"type": EntryType.FACT, "source": Source.TOOL, "tier": 2}
        draft = make_draft(Scope.objects.get(key=peer.own_key), "Ann drinks green tea", **fact)
        entries.remember(draft, now=NOW, actor="t")
    before = {peer: live_in(peer.own_key) for peer in peers}
    person = link(workspace, *peers)
    staying = ANN_LARK if leaving == ANN_TG else ANN_TG
    preview = linking.preview_unlink(identity(leaving))
    linking.separate(identity(leaving), actor="user:ops", now=NOW)
    linking.unite_waiting(now=NOW)
    assert live_in(leaving.own_key) == before[leaving]
    assert live_in(f"direct_{person.key}") == before[staying]
    assert (preview.back, preview.along, preview.stays) == (len(before[leaving]), 0, len(before[staying]))
    linking.separate(identity(staying), actor="user:ops", now=NOW)
    linking.unite_waiting(now=NOW)
    assert live_in(staying.own_key) == before[staying]
    assert live_in(f"direct_{person.key}") == set()


def test_what_lands_in_the_unused_memory_after_the_link_is_carried_over(office: Api, workspace: Workspace) -> None:
    """As by a turn that began before it, in another process."""
    before = Scope.objects.get(key="direct_lark%3aou_9")
    person = link(workspace)
    late = {"slots": {"channel": "lark", "sender_id": "ou_9"}}
    entries.remember(make_draft(before, "My dentist is on Elm Street", **late), now=NOW, actor="bot:bot")
    assert linking.count_waiting(now=NOW)["entries"] == 1
    assert linking.unite_waiting(now=NOW) == {"entries": 1, "failed": 0}
    assert "My dentist is on Elm Street" in live_in(f"direct_{person.key}")
    assert live_in(before.key) == set()
    assert linking.unite_waiting(now=NOW) == linking.count_waiting(now=NOW) == {"entries": 0, "failed": 0}


@pytest.mark.parametrize("step", range(1, 5))
def test_killed_between_two_transactions_the_next_look_goes_on(
    office: Api, workspace: Workspace, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply, left = moving.apply_batch, [step]

    def killed(batch: Batch, **kwargs: Any) -> Batch:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return apply(batch, **kwargs)

    person = linking.link(workspace, (ANN_TG, ANN_LARK), actor="user:ops", now=NOW)
    with monkeypatch.context() as patch:
        patch.setattr(moving, "apply_batch", killed)
        with pytest.raises(KeyboardInterrupt):
            linking.unite_waiting(now=NOW)
    batches.resume(now=NOW)
    linking.unite_waiting(now=NOW)
    everything = Entry.objects.live().filter(scope__key=f"direct_{person.key}")
    assert sorted(entry.content.split("\n")[0] for entry in everything) == [
        "User: I live in Hangzhou with my cat Mochi",
        "User: My sister is called Lena",
        "User: The quarterly report is due on Friday",
    ]
    assert live_in("direct_telegram%3au42") == live_in("direct_lark%3aou_9") == set()


def test_what_was_taken_out_stays_out_of_the_shared_memory(office: Api, workspace: Workspace) -> None:
    gone = Entry.objects.get(content__contains="Lena")
    entries.expire(gone, now=NOW, actor="user:ops", suppress=True)
    person = link(workspace)
    office.post("turns", {"address": FROM_LARK, "user": "My sister is called Lena", "assistant": "Noted."})
    assert not any("Lena" in content for content in live_in(f"direct_{person.key}"))


def test_a_channel_with_another_rule_and_a_group_stay_as_they_are(office: Api, workspace: Workspace) -> None:
    Channel.objects.create(workspace=workspace, platform="telegram", account="other", dm_scope="per-channel-peer")
    link(workspace)
    assert say(office, {**FROM_TG, "account": "other"}, "I sing in a choir") == "telegram:direct_u42"
    assert say(office, {**FROM_TG, "chat": "g1", "is_group": True}, "I am late") == "telegram:direct_u42"


def test_two_people_who_are_linked_already_are_not_one(office: Api, workspace: Workspace) -> None:
    link(workspace)
    link(workspace, Peer("wechat", "w1"), Peer("wechat", "w2"))
    with pytest.raises(PeopleUnclear, match="unlink them there first"):
        linking.link(workspace, [ANN_TG, Peer("wechat", "w1")], actor="user:ops", now=NOW)


def test_what_an_unlinking_has_on_its_way_is_left_behind_by_no_link(office: Api, workspace: Workspace) -> None:
    before, later = live_in("direct_lark%3aou_9"), NOW + timedelta(minutes=1)
    wrong = link(workspace)
    linking.separate(identity(ANN_LARK), actor="user:ops", now=NOW)
    for refused in (linking.preview_link, functools.partial(linking.link, actor="user:ops")):
        with pytest.raises(PeopleUnclear, match="memories are on their way. Try again in a minute"):
            refused(workspace, (BOB, ANN_LARK), now=NOW)
    linking.unite_waiting(now=NOW)
    right = linking.link(workspace, (BOB, ANN_LARK), actor="user:ops", now=later)
    linking.unite_waiting(now=later)
    assert live_in(f"direct_{right.key}") == before
    assert not before & live_in(f"direct_{wrong.key}")


def test_what_came_late_into_the_memory_of_others_goes_before_the_next_link(office: Api, workspace: Workspace) -> None:
    """As by a turn that began before the account was unlinked."""
    wrong = link(workspace)
    linking.separate(identity(ANN_LARK), actor="user:ops", now=NOW)
    linking.unite_waiting(now=NOW)
    shared = Scope.objects.get(key=f"direct_{wrong.key}")
    by_ann, by_lark = ({"slots": {"channel": peer.platform, "sender_id": peer.peer}} for peer in (ANN_TG, ANN_LARK))
    entries.remember(make_draft(shared, "今天我去看牙医", **by_ann), now=NOW, actor="bot:bot")
    linking.preview_link(workspace, (ANN_LARK, BOB), now=NOW)  # that is whose memory it is
    entries.remember(make_draft(shared, "My dentist is on Elm Street", **by_lark), now=NOW, actor="bot:bot")
    with pytest.raises(PeopleUnclear, match="on their way"):
        linking.link(workspace, (ANN_LARK, BOB), actor="user:ops", now=NOW)
    linking.unite_waiting(now=NOW)
    person = link(workspace, ANN_LARK, BOB)
    assert "My dentist is on Elm Street" in live_in(f"direct_{person.key}")


def test_what_is_on_its_way_out_of_a_frozen_memory_waits_for_it_and_for_the_link(
    office: Api, workspace: Workspace
) -> None:
    wrong = link(workspace)
    linking.separate(identity(ANN_LARK), actor="user:ops", now=NOW)
    Scope.objects.filter(key=f"direct_{wrong.key}").update(frozen=True)
    with pytest.raises(ScopeFrozen):
        linking.link(workspace, (ANN_LARK, BOB), actor="user:ops", now=NOW)


def test_accounts_without_any_memory_are_linked_and_unlinked_at_once(workspace: Workspace) -> None:
    for peer in (BOB, Peer("wechat", "w2")):
        linking.link(workspace, (ANN_LARK, peer), actor="user:ops", now=NOW)
        linking.separate(identity(ANN_LARK), actor="user:ops", now=NOW)


def test_a_linked_turn_takes_no_statement_more(office: Api, workspace: Workspace) -> None:
    def statements(words: str) -> int:
        with CaptureQueriesContext(connection) as sent:
            say(office, FROM_TG, words)
        return len(sent)

    alone = statements("We will fly to Lisbon with the blue suitcase")
    link(workspace)
    say(office, FROM_TG, "The first turn of a shared session begins it")
    assert statements("The piano tuner comes at eleven") == alone
