"""Any words in any file: what is written is read, what is changed changes nothing else, what is struck comes back."""

from datetime import UTC, datetime

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memories.exceptions import InvalidDraft
from memories.files.markdown import Block, blocks, rendered, replaced, struck, unstruck
from tests.support.properties import examples

AT = datetime(2026, 11, 23, 6, 3, 5, tzinfo=UTC)
#: What markdown is made of, so that words of it are met often.
SIGNS = [
    *("# ", "## ", "- ", "* ", "+ ", "1. ", "2) ", "> ", "```", "~~~~", "---", "===", "***", "| ", "|---|---|", " | "),
    *(
        "<!--",
        "-->",
        "<!-- x -->",
        "<div>",
        "</div>",
        "<br>",
        "[a]: b",
        "[ ] ",
        "[x] ",
        "\\",
        "\\#",
        "\\-",
        "1\\.",
        "    ",
    ),
    *(
        "\t",
        "  ",
        "&#45;",
        "--",
        "`",
        "```sh",
        ":--",
        "- - -",
        "<details>",
        "'",
        '"',
        "\u3000",
        "\u2028",
        "\x0c",
        "\xa0",
    ),
    *("端口 9090", "我们决定", "word", "a b", "é", "😀", "1", ".", "title: x", "+++", "]:", "<", "\\|", "|"),
]
WORDS = st.lists(st.one_of(st.sampled_from(SIGNS), st.text(max_size=3)), min_size=1, max_size=8).map("".join)
CONTENTS = (
    st.lists(st.one_of(st.just(""), WORDS), min_size=1, max_size=5)
    .map("\n".join)
    .map(lambda text: text.replace("\r", "").replace("\0", "").strip())
    .filter(bool)
)
INDENTS = st.sampled_from(["", "", "", " ", "  ", "   ", "    ", "> ", "  - ", "- ", "1. ", "   > ", "\t"])
LINES = st.builds("{}{}".format, INDENTS, WORDS)
TABLE = st.just("| a | b |\n|---|---|\n| web | 8080 |\n| db | 5432 |")
FENCE = st.just("```sh\nmake test\n\n  indented\n```")
NESTED = st.just("- one\n  - two\n    three\n\n    four\n  > quoted\n\n10. ten\n    - under ten")
STAMPED = st.just("- said <!-- at=2026-11-23T14:03:05+08:00 session=s scope=main -->")
FILES = st.builds(
    lambda parts, end, bom: bom + end.join("\n".join(parts).split("\n")),
    st.lists(st.one_of(LINES, st.just(""), TABLE, FENCE, NESTED, STAMPED), min_size=1, max_size=12),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.sampled_from(["", "", "\ufeff"]),
).filter(lambda text: "\0" not in text)


def facts_of(found: list[Block]) -> list[tuple[object, ...]]:
    return [(block.text, block.heading, block.at, block.session, block.scope_key) for block in found]


@pytest.mark.thorough
@given(CONTENTS, st.text(max_size=8), st.text(max_size=8))
@example("\\", "", "")
@example("a\n\n\n    b", "", "")
@example("a\n \n\tb", "", "")
@example("a | b\n--|--\nc | d", "", "")
@example("\\<!-- x -->\n\\\\<!-- y", "", "")
@examples(200)
def test_what_is_saved_is_read(content: str, session: str, scope_key: str) -> None:
    assume(session.isprintable() and scope_key.isprintable())
    line = rendered(content, at=AT, session=session, scope_key=scope_key)
    assert facts_of(blocks(line)) == [(content, "", AT, session, scope_key)]


@pytest.mark.thorough
@given(st.lists(CONTENTS, min_size=2, max_size=5))
@examples(150)
def test_lines_that_are_saved_one_after_another_are_read_one_by_one(contents: list[str]) -> None:
    text = "# 2026-11-23\n\n" + "".join(rendered(content, at=AT) + "\n" for content in contents)
    assert [block.text for block in blocks(text)] == contents


@pytest.mark.thorough
@given(FILES)
@examples(150)
def test_blocks_lie_in_order_within_the_file(text: str) -> None:
    result = blocks(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert all(1 <= block.line_from <= block.line_to <= lines for block in result)
    assert [block.line_from for block in result] == sorted(block.line_from for block in result)
    assert all(block.text.strip() for block in result)


@pytest.mark.thorough
@given(FILES, CONTENTS, st.integers(min_value=0))
@examples(200)
def test_a_reworded_block_says_the_new_words_and_every_other_what_it_said(text: str, content: str, pick: int) -> None:
    result = blocks(text)
    assume(result)
    place = pick % len(result)
    try:
        changed = replaced(text, result[place], content)
    except InvalidDraft:
        assert content.startswith(("x", "端")) is False or "\n" in content  # plain words have a place everywhere
        return
    expected = facts_of(result)
    expected[place] = (content, *expected[place][1:])
    assert facts_of(blocks(changed)) == expected


@pytest.mark.thorough
@given(FILES, st.integers(min_value=0))
@examples(200)
def test_plain_words_take_the_place_of_others_or_are_refused(text: str, pick: int) -> None:
    result = blocks(text)
    assume(result)
    block = result[pick % len(result)]
    try:
        changed = replaced(text, block, "端口改为 9091")
    except InvalidDraft:  # a place made of signs of markdown: nothing is written, and people change it in the file
        return
    assert "端口改为 9091" in [block.text for block in blocks(changed)]


@pytest.mark.thorough
@given(FILES, st.integers(min_value=0))
@examples(200)
def test_a_struck_block_is_gone_alone_and_comes_back_byte_for_byte(text: str, pick: int) -> None:
    result = blocks(text)
    assume(result)
    block = result[pick % len(result)]
    gone = struck(text, block, AT)
    assert facts_of(blocks(gone)) == facts_of([item for item in result if item is not block])
    assert unstruck(gone, block.text) == text
