"""Long texts keep their head and their tail, short ones their every word (A1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.consolidation.capture import turn_text
from memories.language.text import ELLIPSIS, count_tokens, first_tokens, last_tokens, smart_truncate

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=600)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 5, "short"),
        ("  padded \n", 6, "padded"),
        ("", 250, ""),
        ("0123456789" * 10, 20, "012345678901" + " ... " + "789"),  # 12 = 60 % of 20, 5, and 3 to fill it
        ("汉" * 50 + "字" * 50, 20, "汉" * 12 + " ... " + "字" * 3),
        ("a" * 30, 12, "a" * 7 + " ... "),  # room for an ellipsis and nothing after it
        ("abcdefghijklm", 10, "abcdefghij"),  # no room for an ellipsis
        ("abc", 1, "a"),
        ("abc", 0, ""),
    ],
)
def test_a_long_text_is_cut_by_exact_arithmetic(text: str, limit: int, expected: str) -> None:
    assert smart_truncate(text, limit) == expected


@pytest.mark.parametrize("char", ["a", "汉", "😀"])
@pytest.mark.parametrize(("limit", "head", "tail"), [(250, 150, 95), (400, 240, 155)])
def test_both_sides_of_a_turn_are_counted_in_characters_not_bytes(char: str, limit: int, head: int, tail: int) -> None:
    assert smart_truncate(char * 1_000, limit) == char * head + ELLIPSIS + char * tail
    assert smart_truncate(char * limit, limit) == char * limit


@given(TEXTS, st.integers(0, 500))
def test_no_text_becomes_longer_than_its_limit(text: str, limit: int) -> None:
    assert len(smart_truncate(text, limit)) <= limit


@given(TEXTS, st.integers(11, 500))
def test_a_cut_text_begins_with_its_head_and_ends_with_its_tail(text: str, limit: int) -> None:
    text = text.strip()
    cut = smart_truncate(text, limit)
    if len(text) <= limit:
        assert cut == text
    else:
        head = int(limit * 0.6)
        assert len(cut) == limit
        assert cut[:head] == text[:head]
        assert cut[head : head + len(ELLIPSIS)] == ELLIPSIS
        assert text.endswith(cut[head + len(ELLIPSIS) :])


def test_a_turn_says_who_said_what() -> None:
    assert turn_text("  I moved. ", "Noted.") == "User: I moved.\nAssistant: Noted."


def test_a_turn_is_never_longer_than_both_limits_and_their_labels() -> None:
    assert len(turn_text("问" * 5_000, "答" * 5_000)) == len("User: \nAssistant: ") + 250 + 400


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("汉字汉字", 3), ("a" * 36, 10), ("汉" * 4 + "a" * 36, 13), ("ok", 1)]
)
def test_tokens_are_estimated_for_both_languages(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(TEXTS, st.integers(1, 200))
def test_both_ends_of_a_text_fit_their_tokens(text: str, limit: int) -> None:
    assert count_tokens(first_tokens(text, limit)) <= limit
    assert count_tokens(last_tokens(text, limit)) <= limit
    assert text.startswith(first_tokens(text, limit).rstrip())
    assert text.endswith(last_tokens(text, limit))


@pytest.mark.parametrize(
    ("text", "limit", "end"),
    [
        ("hello wonderful world of things", 3, "of things"),  # not «ld of things»
        ("汉" * 300 + "，" + "字" * 8 + " ok", 7, "字" * 8 + " ok"),  # no space, no loss
        ("short", 100, "short"),
        ("x" * 500, 11, "x" * 39),  # one endless word
    ],
)
def test_the_end_of_a_text_begins_with_a_whole_word(text: str, limit: int, end: str) -> None:
    assert last_tokens(text, limit).lstrip("，") == end
