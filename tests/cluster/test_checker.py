"""The checker of histories: it finds every planted bug, and nothing where there is none."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.checker import Kind, Report, check, longest_silence
from cluster.history import MEMORY, MESSAGE, Call, Shown, Stored, What
from tests.cluster import model
from tests.cluster.model import Model, played


def judged(server: Model, seed: int = 1, steps: int = 60) -> Report:
    calls = played(server, steps, seed)
    return check(calls, server.stored())


def kinds(report: Report) -> set[Kind]:
    return {finding.kind for finding in report.findings}


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 0.5]), st.sampled_from([0.0, 0.3]))
def test_a_correct_server_is_cleared_though_calls_go_unanswered(seed: int, unsure: float, away: float) -> None:
    report = judged(Model(random.Random(seed), unsure, away), seed, steps=40)
    assert report.findings == []


PLANTED = {
    model.LosesTurns: Kind.LOST,
    model.LosesEdits: Kind.LOST,
    model.LosesTheJournal: Kind.LOST,
    model.DoesItTwice: Kind.TWICE,
    model.ReadsAReplica: Kind.STALE,
    model.ForgetsTheWall: Kind.CROSSED,
    model.StoresElsewhere: Kind.CROSSED,
    model.BringsBack: Kind.CAME_BACK,
    model.TakesTheUndoBack: Kind.CAME_BACK,
}


@pytest.mark.parametrize("server", PLANTED, ids=lambda server: server.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_a_planted_bug_is_found_and_named(server: type[Model], seed: int) -> None:
    report = judged(server(random.Random(seed), unsure=0.2, away=0.1), seed, steps=100)
    assert PLANTED[server] in kinds(report)


@pytest.mark.parametrize("server", [model.ForgetsTheWall, model.BringsBack, model.StoresElsewhere])
def test_a_bug_is_not_taken_for_another(server: type[Model]) -> None:
    assert kinds(judged(server(random.Random(3)))) == {PLANTED[server]}


# histories of a few calls


def write(what: What, at: float, *, mark: str = "", status: int | None = 201, **more: object) -> Call:
    given = {"key": f"k{at}", "target": "" if what is What.TURN else "e", **more}
    return Call(f"w{at}", "c0", "red", "p0", what, at, at + 1, mark=mark, status=status, **given)  # type: ignore[arg-type]


def read(at: float, *shows: Shown, asked: str = "", target: str = "", **more: object) -> Call:
    what = What.RECALL if asked else What.READ
    return Call(
        f"r{at}", "c0", "red", "p0", what, at, at + 1, target=target, mark=asked, status=200, shows=shows, **more
    )  # type: ignore[arg-type]


def entry(mark: str, *, is_live: bool = True, version: int = 1, uid: str = "e1") -> Stored:
    return Stored("red", MEMORY, mark, uid, is_live, version)


def turn(mark: str, times: int = 1) -> list[Stored]:
    return [Stored("red", place, mark, f"{place}{n}") for place in (MESSAGE, MEMORY) for n in range(times)]


def test_a_turn_tried_again_until_it_is_acknowledged_is_there_once() -> None:
    tries = [write(What.TURN, 0, mark="a", status=None, key="k"), write(What.TURN, 2, mark="a", key="k")]
    assert check(tries, turn("a")).is_clean
    assert kinds(check(tries, turn("a", times=2))) == {Kind.TWICE}
    assert kinds(check(tries, [])) == {Kind.LOST}


def test_a_turn_nobody_acknowledged_may_be_there_once_and_need_not() -> None:
    unknown = [write(What.TURN, 0, mark="a", status=503)]
    assert check(unknown, []).is_clean and check(unknown, turn("a")).is_clean
    assert kinds(check(unknown, turn("a", times=2))) == {Kind.TWICE}


def test_a_turn_that_was_read_and_is_gone_is_lost_though_nobody_acknowledged_it() -> None:
    calls = [write(What.TURN, 0, mark="a", status=None), read(2, Shown("a"), asked="a")]
    assert kinds(check(calls, [])) == {Kind.LOST}


def test_a_refused_turn_that_is_there_was_not_asked_for() -> None:
    assert kinds(check([write(What.TURN, 0, mark="a", status=400)], turn("a"))) == {Kind.UNASKED}


def test_a_turn_accepted_without_the_database_may_be_found_late_and_never_be_lost() -> None:
    calls = [write(What.TURN, 0, mark="a", degraded=("database",)), read(2, asked="a")]
    assert check(calls, turn("a")).is_clean
    assert kinds(check(calls, [])) == {Kind.LOST}


def test_an_answer_without_the_database_may_lack_what_was_written() -> None:
    calls = [write(What.TURN, 0, mark="a"), read(2, asked="a", degraded=("database",))]
    assert check(calls, turn("a")).is_clean
    stale = [write(What.TURN, 0, mark="a"), read(2, asked="a")]
    assert kinds(check(stale, turn("a"))) == {Kind.STALE}


def test_a_read_beside_a_change_may_show_either() -> None:
    create, edit = write(What.CREATE, 0, mark="a"), write(What.EDIT, 2, mark="b")
    for shown in ("a", "b"):
        assert check([create, edit, read(2.5, Shown(shown), target="e")], [entry("b", version=2)]).is_clean
    old = [create, edit, read(4, Shown("a"), target="e")]
    assert kinds(check(old, [entry("b", version=2)])) == {Kind.STALE}


def test_an_edit_without_an_answer_may_win_later() -> None:
    calls = [write(What.CREATE, 0, mark="a"), write(What.EDIT, 2, mark="b", status=None)]
    assert check(calls, [entry("a")]).is_clean and check(calls, [entry("b", version=2)]).is_clean


def test_an_edit_made_twice_shows_in_the_version() -> None:
    calls = [write(What.CREATE, 0, mark="a"), write(What.EDIT, 2, mark="b")]
    assert kinds(check(calls, [entry("b", version=3)])) == {Kind.TWICE}


def test_an_entry_that_is_missing_or_has_its_former_words_is_lost() -> None:
    calls = [write(What.CREATE, 0, mark="a"), write(What.EDIT, 2, mark="b")]
    assert kinds(check(calls, [])) == {Kind.LOST}
    assert kinds(check(calls, [entry("a", version=1)])) == {Kind.LOST}


def test_a_deletion_that_was_not_read_is_a_stale_read_and_one_seen_to_hold_comes_back() -> None:
    calls = [write(What.CREATE, 0, mark="a"), write(What.DELETE, 2, status=200)]
    gone, back = read(4, asked="a", target="e"), read(6, Shown("a"), asked="a", target="e")
    there = [entry("a", is_live=False, version=2)]
    assert kinds(check([*calls, back], there)) == {Kind.STALE}
    assert kinds(check([*calls, gone, back], there)) == {Kind.CAME_BACK}
    assert kinds(check([*calls, gone], [entry("a", version=2)])) == {Kind.CAME_BACK}
    assert check([*calls, gone], there).is_clean


def test_a_deletion_that_was_undone_does_not_come_back_either() -> None:
    calls = [write(What.CREATE, 0, mark="a"), write(What.DELETE, 2), write(What.RESTORE, 4)]
    assert check(calls, [entry("a", version=3)]).is_clean
    assert kinds(check(calls, [entry("a", is_live=False, version=3)])) == {Kind.CAME_BACK}


def test_what_is_shown_to_another_workspace_or_about_another_person_crosses_the_wall() -> None:
    theirs = Call("x", "c1", "blue", "p1", What.RECALL, 2, 3, mark="a", status=200, shows=(Shown("a"),))
    assert kinds(check([write(What.TURN, 0, mark="a"), theirs], turn("a"))) == {Kind.CROSSED}
    other = Call("x", "c1", "red", "p1", What.RECALL, 2, 3, mark="a", status=200, shows=(Shown("a"),))
    assert kinds(check([write(What.TURN, 0, mark="a"), other], turn("a"))) == {Kind.CROSSED}


def test_the_longest_silence_counts_what_was_answered_and_where_from() -> None:
    calls = [
        write(What.TURN, 0, mark="a"),
        write(What.TURN, 4, mark="b", degraded=("database",)),
        write(What.TURN, 9, mark="c"),
    ]
    assert longest_silence(calls, {What.TURN}, 0, 12) == 5
    assert longest_silence(calls, {What.TURN}, 0, 12, from_database=True) == 9
    assert longest_silence(calls, {What.RECALL}, 0, 12) == 12
