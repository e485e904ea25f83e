"""Large tables in partitions by workspace: made while others write, killed and gone on with, with every wall."""

import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.test.utils import CaptureQueriesContext

from memories import entries
from memories.choices import BatchVerb
from memories.index import worker
from memories.migrations._sql import BuildIndex
from memories.models import Change, Entry, EntryIndex, Scope, Workspace
from memories.recall import Query, SearchScope, recall
from memories.tenancy import row_level_security
from memories.tenancy.resolver import ScopeRef
from memplatform.database import partitions, rights
from memplatform.database.partitions import TABLES
from tests import ROOT
from tests.conftest import NOW, acting_as, make_draft, make_scope
from tests.memories.batches.conftest import applied, state_of_everything, step, undone
from tests.support import migrated, postgres_server
from tests.support.house import until
from tests.support.processes import database_url

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL") or migrated.PARTITIONS), reason="of our own server"),
]


@pytest.fixture
def database() -> Iterator[str]:
    """A database of its own, with all tables, in which the test works."""
    usual, name = connection.settings_dict["NAME"], f"partitions_{os.getpid()}"
    pattern = migrated.pattern(postgres_server.DATA)
    with psycopg.connect(database_url("postgres"), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE {pattern}")
        connection.close()
        connection.settings_dict["NAME"] = name
        try:
            yield database_url(name)
        finally:
            connection.close()
            connection.settings_dict["NAME"] = usual
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def sql(statement: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def command(*words: str) -> str:
    out = StringIO()
    call_command("partitions", *words, stdout=out)
    return out.getvalue()


def process(url: str, *words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "manage.py", "partitions", *words],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url},
        stdout=subprocess.DEVNULL,
    )


def fill(names: list[str], count: int) -> list[Workspace]:
    """Workspaces with so many memories each, indexed."""
    made = []
    for name in names:
        scope = make_scope(Workspace.objects.create(name=name))
        drafts = [make_draft(scope, f"{name} painted thing number {n}") for n in range(count)]
        entries.remember_many(drafts, now=NOW, actor="bot:t")
        made.append(scope.workspace)
    while worker.drain(now=NOW):
        pass
    return made


def contents() -> dict[str, list[Any]]:
    return {
        table: sql(f"SELECT md5(t::text) FROM {table} t ORDER BY 1")  # noqa: S608 (names of ours)
        for table in TABLES
    }


def definitions() -> dict[str, Any]:
    """What tables have besides rows: triggers, policies, rights, names of indexes and of keys."""
    queries = (
        "SELECT tgname, md5(pg_get_triggerdef(oid)) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal",
        "SELECT policyname, cmd, roles::text, qual, with_check FROM pg_policies WHERE tablename = %s",
        "SELECT grantee::regrole::text, privilege_type FROM pg_class c, aclexplode(c.relacl)"
        " WHERE c.oid = %s::regclass",
        "SELECT indexname FROM pg_indexes WHERE tablename = %s",
        "SELECT conname, contype::text, convalidated FROM pg_constraint"
        " WHERE conrelid = %s::regclass AND conparentid = 0",
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE confrelid = %s::regclass AND conparentid = 0",
        "SELECT attname, atttypid::regtype::text, attstorage::text, attnotnull, attidentity::text FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0",
        "SELECT relrowsecurity, relowner::regrole::text, obj_description(oid) FROM pg_class WHERE oid = %s::regclass",
        "SELECT pg_get_serial_sequence(t, 'id') FROM (VALUES (%s)) v (t) WHERE EXISTS"
        " (SELECT FROM pg_attribute WHERE attrelid = t::regclass AND attname = 'id')",
    )
    return {table: [sorted(map(str, sql(query, table))) for query in queries] for table in TABLES}


class Writers:
    """Others who write meanwhile, one a workspace; each knows what has to be there of its own."""

    def __init__(self, url: str, workspaces: list[Workspace]) -> None:
        self.url, self.stop, self.problems = url, threading.Event(), list[Exception]()
        self.wanted: dict[int, dict[int, float]] = {}
        self.threads = [threading.Thread(target=self.write, args=[workspace.pk]) for workspace in workspaces]

    def write(self, workspace: int) -> None:
        pick = random.Random(workspace)
        try:
            with psycopg.connect(self.url, autocommit=True) as mine:
                rows = mine.execute("SELECT id, importance FROM memories_entry WHERE workspace_id = %s", [workspace])
                wanted = self.wanted[workspace] = dict(rows.fetchall())
                while not self.stop.is_set():
                    changed, gone = pick.choice(list(wanted)), pick.choice(list(wanted))
                    mine.execute("UPDATE memories_entry SET importance = 0.9 WHERE id = %s", [changed])
                    wanted[changed] = 0.9
                    row = mine.execute(ANOTHER, [workspace]).fetchone()
                    assert row
                    wanted[row[0]] = row[1]
                    mine.execute("DELETE FROM memories_entry WHERE id = %s", [gone])
                    del wanted[gone]
        except Exception as problem:  # noqa: BLE001 (the test fails by it)
            self.problems.append(problem)

    def __enter__(self) -> "Writers":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_about: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()
        assert not self.problems, self.problems
        for workspace, wanted in self.wanted.items():
            rows = sql("SELECT id, importance FROM memories_entry WHERE workspace_id = %s", workspace)
            assert dict(rows) == wanted


ANOTHER = """
    INSERT INTO memories_entry SELECT (jsonb_populate_record(e, jsonb_build_object(
        'id', nextval(pg_get_serial_sequence('memories_entry', 'id')), 'uid', gen_random_uuid()))).*
    FROM memories_entry e WHERE workspace_id = %s ORDER BY id LIMIT 1 RETURNING id, importance
"""


def killed_at(row: int, url: str, *words: str) -> None:
    """Run the command until it waits for a row of memories that somebody holds, and kill it there."""
    with psycopg.connect(url) as holder:
        holder.execute("SELECT 1 FROM memories_entry WHERE id = %s FOR UPDATE", [row])
        began = process(url, *words)
        until(lambda: partitions.unfinished().get("memories_entry", -1) > 0, seconds=300)
        assert began.poll() is None
        began.kill()
        began.wait()


def test_all_goes_on_while_tables_come_into_partitions_whoever_is_killed(database: str) -> None:
    workspaces = fill(["one", "two", "three"], 30)
    before, had = definitions(), contents()
    middle = sql("SELECT id FROM memories_entry ORDER BY id OFFSET 40 LIMIT 1")[0][0]
    killed_at(middle, database, "create", "--of", "3", "--table", "memories_entry", "--batch", "7")
    assert "begun and not finished" in command("show")
    with Writers(database, workspaces[:2]):
        command("create", "--of", "3", "--batch", "7")
    after = definitions()
    for table in TABLES:
        assert all(partitions.is_partitioned(table) and len(partitions.parts_of(table)) == 3 for table in TABLES)
        assert after[table] == before[table], table
    still = contents()
    for table in ("memories_change", "memories_recalltrace", "sessions_app_sessionevent"):
        assert set(had[table]) <= set(still[table])
    assert not partitions.unfinished()
    # a copy is made, of one that holds two workspaces: killed, gone on with, taken out, put back
    own = workspaces[2]
    last = sql("SELECT max(id) FROM memories_entry WHERE workspace_id = %s", own.pk)[0][0]
    killed_at(last, database, "move", "three", "--table", "memories_entry", "--batch", "3")
    with pytest.raises(CommandError, match="begun and not finished"):
        command("move", "two", "--table", "memories_entry")
    had = contents()
    command("move", "three", "--batch", "7")
    assert contents() == had
    for table in TABLES:
        assert [part.name for part in partitions.parts_of(table) if part.workspace] == [f"{table}_w{own.pk}"]
        assert definitions()[table] == after[table]
    assert EntryIndex.objects.filter(workspace=own).count() == 30
    command("detach", "three", "--table", "memories_entryindex")
    assert not EntryIndex.objects.filter(workspace=own).exists()
    command("attach", "three", "--table", "memories_entryindex")
    assert contents() == had
    with pytest.raises(CommandError, match="point at it"):
        command("detach", "three", "--table", "memories_entry")
    assert contents() == had


def test_a_copy_that_was_begun_is_taken_back(database: str) -> None:
    workspaces = fill(["one"], 10)
    before = definitions(), contents()
    killed_at(
        sql("SELECT max(id) FROM memories_entry")[0][0],
        database,
        "create",
        "--of",
        "2",
        "--table",
        "memories_entry",
        "--batch",
        "3",
    )
    command("abandon")
    assert not partitions.unfinished()
    now = definitions(), contents()
    assert now == before
    with Writers(database, workspaces):
        command("create", "--of", "2", "--table", "memories_entry", "--batch", "3")
    assert "2 partitions" in command("show")


@pytest.fixture
def apart(database: str) -> list[Workspace]:
    """Two workspaces, the second with partitions of its own."""
    workspaces = fill(["one", "two"], 6)
    command("create", "--of", "3")
    command("move", "two")
    return workspaces


def test_walls_stand_in_every_partition(apart: list[Workspace]) -> None:
    names = [part.name for table in TABLES for part in partitions.parts_of(table)]
    with acting_as(row_level_security.WEB_ROLE):
        for workspace in apart:
            row_level_security.enter([workspace.pk])
            assert set(Entry.objects.values_list("workspace", flat=True)) == {workspace.pk}
            assert set(Change.objects.values_list("workspace_id", flat=True)) == {workspace.pk}
            row_level_security.leave()
        assert not Entry.objects.exists()
        for name in names:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.connection.execute(f"SELECT 1 FROM {name}")  # noqa: S608 (names of ours)
    for name in names:  # somebody gave a right too much
        sql(f"GRANT SELECT ON {name} TO {row_level_security.WEB_ROLE}")
    with acting_as(row_level_security.WEB_ROLE):
        row_level_security.enter([workspace.pk for workspace in apart])
        assert not any(sql(f"SELECT 1 FROM {name}") for name in names)  # noqa: S608 (names of ours)
        row_level_security.leave()
    assert not rights.differences(row_level_security.WEB_ROLE)[0]


def read_of(plan: Any) -> Iterator[str]:
    """The tables and partitions that a plan reads rows from, in whatever way."""
    if isinstance(plan, list):
        for part in plan:
            yield from read_of(part)
    elif isinstance(plan, dict):
        if name := plan.get("Relation Name"):
            yield str(name)
        for part in plan.values():
            yield from read_of(part)


def test_a_recall_reads_one_partition_and_history_goes_on(apart: list[Workspace]) -> None:
    for workspace, own in zip(apart, (False, True), strict=True):
        scope = Scope.objects.get(workspace=workspace)
        place = SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))
        query = Query(
            workspace_id=workspace.pk, places=[place], message="who painted thing number 3?", limit=5, need="off"
        )
        with CaptureQueriesContext(connection) as captured:
            assert recall(query, now=NOW).served
        asked = [ran["sql"] for ran in captured if "memories_entry" in ran["sql"] and "INSERT" not in ran["sql"]]
        assert any("AS fused" in statement for statement in asked)
        for statement in asked:  # what opens, the mean of the scope, the ranking
            read = set(read_of(sql(f"EXPLAIN (FORMAT JSON) {statement}")[0][0]))
            for table in ("memories_entry", "memories_entryindex", "memories_entryvector"):
                parts = {name for name in read if re.fullmatch(rf"{table}_[rw]\d+", name)}
                assert len(parts) <= 1 and (not parts or (parts == {f"{table}_w{workspace.pk}"}) == own), (table, read)
    entry = Entry.objects.filter(workspace=apart[1]).first()
    assert entry
    before = state_of_everything()
    done = applied(entry.scope, [step(BatchVerb.EXPIRE, entry)])
    assert Change.objects.filter(table_name="memories_entry", row_id=entry.pk, op="U", batch_id=done.pk).exists()
    undone(done)
    assert state_of_everything() == before


class Killed(Exception):
    """What ends a start in the middle."""


def assert_is_built_on_each_partition(index: str) -> None:
    built = sql(
        "SELECT c.relname, i.indisvalid FROM pg_partition_tree(%s) t"
        " JOIN pg_class c ON c.oid = t.relid JOIN pg_index i ON i.indexrelid = t.relid",
        index,
    )
    assert len(built) == len(sql("SELECT relid FROM pg_partition_tree('memories_entry')")) > 2
    assert all(is_valid for _name, is_valid in built)


def test_an_index_a_later_version_adds_is_built_on_each_partition_and_again_after_a_kill(database: str) -> None:
    command("create", "--of", "2", "--table", "memories_entry")
    index = next(index for index in Entry._meta.indexes if index.name == "entry_named")
    build, state = BuildIndex("entry", index), MigrationLoader(connection).project_state()
    sql("DROP INDEX entry_named")
    sql("CREATE INDEX entry_named_0 ON memories_entry_r0 (id)")  # what a start that was killed left
    for _start in range(2):
        with connection.schema_editor(atomic=False) as editor:
            build.database_forwards("memories", editor, state, state)
        assert_is_built_on_each_partition("entry_named")


def test_an_index_is_built_wherever_a_start_was_killed_that_attached_its_parts(
    apart: list[Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some are attached to the index of the rest, which is or is not attached to that of the whole table."""
    index = next(index for index in Entry._meta.indexes if index.name == "entry_named")
    build, state = BuildIndex("entry", index), MigrationLoader(connection).project_state()

    def start(statements: int | None = None) -> int:
        """Build it, killed after so many statements; how many there were."""
        with connection.schema_editor(atomic=False) as editor:
            execute, ran = editor.execute, 0

            def counted(statement: Any, params: Any = ()) -> None:
                nonlocal ran
                if ran == statements:
                    raise Killed
                ran += 1
                execute(statement, params)

            monkeypatch.setattr(editor, "execute", counted)
            build.database_forwards("memories", editor, state, state)
        return ran

    attached = len(sql("SELECT relid FROM pg_partition_tree('memories_entry')")) - 1
    whole = start()
    for statements in range(whole - attached, whole):
        with suppress(Killed):
            start(statements)
        start()
        assert_is_built_on_each_partition("entry_named")
