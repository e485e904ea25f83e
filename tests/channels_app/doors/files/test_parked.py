"""A call that could not be applied is tried again once what was wrong is mended (C11)."""

import pytest
from django.utils import timezone

from channels_app import tasks
from channels_app.api.turns import EFFECTS
from channels_app.doors.files import replay
from channels_app.models import ReplayedRecord
from memories.models import Scope, Workspace
from sessions_app.models import SessionEvent
from tests.channels_app.doors.files.conftest import turn
from tests.conftest import Api
from tests.support.outage import database_away

pytestmark = pytest.mark.django_db


def test_it_is_applied_as_of_its_time_and_only_once(bot: Api, workspace: Workspace) -> None:
    with database_away():
        bot.post("turns", turn("into a frozen scope"))
    accepted = timezone.now()
    Scope.objects.update(frozen=True)
    tasks.replay_journal()
    calls = ReplayedRecord.objects.all()
    assert replay.retry(calls, EFFECTS, now=timezone.now()) == {"parked": 1}
    Scope.objects.update(frozen=False)
    assert replay.retry(calls, EFFECTS, now=timezone.now()) == {"applied": 1}
    assert not replay.retry(calls, EFFECTS, now=timezone.now()) and not replay.discard(calls, now=timezone.now())
    (message,) = SessionEvent.objects.filter(kind="user", content="into a frozen scope")
    assert message.at <= accepted
    (call,) = calls
    assert (call.outcome, call.body, call.reason) == ("applied", None, "")
