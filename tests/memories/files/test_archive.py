"""The marked block of a daily file: once, replaced alone, and never in the way of what people write (C10)."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.exceptions import FileUnwritable
from memories.files.markdown import archived, blocks

DAY = date(2026, 11, 22)
BEGIN, END = "<!-- archive 2026-11-22 -->", "<!-- /archive -->"
PEOPLE = [
    "# 2026-11-22\n\n- 去看了牙医\n",
    "- one\n- two",
    "just words, no line end",
    "- one\n\n\n\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "---\ntitle: x\n---\n\nwords\n",
    "```\ncode\n```\n",
    "<!-- expired 2026-11-22T08:00:00+00:00: gone -->\n- kept\n",
]


@pytest.mark.parametrize("text", ["", *PEOPLE])
def test_a_block_stands_once_and_what_people_wrote_is_as_it_was(text: str) -> None:
    first = archived(text, DAY, "米娅搬家了。\nThe port is 8080.")
    assert first.startswith(text) and first.count(BEGIN) == first.count(END) == 1
    assert [block.text for block in blocks(first)] == [block.text for block in blocks(text)]
    assert archived(first, DAY, "米娅搬家了。\nThe port is 8080.") == first
    again = archived(first, DAY, "Another note.")
    assert again == first.replace("米娅搬家了。\nThe port is 8080.", "Another note.")
    assert archived(again, DAY, "").strip() in (text.strip(), "# 2026-11-22")


def test_lines_around_a_block_stay_where_they_are() -> None:
    text = f"above\n\n{BEGIN}\nold\n{END}\n\nbelow\n"
    assert archived(text, DAY, "new") == f"above\n\n{BEGIN}\nnew\n{END}\n\nbelow\n"
    assert archived(text, DAY, "") == "above\n\n\nbelow\n"


@pytest.mark.parametrize(
    "note",
    [
        "```\nnever closed",
        "<!-- never closed",
        f"it says {END} in the middle\n{END}\nand goes on",
        "- a\n  - b\n\n# A heading\n\n1. one",
        "<script>\nx",
        "| a |\n|---|\n| b |",
        "[a]: /b",
        "    indented\n\n\n多行\n",
        "---\n===",
        "~~~",
    ],
)
def test_no_note_ends_its_block_or_reaches_beyond_it(note: str) -> None:
    text = archived("- above\n", DAY, note) + "\n- below\n"
    assert [block.text for block in blocks(text)] == ["above", "below"]
    assert archived(text, DAY, note) == text
    assert archived(text, DAY, "short") == archived("- above\n", DAY, "short") + "\n- below\n"
    assert [block.text for block in blocks(archived(text, DAY, ""))] == ["above", "below"]


def test_windows_line_ends_are_no_difference() -> None:
    text = archived("- one\n", DAY, "a\nb").replace("\n", "\r\n")
    assert archived(text, DAY, "a\nb") == text


def test_blocks_of_other_days_are_left_alone() -> None:
    other = archived("", date(2026, 11, 21), "the day before")
    both = archived(other, DAY, "this day")
    assert both.startswith(other) and both.count(END) == 2
    assert archived(both, DAY, "").strip() == other.strip()


WORDS = ["- one", "  - two", "```", "~~~", "# 标题", "| a | b |", "|---|---|", "1. x", "> q", "<!-- a", "b -->", ""]
WORDS += [
    "\t",
    "<div>",
    "</div>",
    "---",
    "    code",
    "词",
    "[a]: b",
    "\\",
    "<!-- expired 2026-01-01T00:00:00Z: - x -->",
]
LINES = st.lists(st.sampled_from(WORDS), max_size=12).map("\n".join)


@pytest.mark.thorough
@given(text=LINES, note=LINES.filter(str.strip), other=LINES.filter(str.strip))
def test_whatever_people_and_notes_say_neither_changes_the_other(text: str, note: str, other: str) -> None:
    def says(file: str) -> list[str]:
        return [block.text for block in blocks(file)]

    try:
        first = archived(text, DAY, note)
    except FileUnwritable:
        return
    assert says(first) == says(text) and archived(first, DAY, note) == first
    second = archived(first, DAY, other)
    assert says(second) == says(text) and archived(second, DAY, note) == first
    assert says(archived(second, DAY, "")) == says(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{BEGIN}\na person took the end away\n",
        f"{BEGIN}\nno end\n\n<!-- archive 2026-11-23 -->\nx\n{END}\n",
        f"a person took the beginning away\n{END}\n",
        "```\na fence nobody closed\n",
        "<!-- a comment nobody closed\n",
    ],
)
def test_where_it_cannot_stand_the_file_is_left_as_it_is(text: str) -> None:
    with pytest.raises(FileUnwritable):
        archived(text, DAY, "a note")
