"""The note of a day stands in the file of its day, as long as it is in use (C10)."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction

from memories import entries
from memories.choices import Source
from memories.consolidation import summaries
from memories.entries import daily_events
from memories.entries import files as entry_files
from memories.models import DailyEvent, Scope, Workspace
from tests.conftest import NOW, Api, make_draft, make_scope
from tests.memories.consolidation.compression.conftest import past_event

pytestmark = pytest.mark.django_db(transaction=True)
DAY = "2026-02-28"
BEGIN, END = f"<!-- archive {DAY} -->", "<!-- /archive -->"


@pytest.fixture(autouse=True)
def files(settings: Any, tmp_path: Path) -> Path:
    """An empty folder of files."""
    settings.MEMORY_FILES_ROOT = tmp_path
    return tmp_path


@pytest.fixture
def main(workspace: Workspace) -> Scope:
    return make_scope(workspace, "main")


@pytest.fixture
def file(files: Path, main: Scope) -> Path:
    return files / main.workspace.folder / "memory" / f"{DAY}.md"


def archive(scope: Scope, now: Any = NOW) -> dict[str, int]:
    return summaries.archive_day(scope.workspace_id, now=now)


def note_of(scope: Scope) -> DailyEvent:
    return DailyEvent.objects.get(scope=scope, source=Source.COMPRESSION)


def block(file: Path) -> str:
    """What stands between the marks; nothing without a block."""
    _before, found, rest = file.read_text().partition(f"{BEGIN}\n")
    return rest.partition(f"\n{END}")[0] if found else ""


def test_the_note_is_written_into_the_file_of_its_day_which_is_made(main: Scope, file: Path) -> None:
    past_event(main, "米娅的猫叫年糕。")
    past_event(main, "The deploy moved to Friday at 10:30.")
    assert archive(main)["files"] == 1
    assert block(file) == note_of(main).content and "年糕" in block(file) and "10:30" in block(file)
    before = file.stat().st_mtime_ns
    assert "files" not in archive(main)
    assert file.stat().st_mtime_ns == before


def test_every_scope_has_its_own_file(main: Scope, files: Path) -> None:
    theirs = make_scope(main.workspace, "telegram:direct_u7")
    past_event(main, "Mia moved to Hamburg.")
    past_event(theirs, "鲍勃会下棋。")
    assert archive(main)["files"] == 2
    folder = files / main.workspace.folder / "memory"
    assert block(folder / f"{DAY}.md") == "Mia moved to Hamburg."
    assert block(folder / "scopes" / "telegram+direct_u7" / f"{DAY}.md") == "鲍勃会下棋。"


def test_what_people_wrote_around_it_stays(main: Scope, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\xef\xbb\xbf# My day\r\n\r\n- by hand\r\n")
    past_event(main, "Mia moved to Hamburg.")
    archive(main)
    assert file.read_bytes() == (
        f"\ufeff# My day\r\n\r\n- by hand\r\n\r\n{BEGIN}\r\nMia moved to Hamburg.\r\n{END}\r\n".encode()
    )


def test_it_goes_with_its_note_and_comes_back_with_it(main: Scope, file: Path) -> None:
    past_event(main, "Mia moved to Hamburg.")
    archive(main)
    with file.open("a") as opened:
        opened.write("\n- by hand\n")
    here = DailyEvent.objects.filter(pk=note_of(main).pk)
    daily_events.expire(here, now=NOW, actor="user:ann")
    assert BEGIN not in file.read_text() and "- by hand" in file.read_text()
    assert "files" not in archive(main)
    daily_events.restore(here, now=NOW, actor="user:ann")
    assert block(file) == "Mia moved to Hamburg." and "- by hand" in file.read_text()
    daily_events.update(here.get(), "米娅搬到汉堡了。", now=NOW, actor="user:ann")
    assert block(file) == "米娅搬到汉堡了。"


def test_it_is_out_of_the_file_when_a_memory_it_rests_on_is_taken_out(main: Scope, file: Path) -> None:
    entry = entries.remember(make_draft(main, "the code is 7", origins=("m1",)), now=NOW, actor="t").entry
    past_event(main, "The door code is 7.", origins=("m1",))
    archive(main)
    assert block(file) == "The door code is 7."
    entries.expire(entry, now=NOW, actor="user:ann")
    assert BEGIN not in file.read_text()
    entries.restore(entry, now=NOW, actor="user:ann")
    assert block(file) == "The door code is 7."


def test_a_change_that_is_taken_back_does_not_reach_the_file(main: Scope, file: Path) -> None:
    past_event(main, "Mia moved to Hamburg.")
    archive(main)
    with pytest.raises(RuntimeError), transaction.atomic():
        daily_events.expire(DailyEvent.objects.all(), now=NOW, actor="user:ann")
        raise RuntimeError
    assert block(file) == "Mia moved to Hamburg."


def test_a_day_that_an_import_brings_is_no_note(main: Scope, file: Path, tmp_path: Path) -> None:
    foreign = tmp_path.parent / f"{tmp_path.name}-claw"
    foreign.mkdir()
    (foreign / f"{DAY}.md").write_text("- went to the dentist")
    call_command("import", str(foreign), "--into", "main", verbosity=0)
    daily_events.expire(DailyEvent.objects.all(), now=NOW, actor="user:ann")
    assert not file.exists()


def test_a_failing_disk_does_not_fail_the_job_and_is_made_up_for(
    main: Scope, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    past_event(main, "Mia moved to Hamburg.")

    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(entry_files.disk, "rewrite", full)
        assert archive(main) == {"scopes": 1, "notes": 1, "by_model": 0, "files_failed": 1}
        daily_events.expire(DailyEvent.objects.none(), now=NOW, actor="user:ann")
    assert not file.exists()
    assert archive(main, NOW + timedelta(days=1)) == {"scopes": 0, "notes": 0, "by_model": 0, "files": 1}
    assert block(file) == "Mia moved to Hamburg."


def test_a_file_that_is_a_link_or_has_half_a_block_is_left_alone(main: Scope, file: Path, tmp_path: Path) -> None:
    past_event(main, "Mia moved to Hamburg.")
    file.parent.mkdir(parents=True)
    outside = tmp_path.parent / f"{tmp_path.name}-outside.md"
    outside.write_text("mine")
    file.symlink_to(outside)
    assert archive(main)["files_failed"] == 1
    assert outside.read_text() == "mine"
    file.unlink()
    file.write_text(f"{BEGIN}\nsomebody took the end away\n")
    assert archive(main)["files_failed"] == 1
    assert file.read_text() == f"{BEGIN}\nsomebody took the end away\n"


def test_owners_may_want_their_files_for_themselves(main: Scope, file: Path, settings: Any) -> None:
    settings.MEMORY_ARCHIVE_TO_FILES = False
    past_event(main, "Mia moved to Hamburg.")
    assert archive(main) == {"scopes": 1, "notes": 1, "by_model": 0}
    assert not file.exists()
    settings.MEMORY_ARCHIVE_TO_FILES = True
    archive(main)
    settings.MEMORY_ARCHIVE_TO_FILES = False
    daily_events.expire(DailyEvent.objects.filter(pk=note_of(main).pk), now=NOW, actor="user:ann")
    assert BEGIN not in file.read_text()


def test_an_operator_expires_it_in_the_admin(main: Scope, file: Path, admin_client: Any) -> None:
    past_event(main, "Mia moved to Hamburg.")
    archive(main)
    chosen = {"action": "expire_chosen", "_selected_action": [note_of(main).pk], "confirmed": "yes", "reason": "x"}
    admin_client.post("/admin/memories/dailyevent/", chosen, follow=True)
    assert note_of(main).expired_at is not None
    assert BEGIN not in file.read_text()


def test_the_day_of_the_file_is_that_of_the_note(main: Scope, api: Api, files: Path) -> None:
    past_event(main, "Something of Friday.", days_ago=2)
    archive(main)
    assert date(2026, 2, 27).isoformat() in (files / main.workspace.folder / "memory" / "2026-02-27.md").read_text()
