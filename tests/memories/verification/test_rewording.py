"""What says the same in other words is taken, what does not is not: a table of both, in two languages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memories.verification import amounts, rewording

TABLE = Path(__file__).with_name("rewordings.txt")


def cases(wanted: str) -> Iterator[tuple[list[str], str]]:
    section = ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("["):
            section = line[1:-1].split()[0]
        elif line and not line.startswith("#") and section == wanted:
            facts, said = line.split(" = ")
            yield facts.split(" | "), said


GOOD, BAD = list(cases("good")), list(cases("bad"))


@pytest.mark.parametrize(("facts", "said"), BAD, ids=[said for _facts, said in BAD])
def test_what_says_something_else_is_refused(facts: list[str], said: str) -> None:
    assert rewording.merge_fault(facts, said) is not None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nearly_all_that_says_the_same_is_taken(language: str) -> None:
    of_it = [case for case in GOOD if case[1].isascii() == (language == "en")]
    refused = [said for facts, said in of_it if rewording.merge_fault(facts, said)]
    assert len(of_it) >= 45 and len(refused) <= len(of_it) // 20, refused


def test_a_fact_may_always_stay_as_it_is() -> None:
    assert [said for facts, _said in GOOD for said in facts if rewording.merge_fault([said], said)] == []


def test_of_three_facts_each_has_its_say() -> None:
    facts = ["Mia lives in Berlin.", "Mia works at Siemens.", "Mia is 34."]
    assert rewording.merge_fault(facts, "Mia, 34, lives in Berlin and works at Siemens.") is None
    assert rewording.merge_fault(facts, "Mia lives in Berlin and works at Siemens.") == rewording.MergeFault.LOST


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 3 pm", "at 15:00"), ("下午三点半", "15:30"), ("3 May", "May 3rd"), ("五月三日", "5月3号"),
        ("in December", "in 十二月"), ("2026-03-02", "2026 3月2日"), ("on Mondays", "on 星期一"),
        ("twenty-one cats", "21 cats"), ("两百五十元", "250元"), ("1,000 euros", "1000 euros"),
        ("the second floor", "the 2nd floor"), ("二楼", "2楼"), ("two hundred", "200"),
    ],
)  # fmt: skip
def test_amounts_are_written_in_one_way(one: str, other: str) -> None:
    assert amounts.normalise_amounts(one).split() == amounts.normalise_amounts(other).split()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 May", "5 March"), ("3 am", "3 pm"), ("10.0.0.1", "10.0.0.2"), ("-5", "5"), ("1.5", "15"), ("周一", "周二"),
        ("两点", "两个"),
    ],
)  # fmt: skip
def test_other_amounts_stay_others(one: str, other: str) -> None:
    assert amounts.normalise_amounts(one).split() != amounts.normalise_amounts(other).split()
