"""Files of markdown are remembered as they stand: whoever writes them, however often they are read (C2, C12)."""

from datetime import UTC, datetime
from difflib import SequenceMatcher
from pathlib import Path
from random import Random

import pytest

from memories import entries
from memories.choices import UNDATED
from memories.models import Entry, FileState, Scope
from memories.models.change import Change
from memories.notes import index
from memories.notes.freshness import scopes_with_files
from memories.notes.index import SyncReport, sync_scope
from memories.notes.save import save_note
from tests.conftest import NOW, make_scope

DAY = "memory/scopes/telegram+direct_u42/2026-02-28.md"
LONG_TERM = "memory/scopes/telegram+direct_u42/LONG_TERM.md"


def write(files: Path, path: str, text: str) -> None:
    (files / path).parent.mkdir(parents=True, exist_ok=True)
    (files / path).write_text(text)


def lines(scope: Scope, path: str = DAY) -> list[tuple[int | None, str]]:
    live = Entry.objects.in_scope(scope).live().filter(path=path).order_by("line_from")
    return list(live.values_list("line_from", "content"))


def sync(scope: Scope) -> SyncReport:
    return sync_scope(scope, now=NOW)


def test_every_line_of_a_file_is_an_entry_with_its_place(files: Path, scope: Scope) -> None:
    write(
        files,
        DAY,
        "# 2026-02-28\n\n- Nina moved her lessons to Tuesday\n- 买了新的显示器\n\nA paragraph\nof two lines.\n",
    )
    report = sync(scope)
    assert (report.files, report.created) == (1, 3)
    assert lines(scope) == [
        (3, "Nina moved her lessons to Tuesday"),
        (4, "买了新的显示器"),
        (6, "A paragraph\nof two lines."),
    ]
    entry = Entry.objects.get(line_from=6)
    assert (entry.type, entry.source, entry.path, entry.line_to, entry.heading) == (
        "note",
        "file",
        DAY,
        7,
        "2026-02-28",
    )
    assert entry.created_at == datetime(2026, 2, 28, 12, tzinfo=UTC)


def test_a_file_that_has_not_changed_is_not_read_again(files: Path, scope: Scope) -> None:
    write(files, DAY, "- one\n")
    sync(scope)
    assert sync(scope) == SyncReport()


def test_lines_of_the_long_term_file_have_no_day(files: Path, scope: Scope) -> None:
    write(files, LONG_TERM, "- The staging port is 8080\n")
    sync(scope)
    assert Entry.objects.get().created_at == UNDATED


def test_a_reworded_line_stays_the_same_memory_with_a_history(files: Path, scope: Scope) -> None:
    write(files, LONG_TERM, "- The staging port is 8080\n- 妹妹叫小雨，住在杭州\n")
    sync(scope)
    before = Entry.objects.get(content__startswith="The")
    write(files, LONG_TERM, "- The staging port is 9090\n- 妹妹叫小雨，住在杭州\n")
    report = sync(scope)
    assert (report.created, report.changed, report.ended) == (0, 1, 0)
    after = Entry.objects.get(pk=before.pk)
    assert (after.content, after.version) == ("The staging port is 9090", before.version + 1)
    assert Change.objects.filter(row_id=before.pk, op="U").get().old["content"] == "The staging port is 8080"


def test_lines_that_move_keep_their_entries_and_their_history(files: Path, scope: Scope) -> None:
    write(files, DAY, "- one\n- two\n- three\n")
    sync(scope)
    before = dict(Entry.objects.values_list("content", "pk"))
    write(files, DAY, "# A heading\n\n- three\n- one\n\n\n- two\n")
    Entry.objects.update(heading="A heading")
    sync(scope)
    assert lines(scope) == [(3, "three"), (4, "one"), (7, "two")]
    assert dict(Entry.objects.values_list("content", "pk")) == before


def test_a_line_that_only_moved_has_no_new_version(files: Path, scope: Scope) -> None:
    write(files, DAY, "- one\n")
    sync(scope)
    write(files, DAY, "\n\n- one\n")
    sync(scope)
    assert Entry.objects.get().line_from == 3
    assert Entry.objects.get().version == 1


def test_a_line_taken_out_of_a_file_is_out_of_use_and_can_be_written_again(files: Path, scope: Scope) -> None:
    write(files, DAY, "- one\n- two\n")
    sync(scope)
    write(files, DAY, "- two\n")
    assert sync(scope).ended == 1
    assert lines(scope) == [(1, "two")]
    write(files, DAY, "- one\n- two\n")
    sync(scope)
    assert lines(scope) == [(1, "one"), (2, "two")]


def test_a_file_that_is_gone_takes_its_lines_along(files: Path, scope: Scope) -> None:
    write(files, DAY, "- one\n- two\n")
    sync(scope)
    (files / DAY).unlink()
    assert sync(scope).ended == 2
    assert not lines(scope)
    assert not FileState.objects.exists()


def test_equal_lines_are_two_memories(files: Path, scope: Scope) -> None:
    write(files, DAY, "- watered the plants\n- watered the plants\n")
    sync(scope)
    assert lines(scope) == [(1, "watered the plants"), (2, "watered the plants")]


def test_lines_are_never_merged_with_what_resembles_them(files: Path, scope: Scope) -> None:
    write(files, DAY, "- Nina plays the cello on Tuesdays at five\n- Nina plays the cello on Tuesdays at six\n")
    sync(scope)
    assert len(lines(scope)) == 2


def test_what_people_took_out_is_not_remembered_again_and_the_file_is_out_of_step(files: Path, scope: Scope) -> None:
    write(files, DAY, "- the code of the safe is 4711\n- two\n")
    sync(scope)
    entries.expire(Entry.objects.get(line_from=1), now=NOW, actor="user:op")
    write(files, DAY, "- the code of the safe is 4711\n- two\n")  # an older copy comes back
    sync(scope)
    assert lines(scope) == [(2, "two")]
    state = FileState.objects.get()
    assert (state.problem, state.detail) == ("suppressed", "1")


def test_what_was_written_while_a_scope_was_frozen_is_remembered_once_it_is_not(files: Path, scope: Scope) -> None:
    Scope.objects.filter(pk=scope.pk).update(frozen=True)
    write(files, DAY, "- 冻结时写的\n")
    assert sync(scope).problems == {DAY: "frozen"}
    assert lines(scope) == []
    Scope.objects.filter(pk=scope.pk).update(frozen=False)
    sync(scope)
    assert lines(scope) == [(1, "冻结时写的")]
    assert not FileState.objects.exclude(problem="").exists()


def test_words_that_are_saved_again_are_remembered_from_every_file_that_has_them(files: Path, scope: Scope) -> None:
    write(files, DAY, "- 买了新的显示器\n- two\n")
    sync(scope)
    entries.expire(Entry.objects.get(line_from=1), now=NOW, actor="user:op")
    write(files, DAY, "- 买了新的显示器\n- two\n")
    sync(scope)
    save_note(scope, LONG_TERM, "买了新的显示器", now=NOW)
    sync(scope)
    assert lines(scope) == [(1, "买了新的显示器"), (2, "two")]
    assert lines(scope, LONG_TERM) == [(1, "买了新的显示器")]
    assert sync_scope(scope, now=NOW, force=True).created == 0
    assert not FileState.objects.exclude(problem="").exists()


def test_a_file_of_another_scope_is_not_looked_at(files: Path, scope: Scope) -> None:
    other = make_scope(scope.workspace, "telegram:direct_u99")
    write(files, "memory/scopes/telegram+direct_u99/LONG_TERM.md", "- theirs\n")
    write(files, "MEMORY.md", "- main's\n")
    assert sync(scope).files == 0
    assert sync(other).created == 1


def test_a_folder_of_before_is_indexed_and_keeps_its_memories_under_its_new_name(files: Path, scope: Scope) -> None:
    before = DAY.replace("telegram+", "telegram:")
    write(files, before, "- one\n- 买了新的显示器\n")
    assert sync(scope).created == 2 and [
        scopes_with_file.key for scopes_with_file in scopes_with_files(scope.workspace)
    ] == [scope.key]
    was = set(Entry.objects.values_list("uid", flat=True))
    (files / before).parent.rename((files / DAY).parent)
    sync(scope)
    assert lines(scope) == [(1, "one"), (2, "买了新的显示器")] and lines(scope, before) == []
    assert {entry.uid for entry in Entry.objects.live()} == was
    write(files, before, "- beside it\n")
    assert sync(scope).files == 0


@pytest.mark.thorough
def test_a_long_file_is_indexed_in_parts_and_taken_up_after_a_kill(files: Path, scope: Scope) -> None:
    write(files, DAY, "".join(f"- line number {n} of many\n" for n in range(1_200)))
    sync(scope)
    Entry.objects.filter(line_from__gt=700).delete()  # as if it had been killed before these
    FileState.objects.all().delete()
    report = sync(scope)
    assert report.created == 500
    assert [number for number, _content in lines(scope)] == list(range(1, 1_201))


def test_a_frozen_scope_says_why_its_file_is_out_of_step(files: Path, scope: Scope) -> None:
    Scope.objects.filter(pk=scope.pk).update(frozen=True)
    write(files, DAY, "- one\n")
    assert sync(scope).problems == {DAY: "frozen"}
    assert not lines(scope)


def test_what_is_no_text_says_why_it_is_out_of_step(files: Path, scope: Scope) -> None:
    (files / DAY).parent.mkdir(parents=True)
    (files / DAY).write_bytes(b"- fine\n- \xff\xfe\n")
    assert sync(scope).problems == {DAY: "unreadable"}
    assert FileState.objects.get().detail == "Line 2 of this file is not UTF-8."


def test_what_was_changed_last_is_indexed_first(files: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in range(1, 29):
        write(files, f"memory/scopes/telegram+direct_u42/2026-02-{day:02}.md", "- one\n")
    write(files, "memory/scopes/telegram+direct_u42/2026-02-14.md", "- two\n")
    monkeypatch.setattr(index, "MOST_FILES", 1)
    report = sync_scope(scope, now=NOW, seconds=0.0)
    assert not report.is_complete
    assert list(FileState.objects.values_list("path", flat=True)) == ["memory/scopes/telegram+direct_u42/2026-02-14.md"]


@pytest.mark.parametrize("unseen", ["\u200b", "\ufeff", "\u200e", "\u2800"])
def test_a_line_of_characters_nobody_sees_is_no_memory(unseen: str, files: Path, scope: Scope) -> None:
    write(files, DAY, f"- one\n\n{unseen}\n\n- {unseen}\n- 买了新的显示器\n")
    report = sync(scope)
    assert (report.created, report.problems) == (2, {})
    assert [content for _line, content in lines(scope)] == ["one", "买了新的显示器"]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pairs of characters were compared, by comparison."""
    pairs: list[int] = []

    class Counted(SequenceMatcher[str]):
        def __init__(self, isjunk: None, a: str, b: str, autojunk: bool) -> None:
            super().__init__(isjunk, a, b, autojunk)
            pairs.append(len(a) * len(b))

    monkeypatch.setattr(index, "SequenceMatcher", Counted)
    return pairs


def other_words(seed: int, count: int) -> list[str]:
    """Lines of the same letters and other words."""
    letters = Random(seed)  # noqa: S311
    return ["".join(letters.choices("etaoinshrdlu", k=70)) for _ in range(count)]


def test_of_a_file_that_was_written_anew_few_lines_are_compared(files: Path, scope: Scope, compared: list[int]) -> None:
    one, other = other_words(1, 400), other_words(2, 400)
    write(files, DAY, "".join(f"- {line}\n" for line in one))
    sync(scope)
    write(files, DAY, "".join(f"- {line}\n" for line in other))
    report = sync(scope)
    assert (report.created + report.changed, report.ended + report.changed) == (400, 400)
    assert [content for _line, content in lines(scope)] == other
    assert sum(compared) <= index.MOST_COMPARED


def test_files_that_were_written_anew_are_compared_one_transaction_after_another(
    files: Path, scope: Scope, compared: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MOST_COMPARED", 100_000)
    texts = [(DAY, ""), (LONG_TERM, "")]
    for seed in (1, 2):
        for n, (path, _text) in enumerate(texts):
            write(files, path, "".join(f"- {line}\n" for line in other_words(10 * seed + n, 30)))
        before = sum(compared)
        sync(scope)
    assert sum(compared) - before <= 2 * 100_000
    for n, (path, _text) in enumerate(texts):
        assert [content for _line, content in lines(scope, path)] == other_words(20 + n, 30)


def test_each_of_many_reworded_lines_stays_the_memory_it_is(files: Path, scope: Scope) -> None:
    one = other_words(1, 200)
    write(files, DAY, "".join(f"- {line}\n" for line in one))
    sync(scope)
    before = {entry.content[:60]: entry.pk for entry in Entry.objects.live()}
    new = other_words(2, 100)
    # a few are gone from the beginning, every second one is another, the others are reworded
    changed = [f"{line[:60]} 改了" if n % 2 else new[n // 2] for n, line in enumerate(one)][15:]
    write(files, DAY, "".join(f"- {line}\n" for line in changed))
    sync(scope)
    after = {entry.content[:60]: entry.pk for entry in Entry.objects.live().filter(content__endswith="改了")}
    assert len(after) == 93 and {pk for words, pk in after.items() if before[words] != pk} == set()
