"""When is a cluster silent? What its workers say decides, with the clock passed in."""

import pytest

from memplatform.processes.watchdog import TaskProgress

TIMEOUT = 600.0


@pytest.fixture
def progress() -> TaskProgress:
    return TaskProgress(workers=2, since=0.0)


def test_a_free_worker_that_does_nothing_is_silent(progress: TaskProgress) -> None:
    progress.read("+11 a\n-11 a\n", 10)
    assert progress.silence(25, TIMEOUT) == 15


def test_one_busy_worker_excuses_no_free_one(progress: TaskProgress) -> None:
    progress.read("+11 a\n", 10)
    assert progress.silence(50, TIMEOUT) == 40


def test_while_all_are_busy_nothing_needs_to_move_until_their_time_is_up(progress: TaskProgress) -> None:
    progress.read("+11 a\n+12 b\n", 10)
    assert progress.silence(500, TIMEOUT) == 0
    assert progress.silence(640, TIMEOUT) == 30


def test_a_line_may_come_in_pieces(progress: TaskProgress) -> None:
    progress.read("+11", 1)
    progress.read(" abc\n-1", 2)
    assert progress.busy == {11: ("abc", 2)}
    progress.read("1 abc\n", 3)
    assert not progress.busy


def test_deaths_are_counted_by_task_until_it_succeeds(progress: TaskProgress) -> None:
    for _ in range(2):
        progress.read("+11 poison\n+12 other\n", 1)
        assert progress.collect_dead(lambda pid: pid == 12) == ["poison"]
    assert progress.deaths["poison"] == 2
    progress.read("+13 poison\n-13 poison\n", 2)
    assert progress.deaths["poison"] == 0


def test_a_restart_forgets_what_was_busy_but_not_what_killed(progress: TaskProgress) -> None:
    progress.read("+11 poison\n", 1)
    progress.collect_dead(lambda _pid: False)
    progress.restart(50)
    assert (progress.busy, progress.heard, progress.deaths["poison"]) == ({}, False, 1)


def test_after_the_database_was_away_silence_counts_anew(progress: TaskProgress) -> None:
    progress.read("+11 a\n+12 b\n", 10)
    progress.restart_clock(5_000)
    assert progress.silence(5_010, TIMEOUT) == 0
