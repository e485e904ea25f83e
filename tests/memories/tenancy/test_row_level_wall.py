"""The second wall: should a query forget its workspace, the database still shows nothing of another's."""

import pytest
from django.db import connection, transaction
from django.db.utils import ProgrammingError

from memories import entries
from memories.models import Entry, Scope, Workspace
from memories.tenancy import row_level_security
from tests.conftest import NOW, TELEGRAM, Api, make_draft, make_scope

WALLED = """
    SELECT c.relname, c.relrowsecurity FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind = 'r' AND a.attname = 'workspace_id' AND c.relnamespace = 'public'::regnamespace
"""

#: Functions that run as their owner: where they look for tables, and whether everybody may call them.
DEFINERS = """
    SELECT p.proname, (SELECT setting FROM unnest(p.proconfig) setting WHERE starts_with(setting, 'search_path=')),
        EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) WHERE grantee = 0)
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'public' AND p.prosecdef
"""


@pytest.fixture
def two_memories(workspace: Workspace, stranger: Workspace) -> tuple[Entry, Entry]:
    return tuple(  # type: ignore[return-value]
        entries.remember(make_draft(make_scope(owner), f"{owner.name} likes tea"), now=NOW, actor="test").entry
        for owner in (workspace, stranger)
    )


def test_every_table_with_a_workspace_has_its_wall(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(WALLED)
        assert [table for table, walled in cursor.fetchall() if not walled] == []


def test_no_function_that_does_more_than_its_caller_may_trusts_a_table_of_its_caller(db: None) -> None:
    """Nor may anybody call it to whom it was not opened."""
    with connection.cursor() as cursor:
        cursor.execute(DEFINERS)
        functions = cursor.fetchall()
    assert len(functions) > 5
    assert [name for name, path, _is_open in functions if not path or not path.endswith(", pg_temp")] == []
    assert [name for name, _path, is_open in functions if is_open] == []


def test_without_a_workspace_nothing_is_seen(two_memories: tuple[Entry, Entry], as_the_web: None) -> None:
    assert Entry.objects.count() == 0
    assert Scope.objects.count() == 0


def test_a_query_that_forgot_its_workspace_sees_one_only(
    two_memories: tuple[Entry, Entry], workspace: Workspace, as_the_web: None
) -> None:
    row_level_security.enter([workspace.pk])
    assert list(Entry.objects.all()) == [two_memories[0]]
    with connection.cursor() as cursor:
        cursor.execute("SELECT content FROM memories_entry WHERE content LIKE '%tea'")
        assert cursor.fetchall() == [("Alice's likes tea",)]


def test_a_row_cannot_be_written_into_another_workspace(
    stranger: Workspace, workspace: Workspace, as_the_web: None
) -> None:
    row_level_security.enter([workspace.pk])
    with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
        Scope.objects.create(workspace=stranger, key="main", kind="user")


def test_the_wall_closes_when_the_request_ends(
    api: Api, two_memories: tuple[Entry, Entry], workspace: Workspace, as_the_web: None
) -> None:
    api.get("entries")
    assert Entry.objects.count() == 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('memplatform.actor')")
        assert cursor.fetchone() == ("",)


def test_bots_work_behind_the_wall(api: Api, as_the_web: None) -> None:
    turn = api.post("turns", {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."})
    assert turn.status_code == 201, turn.json()
    answer = api.post("recall", {"address": TELEGRAM, "message": "did I move to Hangzhou?"})
    assert len(answer.json()["memories"]) == 1
    assert api.post("entries", {"scope": "main", "content": "tea"}).status_code == 201


def test_a_route_without_its_application_filter_still_shows_nothing(
    api: Api, two_memories: tuple[Entry, Entry], as_the_web: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Take the application's own limits away and ask for everything."""
    monkeypatch.setattr("memories.api.entries.visible_entries", lambda *args: Entry.objects.all())
    listed = api.get("entries").json()["results"]
    assert [entry["content"] for entry in listed] == ["Alice's likes tea"]
