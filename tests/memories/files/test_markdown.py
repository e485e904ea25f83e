"""What a file of markdown says, block by block, and how its lines are changed (C2, E3)."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from memories.exceptions import FileUnreadable, InvalidDraft
from memories.files.markdown import blocks, rendered, replaced, struck, unstruck

AT = datetime(2026, 11, 23, 14, 3, 5, tzinfo=timezone(timedelta(hours=8)))
STAMP = "<!-- at=2026-11-23T14:03:05+08:00 session=telegram-3f scope=telegram:direct_u42 -->"


def placed_texts(text: str) -> list[tuple[int, int, str, str]]:
    return [(block.line_from, block.line_to, block.heading, block.text) for block in blocks(text)]


def texts(text: str) -> list[str]:
    return [block.text for block in blocks(text)]


def test_a_paragraph_and_an_item_are_a_block_each_under_their_headings() -> None:
    text = "# Project\n\nWe build\na platform.\n\n## Decisions ##\n- port 9090\n- 用 PostgreSQL\n\n# Other\ntext\n"
    assert placed_texts(text) == [
        (3, 4, "Project", "We build\na platform."),
        (7, 7, "Project › Decisions", "port 9090"),
        (8, 8, "Project › Decisions", "用 PostgreSQL"),
        (11, 11, "Other", "text"),
    ]


def test_underlined_headings_are_headings() -> None:
    assert placed_texts("Project\n=======\n\nDecisions\n---\n\n- a\n") == [(7, 7, "Project › Decisions", "a")]


def test_a_heading_in_a_list_or_a_quote_ends_with_it() -> None:
    text = "# A\n> # B\n> in quote\n\n- # C\n  in item\n\nafter\n"
    assert [(heading, words) for _from, _to, heading, words in placed_texts(text)] == [
        ("A › B", "in quote"),
        ("A › C", "in item"),
        ("A", "after"),
    ]


def test_very_long_headings_are_shortened_from_the_front() -> None:
    (block,) = blocks("# " + "a" * 400 + "\n## the end\n- x\n")
    assert len(block.heading) == 300
    assert block.heading.startswith("…a") and block.heading.endswith("a › the end")


def test_items_within_items_and_their_own_paragraphs() -> None:
    text = "- one\n  - two\n    1. three\n\n       more of three\n"
    text += "- four\n\n  more of four\n\n\n  end of four\n  - five\n\n  late\n"
    assert placed_texts(text) == [
        (1, 1, "", "one"),
        (2, 2, "", "two"),
        (3, 5, "", "three\n\nmore of three"),
        (6, 11, "", "four\n\nmore of four\n\n\nend of four"),
        (12, 12, "", "five"),
        (14, 14, "", "late"),
    ]


def test_tasks_keep_their_box() -> None:
    assert texts("- [ ] buy milk\n- [x] 部署完成\n- [ ]\n- \n") == ["[ ] buy milk", "[x] 部署完成"]


def test_every_row_of_a_table_is_a_block_and_its_head_their_context() -> None:
    text = "# Ports\n| Name | Port |\n|:-----|---:|\n| web | 8080 |\n| a \\| b |  |\n|  |  |\nlast | 1 | too many\n"
    assert placed_texts(text) == [
        (4, 4, "Ports › Name | Port", "web | 8080"),
        (5, 5, "Ports › Name | Port", "a | b"),
        (7, 7, "Ports › Name | Port", "last | 1"),
    ]


def test_a_fence_is_one_block_and_nothing_in_it_is_another() -> None:
    text = "```sh\n# no heading\n- no item\n\n<!-- no comment -->\n```\n\n~~~\n```\n~~~\n"
    assert placed_texts(text) == [(1, 6, "", "# no heading\n- no item\n\n<!-- no comment -->"), (8, 10, "", "```")]


def test_fences_in_items_and_fences_nobody_closed() -> None:
    assert placed_texts("- item\n  ```\n  code\n    more\n  ```\n  own\n") == [
        (1, 1, "", "item"),
        (2, 5, "", "code\n  more"),
        (6, 6, "", "own"),
    ]
    assert placed_texts("- item\n  ```\n  code\n- next\n") == [
        (1, 1, "", "item"),
        (2, 3, "", "code"),
        (4, 4, "", "next"),
    ]
    assert placed_texts("text\n```\ncode\n\n# not a heading") == [
        (1, 1, "", "text"),
        (2, 5, "", "code\n\n# not a heading"),
    ]
    assert texts("```\n```\n") == []


def test_indented_code_is_a_block() -> None:
    assert placed_texts("text\n\n    code\n      more\n\n    end\n") == [
        (1, 1, "", "text"),
        (3, 6, "", "code\n  more\n\nend"),
    ]


def test_quotes_are_read_without_their_marks() -> None:
    assert placed_texts("> first\n> second\nlazy\n>\n> - item\n> > deeper\n") == [
        (1, 3, "", "first\nsecond\nlazy"),
        (5, 5, "", "item"),
        (6, 6, "", "deeper"),
    ]


@pytest.mark.parametrize(
    "front", ["---\ntitle: x\ntags: [a]\n---\n", "---\n# c\na: b\n...\n", '+++\ntitle = "x"\n+++\n']
)
def test_front_matter_is_no_block(front: str) -> None:
    lines = front.count("\n")
    assert placed_texts(front + "- a\n") == [(lines + 1, lines + 1, "", "a")]


def test_what_only_looks_like_front_matter_is_read() -> None:
    assert texts("---\n\nwords\n\n---\nmore\n") == ["words", "more"]
    assert texts("---\ntitle: x\n\nnobody closed it\n") == ["title: x", "nobody closed it"]
    assert texts("text\n\n---\na: b\n\n---\n") == ["text", "a: b"]


def test_comments_rules_and_definitions_are_no_blocks() -> None:
    text = "<!-- one -->\n\n<!--\n- two\n\n- three\n-->\n***\n[a]: http://b 'c'\n\n- kept <!-- not kept --> words\n"
    assert placed_texts(text) == [(11, 11, "", "kept words")]
    assert texts("before\n\n<!-- nobody closed it\n\n- a\n") == ["before"]
    assert texts("a <!-- nobody closed it\n") == ["a <!-- nobody closed it"]


def test_html_says_what_is_between_its_tags() -> None:
    assert texts("<details>\n<summary>More</summary>\n</details>\n\n<br>\n\n<div>\n</div>\n") == [
        "<details>\n<summary>More</summary>\n</details>"
    ]


def test_the_archive_of_a_day_is_no_block() -> None:
    archived = "## Heading\n- in it\n\n| a |\n|---|\n| b |\n\n```\nc\n```\n"
    text = f"- a\n\n<!-- archive 2026-11-22 -->\n{archived}<!-- /archive -->\n- b\n"
    assert placed_texts(text) == [(1, 1, "", "a"), (15, 15, "", "b")]
    assert texts("<!-- archive 2026-11-22 -->\n- nobody closed it\n") == ["nobody closed it"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_do_not_matter(end: str) -> None:
    text = "\ufeff# 项目\n\n- 一\n  二\n\n```\na\n\nb\n```\n- c".replace("\n", end)
    assert placed_texts(text) == [(3, 4, "项目", "一\n二"), (6, 10, "项目", "a\n\nb"), (11, 11, "项目", "c")]


def test_only_ends_of_lines_end_a_line() -> None:
    assert placed_texts("- a\u2028b\x0bc\x0cd\x85e\n- f\n") == [(1, 1, "", "a\u2028b\x0bc\x0cd\x85e"), (2, 2, "", "f")]


def test_nothing_is_said_by_nothing() -> None:
    assert blocks("") == blocks("\n\n \n") == blocks("# only a heading\n") == blocks("\ufeff") == blocks("---\n") == []


def test_a_text_that_is_too_long_is_not_parsed() -> None:
    with pytest.raises(FileUnreadable):
        blocks("- line\n" * 8_000_000)


def test_nul_is_shown_as_what_cannot_be_read() -> None:
    assert texts("- a\0b\n") == ["a\ufffdb"]


def test_lists_in_quotes_in_lists_are_read_to_a_depth_and_never_for_long() -> None:
    assert texts("> " * 50 + "deep") == ["deep"]
    assert texts("- " * 40 + "deep") == ["deep"]
    assert blocks("> " * 5_000 + "deep") == []


def test_a_stamp_says_when_and_where_a_line_was_written() -> None:
    (block,) = blocks(f"- port 9090 {STAMP}\n")
    assert (block.text, block.at, block.session, block.scope_key) == (
        "port 9090",
        AT,
        "telegram-3f",
        "telegram:direct_u42",
    )


@pytest.mark.parametrize(
    "at", ["yesterday", "2026-11-23", "2026-11-23T14:03:05", "0001-01-01T00:00:00+14:00", "", "9" * 40]
)
def test_a_stamp_nobody_can_read_has_no_time(at: str) -> None:
    (block,) = blocks(f"- a <!-- at={at} session=s1 -->\n")
    assert (block.text, block.at, block.session) == ("a", None, "s1")


def test_a_saved_line_is_an_item_with_its_stamp() -> None:
    line = rendered("port 9090", at=AT, session="telegram-3f", scope_key="telegram:direct_u42")
    origin = "<!-- ^j56yl60e: session=telegram-3f scope=telegram:direct_u42 -->"
    assert line == f"- port 9090 <!-- ^toxy55.j56yl60e -->\n{origin}"
    (block,) = blocks(f"# Day\n\n{line}\n- by hand\n".removesuffix("- by hand\n"))
    assert (block.text, block.at, block.session, block.scope_key) == (
        "port 9090",
        AT,
        "telegram-3f",
        "telegram:direct_u42",
    )
    assert rendered("a\nb", at=AT) == "- a\n  b <!-- ^toxy55 -->"
    assert rendered("a\n\nb", at=AT) == "- a\n\n  b <!-- ^toxy55 -->"


def test_a_short_stamp_keeps_its_time_wherever_its_line_is_moved() -> None:
    line = rendered("port 9090", at=AT, session="telegram-3f").split("\n")[0]
    (block,) = blocks(f"{line}\n")
    assert (block.text, block.at, block.session) == ("port 9090", AT, "")


def test_a_line_names_the_origin_its_id_was_made_of_and_no_other() -> None:
    line = rendered("port 9090", at=AT, session="telegram-3f").replace("session=telegram-3f", "session=another")
    (block,) = blocks(line)
    assert (block.text, block.session) == ("port 9090", "")


@pytest.mark.parametrize("comment", ["<!-- ^todo -->", "<!-- ^Toxy55 -->", "<!-- ^toxy55 later -->"])
def test_a_comment_that_looks_like_a_stamp_is_none(comment: str) -> None:
    assert blocks(f"- a {comment}\n")[0].at is None


def test_what_was_written_before_1970_has_its_time() -> None:
    early = AT.replace(year=1969)
    assert blocks(rendered("a", at=early, session="s"))[0].at == early


@pytest.mark.parametrize(
    ("text", "memories"),
    [
        ("My name is Xue.\nI live in Chengdu.\n", ["My name is Xue.", "I live in Chengdu."]),
        ("我叫小雪。\n我住在成都！\n你呢？", ["我叫小雪。", "我住在成都！", "你呢？"]),
        ("He said “come.”\nWe came.", ["He said “come.”", "We came."]),
        ("Words of one paragraph\nare one memory.", ["Words of one paragraph\nare one memory."]),
        ("我们决定明年春天\n搬到成都去住。\n猫也去。", ["我们决定明年春天\n搬到成都去住。", "猫也去。"]),
        ("We met Dr.\nLin in the U.S.\nlast year", ["We met Dr.\nLin in the U.S.\nlast year"]),
        ("> One.\n> Two.", ["One.", "Two."]),
        ("- One.\n  Two.\n- Three.", ["One.\nTwo.", "Three."]),
        ("One. <!-- a\nb --> Two.\nThree.", ["One. Two.", "Three."]),
    ],
)
def test_a_line_that_ends_a_sentence_is_a_memory_and_a_wrapped_one_is_part_of_it(
    text: str, memories: list[str]
) -> None:
    assert texts(text) == memories


def test_each_of_two_sentences_has_its_lines_and_is_changed_apart() -> None:
    text = "# Me\n\nMy name is Xue.\nI live in Chengdu.\nI like tea.\n"
    result = blocks(text)
    assert [(block.line_from, block.line_to) for block in result] == [(3, 3), (4, 4), (5, 5)]
    assert texts(replaced(text, result[0], "My name is Lin")) == ["My name is Lin", "I live in Chengdu.", "I like tea."]
    both = "I live in Berlin.\nAnd in Chengdu."
    assert texts(replaced(text, result[1], both)) == ["My name is Xue.", both, "I like tea."]
    gone = struck(text, result[1], AT)
    assert texts(gone) == ["My name is Xue.", "I like tea."]
    assert unstruck(gone, "I live in Chengdu.") == text


@pytest.mark.parametrize("session", ["a b", "a-->b", "--", "<!--", "&#45;", "会话", "a\nb", "-"])
def test_any_session_has_its_name_in_a_stamp(session: str) -> None:
    (block,) = blocks(rendered("x", at=AT, session=session, scope_key=session))
    assert (block.text, block.session, block.scope_key) == ("x", session, session)


def test_nobody_writes_a_stamp_an_archive_or_a_struck_line_by_saving_it() -> None:
    forged = f"x {STAMP}\n<!-- archive 2026-11-22 -->\n<!-- expired 2026-11-23T14:03:05+08:00: - y -->"
    text = rendered(forged, at=AT, session="mine", scope_key="main") + "\n"
    (block,) = blocks(text)
    assert (block.text, block.session, block.scope_key) == (forged, "mine", "main")
    assert unstruck(text, "y") is None


def test_a_long_text_is_several_blocks_cut_where_sentences_end(settings: Any) -> None:
    settings.MEMORY_CONTENT_MAX_CHARS = 50
    text = "# A\n" + "".join(f"sentence {n} of a long text.\n" for n in range(6)) + "\n- b\n"
    result = blocks(text)
    assert [(block.line_from, block.line_to) for block in result] == [
        (2, 2),
        (3, 3),
        (4, 4),
        (5, 5),
        (6, 6),
        (7, 7),
        (9, 9),
    ]
    assert "\n".join(block.text for block in result[:-1]) == "\n".join(text.split("\n")[1:7])
    for change in (lambda: replaced(text, result[1], "x"), lambda: struck(text, result[1], AT)):
        with pytest.raises(InvalidDraft, match="longer text"):
            change()


def test_a_long_line_without_a_break_is_cut_hard(settings: Any) -> None:
    settings.MEMORY_CONTENT_MAX_CHARS = 50
    assert [len(words) for words in texts("- " + "端" * 120 + "\n")] == [50, 50, 20]
    assert texts("```\n" + "a" * 60 + "\n```\n") == ["a" * 50, "a" * 10]
    assert {(block.line_from, block.line_to) for block in blocks("```\n" + "a" * 60 + "\n```\n")} == {(2, 2)}
