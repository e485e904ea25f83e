"""What an owner reads after a week."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memplatform_shadow.__main__ import main
from memplatform_shadow.report import report_of

from tests.clients.shadow.conftest import Clock, Line

ANN = {"user_id": "ann"}
WANG = {"user_id": "王芳"}


@pytest.fixture
def week(mem0: Any, begin: Callable[..., Any], line: Line, tmp_path: Path) -> Path:
    """Seven days of a bot, of which the platform is away in the last hour."""
    clock = Clock()
    memory = (shadow := begin(now=clock)).around(mem0)
    mem0.add("Ann has a cat called Rice", **ANN, infer=False)  # before the first day
    tea = memory.add("Ann likes tea", **ANN, infer=False)["results"][0]["id"]
    clock.pass_hours(24)
    _sister, boats = memory.add("My sister paints", **ANN)["results"]
    memory.add("我有一个女儿", **WANG)
    memory.add("Good morning", **ANN)  # the model finds nothing in it
    clock.pass_hours(24)
    for _day in range(2):
        memory.search("Who likes tea?", filters=ANN, top_k=1)
        clock.pass_hours(24)
    memory.search("王芳的女儿叫什么", filters=WANG)
    memory.update(tea, text="Ann likes coffee")
    memory.add("x" * 9_000, **ANN, infer=False)
    clock.pass_hours(24)
    memory.search("Rice", filters=ANN, top_k=1)
    memory.search("tea", filters={"actor_id": "ann", **ANN})
    memory.delete(boats["id"])
    clock.pass_hours(23)
    memory.get_all(filters=ANN)
    with pytest.raises(ValueError, match="Invalid query"):
        memory.search(" ", filters=ANN)
    assert shadow.wait(60)
    line.is_cut = True
    clock.pass_hours(1)
    memory.add("Ann sails", **ANN, infer=False)
    shadow.close()
    return tmp_path / "shadow"


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["report", *map(str, arguments)]) == 0
    return capsys.readouterr().out


@pytest.mark.django_db(transaction=True)
@pytest.mark.thorough
def test_the_figures_of_a_week_are_those_of_what_happened(week: Path, capsys: Any) -> None:
    report = json.loads(printed(capsys, week, "--json"))
    writes, reads = report["writes"], report["reads"]
    assert len(report["period"]["days"]) == 7 and report["mirror"] == ["facts"]
    counts = {name: n for name, n in writes.items() if isinstance(n, int) and n}
    assert counts == {"noted": 9, "mirrored": 6, "nothing": 1, "failed": 1, "waiting": 1}
    assert writes["failed_why"] == {"invalid:content": 1} and writes["kinds"]["add"] == 5
    assert (reads["compared"], reads["searches"], reads["lists"]) == (5, 4, 1)
    assert reads["not_compared"] == {"filter:actor_id": 1}
    assert (reads["there"], reads["both"], reads["only_there"]) == (
        8,
        5,
        {"unknown": 2, "not_mirrored:invalid:content": 1},
    )
    assert (reads["rank_difference"], reads["first_is_here_first"]) == ({"median": 0, "of": 3}, 3)
    assert report["errors"] == {"there": {"search: ValueError": 1}, "here": {"add: invalid:content": 1}}
    rice, long = report["misses"]
    assert (rice["text"], rice["times"], rice["why"], rice["query"]) == (
        "Ann has a cat called Rice",
        2,
        "unknown",
        "Rice",
    )
    assert [(row["op"], row["why"], row["text"][:9]) for row in report["never_arrived"]] == [
        ("add", "invalid:content", "xxxxxxxxx"),
        ("add", "waiting", "Ann sails"),
    ]
    tea = next(question for question in report["questions"] if question["query"] == "Who likes tea?")
    assert (tea["times"], tea["both"]) == (2, {"Ann likes tea": 2})
    assert {name: sides["there"]["of"] for name, sides in report["seconds"].items()} == {
        **{"add": 5, "search": 5, "get_all": 1, "update": 1, "delete": 1}
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.thorough
def test_it_is_read_on_a_terminal_on_a_page_and_without_what_people_said(week: Path, capsys: Any) -> None:
    text, page = printed(capsys, week), printed(capsys, week, "--markdown", "--questions", -1)
    assert "“王芳的女儿叫什么” user_id=王芳, 1×\n- both: 王芳的女儿叫小雨" in text
    assert "never written while the shadow ran" in text and "This report holds what people said." in text
    assert re.search(r"^\| noted \| 9 \|$", page, re.MULTILINE)
    bare = printed(capsys, week, "--no-texts") + printed(capsys, week, "--no-texts", "--json")
    assert not re.search("Rice|王芳|tea|sails", bare) and "Not compared: filter:actor_id (1)." in bare
    (file,) = week.glob("*.jsonl")
    with file.open("a") as log:
        log.write('{"key": "cut')
    day = next(iter(json.loads(printed(capsys, file, "--json"))["period"]["days"]))
    first = json.loads(printed(capsys, file, "--json", "--until", day))
    assert first["writes"]["noted"] == 1 and "Lines of the log that cannot be read: 1." in first["limits"]
    assert main(["report", str(week / "nowhere")]) == 2 and "is not there" in capsys.readouterr().err


def read(there_s: float, ranks: list[tuple[int, int]]) -> dict[str, Any]:
    hits = [{"id": str(n), "text": str(n)} for n in range(5)]
    about = {"kind": "read", "key": str(there_s), "at": "2026-01-01", "call": "search", "query": "q", "filters": {}}
    pairs = [[there, here, "mirrored"] for there, here in ranks]
    sides = {"there": hits, "here": hits, "pairs": pairs, "why_missed": {}, "why_here": {}}
    return {**about, **sides, "outcome": "compared", "there_s": there_s, "here_s": 2 * there_s}


def test_quantiles_and_the_median_are_of_all_calls() -> None:
    lines = [read(number / 100, [(0, number % 3)]) for number in range(1, 101)]
    report = report_of(lines)
    assert report["seconds"]["search"]["there"] == {"p50": 0.5, "p95": 0.95, "of": 100}
    assert report["seconds"]["search"]["here"] == {"p50": 1.0, "p95": 1.9, "of": 100}
    assert report["reads"]["rank_difference"] == {"median": 1, "of": 100}
    assert report_of([])["reads"]["rank_difference"] == {"median": None, "of": 0}
