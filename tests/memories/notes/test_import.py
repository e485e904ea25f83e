"""`manage.py import`: MEMORY.md and daily files of a foreign folder, as one batch that can be undone (D8)."""

import io
import json
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memories import batches, tasks
from memories.batches import apply as applying
from memories.choices import BatchState, Category, EntryType, ScopeKind, Source
from memories.entries import daily_events
from memories.models import Batch, DailyEvent, Entry, Scope, Workspace
from tests.conftest import NOW, Api, make_scope
from tests.memories.notes.conftest import PROFILE, days, facts, import_output, imported, write

pytestmark = pytest.mark.django_db


def test_lines_become_the_profile_and_daily_files_events_of_their_day(folder: Path, scope: Scope) -> None:
    counts = imported(folder)
    assert (counts["files"], counts["facts"], counts["events"], counts["left_out"]) == (4, 3, 3, [])
    assert facts(scope)[-1] == "妹妹叫小雨，住在杭州" and len(facts(scope)) == 3
    entry = Entry.objects.get(content__contains="年糕")
    assert (entry.type, entry.tier, entry.project, entry.topic) == (EntryType.FACT, 1, "_global", "_profile")
    assert (entry.category, entry.importance, entry.source) == (Category.IDENTITY, 1.0, Source.MIGRATION)
    assert [on for on, _content in days(scope)] == ["2025-12-24", "2026-01-30", "2026-01-31"]
    assert days(scope)[2][1] == "- 上午去看了牙医\n- 买了新的显示器"


def test_a_line_keeps_its_headings_and_the_time_it_names(tmp_path: Path, scope: Scope) -> None:
    stamp = "<!-- at=2026-01-15T08:00:00+08:00 session=s1 scope=main -->"
    write(
        tmp_path, {"MEMORY.md": f"---\ntitle: x\n---\n# Home\n\n## 家庭\n\n- 妹妹叫小雨 {stamp}\n- Bob is my brother\n"}
    )
    imported(tmp_path)
    rows = Entry.objects.in_scope(scope).order_by("pk").values_list("content", "heading", "stated_at")
    assert list(rows) == [
        ("妹妹叫小雨", "Home › 家庭", datetime(2026, 1, 15, tzinfo=UTC)),
        ("Bob is my brother", "Home › 家庭", NOW),
    ]


def test_what_was_imported_is_served(folder: Path, scope: Scope, api: Api) -> None:
    imported(folder)
    address = {"platform": "telegram", "account": "mybot", "peer": "u42", "chat": "c7"}
    answer = api.post("context", {"message": "what is my cat called?", "address": address}).json()
    assert "年糕" in answer["text"]
    results = api.get("events", scope=scope.key, q="牙医").json()["results"]
    assert [event["date"] for event in results] == ["2026-01-31"]


def test_a_dry_run_says_what_an_import_does_and_writes_nothing(folder: Path, scope: Scope) -> None:
    tried = imported(folder, "--dry-run")
    assert (facts(scope), days(scope), Batch.objects.count()) == ([], [], 0)
    done = imported(folder)
    same = ("files", "facts", "events", "already", "left_out", "profile")
    assert {name: tried[name] for name in same} == {name: done[name] for name in same}
    again = imported(folder, "--dry-run")
    assert (again["facts"], again["events"], again["already"]) == (0, 0, 6)


def test_it_can_be_repeated_without_duplicates(folder: Path, scope: Scope) -> None:
    imported(folder)
    before = facts(scope), days(scope)
    again = imported(folder)
    assert (again["facts"], again["events"], again["already"], again["batch"]) == (0, 0, 6, None)
    assert (facts(scope), days(scope), Batch.objects.count()) == (*before, 1)


def test_what_was_added_to_the_profile_since_is_imported_alone(folder: Path, scope: Scope) -> None:
    imported(folder)
    write(folder, {"MEMORY.md": PROFILE + "\n- 喜欢喝龙井\n"})
    again = imported(folder)
    assert (again["facts"], again["events"], facts(scope)[-1]) == (1, 0, "喜欢喝龙井")


def test_what_people_changed_since_stays_as_it_is(folder: Path, scope: Scope, api: Api) -> None:
    imported(folder)
    entry = Entry.objects.get(content__contains="8080")
    other = Entry.objects.get(content__contains="年糕")
    etag = api.get(f"entries/{entry.uid}").headers["ETag"]
    edit = json.dumps({"content": "The staging port is 9090"})
    assert api.request("PATCH", f"entries/{entry.uid}", edit, **{"If-Match": etag}).status_code == 200
    assert api.request("DELETE", f"entries/{other.uid}").status_code < 300
    left = facts(scope)
    again = imported(folder)
    assert again["batch"] is None and facts(scope) == left and "The staging port is 9090" in left
    assert [(row["path"], row["line"], row["reason"]) for row in again["left_out"]] == [("MEMORY.md", 3, "suppressed")]


def test_all_of_it_is_one_batch_that_is_undone_and_can_then_be_imported_again(
    folder: Path, scope: Scope, api: Api
) -> None:
    uid = imported(folder, "--actor", "ann")["batch"]
    batch = api.get(f"batches/{uid}").json()
    assert (batch["name"], batch["by"], batch["state"]) == ("import", "command:ann", "applied")
    assert batch["reason"] == "claw"
    assert api.post(f"batches/{uid}/undo").status_code == 201
    assert (facts(scope), days(scope)) == ([], [])
    assert Batch.objects.get(uid=uid).state == BatchState.UNDONE
    again = imported(folder)
    assert (again["facts"], again["events"]) == (3, 3) and len(facts(scope)) == 3


def test_an_undo_leaves_what_was_there_before(folder: Path, scope: Scope) -> None:
    write(folder.parent / "first", {"MEMORY.md": "- The staging port is 8080\n"})
    imported(folder.parent / "first")
    counts = imported(folder)
    assert (counts["facts"], counts["already"]) == (2, 1)
    call_command("batch", "undo", counts["batch"], stdout=io.StringIO())
    assert facts(scope) == ["The staging port is 8080"]


class Killed(BaseException):
    """The process is gone."""


def killed_after(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    save, left = applying._save_states, [rows]

    def save_or_die(changes: Any) -> None:
        if left[0] <= 0:
            raise Killed
        left[0] -= len(changes)
        save(changes)

    monkeypatch.setattr(applying, "CHUNK", 2)
    monkeypatch.setattr(applying, "_save_states", save_or_die)


@pytest.mark.django_db(transaction=True)
def test_killed_and_started_again_it_goes_on(folder: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        killed_after(patch, rows=2)
        with pytest.raises(Killed):
            imported(folder)
    assert len(facts(scope)) == 2 and days(scope) == []
    counts = imported(folder)
    assert (counts["continued"], counts["already"], counts["batch"]) == (4, 6, None)
    assert (len(facts(scope)), len(days(scope)), Batch.objects.count()) == (3, 3, 1)
    assert Batch.objects.get().state == BatchState.APPLIED


@pytest.mark.django_db(transaction=True)
def test_stopped_at_the_keyboard_it_says_how_it_goes_on(
    folder: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(applying, "CHUNK", 4)
        patch.setattr(applying, "_apply_next", interrupted_after(applying._apply_next))
        with pytest.raises(CommandError, match="Start it again"):
            imported(folder)
    assert 0 < len(facts(scope)) + len(days(scope)) < 6
    assert imported(folder)["continued"] == 2
    assert len(facts(scope)) == len(days(scope)) == 3


def interrupted_after(step: Any) -> Any:
    """A step that is taken once; then somebody presses Ctrl-C."""
    taken: list[int] = []

    def take(*args: Any) -> int:
        if taken:
            raise KeyboardInterrupt
        taken.append(step(*args))
        return taken[0]

    return take


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_two_imports_at_once_bring_everything_once(folder: Path, scope: Scope) -> None:
    write(folder, {"MEMORY.md": "\n".join(f"- Room {n} has {n + 7} chairs" for n in range(300))})

    def run() -> None:
        try:
            imported(folder)
        finally:
            connection.close()

    both = [Thread(target=run) for _ in range(2)]
    for item in both:
        item.start()
    for item in both:
        item.join(timeout=60)
    assert (len(facts(scope)), len(set(facts(scope))), len(days(scope))) == (300, 300, 3)
    assert not Batch.objects.exclude(state=BatchState.APPLIED).exists()


@pytest.mark.django_db(transaction=True)
def test_what_was_killed_is_finished_by_the_worker_too(
    folder: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        killed_after(patch, rows=0)
        with pytest.raises(Killed):
            imported(folder)
    assert tasks.resume_batches()["resumed"] == 1
    assert (len(facts(scope)), len(days(scope))) == (3, 3)
    assert imported(folder)["already"] == 6


def test_a_long_day_becomes_an_event_in_parts_and_a_long_line_several(
    tmp_path: Path, scope: Scope, settings: Any
) -> None:
    settings.MEMORY_CONTENT_MAX_CHARS = 100
    lines = [f"- 第{n}件事：去了第{n}个地方，见了第{n}个人" for n in range(20)]
    write(tmp_path, {"2026-01-30.md": "\n".join(lines), "MEMORY.md": " ".join(f"thing{n}" for n in range(50))})
    imported(tmp_path)
    events = [content for _on, content in days(scope)]
    assert len(events) > 3 and max(map(len, events)) <= 100
    assert "\n".join(events).split("\n") == lines
    assert len(facts(scope)) > 3 and " ".join(facts(scope)).split() == [f"thing{n}" for n in range(50)]
    assert imported(tmp_path)["batch"] is None


def test_a_group_s_scope_takes_an_import_too(folder: Path, workspace: Workspace) -> None:
    group = make_scope(workspace, "telegram:mybot:group_g1", ScopeKind.CHAT)
    assert imported(folder, into=group.key)["facts"] == 3
    assert len(days(group)) == 3


def test_lines_that_say_nearly_the_same_become_one_and_are_counted(tmp_path: Path, scope: Scope) -> None:
    lines = (
        "The company closed its old office near the harbour at the end of spring",
        "The company closed the old office near the harbour at the end of spring",
    )
    write(tmp_path, {"MEMORY.md": "\n".join(f"- {line}" for line in (*lines, lines[0]))})
    counts = imported(tmp_path)
    assert (counts["facts"], counts["merged"], counts["already"]) == (1, 1, 1)
    assert facts(scope) == [lines[1]]
    assert imported(tmp_path)["batch"] is None


def test_a_day_people_took_out_is_not_written_again(folder: Path, scope: Scope) -> None:
    imported(folder)
    gone = DailyEvent.objects.filter(local_date=date(2026, 1, 31))
    daily_events.expire(gone, now=NOW, actor="user:ann")
    assert imported(folder)["batch"] is None and len(days(scope)) == 2


@pytest.mark.thorough
def test_a_profile_larger_than_what_a_prompt_takes_is_mentioned(tmp_path: Path, scope: Scope) -> None:
    write(tmp_path, {"MEMORY.md": "\n".join(f"- Room {n} has {n + 7} chairs" for n in range(120))})
    assert "The profile has 120 lines now" in import_output(tmp_path)


def test_the_batch_is_read_in_the_admin(folder: Path, scope: Scope, admin_client: Any) -> None:
    batch = Batch.objects.get(uid=imported(folder)["batch"])
    page = admin_client.get(f"/admin/memories/batch/{batch.pk}/change/").content.decode()
    assert "年糕" in page and "Nina moved her lessons to Tuesday" in page and "claw" in page
    undo = batches.plan_undo(batch, actor="user:ann", now=NOW)
    batches.apply_batch(undo, now=NOW)
    page = admin_client.get(f"/admin/memories/batch/{batch.pk}/change/").content.decode()
    assert "Undone" in page
