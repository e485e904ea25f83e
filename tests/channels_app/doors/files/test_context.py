"""A context from the files: what is written down for long, and the notes of the last days."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from channels_app.models import Channel
from memories.language.text import count_tokens
from memories.models import Workspace
from tests.channels_app.doors.files.conftest import note
from tests.conftest import GROUP, TELEGRAM, Api
from tests.support.outage import connection_lost_at, database_away

pytestmark = pytest.mark.django_db
CHAT = "telegram:mybot:group_g1"


def context(bot: Api, message: str = "what is on?", **more: Any) -> Any:
    answer = bot.post("context", {"address": TELEGRAM, "message": message, **more})
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_context_holds_the_long_term_file_and_the_last_days(bot: Api, workspace: Workspace) -> None:
    today = timezone.now().date()
    note(workspace, "# Family\n\n- The cat is called 年糕\n- Lena is the sister\n")
    for ago in (0, 3, 6, 8):
        note(workspace, f"- noted {ago} days ago\n", day=today - timedelta(days=ago))
    with database_away():
        result = context(bot)
    assert "年糕" in result["text"] and "Family" in result["text"]
    assert [note["date"] for note in result["notes"]] == [(today - timedelta(days=n)).isoformat() for n in (0, 3, 6)]
    assert "noted 6 days ago" in result["text"] and "noted 8 days ago" not in result["text"]
    assert result["degraded"] == ["database"]
    assert (result["memories"], result["history"], result["recall_id"]) == ([], [], None)


def test_the_files_of_others_are_not_in_it(bot: Api, workspace: Workspace, stranger: Workspace) -> None:
    for where, scope in ((workspace, "telegram:direct_u43"), (workspace, "main"), (stranger, "telegram:direct_u42")):
        note(where, "- a secret of somebody else\n", scope=scope)
    with database_away():
        assert context(bot)["text"] == ""


def test_a_group_reads_what_a_person_wrote_only_where_it_may_hear_all(bot: Api, workspace: Workspace) -> None:
    note(workspace, "- told in private\n")
    note(workspace, "- told in the group\n", scope=CHAT)
    with database_away():
        text = context(bot, address=GROUP)["text"]
    assert "told in the group" in text and "told in private" not in text
    Channel.objects.update(group_user_recall="all", path_mode="legacy_only")
    text = context(bot, address=GROUP)["text"]
    assert "told in the group" in text and "told in private" in text


@pytest.mark.parametrize("budget", [0, 5, 20, 60, 200, 1_000])
def test_it_is_never_longer_than_its_budget(bot: Api, workspace: Workspace, budget: int) -> None:
    note(workspace, "".join(f"- 长期记录第{n}条，关于猫和旅行\n" for n in range(60)))
    for ago in range(7):
        day = timezone.now().date() - timedelta(days=ago)
        note(workspace, "".join(f"- line {n} of {ago} days ago, about the ferry\n" for n in range(20)), day=day)
    with database_away():
        result = context(bot, token_budget=budget)
    assert result["tokens"] <= budget and count_tokens(result["text"]) <= budget
    if budget >= 200:
        assert "长期记录第0条" in result["text"] and "of 0 days ago" in result["text"]
        assert result["notes"][-1]["cut"]


def test_long_notes_leave_what_is_written_down_its_place(bot: Api, workspace: Workspace) -> None:
    note(workspace, "- short, for long\n")
    note(workspace, "- many words about a day\n" * 300, day=timezone.now().date())
    with database_away():
        result = context(bot, token_budget=300)
    assert "short, for long" in result["text"] and result["tokens"] > 250


def test_a_file_that_is_no_text_is_left_out(bot: Api, workspace: Workspace) -> None:
    note(workspace, "- readable\n")
    note(workspace, "x", day=timezone.now().date())
    from memories.files.layout import scope_folder

    folder = scope_folder(workspace.folder, "telegram:direct_u42")
    (folder.workspace / folder.long_term).write_bytes(b"\xff\xfe\x00 not text")
    with database_away():
        assert "readable" not in context(bot)["text"]


def test_reset_has_its_answer(bot: Api) -> None:
    with database_away():
        assert context(bot, "/reset")["reply"]


def test_it_is_answered_wherever_the_database_is_lost(bot: Api, workspace: Workspace) -> None:
    note(workspace, "- The cat is called 年糕\n")
    with connection_lost_at("memories_entry"):
        result = context(bot, "what is my cat called?")
    assert result["degraded"] == ["database"] and "年糕" in result["text"]
