"""A channel, a workspace or the platform may be answered from files, and go back, at any moment."""

from typing import Any

import pytest

from channels_app import tasks
from channels_app.models import Channel
from memories.models import Workspace
from sessions_app.models import SessionEvent
from tests.channels_app.doors.files.conftest import turn, waiting
from tests.conftest import Api, make_key

pytestmark = pytest.mark.django_db


def user_messages() -> list[str]:
    rows = SessionEvent.objects.filter(kind="user").exclude(content="before it all").order_by("pk")
    return list(rows.values_list("content", flat=True))


def test_a_channel_goes_to_its_files_and_back_without_a_restart(bot: Api, workspace: Workspace) -> None:
    channel = Channel.objects.get()
    Channel.objects.filter(pk=channel.pk).update(path_mode="legacy_only")
    answer = bot.post("turns", turn("while the files answer"))
    assert (answer.json()["degraded"], answer.json()["entries"]) == (["files"], [])
    assert tasks.replay_journal() == {"calls": 0, "parked": 0} and waiting(workspace) == ["while the files answer"]
    Channel.objects.filter(pk=channel.pk).update(path_mode="hooks_only")
    assert bot.post("turns", turn("back again")).json()["degraded"] == ["database"]  # behind the other
    tasks.replay_journal()
    assert user_messages() == ["while the files answer", "back again"]
    assert bot.post("turns", turn("as before")).json()["degraded"] == []


def off_for_all(workspace: Workspace, settings: Any) -> None:
    settings.MEMORY_ENABLED = False


def off_for_one(workspace: Workspace, settings: Any) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(is_enabled=False)


@pytest.mark.thorough
@pytest.mark.parametrize("switch_off", [off_for_all, off_for_one])
def test_switched_off_the_files_answer_and_on_again_nothing_is_lost(
    bot: Api, workspace: Workspace, stranger: Workspace, settings: Any, switch_off: Any
) -> None:
    other = Api(make_key(stranger))
    switch_off(workspace, settings)
    assert bot.post("turns", turn("while it is off")).json()["degraded"] == ["files"]
    theirs = other.post("turns", turn("elsewhere")).json()["degraded"]
    assert theirs == (["files"] if switch_off is off_for_all else [])
    assert tasks.replay_journal()["calls"] == 0
    assert not SessionEvent.objects.filter(content="while it is off").exists()
    settings.MEMORY_ENABLED = True
    Workspace.objects.update(is_enabled=True)
    tasks.replay_journal()
    assert SessionEvent.objects.filter(content="while it is off").count() == 1
    assert bot.post("turns", turn("and on")).json()["degraded"] == []
