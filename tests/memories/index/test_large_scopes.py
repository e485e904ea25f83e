"""A scope that has grown large gets an index of its own, which finds what a search of all of it finds (E5, C12)."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import override_settings

from memories import entries
from memories.index import large_scopes, worker
from memories.models import Entry, Scope, Workspace
from memories.recall import Query, SearchScope, candidates, recall
from memories.tenancy import row_level_security
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, acting_as, make_draft, make_scope
from tests.support.house import until
from tests.support.processes import database_url

pytestmark = pytest.mark.django_db(transaction=True)
ENTRIES = 120
THINGS = ["violin", "boat", "garden", "letter", "engine", "market"]
QUESTIONS = ["what did Mia do with the violin?", "小提琴怎么了？", "when was the boat painted?", "thing 77"]


@pytest.fixture(autouse=True)
def few_are_many() -> Iterator[None]:
    with override_settings(MEMORY_LARGE_SCOPE_ENTRIES=100):
        yield
    for name in indexes():
        run(f"DROP INDEX {name}")


def run(statement: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def indexes(*, valid: bool | None = None) -> list[str]:
    result = run(
        "SELECT c.relname, x.indisvalid FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid"
        " WHERE c.relname LIKE 'memories_large%' ORDER BY 1"
    )
    return [name for name, is_valid in result if valid in (None, is_valid)]


def fill(scope: Scope, count: int = ENTRIES) -> Scope:
    drafts = [
        make_draft(scope, f"Mia painted the {THINGS[n % 6]}, thing number {n} 米娅的第{n}把小提琴")
        for n in range(count)
    ]
    entries.remember_many(drafts, now=NOW, actor="bot:t")
    while worker.drain(now=NOW):
        pass
    scope.refresh_from_db()
    return scope


@pytest.fixture
def large(scope: Scope) -> Scope:
    return fill(scope)


def ask(scope: Scope, message: str, **asked: Any) -> list[tuple[int, float]]:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, places=places, message=message, limit=10, need="off", **asked)
    return [(item.entry.pk, item.score) for item in recall(query, now=NOW, recorded=False).served]


def statements(scope: Scope, message: str, **asked: Any) -> tuple[list[str], str]:
    """What is run for a question, and how PostgreSQL reads the nearest of it."""
    seen: list[str] = []
    plan: list[str] = []

    def noted(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        seen.append(sql)
        if "<#>" in sql and "ORDER BY (i.embedding" in sql:
            with connection.connection.cursor() as cursor:  # of few rows any way is as good as another
                cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
                plan.extend(row[0] for row in cursor.execute("EXPLAIN " + sql, params).fetchall())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(noted):
        ask(scope, message, **asked)
    return seen, "\n".join(plan)


def test_an_index_is_built_and_used_and_dropped_again(large: Scope) -> None:
    assert large_scopes.preview() == {"indexes_to_build": 1, "indexes_to_drop": 0}
    assert large_scopes.carry_out() == {"built": 1, "dropped": 0}
    (name,) = indexes(valid=True)
    assert name.startswith(f"memories_large_{large.pk}_")
    _seen, plan = statements(large, QUESTIONS[0])
    assert f"Index Scan using {name} on memories_entryindex" in plan
    assert large_scopes.carry_out() == {"built": 0, "dropped": 0}
    with override_settings(MEMORY_LARGE_SCOPE_ENTRIES=3 * ENTRIES):
        assert large_scopes.carry_out() == {"built": 0, "dropped": 1}
    assert indexes() == []


def test_it_is_kept_until_the_scope_has_less_than_half(large: Scope) -> None:
    large_scopes.carry_out()
    with override_settings(MEMORY_LARGE_SCOPE_ENTRIES=2 * ENTRIES):
        assert large_scopes.carry_out() == {"built": 0, "dropped": 0}
    with override_settings(MEMORY_LARGE_SCOPE_ENTRIES=2 * ENTRIES + 1):
        assert large_scopes.carry_out() == {"built": 0, "dropped": 1}


def test_a_scope_below_the_number_has_none_and_is_searched_as_ever(scope: Scope) -> None:
    fill(scope, 99)
    assert large_scopes.carry_out() == {"built": 0, "dropped": 0}
    seen, plan = statements(scope, QUESTIONS[0])
    assert plan == "" and not any("UNION ALL SELECT * FROM memories_entryindex" in sql for sql in seen)


def test_the_index_of_a_scope_that_is_gone_is_dropped(large: Scope) -> None:
    large_scopes.carry_out()
    run("DELETE FROM memories_indexqueueitem")
    run("DELETE FROM memories_entry WHERE scope_id = %s", large.pk)
    run("DELETE FROM memories_scopeterm")
    run("DELETE FROM memories_scope WHERE id = %s", large.pk)
    assert large_scopes.carry_out() == {"built": 0, "dropped": 1}
    assert indexes() == []


@pytest.mark.parametrize("message", QUESTIONS)
def test_it_answers_as_a_search_of_all(large: Scope, message: str) -> None:
    before = ask(large, message)
    large_scopes.carry_out()
    seen, _plan = statements(large, message)
    assert any("UNION ALL SELECT * FROM memories_entryindex" in sql for sql in seen)
    assert before and ask(large, message) == before


def test_what_was_said_a_moment_ago_is_found_by_its_words(large: Scope) -> None:
    large_scopes.carry_out()
    entries.remember(make_draft(large, "The xylophone stands in the attic"), now=NOW, actor="bot:t")
    served = [pk for pk, _score in ask(large, "where does the xylophone stand?")]
    assert served[0] == Entry.objects.get(content__contains="xylophone").pk


def test_filters_hold_and_what_they_leave_few_of_is_searched_whole(large: Scope) -> None:
    entries.remember(make_draft(large, "Mia sold the violin", topic="sales"), now=NOW, actor="bot:t")
    worker.drain(now=NOW)
    large_scopes.carry_out()
    (sold,) = Entry.objects.filter(topic="sales")
    assert [pk for pk, _score in ask(large, QUESTIONS[0], topic="sales")] == [sold.pk]
    Entry.objects.filter(pk=sold.pk).update(suppressed_at=NOW)
    assert ask(large, QUESTIONS[0], topic="sales") == []
    assert sold.pk not in [pk for pk, _score in ask(large, "who sold the violin?")]


def test_two_scopes_are_asked_together(large: Scope, workspace: Workspace) -> None:
    large_scopes.carry_out()
    chat = fill(make_scope(workspace, "telegram:group_g1", "chat"), 3)
    places = [SearchScope(item, ScopeRef(key=item.key, kind=item.kind)) for item in (large, chat)]
    query = Query(workspace_id=workspace.pk, places=places, message=QUESTIONS[0], limit=10, need="off")
    ranked = recall(query, now=NOW, recorded=False).ranked
    with override_settings(MEMORY_LARGE_SCOPE_ENTRIES=0):
        whole = recall(query, now=NOW, recorded=False).ranked
    assert {item.entry.scope_id for item in ranked} == {large.pk, chat.pk}
    assert [item.entry.pk for item in ranked[:10]] == [item.entry.pk for item in whole[:10]]


def test_the_wall_holds_for_what_is_found_by_words(large: Scope, stranger: Workspace) -> None:
    large_scopes.carry_out()
    term = Entry.objects.filter(scope=large).first().terms[0]  # type: ignore[union-attr]
    results = [large.workspace_id, large.pk, [term], [[], []], 5]
    with connection.cursor() as cursor:

        def holding() -> list[int]:
            cursor.execute(candidates._HOLDING, results)
            return list(cursor.fetchone()[0])

        assert holding()
        with acting_as(row_level_security.WEB_ROLE):
            assert holding() == []
            row_level_security.enter([stranger.pk])
            assert holding() == [] and ask(large, QUESTIONS[0]) == []
            row_level_security.enter([large.workspace_id])
            assert holding() and ask(large, QUESTIONS[0])
            row_level_security.leave()


def test_no_role_but_the_owner_builds(large: Scope) -> None:
    with acting_as(row_level_security.WEB_ROLE), pytest.raises(Exception, match="must be owner"):
        run("CREATE INDEX memories_large_1_1_1 ON memories_entryindex (scope_id)")


KILLED = """
import django
django.setup()
from memories.index import large_scopes
print("begun", flush=True)
large_scopes.carry_out(lambda name: print(name, flush=True))
"""


def test_killed_while_it_builds_it_is_built_again(large: Scope) -> None:
    """A transaction that is open keeps it from ending: the index is there and not valid."""
    with psycopg.connect(database_url(connection.settings_dict["NAME"])) as other:
        other.execute("UPDATE memories_entryindex SET is_echo = is_echo WHERE scope_id = %s", [large.pk])
        environment = {
            **os.environ,
            "DATABASE_URL": database_url(connection.settings_dict["NAME"]),
            "MEMORY_LARGE_SCOPE_ENTRIES": "100",
            "DJANGO_SETTINGS_MODULE": "memplatform.settings",
        }
        builder = subprocess.Popen([sys.executable, "-c", KILLED], env=environment, stdout=subprocess.DEVNULL)
        until(lambda: indexes(valid=False), 60)
        assert large_scopes.is_building() and large_scopes.carry_out() == {"built": 0, "dropped": 0}
        assert large_scopes.ask() == {"indexes_to_build": 0, "indexes_to_drop": 0}
        assert ask(large, QUESTIONS[0])  # searched whole meanwhile
        builder.send_signal(signal.SIGKILL)
        builder.wait()
        until(lambda: not large_scopes.is_building(), 30)
    assert indexes(valid=False)
    assert large_scopes.preview() == {"indexes_to_build": 1, "indexes_to_drop": 1}
    assert large_scopes.carry_out() == {"built": 1, "dropped": 1}
    assert indexes(valid=True) == indexes()


def test_a_scope_that_grew_gets_a_new_index_before_the_old_one_goes(
    large: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_scopes.carry_out()
    (old,) = indexes()
    monkeypatch.setattr(large_scopes, "ROWS_A_LIST", 3)
    assert large_scopes.carry_out() == {"built": 1, "dropped": 1}
    (new,) = indexes(valid=True)
    assert new != old and new.endswith("_40")


def test_the_worker_asks_and_the_owner_hears(large: Scope) -> None:
    run(f"LISTEN {large_scopes.CHANNEL}")
    assert large_scopes.ask() == {"indexes_to_build": 1, "indexes_to_drop": 0}
    assert [notice.channel for notice in connection.connection.notifies(timeout=5, stop_after=1)]
    large_scopes.carry_out()
    assert large_scopes.ask() == {"indexes_to_build": 0, "indexes_to_drop": 0}
    assert not list(connection.connection.notifies(timeout=0.2))
