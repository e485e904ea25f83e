"""What is changed of a line in the database is changed in its file, or not at all (C2)."""

from pathlib import Path

import pytest

from memories import batches, entries
from memories.batches import bulk_actions
from memories.entries import Edit
from memories.exceptions import LineChanged
from memories.models import Entry, FileState, Scope
from memories.notes.index import sync_scope
from tests.conftest import NOW
from tests.memories.notes.test_index import DAY, lines, sync, write

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
    done = bulk_actions.apply_action(chosen, bulk_actions.expire(), now=NOW, actor="user:op", reason="tidy")
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
    bulk_actions.apply_action(chosen, bulk_actions.expire(), now=NOW, actor="user:op", reason="tidy")
    assert path.read_text().count("<!-- expired") == 2
    state = FileState.objects.get()
    assert (state.problem, state.detail) == ("not_written", "This is part of a longer text; change it in the file.")
    sync(scope)
    assert lines(scope) == []
