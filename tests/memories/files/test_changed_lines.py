"""How a line of a file is reworded, struck out and put back, and nothing else is touched (C2)."""

from datetime import datetime, timedelta, timezone

import pytest

from memories.exceptions import InvalidDraft, LineChanged
from memories.files.markdown import Block, blocks, replaced, struck, unstruck

AT = datetime(2026, 11, 23, 14, 3, 5, tzinfo=timezone(timedelta(hours=8)))
STAMP = "<!-- at=2026-11-23T14:03:05+08:00 session=telegram-3f scope=telegram:direct_u42 -->"


def texts(text: str) -> list[str]:
    return [block.text for block in blocks(text)]


def the(text: str, words: str) -> Block:
    return next(block for block in blocks(text) if block.text == words)


def test_a_line_is_reworded_with_its_marker_indent_and_stamp() -> None:
    text = f"# A\n* one\n  1) [ ] two {STAMP}\n\n> - three\n"
    changed = replaced(text, the(text, "[ ] two"), "[x] two, done")
    assert changed == f"# A\n* one\n  1) [x] two, done {STAMP}\n\n> - three\n"
    assert replaced(text, the(text, "three"), "三\n四").endswith("> - 三\n>   四\n")


def test_a_row_is_reworded_in_its_cells() -> None:
    text = "| a | b |\n|---|---|\n| web | 8080 |\n| db | 5432 |\n"
    row = the(text, "web | 8080")
    assert replaced(text, row, "web | 9090").splitlines()[2:] == ["| web | 9090 |", "| db | 5432 |"]
    assert replaced(text, row, "only one").splitlines()[2] == "| only one |  |"
    assert replaced(text, row, "a | b | c").splitlines()[2] == r"| a | b \| c |"
    assert replaced(text, row, "two\nlines | b").splitlines()[2] == "| two<br>lines | b |"


def test_a_fence_grows_where_its_words_would_close_it() -> None:
    text = "- a\n  ```sh\n  make\n  ```\n- b\n"
    assert (
        replaced(text, the(text, "make"), "```\nmake\n\n```") == "- a\n  ````sh\n  ```\n  make\n\n  ```\n  ````\n- b\n"
    )


def test_crlf_and_bom_stay_when_a_line_is_reworded() -> None:
    text = "\ufeff- a\r\n- b\r\n- c"
    assert replaced(text, the(text, "b"), "x\ny") == "\ufeff- a\r\n- x\r\n  y\r\n- c"


def test_a_line_that_moved_is_found_where_it_is() -> None:
    text = "- a\n- b\n"
    block = the(text, "b")
    moved = "# new\n\n- b\n- x\n- b\n"
    assert replaced(moved, block, "c") == "# new\n\n- c\n- x\n- b\n"


def test_a_line_that_was_changed_is_left_alone_and_both_texts_are_named() -> None:
    text = "- a\n- b\n"
    block = the(text, "b")
    for change in (lambda now: replaced(now, block, "c"), lambda now: struck(now, block, AT)):
        with pytest.raises(LineChanged) as refusal:
            change("- a\n- by hand\n")
        assert (refusal.value.text, refusal.value.found) == ("b", "by hand")
        assert "«b» → «by hand»" in str(refusal.value)
    with pytest.raises(LineChanged) as refusal:
        replaced("", block, "c")
    assert refusal.value.found == ""


@pytest.mark.parametrize("content", ["", " \n", "x" * 9_000])
def test_what_is_no_memory_is_not_written(content: str) -> None:
    with pytest.raises(InvalidDraft):
        replaced("- a\n", the("- a\n", "a"), content)


def test_a_struck_line_is_a_comment_and_comes_back_as_it_was() -> None:
    text = f"# A\n- one\n- two -- 三 {STAMP}\n  - under two\n- four\n"
    gone = struck(text, the(text, "two -- 三"), AT)
    line = gone.splitlines()[2]
    assert line.startswith("<!-- expired 2026-11-23T14:03:05+08:00: - two -&#45; 三") and line.endswith(" -->")
    assert texts(gone) == ["one", "under two", "four"]
    assert unstruck(gone, "two -- 三") == text
    assert unstruck(gone, "three") is None


def test_a_struck_row_leaves_the_other_rows_a_table() -> None:
    text = "| a | b |\n|---|---|\n| web | 8080 |\n| db | 5432 |\n"
    gone = struck(text, the(text, "web | 8080"), AT)
    (left,) = blocks(gone)
    assert (left.line_from, left.heading, left.text) == (4, "a | b", "db | 5432")
    assert unstruck(gone, "web | 8080") == text


def test_the_last_struck_of_equal_lines_comes_back_first() -> None:
    text = "- a\n- x\n- a\n"
    gone = struck(struck(text, blocks(text)[0], AT), blocks(text)[2], AT)
    assert texts(gone) == ["x"]
    back = unstruck(gone, "a")
    assert back is not None and texts(back) == ["x", "a"]
    assert unstruck(back, "a") == text


def test_what_only_looks_struck_is_not_put_back() -> None:
    text = "```\n<!-- expired 2026-11-23T14:03:05+08:00: - a -->\n```\n\n<!-- expired whenever -->\n\n<!-- expired x: a"
    assert unstruck(text, "a") is None
