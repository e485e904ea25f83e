"""A drill finds bugs that are planted: four here, all of them by `python -m evals.measurements drill_mutations`."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from evals.measurements import drill_mutations as planted
from evals.measurements.drill_mutations import Put, inhabit, leak_with
from memories.models import Workspace

pytestmark = pytest.mark.django_db


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("bug", "door"),
    [
        (planted.groups_hear_everything, "recall"),
        (planted.groups_hear_secrets, "tool read"),
        (planted.entries_are_read_by_id, "tool read"),
        (planted.answers_are_cached_by_the_question, "recall"),
    ],
)
def test_a_drill_finds_a_bug(workspace: Workspace, bug: Callable[[Put], None], door: str) -> None:
    now = timezone.now()
    inhabit(workspace, now - timedelta(hours=1))
    leak = leak_with(bug, workspace, now=now)
    assert leak is not None and leak.door == door and leak.place != "unknown"


def test_no_bug_is_planted_twice() -> None:
    assert len({bug.__name__ for bug in planted.BUGS}) == len(planted.BUGS) >= 20
