"""An entry has one state, whoever tells it and whoever asks for it: one row, a list, the API, the admin, a trace."""

from datetime import timedelta
from itertools import product

import pytest
from django.db import connection
from django.utils import timezone

from memories import entries as store
from memories.models import Entry, Policy, Workspace
from memories.models.state import MARKS, State, in_state, live_sql, state_of
from memories.recall.traces import _reason
from tests.conftest import Api, make_draft, make_key, make_scope

pytestmark = pytest.mark.django_db
NAMES = [*MARKS, State.DUE]
#: Every mark, and whether its time is over; what is in quarantine is suppressed.
ALL = [
    carried
    for carried in product([False, True], repeat=len(NAMES))
    if carried[NAMES.index(State.SUPPRESSED)] or not carried[NAMES.index(State.QUARANTINED)]
]


@pytest.fixture
def entries_by_marks(workspace: Workspace) -> dict[tuple[bool, ...], Entry]:
    """An entry for every combination of marks."""
    scope, now = make_scope(workspace), timezone.now()
    newer = store.remember(make_draft(scope, "the newer one", at=now), now=now, actor="test").entry
    values = dict.fromkeys(MARKS.values(), now) | {"superseded_by_id": newer.pk}
    entries = {}
    for number, carried in enumerate(ALL):
        *marks, over = carried
        entry = store.remember(make_draft(scope, f"number {number} of many", at=now), now=now, actor="test").entry
        columns = {column: values[column] for column, mark in zip(MARKS.values(), marks, strict=True) if mark}
        ends = now + timedelta(days=-1 if over else 1)
        Entry.objects.filter(pk=entry.pk).update(**columns, expires_at=ends)
        entries[carried] = Entry.objects.select_related("scope").get(pk=entry.pk)
    return entries


def expected(carried: tuple[bool, ...]) -> str:
    """Expired before archived before superseded before in quarantine before suppressed before due."""
    names = ["expired", "archived", "superseded", "quarantined", "suppressed", "due"]
    return next((name for name, mark in zip(names, carried, strict=True) if mark), "live")


def test_the_state_of_a_row_and_the_lists_of_all_states_agree(
    workspace: Workspace, entries_by_marks: dict[tuple[bool, ...], Entry]
) -> None:
    now, policies = timezone.now(), Policy.objects.of(workspace.pk)
    rows = Entry.objects.filter(pk__in=[entry.pk for entry in entries_by_marks.values()])
    for over in (policies.over(now), Policy.objects.over(now)):  # as the API and as the admin ask
        lists = {state: [row.pk for row in rows.filter(in_state(state, over))] for state in State.values}
        listed = {pk: state for state, those in lists.items() for pk in those}
        assert sum(map(len, lists.values())) == len(listed) == len(ALL)
        for carried, entry in entries_by_marks.items():
            assert listed[entry.pk] == state_of(entry, policies.end_of(entry), now) == expected(carried)


def test_a_client_reads_each_entry_in_the_list_of_its_state_alone(
    workspace: Workspace, entries_by_marks: dict[tuple[bool, ...], Entry]
) -> None:
    api = Api(make_key(workspace))
    for state in State.values:
        results = api.get(f"entries?state={state}&limit=100").json()["results"]
        assert {result["state"] for result in results} == ({state} - {State.QUARANTINED})
        there = {carried: entry for carried, entry in entries_by_marks.items() if expected(carried) == state}
        seen = {str(entry.uid) for entry in there.values() if not entry.quarantined_at}  # by bots, in any list
        assert seen == {result["id"] for result in results} & {str(entry.uid) for entry in there.values()}


def test_a_trace_gives_the_state_as_the_reason(
    workspace: Workspace, entries_by_marks: dict[tuple[bool, ...], Entry]
) -> None:
    policies = Policy.objects.of(workspace.pk)
    reasons = {"due": "expired", "live": "other_project"}
    for carried, entry in entries_by_marks.items():
        state = expected(carried)
        assert _reason(entry, policies, timezone.now()) == reasons.get(state, state)


def test_live_is_the_same_in_sql_on_a_row_and_in_a_query(entries_by_marks: dict[tuple[bool, ...], Entry]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT x.id FROM memories_entry x WHERE {live_sql('x')}")
        live = {pk for (pk,) in cursor.fetchall()}
    for entry in entries_by_marks.values():
        assert (entry.pk in live) == entry.is_live() == Entry.objects.live().filter(pk=entry.pk).exists()
