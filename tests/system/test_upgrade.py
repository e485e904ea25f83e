"""A database from before the first release, with memories in it, goes on: same rows, same tables as a fresh one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests import ROOT
from tests.support.processes import database_url

#: The steps such a database had taken.
STEPS = {"memories": "0030", "sessions_app": "0010", "channels_app": "0004"}
#: What stood in it: a memory that was recalled, one that waits for its vector, and a turn that waits to be extracted.
ROWS = """
import django
django.setup()
from datetime import UTC, datetime
from uuid import uuid4
from django.db import connection
from django.db.migrations.loader import MigrationLoader
loader = MigrationLoader(connection)
leaves = [key for key in loader.graph.nodes if key in loader.applied_migrations]
apps = loader.project_state(leaves).apps
model = lambda name: apps.get_model("memories", name)
now = datetime(2026, 3, 1, 9, tzinfo=UTC)
workspace = model("Workspace").objects.create(name="Alice's")
bot = model("Bot").objects.create(workspace=workspace, name="a")
scope = model("Scope").objects.create(workspace=workspace, key="telegram:direct_u42", kind="user", created_at=now)
entry = model("Entry").objects.create(
    scope=scope, workspace=workspace, type="chat_turn", content="User: I keep bees.", source="tool",
    created_at=now, stated_at=now, updated_at=now, fingerprint="f" * 32,
)
model("StaleEntry").objects.create(entry=entry, workspace_id=workspace.pk, since=now)
model("Receipt").objects.create(
    workspace=workspace, bot=bot, scopes=[scope.pk], message="bees?", served=[entry.pk], created_at=now,
)
parcel = model("Parcel").objects.create(
    workspace=workspace, session_uid=uuid4(), conversation=1, state="parked", sealed=True, turn_count=1, tokens=9,
    began_at=now, last_at=now, due_at=now, attempts=5, error="ModelFailed: 500",
)
model("BufferedTurn").objects.create(
    parcel=parcel, workspace=workspace, user_scope=scope, chat="c7", place="telegram", tokens=9, said_at=now,
    messages=[{"role": "user", "content": "I keep bees."}],
)
"""
#: Everything the tables are made of, by name; what was dropped leaves no trace.
SHAPE = """
SELECT 'column', table_name || '.' || column_name || ' ' || udt_name || ' ' || is_nullable
    FROM information_schema.columns WHERE table_schema = 'public'
UNION SELECT 'constraint', conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND conrelid <> 0
UNION SELECT 'index', indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION SELECT 'policy', tablename || ' ' || policyname || ' ' || qual FROM pg_policies
UNION SELECT 'trigger', tgrelid::regclass || ' ' || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION SELECT 'function', pg_get_functiondef(oid) FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace AND prokind = 'f' AND NOT EXISTS (
        SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
"""

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def upgraded(django_db_setup: None) -> Iterator[str]:
    """The URL of a database of before, brought up, on the server of the tests."""
    name = f"upgraded_{os.getpid()}"
    url = database_url(name)
    with psycopg.connect(database_url(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            for app, step in STEPS.items():
                run(url, "manage.py", "migrate", app, step, "--verbosity", "0", settings="tests.support.before_release")
            run(url, "-c", ROWS, settings="tests.support.before_release")
            run(url, "manage.py", "migrate", "--verbosity", "0")
            yield url
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def run(url: str, *command: str | Path, settings: str = "memplatform.settings") -> None:
    environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": settings}
    subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, check=True)


def shape(url: str) -> set[tuple[str, str]]:
    with psycopg.connect(url) as connection:
        return {(kind, text) for kind, text in connection.execute(SHAPE)}


def test_its_tables_are_those_of_a_fresh_one(upgraded: str) -> None:
    assert shape(upgraded) == shape(database_url())


def test_what_was_in_it_is_still_there_under_its_new_names(upgraded: str) -> None:
    with psycopg.connect(upgraded) as connection:
        (entry,) = connection.execute("SELECT id FROM memories_entry WHERE content = 'User: I keep bees.'").fetchone()
        assert connection.execute("SELECT message, served FROM memories_recalltrace").fetchall() == [("bees?", [entry])]
        assert connection.execute("SELECT entry_id FROM memories_indexqueueitem").fetchall() == [(entry,)]
        waiting = (
            "SELECT b.state, t.chat FROM memories_bufferedturn t JOIN memories_extractionbatch b ON b.id = t.batch_id"
        )
        assert connection.execute(waiting).fetchall() == [("parked", "c7")]


def test_it_counts_as_migrated(upgraded: str) -> None:
    run(upgraded, "manage.py", "migrate", "--check")
