"""A conversation begins with today's and yesterday's daily files of its own scope (C9)."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memories import entries
from memories.choices import EntryType, ScopeKind
from memories.consolidation import summaries
from memories.entries import daily_events
from memories.files import disk
from memories.files.layout import scope_folder
from memories.models import Entry, Scope, Workspace
from memories.notes.index import sync_scope
from tests.conftest import GROUP, NOW, TELEGRAM, make_draft, make_scope
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
TODAY, YESTERDAY = NOW.date(), NOW.date() - timedelta(days=1)
USER, CHAT = "telegram:direct_u42", "telegram:mybot:group_g1"


@pytest.fixture
def mine(workspace: Workspace) -> Scope:
    return make_scope(workspace, USER)


@pytest.fixture(autouse=True)
def files(settings: Any, tmp_path: Path) -> None:
    """An empty folder of files."""
    settings.MEMORY_FILES_ROOT = tmp_path


def file(scope: Scope, on: date, text: str, path: str = "") -> None:
    """Write a file of a scope, that of a day unless told otherwise, and index it."""
    folder = scope_folder(scope.workspace.folder, scope.key)
    disk.rewrite(folder, path or folder.daily(on), lambda _: text)
    sync_scope(Scope.objects.select_related("workspace").get(pk=scope.pk), now=NOW)


def happened(scope: Scope, on: Any, *contents: str, **more: Any) -> None:
    drafts = [daily_events.EventDraft(scope=scope, local_date=on, content=content, **more) for content in contents]
    daily_events.write(drafts, now=NOW, actor="test")


def notes(talk: Talk, address: Any = TELEGRAM, *, at: Any = NOW) -> list[tuple[str, list[str]]]:
    answer = talk.post(
        "context", {"address": address, "message": "good morning to you"}, **{"X-Memplatform-Now": at.isoformat()}
    )
    assert answer.status_code == 200, answer.json()
    result = answer.json()
    assert all(line in result["text"] for note in result["notes"] for line in note["content"].split("\n"))
    return [(note["date"], note["content"].split("\n")) for note in result["notes"]]


def test_the_lines_of_both_files_are_told_in_their_order(talk: Talk, mine: Scope) -> None:
    early = "<!-- at=2026-03-01T01:00:00+00:00 -->"
    file(mine, TODAY, f"# Today\n\n- 买了牛奶\n\n## Work\n\n- Ship the release {early}\n- 给小雨打电话\n")
    file(mine, YESTERDAY, "- Called the bank\n- 看了牙医\n")
    assert notes(talk) == [
        ("2026-03-01", ["买了牛奶", "Ship the release", "给小雨打电话"]),
        ("2026-02-28", ["Called the bank", "看了牙医"]),
    ]


def test_a_file_is_told_also_before_noon_and_in_the_day_of_the_workspace(talk: Talk, mine: Scope) -> None:
    Workspace.objects.update(time_zone="Asia/Shanghai")
    file(mine, TODAY, "- 早上跑步\n")
    assert notes(talk, at=datetime(2026, 2, 28, 16, 30, tzinfo=UTC)) == [("2026-03-01", ["早上跑步"])]
    assert notes(talk, at=datetime(2026, 3, 2, 15, 0, tzinfo=UTC)) == [("2026-03-01", ["早上跑步"])]
    assert notes(talk, at=datetime(2026, 3, 2, 16, 0, tzinfo=UTC)) == []


def test_other_files_and_older_days_are_not_told(talk: Talk, mine: Scope) -> None:
    folder = scope_folder(mine.workspace.folder, mine.key)
    file(mine, TODAY, "- long-term\n", path=folder.long_term)
    file(mine, TODAY, "- a plan\n", path=f"{folder.base}/plans.md")
    file(mine, TODAY - timedelta(days=2), "- two days ago\n")
    assert notes(talk) == []


def test_a_scope_s_files_are_its_own(talk: Talk, workspace: Workspace, stranger: Workspace, mine: Scope) -> None:
    group = make_scope(workspace, CHAT, ScopeKind.CHAT)
    file(mine, TODAY, "- of the person\n")
    file(group, TODAY, "- 群里的事\n")
    file(make_scope(workspace, "main"), TODAY, "- of the owner\n")
    file(make_scope(stranger, USER), TODAY, "- a stranger's\n")
    entries.remember(  # the path of another scope's file makes a note of this one no line of that
        make_draft(mine, "planted", type="note", source="file", path=scope_folder(workspace.folder, CHAT).daily(TODAY)),
        now=NOW,
        actor="file",
    )
    assert notes(talk) == [("2026-03-01", ["of the person"])]
    assert notes(talk, GROUP) == [("2026-03-01", ["群里的事"])]


def test_what_is_struck_or_expired_or_secret_is_not_told(talk: Talk, mine: Scope) -> None:
    file(mine, TODAY, "- one\n- two\n- three\n<!-- expired 2026-03-01T08:00:00+00:00: - four -->\n")
    first, second = Entry.objects.get(content="one"), Entry.objects.get(content="two")
    entries.expire(first, now=NOW, actor="user:ann")
    entries.update(second, entries.Edit(columns={"category": "credential"}), now=NOW, actor="user:ann")
    assert notes(talk) == [("2026-03-01", ["three"])]


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("We moved the release to Thursday", "We moved the release to Thursday."),
        ("Bought stamps, and milk at the corner shop", "bought stamps"),
        ("米娅的猫叫年糕，三岁了", "米娅的猫叫年糕。"),
    ],
)
def test_a_day_that_tells_what_a_line_says_tells_it_once(line: str, event: str, talk: Talk, mine: Scope) -> None:
    file(mine, TODAY, f"- {line}\n- {line}\n")
    happened(mine, TODAY, event, "Something else, too.")
    ((_day, text),) = notes(talk)
    assert sorted(text) == sorted([line, "Something else, too."])


def test_a_line_that_stands_in_a_file_and_was_saved_as_a_note_is_told_once(talk: Talk, mine: Scope) -> None:
    file(mine, TODAY, "- Buy stamps\n")
    talk.post("entries", {"scope": USER, "type": "note", "content": "buy stamps", "at": NOW.isoformat()})
    ((_day, text),) = notes(talk)
    assert [line.casefold() for line in text] == ["buy stamps"]


@pytest.mark.parametrize(
    "statement", ["We moved the release to Thursday. The port is 8080.", "米娅搬到了汉堡。猫叫年糕。"]
)
def test_the_note_of_a_night_stands_in_the_file_and_is_told_once(statement: str, talk: Talk, mine: Scope) -> None:
    happened(mine, YESTERDAY, statement)
    assert summaries.archive_day(mine.workspace_id, now=NOW)["notes"] == 1
    folder = scope_folder(mine.workspace.folder, mine.key)
    assert statement in (folder.workspace / folder.daily(YESTERDAY)).read_text()
    sync_scope(mine, now=NOW)
    assert not Entry.objects.in_scope(mine).filter(type=EntryType.NOTE).exists()
    assert notes(talk) == [("2026-02-28", [statement])]


def test_of_a_long_file_the_newest_lines_are_told_within_both_limits(talk: Talk, mine: Scope) -> None:
    lines = [f"第{n}件事 went to place number {n} " + "词" * 50 for n in range(100)]
    for on in (TODAY, YESTERDAY):
        file(mine, on, "".join(f"- {on.day} {line}\n" for line in lines))
    data = {"address": TELEGRAM, "message": "good morning", "token_budget": 32_000}
    notes = talk.post("context", data).json()["notes"]
    lengths = [len(note["content"]) for note in notes]
    assert len(lengths) == 2 and max(lengths) <= 2_000 and sum(lengths) <= 4_000 and min(lengths) > 1_800
    for note, on in zip(notes, (TODAY, YESTERDAY), strict=True):
        result = note["content"].split("\n")
        assert result == [f"{on.day} {line}" for line in lines[-len(result) :]] and note["cut"]


def test_only_the_first_turn_of_a_conversation_begins_with_them(talk: Talk, mine: Scope) -> None:
    file(mine, TODAY, "- Buy stamps\n")
    assert notes(talk) == [("2026-03-01", ["Buy stamps"])]
    talk.say("hello", "hi")
    assert notes(talk) == []
