"""A fact that no second reading has borne out stands in the text for a model with the words it was made of (D5)."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memories.choices import ScopeKind, Verification
from memories.language.text import count_tokens
from memories.models import Entry, Evidence
from memories.recall.answer import QUOTE_CHARS, context_text, with_words
from memories.recall.candidates import Candidate
from memories.recall.ranking import Ranked

MAY = datetime(2026, 5, 3, 20, 0, tzinfo=UTC)
NUTS = "nuts make me swell up, so no pesto for me"


def quote(words: str, at: datetime = MAY) -> Evidence:
    return Evidence(quote=words, at=at)


def line_of(content: str, *quotes: Evidence, verification: str = Verification.QUOTED, language: str = "en") -> str:
    return with_words(content, verification, quotes, language=language, zone=UTC, year=2026)


def ranked(content: str, *quotes: Evidence) -> Ranked:
    entry = Entry(pk=1, content=content, created_at=MAY, verification=Verification.QUOTED)
    item = Ranked(Candidate(1, 1, 0, None, False, 0), entry, ScopeKind.USER, 1, 0)
    item.evidence = quotes
    return item


def test_it_stands_with_its_words_and_their_day() -> None:
    assert line_of("Sam is allergic to nuts.", quote(NUTS)) == f"Sam is allergic to nuts («{NUTS}», 3 May)"


def test_in_chinese_with_chinese_marks() -> None:
    words = "我一吃花生就起疹子"
    assert line_of("用户对花生过敏。", quote(words), language="zh-hans") == f"用户对花生过敏（「{words}」，5月3日）"


def test_of_another_year_the_day_says_which() -> None:
    before = datetime(2025, 5, 3, tzinfo=UTC)
    assert line_of("Sam plays go", quote("I play go", before)).endswith(", 3 May 2025)")
    assert line_of("山姆下围棋", quote("我下围棋", before), language="zh-hans").endswith("，2025年5月3日）")


@pytest.mark.parametrize("verification", [Verification.VERIFIED, Verification.NONE])
def test_what_is_verified_or_written_by_people_needs_no_words(verification: str) -> None:
    assert line_of("Sam is allergic to nuts.", quote(NUTS), verification=verification) == "Sam is allergic to nuts."


def test_without_words_it_stands_alone() -> None:
    assert line_of("Sam is allergic to nuts.") == "Sam is allergic to nuts."


def test_of_several_messages_it_stands_with_the_newest() -> None:
    older = quote("I cannot eat nuts", datetime(2026, 4, 1, tzinfo=UTC))
    assert line_of("Sam is allergic to nuts", older, quote(NUTS)) == f"Sam is allergic to nuts («{NUTS}», 3 May)"


def test_parts_of_one_message_stand_in_their_order() -> None:
    line = line_of("Sam moves to Porto in May", quote("we are moving"), quote("Porto, in May"))
    assert "«we are moving … Porto, in May»" in line


@pytest.mark.parametrize(
    ("content", "words", "telling"),
    [
        ("Sam is allergic to nuts", "What a day! " * 20 + "Nuts make me swell up, I am allergic. Bye!", "Nuts make me"),
        ("用户对花生过敏", "今天天气真好啊，我们去公园走走吧。" * 12 + "我对花生过敏，一吃就起疹子。", "我对花生过敏"),
    ],
)
def test_of_long_words_the_telling_sentence_is_left(content: str, words: str, telling: str) -> None:
    line = line_of(content, quote(words))
    assert telling in line
    assert len(line) <= len(content) + QUOTE_CHARS + len(" («», 3 May)")


def test_what_has_no_sentence_is_shortened_in_the_middle() -> None:
    line = line_of("Sam likes ropes", quote("rope " * 200))
    assert "«rope" in line and " ... " in line and len(line) < QUOTE_CHARS + 40


def test_the_day_is_that_of_the_workspace() -> None:
    line = with_words(
        "Sam rows", Verification.QUOTED, [quote("I row")], language="en", zone=ZoneInfo("Asia/Shanghai"), year=2026
    )
    assert line == "Sam rows («I row», 4 May)"


def test_the_budget_counts_the_words() -> None:
    plain, _used = context_text([ranked("Sam is allergic to nuts")], budget=40, zone=UTC)
    assert plain.splitlines()[1:] == ["- [2026-05-03] Sam is allergic to nuts"]
    assert context_text([ranked("Sam is allergic to nuts", quote(NUTS))], budget=30, zone=UTC) == ("", 0)
    line, used = context_text([ranked("Sam is allergic to nuts", quote(NUTS))], budget=100, zone=UTC)
    assert count_tokens(line) < used <= 100
