"""evaluate DIR --echo: a set as the memory of a bot in use holds it, beside the set as it was published."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError

from evals.dataset import Dataset, load
from evals.echoes import REPLIES, with_echoes
from memories.choices import Echo
from memories.language.quoting import sides_of
from memories.models import Entry, Workspace
from tests.evals.conftest import CORPUS, QUERIES, evaluate, measured, rows_of_every_table

SetOf = Callable[..., Path]


def echoed(folder: Path, reply: str, times: int = 1) -> tuple[Dataset, list[tuple[str, str]]]:
    """The set with its echoes, and both sides of each of these turns."""
    data = load(folder)
    result = with_echoes(data, data.questions, reply=reply, times=times)
    added = [row.text for name, rows in result.scopes.items() for row in rows[len(data.scopes[name]) :]]
    return result, [sides for text in added if (sides := sides_of(text))]


def test_each_question_is_a_turn_at_the_end_of_its_scope(set_of: SetOf) -> None:
    data = load(set_of())
    found, turns = echoed(set_of(), "unknown", times=2)
    assert found.questions == data.questions and found.name == data.name
    assert [question for question, _ in turns] == [
        query["query"] for scope in ("mei", "小李") for query in QUERIES * 2 if query["scope"] == scope
    ]
    for name, rows in data.scopes.items():
        before, after = found.scopes[name][:3], found.scopes[name][3:]
        assert before == rows and len(after) == 4
        assert [row.seq for row in after] == [4, 5, 6, 7]
        assert not {row.session_id for row in after} & {row.session_id for row in rows}
    undated, dated = found.scopes["mei"], found.scopes["小李"]
    assert {row.at for row in undated} == {None}
    assert dated[-1].at == dated[2].at + timedelta(seconds=4)  # type: ignore[operator]


@pytest.mark.parametrize("reply", REPLIES)
def test_the_same_set_gives_the_same_turns(set_of: SetOf, reply: str) -> None:
    assert echoed(set_of(), reply, times=3) == echoed(set_of(), reply, times=3)


def test_a_bot_that_did_not_know_says_so_in_the_language_of_the_question(set_of: SetOf) -> None:
    _, turns = echoed(set_of(), "unknown")
    assert all(answer.isascii() == question.isascii() for question, answer in turns)
    assert not any(row["text"] in answer for row in CORPUS for _, answer in turns)


def test_a_parrot_repeats_the_right_text_word_for_word(set_of: SetOf) -> None:
    _, turns = echoed(set_of(), "parrot")
    assert [answer for _, answer in turns] == [
        "As far as I remember: my cat is called Mochi and sleeps all day",
        "As far as I remember: the train to Lisbon leaves at noon",
        "我记得是：我家的猫叫麻薯，整天睡觉",
        "我记得是：去里斯本的火车中午出发",
    ]


def test_a_bot_that_was_wrong_told_another_memory_of_the_scope(set_of: SetOf) -> None:
    _, turns = echoed(set_of(), "wrong", times=5)
    texts = {str(row["doc_id"]): str(row["text"]) for row in CORPUS}
    gold = {str(query["query"]): texts[query["gold"][0]] for query in QUERIES}  # type: ignore[index]
    results = {(question, answer.partition(": ")[2] or answer.partition("：")[2]) for question, answer in turns}
    assert all(text != gold[question] and text in texts.values() for question, text in results)
    assert all(re.search("[a-z]", text) is None for question, text in results if not question.isascii())
    assert len(results) > len(gold), "not always the same one"


@pytest.mark.parametrize("reply", ["parrot", "wrong"])
def test_where_there_is_nothing_to_repeat_the_bot_did_not_know(set_of: SetOf, reply: str) -> None:
    """Nothing answers the question; or its scope holds nothing but the answer."""
    question = QUERIES[0] | {"gold": [] if reply == "parrot" else ["d1"]}
    _, ((_, answer),) = echoed(set_of(CORPUS[:1], [question]), reply)
    assert "Mochi" not in answer


@pytest.mark.thorough
@pytest.mark.django_db
def test_both_are_printed_side_by_side(set_of: SetOf) -> None:
    report = measured(set_of(), "--echo", "unknown", "--asked", 2)
    assert report["echoes"] == {"reply": "unknown", "asked": 2, "turns": 8, "marked": 8, "before": 0}
    assert report["dataset"] == "tiny" and report["questions"] == 4 and report["degraded"] == 0
    assert report["without"]["mean"] == measured(set_of())["mean"]
    assert report["with"]["mean"]["recall@5"] == 1.0, "what was said is found though it was asked before"
    assert sum(report["first_right"].values()) == 4 and report["unasked"]["questions"] == 0
    printed = evaluate(set_of(), "--echo", "unknown", "--asked", 2)
    assert (
        "tiny: 4 questions, asked 2 times before, reply unknown: 8 turns more, of which 8 tell nothing new" in printed
    )
    assert re.search(r"^ +as published +with echoes +change$", printed, re.MULTILINE)
    assert re.search(r"^recall@5 +1\.0000 +1\.0000 +\+0\.0000$", printed, re.MULTILINE)
    assert "called, of those that have an answer" in printed and "called, of those that have none" not in printed
    assert "asked once before, reply parrot: 4 turns more" in evaluate(set_of(), "--echo", "parrot")


@pytest.mark.thorough
@pytest.mark.django_db
def test_a_question_that_tells_something_is_no_mere_echo(set_of: SetOf) -> None:
    question = QUERIES[0] | {"query": "since I moved to Porto, what should my cat be called?"}
    assert measured(set_of(queries=[question]), "--echo", "unknown")["echoes"]["marked"] == 0


@pytest.mark.thorough
@pytest.mark.django_db
def test_questions_nothing_answers_were_asked_before_as_well(set_of: SetOf) -> None:
    other = set_of(
        [{"doc_id": "o", "scope": "o", "seq": 1, "text": "o"}],
        [{"query_id": "o", "scope": "o", "query": "谁赢了国际象棋比赛？", "gold": ["o"]}],
        name="other",
    )
    options = ("--echo", "unknown", "--asked", 2, "--elsewhere", "--unrelated", other)
    report = measured(set_of(), *options)
    assert report["echoes"]["turns"] == 2 * (4 + 4 + 1)
    plain = measured(set_of(), "--elsewhere", "--unrelated", other)
    assert report["without"]["evidence"] == plain["evidence"]
    assert report["with"]["evidence"]["unanswerable"] == plain["evidence"]["unanswerable"]
    printed = evaluate(set_of(), *options)
    assert re.search(r"called, of those that have none\nfound +(\S+) +\1 +\+0\.0000$", printed, re.MULTILINE)
    assert "area under the curve" in printed


@pytest.mark.thorough
@pytest.mark.django_db
def test_a_set_with_echoes_is_kept_apart_from_the_plain_one(set_of: SetOf) -> None:
    measured(set_of(), "--keep", "tiny")
    plain = set(Entry.objects.values_list("pk", flat=True))
    measured(set_of(), "--keep", "tiny", "--echo", "unknown")
    measured(set_of(), "--keep", "tiny", "--echo", "parrot")
    names = ["evaluation: tiny", "evaluation: tiny (echo parrot 1)", "evaluation: tiny (echo unknown 1)"]
    assert list(Workspace.objects.order_by("name").values_list("name", flat=True)) == names
    assert set(Entry.objects.filter(workspace__name=names[0]).values_list("pk", flat=True)) == plain
    kept = set(Entry.objects.filter(workspace__name=names[2]).values_list("pk", flat=True))
    assert len(kept) == len(CORPUS) + len(QUERIES)
    assert Entry.objects.filter(pk__in=kept, echo=Echo.TURN).count() == len(QUERIES)
    measured(set_of(), "--keep", "tiny", "--echo", "unknown")
    assert set(Entry.objects.filter(workspace__name=names[2]).values_list("pk", flat=True)) == kept
    measured(set_of(), "--keep", "tiny", "--echo", "unknown", "--forget")
    assert list(Workspace.objects.values_list("name", flat=True)) == names[1:2]


@pytest.mark.thorough
@pytest.mark.django_db
def test_a_long_name_does_not_mix_them_either(set_of: SetOf) -> None:
    measured(set_of(), "--keep", "n" * 120, "--echo", "unknown")
    assert Workspace.objects.count() == 2


@pytest.mark.thorough
@pytest.mark.django_db
def test_nothing_is_left_behind(set_of: SetOf) -> None:
    measured(set_of(), "--echo", "wrong")
    before = rows_of_every_table()
    measured(set_of(), "--echo", "wrong")
    assert rows_of_every_table() == before


@pytest.mark.thorough
@pytest.mark.django_db
def test_questions_of_a_time_before_the_turns_are_counted(set_of: SetOf) -> None:
    queries = [QUERIES[0] | {"before_seq": 3}, *QUERIES[1:]]
    assert "1 questions see none of these turns" in evaluate(set_of(queries=queries), "--echo", "unknown")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--asked", 2], "give --echo, too"),
        (["--echo", "unknown", "--asked", 0], "1 or more"),
        (["--echo", "unknown", "--ablate"], "a comparison of its own"),
        (["--echo", "unknown", "--rerank"], "a comparison of its own"),
        (["--echo", "unknown", "--workspace", "Mine"], "of a data set"),
        (["--echo", "unknown", "--export", "mine.jsonl"], "of a data set"),
        (["--echo", "unknown", "--pool", "mine.jsonl"], "of a data set"),
        (["--echo", "perhaps"], "invalid choice"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(set_of: SetOf, options: list[object], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        evaluate(set_of(), *options)


def test_judged_questions_have_no_echoes_to_be_made(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("")
    with pytest.raises(CommandError, match="a live memory holds the echoes of its own use already"):
        evaluate(path, "--echo", "unknown")
