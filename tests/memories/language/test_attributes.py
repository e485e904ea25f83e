"""What somebody has one of at a time, told anew: pairs of sentences, and what is read of one (D5)."""

from pathlib import Path

import pytest

from memories.language.attributes import is_of_author, lasting_sentences, read, replaces
from memories.language.compare import corrects, tells_anew
from memories.language.statement import read as statement

PAIRS = Path(__file__).parents[3] / "evals" / "data" / "told_anew.txt"
ONE_AT_A_TIME = Path(__file__).with_name("one_at_a_time.txt")
#: What the rules are known not to read.
MISSED = {"I have no pets."}


def pairs(*, that_replace: bool) -> list[tuple[str, str]]:
    lines = [line.split("|") for line in PAIRS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [(earlier, later) for _language, kind, earlier, later in lines if (kind == "replaces") is that_replace]


def sentences(*, that_tell: bool) -> list[tuple[str, str, str]]:
    """Attribute, what was told of it, and a sentence that tells it anew, or only sounds so."""
    text = ONE_AT_A_TIME.read_text(encoding="utf-8")
    lines = [line.split("|") for line in text.splitlines() if line and not line.startswith("#")]
    earlier = {head.removeprefix("older "): sentence for head, sentence in lines if head.startswith("older ")}
    heads = [(head, sentence) for head, sentence in lines if not head.startswith("older ")]
    return [
        (name.split()[0], earlier[name], sentence)
        for head, sentence in heads
        if head.startswith("no_") is not that_tell and (name := head.removeprefix("no_"))
    ]


@pytest.mark.parametrize(("earlier", "later"), [pair for pair in pairs(that_replace=True) if pair[0] not in MISSED])
def test_what_is_told_anew_takes_the_place_of_what_was_told(earlier: str, later: str) -> None:
    assert replaces(later, earlier)


@pytest.mark.parametrize(("earlier", "later"), pairs(that_replace=False))
def test_what_may_both_be_true_does_not(earlier: str, later: str) -> None:
    assert not replaces(later, earlier)


@pytest.mark.parametrize(("attribute", "earlier", "later"), sentences(that_tell=True))
def test_a_move_a_new_name_and_another_count_take_the_place_of_what_was_told(
    attribute: str, earlier: str, later: str
) -> None:
    assert replaces(later, earlier), read(later)


@pytest.mark.parametrize(("attribute", "earlier", "later"), sentences(that_tell=False))
def test_what_only_sounds_like_a_home_a_name_or_a_count_tells_none(attribute: str, earlier: str, later: str) -> None:
    values = read(later).values
    assert attribute not in {value.attribute for value in values}
    assert not replaces(later, earlier) and not tells_anew(statement(later), statement(earlier))
    assert values or attribute == "count" or not lasting_sentences(later)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I'm vegan.", "I'm vegetarian now."),
        ("I take the train to the office.", "I go to the office by bike now."),
        ("我上夜班。", "我现在改上白班了。"),
        ("我单身。", "Thanks! 我有女朋友了。"),
    ],
)
def test_what_is_told_anew_in_a_conversation_corrects_what_was_told(older: str, newer: str) -> None:
    assert corrects(newer, older)


def test_a_sentence_with_more_in_it_is_neither_of_one_thing_nor_replaced() -> None:
    assert not read("I live in Berlin, and I'm severely allergic to peanuts.").is_alone
    assert not replaces("I moved to Munich last week.", "I live in Berlin, and I'm severely allergic to peanuts.")
    assert read("I live in Berlin, by the way.").is_alone


@pytest.mark.parametrize(
    "sentence",
    [
        "Do I live in Berlin?",
        "My boss lives in Berlin.",
        "I might live in Berlin.",
        "I'm in Berlin until Sunday, I live in a hotel",
        "我爸住在上海。",
        "我在想要不要搬到上海。",
    ],
)
def test_what_is_not_sure_tells_nothing_of_its_author(sentence: str) -> None:
    assert not is_of_author(sentence)


def test_wide_letters_and_curly_apostrophes_are_read_as_plain_ones() -> None:
    assert replaces("Ｉ’ve moved to Munich.", "I live in Berlin.")
    assert not replaces("I’m in Munich now.", "I live in Berlin.")
