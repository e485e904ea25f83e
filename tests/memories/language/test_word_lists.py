"""The files of word lists are read whole, and what is wrong with one is told with its line."""

import re
from weakref import WeakSet

import pytest

from memories.language import word_lists

#: Whose lines are patterns of their own, each with its groups.
LINE_BY_LINE = {"attributes", "rewording"}
FILES = sorted(path.stem for path in word_lists.DATA.glob("*.txt"))


@pytest.mark.thorough
@pytest.mark.parametrize("file", FILES)
def test_every_section_has_words_and_every_pattern_compiles(file: str) -> None:
    sections = word_lists.parse((word_lists.DATA / f"{file}.txt").read_text(encoding="utf-8"), file)
    assert sections
    for name, section in sections.items():
        if section.is_pattern:
            assert [pattern.finditer("") for pattern in word_lists.patterns(file, name)]
            if file not in LINE_BY_LINE:
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


def test_a_pattern_is_compiled_when_something_is_first_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    section = word_lists.parse("[broken: pattern]\n(one", "gate.txt")
    monkeypatch.setattr(word_lists, "_sections", lambda _file: section)
    monkeypatch.setattr(word_lists, "_waiting", WeakSet())
    pattern = word_lists.pattern("gate", "broken")
    with pytest.raises(word_lists.WordListError, match=re.escape("gate.txt: [broken] is no regular expression")):
        pattern.search("one")
    with pytest.raises(word_lists.WordListError):
        word_lists.compile_all()


def test_a_pattern_is_as_good_as_a_compiled_one() -> None:
    pattern, compiled = word_lists.pattern("gate", "goodbye"), word_lists.source("gate", "goodbye")
    for text in ("bye", "see you tomorrow", "I like tea"):
        assert (pattern.search(text) is None) == (re.search(compiled, text) is None)
    assert (pattern.pattern, pattern.groups) == (compiled, re.compile(compiled).groups)
