"""Who writes outside the web leaves a note of it, too: no recall reads a replica that lacks what was written (D9)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from channels_app.models import Connection
from channels_app.people import linking
from channels_app.people.peers import Peer
from memories import batches
from memories.choices import BatchVerb, ScopeKind
from memories.models import Entry, Scope, Workspace, WritePosition
from memories.offline import replicas
from memplatform.erasure import certificate
from tests.channels_app.platforms.conftest import arrive, bot_api, connection, model, work_through
from tests.conftest import NOW
from tests.memories.batches.conftest import LATER, planned, remember, step
from tests.memories.llm.fake_server import FakeModel
from tests.memplatform.erasure.conftest import Town, town
from tests.memplatform.erasure.test_walk import erase
from tests.support.fake_telegram import FakeTelegram

pytestmark = pytest.mark.django_db
__all__ = ["bot_api", "connection", "model", "town"]

#: Whether doing this leaves a note of the workspace.
Notes = Callable[[Workspace, Callable[[], object]], bool]


def is_noted(workspace: Workspace) -> bool:
    return WritePosition.objects.filter(bucket=workspace.pk % replicas.BUCKETS).exists()


@pytest.fixture
def leaves_note(settings: Any, django_capture_on_commit_callbacks: Any) -> Notes:
    settings.HAS_REPLICAS, settings.PROCESS = True, "worker"

    def does(workspace: Workspace, act: Callable[[], object]) -> bool:
        WritePosition.objects.all().delete()
        with django_capture_on_commit_callbacks(execute=True):
            act()
        return is_noted(workspace)

    return does


def test_a_batch_a_killed_process_began_leaves_one_where_it_goes_on(scope: Scope, leaves_note: Notes) -> None:
    (entry,) = remember(scope, "我家的猫叫年糕")
    batches.start(planned(scope, [step(BatchVerb.EXPIRE, entry)]))
    assert leaves_note(scope.workspace, lambda: batches.resume(now=LATER))
    assert not Entry.objects.get(pk=entry.pk).is_live()
    assert not leaves_note(scope.workspace, lambda: batches.resume(now=LATER))


def test_memories_that_are_carried_over_leave_one(workspace: Workspace, leaves_note: Notes) -> None:
    ann = Peer("telegram", "u1")
    remember(Scope.objects.begin(workspace.pk, ann.own_key, ScopeKind.USER), "the bicycle is green", "我对花生过敏")
    linking.link(workspace, [Peer("lark", "u2"), ann], name="Ann", actor="user:op", now=NOW)
    later = NOW + timedelta(minutes=1)
    assert leaves_note(workspace, lambda: linking.unite_waiting(now=later))
    assert Entry.objects.exclude(scope__key=ann.own_key).filter(content="我对花生过敏").exists()
    assert not leaves_note(workspace, lambda: linking.unite_waiting(now=later))


def test_an_erasure_leaves_one_before_it_is_certified(
    town: Town, leaves_note: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue, was_noted = certificate.issue, []

    def issued(*given: Any, **named: Any) -> dict[str, Any]:
        was_noted.append(is_noted(town.workspace))
        return issue(*given, **named)

    monkeypatch.setattr(certificate, "issue", issued)
    leaves_note(town.workspace, lambda: erase(town))
    assert was_noted == [True]


def test_what_people_take_back_in_a_chat_leaves_one(
    connection: Connection, bot_api: FakeTelegram, model: FakeModel, leaves_note: Notes
) -> None:
    def say(text: str) -> None:
        arrive(connection, bot_api.write(42, text))
        work_through()

    say("Please remember: 我在里斯本工作 (I work in Lisbon).")
    say("/memory")
    assert leaves_note(connection.workspace, lambda: say("/forget 1"))
    assert not Entry.objects.filter(content__contains="Lisbon").filter(expired_at=None).exists()
