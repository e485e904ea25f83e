"""A quote is found in its message by its characters, whatever their width, case and spaces, and nowhere else (D5)."""

import pytest

from memories import verification
from memories.verification import Span


def found(quote: str, content: str) -> list[str]:
    return [span.text(content) for span in verification.find_quote(quote, content)]


@pytest.mark.parametrize(
    ("quote", "content", "there"),
    [
        ("nuts make me swell up", "No pesto: nuts make me swell up, so no.", "nuts make me swell up"),
        ("NUTS  make\nme swell up.", "No pesto: nuts make me swell up, so no.", "nuts make me swell up"),
        ("“nuts make me swell up”", "No pesto: nuts make me swell up, so no.", "nuts make me swell up"),
        ("I'm from Riga", "Well, I’m from Riga – and you?", "I’m from Riga"),
        ("8080端口", "开的是８０８０ 端口。", "８０８０ 端口"),
        ("我对花生过敏。", "别放花生,我对 花生过敏,谢谢", "我对 花生过敏"),
        ("Straße 12", "Ich wohne STRASSE 12, hinten", "STRASSE 12"),
        ("the ﬁle is gone", "Oh no, the file is gone", "the file is gone"),
    ],
)
def test_it_is_found_as_it_stands_in_the_message(quote: str, content: str, there: str) -> None:
    assert found(quote, content) == [there]


def test_its_positions_are_those_of_the_message_as_it_was_written() -> None:
    content = "①　我住在 杭州，ﬁne?"
    assert verification.find_quote("我住在杭州", content) == [Span(2, 8)]
    assert content[2:8] == "我住在 杭州"
    assert verification.find_quote("fine", content) == [Span(9, 12)]


@pytest.mark.parametrize(
    ("quote", "content"),
    [
        ("nuts make me ill", "Nuts make me swell up."),
        ("swell up nuts", "Nuts make me swell up."),
        ("我对花生过敏", "我对花粉过敏"),
        ("port 8081", "The port is port 8080."),
        ("", "anything"),
        ("…", "well … no"),
        ("«» — ?!", "«» — ?!"),
    ],
)
def test_what_is_not_there_word_for_word_is_not_found(quote: str, content: str) -> None:
    assert verification.find_quote(quote, content) == []


@pytest.mark.parametrize("gap", ["…", "...", "[...]", " … ", "……"])
def test_words_that_were_left_out_make_two_quotes_in_their_order(gap: str) -> None:
    content = "I moved, after years of looking for a flat, to Hangzhou."
    assert found(f"I moved{gap}to Hangzhou", content) == ["I moved", "to Hangzhou"]
    assert found(f"to Hangzhou{gap}I moved", content) == []
    assert found(f"I moved{gap}to Berlin", content) == []


def test_a_message_that_trails_off_is_quoted_all_the_same() -> None:
    assert found("I had a cat... Moss", "I had a cat... Moss, she was called") == ["I had a cat", "Moss"]
