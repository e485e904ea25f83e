"""A memory of a few texts can tell whether it holds an answer, with the model that is bundled (C3)."""

import pytest

from evals import answerable

pytestmark = pytest.mark.django_db


def test_the_questions_are_half_of_them_unanswerable_in_both_halves() -> None:
    memories = answerable.read()
    for half in ("fit", "check"):
        kinds = [kind for young in memories if young.half == half for _question, kind in young.questions]
        assert len(kinds) >= 100 and 0.4 < sum(kinds) / len(kinds) < 0.6
    assert {len(young.texts) for young in memories} == {1, 3, 5, 12, 30}


@pytest.mark.thorough
def test_young_scopes_tell_what_they_hold_from_what_they_do_not(bundled_model: None) -> None:
    youngs = [young for young in answerable.read() if young.half == "check" and len(young.texts) <= 12]
    answers = list(answerable.ask_all(youngs))
    data: dict[bool, list[bool]] = {True: [], False: []}
    for answer in answers:
        data[answer["answerable"]].append(answer["verdict"] == "found")
    assert sum(data[True]) / len(data[True]) >= 0.86, "what is there is found"
    assert sum(data[False]) / len(data[False]) <= 0.02, "what is not there is not"
    noise = [answer for answer in answers if answer["verdict"] == "none" and answer["words"] < 0.4]
    assert noise and not [answer for answer in noise if answer["served"]], "and nothing is served in its place"
