"""What is changed of a line in the database is changed in its file, or not at all (C2)."""

from pathlib import Path

import pytest

from memories import batches, entries
from memories.batches import PlanRow, bulk_actions
from memories.batches.descriptions import note_of
from memories.batches.steps import EditStep
from memories.choices import BatchState, ChangeState, ScopeKind
from memories.entries import Edit
from memories.exceptions import LineChanged
from memories.lifecycle import expiry
from memories.models import Batch, BatchChange, Entry, FileState, Scope
from memories.notes.index import sync_scope
from tests.conftest import NOW, make_draft, make_scope
from tests.memories.notes.test_index import DAY, LONG_TERM, lines, sync, write

TEXT = """# Saturday

- Nina moved her lessons to Tuesday
- 妹妹叫小雨，住在杭州

Some words of a person.
"""


@pytest.fixture
def path(files: Path, scope: Scope) -> Path:
    write(files, DAY, TEXT)
    sync(scope)
    return files / DAY


def entry(start: str) -> Entry:
    return Entry.objects.select_related("scope__workspace").get(content__startswith=start)


def in_step(scope: Scope) -> bool:
    """Whether indexing the file again changes nothing."""
    before = list(Entry.objects.in_scope(scope).live().order_by("pk").values("pk", "content"))
    sync_scope(scope, now=NOW, force=True)
    return before == list(Entry.objects.in_scope(scope).live().order_by("pk").values("pk", "content"))


def test_a_reworded_entry_is_reworded_in_its_line(path: Path, scope: Scope) -> None:
    entries.update(
        entry("Nina"), Edit(columns={"content": "Nina moved her lessons to Friday"}), now=NOW, actor="user:op"
    )
    assert path.read_text() == TEXT.replace("Tuesday", "Friday")
    assert in_step(scope)


def test_words_of_several_lines_stay_one_line_of_the_list(path: Path, scope: Scope) -> None:
    entries.update(entry("妹妹"), Edit(columns={"content": "妹妹叫小雨\n住在苏州"}), now=NOW, actor="user:op")
    assert "- 妹妹叫小雨\n  住在苏州\n" in path.read_text()
    assert in_step(scope)


def test_an_expired_line_is_struck_and_a_restored_one_stands_again(path: Path, scope: Scope) -> None:
    result = entry("Nina")
    entries.expire(result, now=NOW, actor="user:op")
    assert "<!-- expired" in path.read_text()
    assert in_step(scope)
    entries.restore(result, now=NOW, actor="user:op")
    assert path.read_text() == TEXT
    assert in_step(scope)


def test_a_line_somebody_changed_meanwhile_is_never_overwritten(path: Path, scope: Scope) -> None:
    path.write_text(TEXT.replace("Tuesday", "Wednesday"))
    with pytest.raises(LineChanged) as refused:
        entries.update(entry("Nina"), Edit(columns={"content": "Nina is gone"}), now=NOW, actor="user:op")
    assert refused.value.text == "Nina moved her lessons to Tuesday"
    assert "Wednesday" in refused.value.found
    assert path.read_text() == TEXT.replace("Tuesday", "Wednesday")
    assert entry("Nina").content == "Nina moved her lessons to Tuesday"


def test_other_lines_may_be_changed_meanwhile(path: Path, scope: Scope) -> None:
    path.write_text(TEXT.replace("# Saturday", "# Saturday, with a new line\n\n- first"))
    entries.update(entry("Nina"), Edit(columns={"content": "Nina plays on Friday"}), now=NOW, actor="user:op")
    assert "- first" in path.read_text()
    assert "- Nina plays on Friday\n" in path.read_text()


def test_a_batch_strikes_its_lines_and_its_undo_brings_them_back(path: Path, scope: Scope) -> None:
    chosen = list(Entry.objects.in_scope(scope))
    done = bulk_actions.apply_action(chosen, bulk_actions.EXPIRE, now=NOW, actor="user:op", reason="tidy")
    assert not lines(scope)
    assert in_step(scope)
    undo = batches.plan_undo(done.batches[0], now=NOW, actor="user:op")
    batches.apply_batch(undo, now=NOW)
    assert path.read_text() == TEXT
    assert len(lines(scope)) == 3
    assert in_step(scope)


def test_reverting_to_a_version_rewords_the_line(path: Path, scope: Scope) -> None:
    result = entry("Nina")
    changed = entries.update(result, Edit(columns={"content": "Nina moved to Ghent"}), now=NOW, actor="user:op")
    entries.revert(changed, result.version, now=NOW, actor="user:op")
    assert path.read_text() == TEXT


def test_a_line_whose_file_is_gone_can_be_expired(path: Path, scope: Scope) -> None:
    path.unlink()
    entries.expire(entry("Nina"), now=NOW, actor="user:op")
    assert not path.exists()


def test_a_line_that_cannot_be_struck_keeps_no_other_from_it(files: Path, scope: Scope) -> None:
    path = files / DAY
    write(files, DAY, "- one 一\n- two\n\n" + "very long 很长 " * 900 + "\n")
    sync(scope)
    chosen = list(Entry.objects.in_scope(scope).live())
    bulk_actions.apply_action(chosen, bulk_actions.EXPIRE, now=NOW, actor="user:op", reason="tidy")
    assert path.read_text().count("<!-- expired") == 2
    state = FileState.objects.get()
    assert (state.problem, state.detail) == ("not_written", "This is part of a longer text; change it in the file.")
    sync(scope)
    assert lines(scope) == []


def due(*rows: Entry) -> None:
    Entry.objects.filter(pk__in=[row.pk for row in rows]).update(expires_at=NOW)


def night(scope: Scope, run: str = "expire:1:2026-03-01") -> dict[str, int]:
    return expiry.expire_due(scope.workspace_id, now=NOW, run=run)


def test_a_line_that_cannot_be_struck_keeps_nothing_else_from_ending(files: Path, scope: Scope) -> None:
    path = files / DAY
    write(files, DAY, "- one 一\n- two\n\n" + "very long 很长 " * 900 + "\n\nthree 三\n")
    sync(scope)
    later = make_scope(scope.workspace, kind=ScopeKind.USER, key="telegram:direct_u77")
    told = entries.remember(make_draft(later, "the ferry leaves at nine"), now=NOW, actor="t").entry
    parts = list(Entry.objects.in_scope(scope).filter(line_from=4))
    assert len(parts) > 1
    due(*Entry.objects.in_scope(scope).live(), told)
    assert night(scope) == {"scopes": 2, "entries": 4}
    assert path.read_text().count("<!-- expired") == 3
    assert set(Entry.objects.live()) == set(parts)
    assert set(Batch.objects.values_list("state", flat=True)) == {BatchState.APPLIED}
    left = BatchChange.objects.filter(state=ChangeState.LEFT)
    assert set(left.values_list("entry", flat=True)) == {part.pk for part in parts}
    reasons = {note_of(change) for change in left}
    assert reasons == {("unstorable", "This is part of a longer text; change it in the file.")}
    assert in_step(scope)


def test_a_file_that_cannot_be_read_keeps_no_other_memory_from_ending(path: Path, files: Path, scope: Scope) -> None:
    write(files, LONG_TERM, "- 妹妹叫小雨\n")
    sync(scope)
    told = entries.remember(make_draft(scope, "the ferry leaves at nine"), now=NOW, actor="t").entry
    path.write_bytes(TEXT.encode("utf-16"))
    due(*Entry.objects.in_scope(scope).live())
    assert night(scope) == {"scopes": 1, "entries": 2}
    assert {row.path for row in Entry.objects.in_scope(scope).live()} == {DAY}
    assert not Entry.objects.live().filter(pk=told.pk).exists()
    assert "<!-- expired" in (files / LONG_TERM).read_text()
    path.write_text(TEXT)
    assert night(scope, "expire:1:2026-03-02") == {"scopes": 1, "entries": 3}
    assert path.read_text().count("<!-- expired") == 3


def test_an_undo_and_new_words_are_refused_for_the_lines_of_one_file_alone(
    path: Path, files: Path, scope: Scope
) -> None:
    write(files, LONG_TERM, "- 妹妹叫小雨\n")
    sync(scope)
    chosen = list(Entry.objects.in_scope(scope).order_by("pk"))
    done = bulk_actions.apply_action(chosen, bulk_actions.EXPIRE, now=NOW, actor="user:op", reason="tidy")
    path.write_bytes(TEXT.encode("utf-16"))
    undone = batches.apply_batch(batches.plan_undo(done.batches[0], now=NOW, actor="user:op"), now=NOW)
    assert (undone.state, undone.counts) == (BatchState.APPLIED, {"undo": 1})
    assert (files / LONG_TERM).read_text() == "- 妹妹叫小雨\n"
    path.write_text(TEXT)
    again = batches.plan_undo(done.batches[0], now=NOW, actor="user:op")
    assert batches.apply_batch(again, now=NOW).counts == {"undo": 3}

    path.write_text(TEXT.replace("Tuesday", "Wednesday"))
    nina, little = entry("Nina"), entry("妹妹叫小雨，")
    rows = [PlanRow.of(row, EditStep(columns={"content": f"{row.content}!"})) for row in (nina, little)]
    plan = batches.plan(scope, rows, name="reword", run="reword", actor="user:op", now=NOW)
    assert batches.apply_batch(plan, now=NOW).counts == {"change": 1}
    assert plan.changes.get(entry=nina).note == "changed"
    assert "- 妹妹叫小雨，住在杭州!\n" in path.read_text() and "Wednesday" in path.read_text()
