"""Under dual_write both store, the database answers, and what only one of them finds is told."""

from datetime import date
from typing import Any

import pytest

from channels_app.models import Channel, PathComparison
from memories.files import disk
from memories.files.layout import scope_folder
from memories.models import Workspace
from tests.channels_app.doors.files.conftest import transcript, turn
from tests.conftest import TELEGRAM, Api, make_key
from tests.support.outage import database_away

pytestmark = pytest.mark.django_db
ASKED = {"address": TELEGRAM, "message": "what is my cat called?"}


@pytest.fixture
def both(bot: Api) -> Api:
    """A bot of a channel that writes to both."""
    answer = bot.request("PUT", "channels/telegram/mybot", '{"path_mode": "dual_write"}')
    assert (answer.status_code, answer.json()["path_mode"]) == (200, "dual_write")
    return bot


def test_both_store_and_what_only_one_finds_is_told(
    both: Api, workspace: Workspace, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        answer = both.post("turns", turn("my cat is called 年糕", "A fine name"))
    assert (answer.json()["degraded"], len(answer.json()["entries"])) == ([], 1)
    assert "my cat is called 年糕" in transcript(workspace)
    folder = scope_folder(workspace.folder, "telegram:direct_u42")  # transcripts are not in the database
    disk.append(folder, folder.transcript(date(2026, 3, 1)), "- the cat called Tom lives next door")
    both.post("entries", {"address": TELEGRAM, "content": "what the cat was called before nobody knows"})
    served = both.post("recall", ASKED).json()
    assert all(memory["id"] for memory in served["memories"])  # nothing of the files is served
    result = both.get("recalls/comparison").json()
    assert (result["recalls"], result["differing"]) == (1, 1) and result["both"] >= 1
    (example,) = result["examples"]
    assert [only_file["content"] for only_file in example["only_files"]] == ["the cat called Tom lives next door"]
    assert "nobody knows" in example["only_database"][0]["content"] and example["only_database"][0]["id"]
    assert example["recall_id"] == served["recall_id"] and example["message"] == ASKED["message"]


def test_a_context_is_compared_too(both: Api) -> None:
    both.post("context", ASKED)
    assert PathComparison.objects.count() == 1


@pytest.mark.parametrize("sample, compared", [(0.0, 0), (1.0, 3)])
def test_a_sample_is_compared(both: Api, settings: Any, sample: float, compared: int) -> None:
    settings.MEMORY_SHADOW_SAMPLE = sample
    for _ in range(3):
        both.post("recall", ASKED)
    assert PathComparison.objects.count() == compared


def test_other_channels_are_not_compared(bot: Api) -> None:
    bot.post("recall", ASKED)
    assert PathComparison.objects.count() == 0


def test_files_that_cannot_be_read_cost_no_recall(both: Api, monkeypatch: Any) -> None:
    def fail(*_args: Any, **_more: Any) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr("memories.files.keyword.search", fail)
    assert both.post("recall", ASKED).status_code == 200


def test_it_is_for_those_who_administer_the_whole_workspace(
    both: Api, workspace: Workspace, stranger: Workspace
) -> None:
    both.post("recall", ASKED)
    reader = Api(make_key(workspace, name="reader", permissions=["read", "write"]))
    bound = Api(make_key(workspace, name="bound", scope_patterns=["telegram:*"]))
    assert [item.get("recalls/comparison").status_code for item in (reader, bound)] == [403, 404]
    theirs = Api(make_key(stranger)).get("recalls/comparison").json()
    assert theirs["recalls"] == 0 and theirs["examples"] == []


def test_it_is_narrowed_by_time_and_channel(both: Api) -> None:
    both.post("recall", ASKED)
    counts = [
        both.get("recalls/comparison", **item).json()["recalls"]
        for item in (
            {"since": "2100-01-01T00:00:00Z"},
            {"platform": "telegram"},
            {"platform": "lark"},
            {"account": "x"},
        )
    ]
    assert counts == [0, 1, 0, 0]
    assert both.get("recalls/comparison", examples=0).json()["examples"] == []


def test_a_channel_may_want_transcripts_alone(
    bot: Api, workspace: Workspace, django_capture_on_commit_callbacks: Any
) -> None:
    Channel.objects.update(transcripts=True)
    with django_capture_on_commit_callbacks(execute=True):
        bot.post("turns", turn("写下来", "好"))
    assert "写下来" in transcript(workspace)
    with database_away():
        bot.post("turns", turn("and this"))
    assert transcript(workspace).count("and this") == 1
