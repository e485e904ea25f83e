"""Search without a database: what holds most words comes first (C5, C11)."""

import os
from datetime import UTC, date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.files import keyword
from memories.files.layout import ScopeFolder, scope_folder
from tests.memories.files.conftest import write
from tests.support.properties import examples

SHANGHAI = ZoneInfo("Asia/Shanghai")


def texts(folder: ScopeFolder, query: str, limit: int = 10) -> list[str]:
    return [match.text for match in keyword.search([folder], query, limit=limit, zone=UTC)]


def test_what_holds_most_of_the_words_comes_first(main: ScopeFolder) -> None:
    write(main, "MEMORY.md", "- The server is called web1\n- The port of the server is 9090\n- Alice likes tea\n")
    result = keyword.search([main], "Which port has the server?", limit=5, zone=UTC)
    assert [(match.line_from, match.score) for match in result] == [(2, 1.0), (1, 0.5)]
    assert result[0].path == "MEMORY.md"


def test_chinese_is_found_by_its_words(main: ScopeFolder) -> None:
    write(main, "memory/笔记.md", "# 部署\n\n- 我们决定使用端口 9090\n- 数据库在杭州\n- 周五聚餐\n")
    assert texts(main, "端口是多少？")[0] == "我们决定使用端口 9090"
    assert texts(main, "数据库在哪里") == ["数据库在杭州"]


def test_an_english_word_is_found_in_other_forms(main: ScopeFolder) -> None:
    write(main, "MEMORY.md", "- Decision: deploy on Fridays\n")
    assert texts(main, "decisions about deploying") == ["Decision: deploy on Fridays"]


def test_the_heading_counts_a_little_and_never_alone(main: ScopeFolder) -> None:
    write(main, "MEMORY.md", "# Redis\n- port 6379\n- slow today\n\n# Postgres\n- port 5432\n")
    assert texts(main, "redis port") == ["port 6379", "port 5432"]


def test_among_equals_the_newest_comes_first(main: ScopeFolder) -> None:
    for day in (date(2026, 11, 1), date(2026, 11, 20)):
        write(main, main.daily(day), f"- lunch on {day}\n")
    write(main, "MEMORY.md", "- lunch at noon\n")
    assert texts(main, "lunch") == ["lunch on 2026-11-20", "lunch on 2026-11-01", "lunch at noon"]


def test_the_time_is_the_stamp_or_the_day_of_the_file_at_noon_there(main: ScopeFolder) -> None:
    write(main, main.daily(date(2026, 11, 1)), "- lunch <!-- at=2026-11-01T19:00:00+08:00 -->\n- lunch again\n")
    stamped, dated = keyword.search([main], "lunch", limit=2, zone=SHANGHAI)
    assert str(stamped.at) == "2026-11-01 19:00:00+08:00"
    assert str(dated.at) == "2026-11-01 12:00:00+08:00"


def test_a_changed_file_is_read_again(main: ScopeFolder) -> None:
    place = write(main, "MEMORY.md", "- old lunch\n")
    assert texts(main, "lunch") == ["old lunch"]
    write(main, "MEMORY.md", "- new lunch\n")
    os.utime(place, ns=(1, 1))
    assert texts(main, "lunch") == ["new lunch"]


def test_a_scope_finds_nothing_of_another(main: ScopeFolder, direct: ScopeFolder) -> None:
    write(direct, direct.long_term, "- secret lunch\n")
    write(main, "MEMORY.md", "- lunch\n")
    assert texts(main, "lunch") == ["lunch"]
    assert texts(direct, "lunch") == ["secret lunch"]
    assert texts(scope_folder("charlies", "main"), "lunch") == []


def test_transcripts_are_searched_unless_told_otherwise(direct: ScopeFolder) -> None:
    write(direct, direct.transcript(date(2026, 11, 1)), "- user: where is lunch\n")
    assert texts(direct, "lunch") == ["user: where is lunch"]
    assert keyword.search([direct], "lunch", limit=5, zone=UTC, transcripts=False) == []


def test_what_cannot_be_read_hides_nothing_else(main: ScopeFolder) -> None:
    write(main, "memory/broken.md", b"- lunch \xff\n")
    write(main, "MEMORY.md", "- lunch\n")
    assert texts(main, "lunch") == ["lunch"]


def test_many_files_are_searched_newest_first_without_reading_all_that_is_equal(main: ScopeFolder) -> None:
    for n in range(300):
        write(main, main.daily(date.fromordinal(date(2026, 1, 1).toordinal() + n)), f"- lunch {n}\n")
    assert texts(main, "lunch", limit=3) == ["lunch 299", "lunch 298", "lunch 297"]


def test_nothing_is_found_for_nothing(main: ScopeFolder) -> None:
    write(main, "MEMORY.md", "- lunch\n")
    assert texts(main, "") == texts(main, "?!") == texts(main, "dinner") == texts(main, "lunch", limit=0) == []


LINES = st.sampled_from(
    [
        *(
            "- lunch port <!-- at=2026-11-03T09:00:00+08:00 -->",
            "- port <!-- at=2026-11-20T23:00:00-11:00 -->",
            "- lunch",
        ),
        *(
            "# lunch",
            "## port",
            "port",
            "lunch",
            "",
            "  more lunch",
            "  - port",
            "```",
            "<div>",
            "端口",
            "- 我们的端口号",
            "---",
        ),
        *("| port | lunch |", "|---|---|", "| lunch | x |", "* a", "+ lunch", "1. port", "> lunch", "> - port 端口"),
    ]
)
FILES = st.dictionaries(
    st.sampled_from(
        ["MEMORY.md", "memory/port.md", "memory/2026-11-01.md", "memory/2026-11-22.md", "memory/a/lunch.md"]
    ),
    st.lists(LINES, max_size=9).map("\n".join),
    max_size=5,
)


@pytest.mark.thorough
@given(FILES, st.sampled_from(["lunch", "lunch port", "端口号 lunch", "port 端口 tea"]), st.integers(1, 4))
@examples(200)
def test_the_first_few_are_those_that_come_first_among_all(
    tmp_path_factory: Any, files: dict[str, str], query: str, limit: int
) -> None:
    folder = scope_folder("alices", "main")
    folder = type(folder)(Path(tmp_path_factory.mktemp("few")) / "alices", "main", "", folder.long_term)
    for path, text in files.items():
        write(folder, path, text)
    everything = keyword.search([folder], query, limit=10_000, zone=SHANGHAI)
    assert keyword.search([folder], query, limit=limit, zone=SHANGHAI) == everything[:limit]
    assert [match.score for match in everything] == sorted((match.score for match in everything), reverse=True)
    assert all(0 < match.score <= 1 for match in everything)
