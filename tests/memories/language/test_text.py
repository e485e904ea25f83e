"""What texts are made of, and when they say the same in the same words."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memories.language import text

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200)

ENDINGS = ("ional", "ization", "fulness", "ing", "ed", "ively", "s")


def has(content: str, *terms: str) -> list[bool]:
    counted = text.terms(content)
    return [text.dimension_of(term) in counted for term in terms]


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("I moved to Hangzhou.", "i MOVED to hangzhou!!"),
        ("Ｈｅｌｌｏ　１２３", "hello 123"),  # full width
        ("User: hi\nAssistant: hello", "hi hello"),  # labels of a turn
        ("我喜欢绿茶。", "我喜欢绿茶"),
        ("我喜欢绿茶，也喜欢咖啡", "我喜欢绿茶也喜欢咖啡"),
        ("我 喜欢 绿茶", "我喜欢绿茶"),
        ("用Python写", "用 Python 写"),
        ("line one\n\n  line two", "line one line two"),
        ("port: 8080.", "Port 8080"),
        ("😀", " 😀 "),
    ],
)
def test_width_case_punctuation_and_spacing_do_not_make_another_text(written: str, same: str) -> None:
    assert text.fingerprint(written) == text.fingerprint(same)


@pytest.mark.parametrize(
    ("content", "other"),
    [
        ("port 8080", "port 9090"),
        ("it is 5 degrees", "it is -5 degrees"),
        ("气温5度", "气温-5度"),
        ("version 3.5", "version 3, 5"),
        ("ratio 1/2", "ratio 1.2"),
        ("5% off", "$5 off"),
        ("I write C++", "I write C#"),
        ("我用C++", "我用C#"),
        ("its", "it's"),
        ("👍", "👎"),
        ("User: 👍\nAssistant: ok", "User: 👎\nAssistant: ok"),
        ("", " . "),
        ("没有", "有"),
    ],
)
def test_what_carries_meaning_makes_another_text(content: str, other: str) -> None:
    assert text.fingerprint(content) != text.fingerprint(other)


@given(TEXTS)
@example("?")
def test_a_fingerprint_is_32_hex_digits_and_spacing_around_does_not_change_it(content: str) -> None:
    print_ = text.fingerprint(content)
    assert len(print_) == 32
    assert int(print_, 16) >= 0
    assert text.fingerprint(f" {content}\n") == print_


def test_half_a_surrogate_pair_is_no_reason_to_fail() -> None:
    assert len(text.fingerprint("\ud800")) == 32
    assert not text.is_storable("\ud800")
    assert not text.is_storable("a\0b")
    assert text.is_storable("a😀汉")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("I've moved!", ["i've", "moved"]),
        ("我喜欢喝绿茶", ["我", "喜欢", "喝", "绿茶"]),
        ("用Python3写代码", ["用", "python3", "写", "代码"]),
        ("", []),
        ("……！", []),
        ("snake_case", ["snake", "case"]),
    ],
)
def test_words_of_both_languages_are_found_in_order(content: str, words: list[str]) -> None:
    assert text.words(content) == words


@pytest.mark.parametrize(
    ("content", "shingles"),
    [
        ("Green tea, green", {"green", "tea"}),
        ("喝绿茶", {"喝绿", "绿茶"}),
        ("茶", {"茶"}),
        ("喝 tea", {"喝", "tea"}),
        ("", set()),
    ],
)
def test_texts_are_compared_by_words_and_chinese_bigrams(content: str, shingles: set[str]) -> None:
    assert text.shingles(content) == shingles


@pytest.mark.thorough
@given(st.sets(st.text(max_size=2)), st.sets(st.text(max_size=2)))
def test_jaccard_is_a_symmetrical_share(one: set[str], other: set[str]) -> None:
    share = text.jaccard(one, other)
    assert share == text.jaccard(other, one)
    assert 0 <= share <= 1
    assert (share == 1) == (one == other and bool(one))


@pytest.mark.parametrize(
    ("content", "terms"),
    [
        ("running quickly", ["run", "quick"]),
        ("Alice's cats", ["alic", "cat"]),
        ("我搬到了杭州西湖区", ["杭州", "西湖", "州西", "搬到"]),  # words, and bigrams across them
        ("我對花生過敏", ["花生", "過敏"]),  # traditional
        ("用Redis做缓存", ["redi", "缓存"]),
        ("café Zürich", ["café", "zürich"]),
        ("８０８０端口", ["8080", "端口"]),
    ],
)
def test_a_text_is_found_by_stems_words_and_bigrams(content: str, terms: list[str]) -> None:
    assert all(has(content, *terms)), [
        term for term, there in zip(terms, has(content, *terms), strict=True) if not there
    ]


@pytest.mark.parametrize("content", ["the and of what", "的 了 吗", "", "!?", "I'm you're"])
def test_words_that_say_nothing_are_no_terms(content: str) -> None:
    assert not text.terms(content)


def test_a_term_counts_as_often_as_it_is_said() -> None:
    assert text.terms("tea tea Teas")[text.dimension_of("tea")] == 3
    assert text.terms("绿茶，绿茶")[text.dimension_of("绿茶")] == 2


@pytest.mark.parametrize(
    ("question", "statement"), [("cats", "a cat"), ("绿茶", "我喜欢喝绿茶"), ("西湖区", "杭州西湖区的家")]
)
def test_a_question_shares_terms_with_what_answers_it(question: str, statement: str) -> None:
    assert text.terms(question).keys() & text.terms(statement).keys()


@pytest.mark.thorough
@given(TEXTS)
def test_every_term_is_a_dimension_of_the_keyword_vector(content: str) -> None:
    assert all(1 <= term <= text.DIMENSIONS for term in text.terms(content))


def test_words_are_stemmed_alike_however_many_threads_stem_at_once() -> None:
    words = [f"{root}{end}" for root in ("relat", "nation", "hopp", "conform", "gener", "oper") for end in ENDINGS]
    alone = [text.stem.__wrapped__(word) for word in words]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda _n: [text.stem.__wrapped__(word) for word in words], range(24)))
    finally:
        sys.setswitchinterval(interval)
    assert together == [alone] * 24
