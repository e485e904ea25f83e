"""The files of word lists are read whole, and what is wrong with one is told with its line."""

import re

import pytest

from memories.language import word_lists

FILES = sorted(path.stem for path in word_lists.DATA.glob("*.txt"))


@pytest.mark.thorough
@pytest.mark.parametrize("file", FILES)
def test_every_section_has_words_and_every_pattern_compiles(file: str) -> None:
    sections = word_lists.parse((word_lists.DATA / f"{file}.txt").read_text(encoding="utf-8"), file)
    assert sections
    for name, section in sections.items():
        if section.is_pattern:
            re.compile(word_lists.source(file, name))
        else:
            assert word_lists.words(file, name)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("yes no", "x.txt:1: words before the first heading"),
        ("[a]\nyes\n[a]\nno", "x.txt:3: [a] is there twice"),
        ("[a]\nyes\n[Not a name]\nno", "x.txt:3: a heading is"),
        ("[a]\nyes\n  no", "x.txt:3: an indented line"),
        ("[a: pattern]\n  no", "x.txt:2: an indented line"),
        ("[a]\n# nothing\n[b]\nyes", "x.txt: [a] is empty"),
    ],
)
def test_what_is_malformed_is_told_with_its_line(content: str, wrong: str) -> None:
    with pytest.raises(word_lists.WordListError, match=re.escape(wrong)):
        word_lists.parse(content, "x.txt")


def test_a_section_that_is_missing_is_named() -> None:
    with pytest.raises(word_lists.WordListError, match=re.escape("gate.txt: there is no section [nowhere]")):
        word_lists.words("gate", "nowhere")


def test_an_indented_line_goes_on_with_its_alternative() -> None:
    sections = word_lists.parse("[a: pattern]\n(?:one|\n    two)\nthree", "x.txt")
    assert sections["a"].alternatives() == ["(?:one|two)", "three"]


def test_words_are_escaped_where_a_pattern_names_them() -> None:
    assert re.fullmatch(word_lists.phrases(["go_on", "go"]), "go  on")
    assert word_lists.parse("[a]\nc++ new_york", "x.txt")["a"].alternatives() == [r"c\+\+", "new york"]
