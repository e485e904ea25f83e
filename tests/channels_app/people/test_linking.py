"""Linked peers share one memory, and get their own back when they are unlinked (E1)."""

import contextlib
import functools
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from channels_app.models import Channel
from channels_app.people import linking
from channels_app.people.peers import Peer, PeopleUnclear
from memories import batches, entries
from memories.batches import bulk_actions, moving
from memories.choices import EntryType, Source
from memories.entries import Edit
from memories.exceptions import ScopeFrozen
from memories.files.layout import scope_folder
from memories.models import Batch, Entry, Scope, Suppression, Workspace
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
from tests.memories.notes.test_index import sync, write

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


LENA, OWN = "User: My sister is called Lena", "direct_telegram%3au42"


def forget(key: str, words: str = "Lena") -> Batch:
    """What the person takes out of a memory in a chat."""
    rows = list(Entry.objects.live().filter(scope__key=key, content__contains=words).select_related("scope"))
    actor = "person:telegram:u42"
    result = bulk_actions.apply_action(rows, bulk_actions.EXPIRE, now=NOW, actor=actor, reason="forgotten in the chat")
    return result.batches[0]


def unlink(peer: Peer) -> None:
    linking.separate(identity(peer), actor="user:ops", now=NOW)
    linking.unite_waiting(now=NOW)


def put_back(batch: Batch) -> None:
    batches.apply_batch(batches.plan_undo(batch, actor="person:telegram:u42", now=NOW), now=NOW)


@pytest.mark.parametrize("way", ["in the chat", "over the API"])
def test_what_was_forgotten_while_linked_stays_so_when_unlinked(office: Api, workspace: Workspace, way: str) -> None:
    before = live_in(OWN)
    person = link(workspace)
    if way == "in the chat":
        forget(f"direct_{person.key}")
    else:
        gone = Entry.objects.live().get(scope__key=f"direct_{person.key}", content__contains="Lena")
        assert office.request("delete", f"entries/{gone.uid}").status_code == 200
    preview = linking.preview_unlink(identity(ANN_TG))
    assert (preview.back, preview.changed) == (1, 0)
    unlink(ANN_TG)
    assert live_in(OWN) == before - {LENA}
    assert LENA not in live_in(f"direct_{person.key}")
    assert "Lena" not in recalled(office, FROM_TG, "what is my sister called?")
    office.post("turns", {"address": FROM_TG, "user": "My sister is called Lena", "assistant": "Noted."})
    assert LENA not in live_in(OWN)


@pytest.mark.parametrize("is_unlinked", [False, True])
def test_what_was_forgotten_while_linked_is_there_again_when_that_is_undone(
    office: Api, workspace: Workspace, is_unlinked: bool
) -> None:
    before = live_in(OWN)
    person = link(workspace)
    batch = forget(f"direct_{person.key}")
    if not is_unlinked:
        put_back(batch)
    unlink(ANN_TG)
    if is_unlinked:
        for own in Batch.objects.filter(run=batch.run, actor=batch.actor).order_by("pk"):
            put_back(own)
        linking.unite_waiting(now=NOW)
    assert live_in(OWN) == before
    assert not Suppression.objects.exists()
    assert LENA not in live_in(f"direct_{person.key}")


def test_what_both_said_or_others_words_tell_is_forgotten_as_well(office: Api, workspace: Workspace) -> None:
    """What was reworded before, what became part of another memory, and what the forgotten fact was drawn from."""
    own = Scope.objects.get(key=OWN)
    for words in ("Ann drinks green tea", "安喝绿茶", "Ann owns a piano", "A piano is Ann's"):
        entries.remember(make_draft(own, words), now=NOW, actor="t")
    other = Scope.objects.get(key=ANN_LARK.own_key)
    entries.remember(make_draft(other, "Ann drinks green tea"), now=NOW, actor="t")
    person = link(workspace)
    shared = Scope.objects.get(key=f"direct_{person.key}")
    live = Entry.objects.in_scope(shared).live()
    chinese, turn = live.get(content="安喝绿茶"), live.get(content__contains="Mochi")
    entries.update(chinese, Edit(columns={"content": "安喝红茶"}), now=NOW, actor="user:ops")
    pianos = {entry.pk: None for entry in live.filter(content__contains="piano")}
    whole = entries.remember(make_draft(shared, "There is a Steinway"), now=NOW, actor="t").entry
    with transaction.atomic():
        entries.merge(shared, whole.pk, pianos, now=NOW)
    fact = make_draft(shared, "Ann lives in Hangzhou", type=EntryType.FACT, origins=tuple(turn.origins), tier=2)
    entries.remember(fact, now=NOW, actor="extraction")
    for words in ("green tea", "安喝红茶", "Steinway", "Ann lives"):
        forget(shared.key, words)
    unlink(ANN_TG)
    assert live_in(OWN) == {LENA}
    unlink(ANN_LARK)
    assert live_in(ANN_LARK.own_key) == {"User: The quarterly report is due on Friday"}


def test_what_somebody_said_again_after_forgetting_it_and_a_changed_memory_come_back(
    office: Api, workspace: Workspace
) -> None:
    person = link(workspace)
    shared = Scope.objects.get(key=f"direct_{person.key}")
    forget(shared.key)
    office.post("turns", {"address": FROM_TG, "user": "Remember that my sister is called Lena", "assistant": "Noted."})
    cat = Entry.objects.live().get(scope=shared, content__contains="Mochi")
    entries.update(cat, Edit(columns={"content": "My cat is called Momo"}), now=NOW, actor="user:ops")
    unlink(ANN_TG)
    assert {words for words in live_in(OWN) if "sister" in words} == {"User: Remember that my sister is called Lena"}
    assert "User: I live in Hangzhou with my cat Mochi" in live_in(OWN)
    assert "My cat is called Momo" in live_in(OWN)


def test_a_line_of_a_file_that_was_forgotten_while_linked_is_struck(
    office: Api, workspace: Workspace, tmp_path: Path, settings: Any
) -> None:
    settings.MEMORY_FILES_ROOT = tmp_path
    own, files = Scope.objects.get(key=OWN), tmp_path / workspace.folder
    path = scope_folder(workspace.folder, OWN).long_term
    write(files, path, "- 妹妹叫小雨\n- two\n")
    sync(own)
    person = link(workspace)
    forget(f"direct_{person.key}", "妹妹")
    assert "- 妹妹叫小雨" in (files / path).read_text()
    unlink(ANN_TG)
    assert live_in(OWN) & {"妹妹叫小雨", "two"} == {"two"}
    assert "<!-- expired" in (files / path).read_text()
    sync(own)
    assert "妹妹叫小雨" not in live_in(OWN)


@pytest.mark.parametrize("step", range(1, 4))
def test_killed_while_unlinking_what_was_forgotten_is_in_use_at_no_moment(
    office: Api, workspace: Workspace, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = link(workspace)
    forget(f"direct_{person.key}")
    linking.separate(identity(ANN_TG), actor="user:ops", now=NOW)
    apply, left = batches.apply_batch, [step]

    def killed(batch: Batch, **kwargs: Any) -> Batch:
        applied = apply(batch, **kwargs)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return applied

    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(batches, "apply_batch", killed)
        linking.unite_waiting(now=NOW)
    assert LENA not in live_in(OWN)
    batches.resume(now=NOW)
    assert LENA not in live_in(OWN)
    linking.unite_waiting(now=NOW)
    assert live_in(OWN) == {"User: I live in Hangzhou with my cat Mochi"}


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
