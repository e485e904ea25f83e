"""A commit whose end nobody heard is looked up: what was stored is not stored again."""

from typing import Any

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from channels_app import tasks
from channels_app.doors.files import replay
from channels_app.models import ReplayedRecord
from memories.models import Workspace
from memories.models.ids import uuid7
from memories.offline.journal import Record
from sessions_app.models import Session, SessionEvent
from tests.channels_app.doors.files.conftest import turn, waiting
from tests.conftest import Api
from tests.support.outage import connection_lost_at, lost


def user_messages() -> list[str]:
    rows = SessionEvent.objects.filter(kind="user").exclude(content="before it all").order_by("pk")
    return list(rows.values_list("content", flat=True))


def outcomes_of() -> list[str]:
    return list(ReplayedRecord.objects.order_by("pk").values_list("outcome", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_commit_nobody_heard_of_is_known_by_its_number_and_its_messages(workspace: Workspace, api: Api) -> None:
    api.post("turns", turn("before it all"))
    session = Session.objects.get()
    event = SessionEvent.objects.get(content="before it all")
    with connection.cursor() as cursor:
        cursor.execute("SELECT xmin::text FROM sessions_app_sessionevent WHERE id = %s", [event.pk])
        committed = cursor.fetchone()[0]
    place = {"platform": session.platform, "account": session.account, "session_key": session.key}
    record = Record(
        uid=uuid7(), kind="turn", accepted_at=event.at.isoformat(), body={}, transaction={"number": committed, **place}
    )
    messages = [("before it all", event.at)]
    assert replay.is_written(record, messages, workspace.pk)
    assert not replay.is_written(record, [("another", event.at)], workspace.pk)  # its number was given again
    assert not replay.is_written(record, [("before it all", timezone.now())], workspace.pk)


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_was_taken_back_or_never_was_is_applied(workspace: Workspace, api: Api) -> None:
    with connection_lost_at("memories_entry"):
        assert api.post("turns", turn("lost on the way")).status_code == 503  # nothing is known of its channel yet
    api.post("turns", turn("before it all"))
    with connection_lost_at("memories_entry"):
        assert api.post("turns", turn("lost on the way")).json()["degraded"] == ["database"]
    assert tasks.replay_journal() == {"calls": 1, "parked": 0}
    assert user_messages() == ["lost on the way"] and outcomes_of() == ["applied"]
    session = Session.objects.get()
    number = str(2**40)
    place = {"platform": session.platform, "account": session.account, "session_key": session.key}
    future = Record(uid=uuid7(), kind="turn", accepted_at="", body={}, transaction={"number": number, **place})
    assert not replay.is_written(future, [("x", timezone.now())], workspace.pk)


@pytest.mark.django_db(transaction=True)
def test_a_turn_whose_commit_was_not_heard_is_stored_once(workspace: Workspace, api: Api, monkeypatch: Any) -> None:
    """The whole way: the transaction commits, and its answer is lost."""
    api.post("turns", turn("before it all"))
    real = BaseDatabaseWrapper._commit  # type: ignore[attr-defined]
    heard: list[bool] = []

    def commit_unheard(self: Any) -> Any:
        real(self)
        if not heard and SessionEvent.objects.filter(content="once").exists():
            heard.append(False)
            raise lost()

    with monkeypatch.context() as patch:
        patch.setattr(BaseDatabaseWrapper, "_commit", commit_unheard)
        answer = api.post("turns", turn("once"))
    assert heard and answer.json()["degraded"] == ["database"]
    assert waiting(workspace) == ["once"]
    tasks.replay_journal()
    assert user_messages() == ["once"] and outcomes_of() == ["known"]
