"""Many lines of one file struck out and put back at once: as one by one, in a time that grows with the file alone."""

from datetime import UTC, datetime

import pytest

from memories.files import markdown
from memories.files.markdown import blocks, struck

AT = datetime(2026, 11, 23, 6, tzinfo=UTC)
OF_ALL_KINDS = """# Depot {n}

- item {n} <!-- at=2026-11-22T09:00:00+00:00 session=telegram-3f -->
  - below it {n}
  1. 第{n}条

> 引用 {n}

| host | port |
|---|---|
| web{n} | 80{n} |
| db{n} | 54{n} |

```sh
make {n}
```

Words {n} of a paragraph
in two lines

<b>bold</b> {n}

    code {n}

"""


def texts(text: str) -> list[str]:
    return [block.text for block in blocks(text)]


def one_by_one(text: str, wanted: list[str]) -> str:
    for words in wanted:
        text = struck(text, next(block for block in blocks(text) if block.text == words), AT)
    return text


@pytest.fixture
def parsed_counts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the long texts that are parsed."""
    lengths: list[int] = []
    pieces = markdown.pieces

    def counted(text: str) -> object:
        if len(text) > 1_000:
            lengths.append(len(text))
        return pieces(text)

    monkeypatch.setattr(markdown, "pieces", counted)
    return lengths


@pytest.mark.thorough
@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_blocks_of_all_kinds_are_struck_together_as_one_by_one(step: int) -> None:
    text = "".join(OF_ALL_KINDS.format(n=n) for n in range(4))
    gone = blocks(text)[::step]
    changed, _refused = markdown.struck_all(text, gone, AT)
    kept = [block.text for n, block in enumerate(blocks(text)) if n % step]
    assert texts(changed) == kept
    if step > 1:
        assert changed == one_by_one(text, [block.text for block in reversed(gone)])
    assert markdown.unstruck_all(changed, [block.text for block in gone]) == (text, [])


@pytest.mark.thorough
def test_a_file_is_read_a_few_times_however_many_of_its_lines_go_and_come_back(parsed_counts: list[int]) -> None:
    text = "# 仓库\n\n" + "".join(f"- 第{n}号仓库 keeps {n * 31 % 97} boxes of tea\n" for n in range(1_000))
    gone = blocks(text)[::3]
    parsed_counts.clear()
    changed, _refused = markdown.struck_all(text, gone, AT)
    assert len(parsed_counts) < 10
    assert changed.count("<!-- expired") == len(gone) == 334
    parsed_counts.clear()
    assert markdown.unstruck_all(changed, [block.text for block in gone]) == (text, [])
    assert len(parsed_counts) < 10


def test_words_that_no_struck_line_says_are_named() -> None:
    text = "- a\n- b\n- c\n"
    changed, _refused = markdown.struck_all(text, blocks(text)[:2], AT)
    assert markdown.unstruck_all(changed, ["b", "新的", "a"]) == (text, ["新的"])
    assert markdown.unstruck_all(text, ["x", "y"]) == (text, ["x", "y"])


def test_equal_lines_are_struck_and_put_back_each() -> None:
    text = "- a\n- x\n- a\n- a\n"
    first, _other, _second, last = blocks(text)
    changed, _refused = markdown.struck_all(text, [last, first], AT)
    assert texts(changed) == ["x", "a"]
    assert markdown.unstruck_all(changed, ["a", "a"]) == (text, [])


def test_bom_and_line_ends_stay() -> None:
    text = "\ufeff- a\r\n- b\r\n- c\r\n"
    changed, _refused = markdown.struck_all(text, blocks(text)[:2], AT)
    assert changed.startswith("\ufeff<!-- expired") and changed.count("\r\n") == 3
    assert markdown.unstruck_all(changed, ["a", "b"]) == (text, [])


def test_one_that_cannot_be_struck_keeps_no_other_from_it() -> None:
    text = "- a\n\n" + "very long " * 1_000 + "\n\n- b\n"
    changed, refused = markdown.struck_all(text, blocks(text), AT)
    assert changed.count("<!-- expired") == 2 and texts(changed) == [b.text for b in blocks(text)[1:-1]]
    assert ["longer text" in str(item) for item in refused] == [True, True]


def test_nothing_is_left_of_struck_lines_that_are_purged() -> None:
    text = "- a\n- b\n  c\n- d\n"
    changed, _refused = markdown.struck_all(text, blocks(text)[:2], AT)
    assert markdown.without_struck(changed, {"a", "b\nc"}) == "- d\n"
