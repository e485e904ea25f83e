"""SQL that gets into a query may do what the login of its process may do: no way leads to the owner's rights."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import ProgrammingError, connection, transaction

from memories import entries
from memories.models import Change, Entry, Workspace
from memories.models.change import forget_history
from memplatform.database import rights, roles
from memplatform.database.roles import PROCESSES, Access, AccessMode, address_of, password_of, role_of_owner
from tests import ROOT
from tests.conftest import acting_as, make_draft, make_key, make_scope
from tests.memories.webhooks.conftest import make_webhook
from tests.support.processes import database_url

pytestmark = pytest.mark.django_db
Login = psycopg.Connection[Any]


def login_as(role: str) -> Login:
    data: dict[str, Any] = connection.get_connection_params()
    return psycopg.connect(**(data | {"user": role, "cursor_factory": None, "autocommit": True}))


@pytest.fixture(params=PROCESSES)
def login(request: pytest.FixtureRequest, db: None) -> Iterator[Login]:
    with login_as(f"memplatform_{request.param}") as opened:
        yield opened


@pytest.fixture
def web(db: None) -> Iterator[Login]:
    with login_as("memplatform_web") as opened:
        yield opened


@pytest.mark.parametrize(
    "way",
    [
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
        "SET ROLE pg_read_all_data",
        "GRANT postgres TO CURRENT_USER",
        "ALTER ROLE CURRENT_USER SUPERUSER",
        "ALTER ROLE CURRENT_USER BYPASSRLS",
        "CREATE ROLE another SUPERUSER",
        "ALTER TABLE memories_entry DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE memories_entry OWNER TO CURRENT_USER",
        "DROP POLICY entry_of_the_workspaces ON memories_entry",
        "CREATE POLICY everything ON memories_entry USING (true)",
        "CREATE OR REPLACE FUNCTION memplatform_workspaces() RETURNS bigint[] LANGUAGE sql"
        " AS 'SELECT ARRAY[1::bigint]'",
        "ALTER FUNCTION memplatform_workspace_of_key(text) SECURITY INVOKER",
        "CREATE TABLE public.mine (id int)",
        "CREATE VIEW public.mine AS SELECT * FROM memories_entry",
        "ALTER TABLE memories_entry DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
        "TRUNCATE memories_entry",
        "DROP TABLE memories_entry",
        "UPDATE memories_change SET actor = 'somebody else'",
        "DELETE FROM memories_change",
        "TRUNCATE memories_change",
        "DELETE FROM django_migrations",
        "COPY memories_entry TO PROGRAM 'cat'",
        "COPY (SELECT 1) TO '/tmp/out'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_ls_dir('/')",
        "SELECT lo_import('/etc/passwd')",
        "CREATE EXTENSION dblink",
        "CREATE EXTENSION adminpack",
        "LOAD '/tmp/some.so'",
        "SELECT rolpassword FROM pg_authid",
        "ALTER ROLE CURRENT_USER SET memplatform.workspaces = '{1}'",
        "ALTER DATABASE CURRENT_DATABASE SET memplatform.workspaces = '{1}'",
        "ALTER SYSTEM SET log_statement = 'all'",
    ],
)
def test_no_statement_leads_out_of_a_login(login: Login, way: str) -> None:
    if "CURRENT_DATABASE" in way:
        way = way.replace("CURRENT_DATABASE", login.info.dbname)
    with pytest.raises(psycopg.Error) as refused:
        login.execute(way)
    assert refused.value.sqlstate in ("42501", "42704", "58P01", "0A000"), refused.value


@pytest.mark.parametrize("way", ["SET ROLE NONE", "RESET ROLE", "RESET SESSION AUTHORIZATION", "DISCARD ALL"])
def test_what_undoes_a_role_leaves_the_login_itself(login: Login, way: str) -> None:
    login.execute(way)
    result = login.execute(
        "SELECT current_user, rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication,"
        " (SELECT count(*) FROM pg_class WHERE relowner = r.oid), pg_has_role('pg_read_all_data', 'MEMBER')"
        " FROM pg_roles r WHERE rolname = current_user"
    ).fetchone()
    assert result == (login.info.user, False, 0, False)


def test_row_security_cannot_be_switched_off_by_a_setting(web: Login) -> None:
    web.execute("SET row_security = off")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        web.execute("SELECT * FROM memories_entry")


def test_every_process_is_given_the_address_of_the_same_database() -> None:
    for access in roles.provide_access("postgresql://owner:secret@db.example:5432/memory").values():
        assert access.address.endswith("@db.example:5432/memory"), access.role


_ASK = """
import django
django.setup()
from django.db import connection
from memories.offline import replicas
(replica,) = replicas._replicas()
for asked in (connection, replica.wrapper()):
    with asked.cursor() as cursor:
        cursor.execute("SELECT current_user, current_setting('statement_timeout')")
        print(*cursor.fetchone())
    asked.close()
"""


def patience_of(process: str, access: Access, **more: str) -> set[str]:
    """As whom a process of this name works on the database and on its replicas, and for how long a statement."""
    result = subprocess.run(
        [sys.executable, "-c", _ASK],
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "memplatform.settings",
            "MEMPLATFORM_PROCESS": process,
            "DATABASE_REPLICA_URL": database_url(),
            **access.environment(),
            **more,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return set(result.stdout.splitlines())


@pytest.mark.parametrize("mode", AccessMode)
def test_a_statement_of_the_web_has_its_seconds_however_the_web_comes_in(mode: AccessMode) -> None:
    login = roles.provide_access(database_url())["web"]
    owner = connection.settings_dict["USER"]
    access, role = {
        AccessMode.LOGIN: (login, "memplatform_web"),
        AccessMode.ASSUMED: (Access("memplatform_web", AccessMode.ASSUMED, database_url()), "memplatform_web"),
        AccessMode.OWNER: (Access("", AccessMode.OWNER, database_url()), owner),
    }[mode]
    assert login.mode is AccessMode.LOGIN
    assert patience_of("web", access) == {f"{role} 15s"}
    assert patience_of("web", access, MEMPLATFORM_STATEMENT_SECONDS="0.5") == {f"{role} 500ms"}


@pytest.mark.thorough
def test_every_process_has_its_login_and_what_it_needs() -> None:
    assert [roles.access_mode(process) for process in PROCESSES] == [AccessMode.LOGIN] * len(PROCESSES)
    assert list(roles.problems()) == []


@pytest.mark.thorough
def test_a_missing_grant_is_named_in_one_sentence_and_given_back_by_migrating() -> None:
    with connection.cursor() as cursor:
        cursor.execute("REVOKE INSERT, UPDATE ON memories_scope FROM memplatform_web")
    (problem,) = roles.problems()
    assert problem.is_serious()
    assert problem.msg == "The database role memplatform_web lacks INSERT, UPDATE ON memories_scope."
    roles.ensure()
    assert list(roles.problems()) == []


def test_a_right_too_many_is_told_and_taken_by_migrating() -> None:
    with connection.cursor() as cursor:
        cursor.execute("GRANT DELETE ON memories_change TO memplatform_worker")
    (problem,) = roles.problems()
    assert problem.msg == "The database role memplatform_worker may do more than it should: DELETE ON memories_change."
    roles.ensure()
    assert rights.differences("memplatform_worker")[1] == []


@pytest.mark.thorough
def test_a_new_table_behind_the_wall_is_open_to_the_worker_after_migrating() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP POLICY every_workspace ON memories_entry")
    text = "The database role memplatform_embedder lacks POLICY every_workspace ON memories_entry."
    assert text in [problem.msg for problem in roles.problems()]
    roles.ensure()
    assert list(roles.problems()) == []


def test_without_a_workspace_neither_keys_nor_members_nor_work_are_seen(workspace: Workspace, now: Any) -> None:
    make_key(workspace)
    make_webhook(workspace, "https://a.example/")
    entries.remember(make_draft(make_scope(workspace), "tea"), now=now, actor="test")
    seen = {}
    with acting_as("memplatform_web"), connection.cursor() as cursor:
        for table in (
            "bot",
            "botkey",
            "member",
            "indexqueueitem",
            "jobrun",
            "secret",
            "entry",
            "change",
            "scope",
            "webhook",
            "webhookdelivery",
        ):
            cursor.execute(f"SELECT count(*) FROM memories_{table}")
            seen[table] = cursor.fetchone()[0]
    assert set(seen.values()) == {0}, seen


def test_the_worker_sees_every_workspace(workspace: Workspace, stranger: Workspace, now: Any) -> None:
    for owner in (workspace, stranger):
        entries.remember(make_draft(make_scope(owner), "tea"), now=now, actor="test")
    with acting_as("memplatform_worker"):
        assert Entry.objects.count() == 2


@pytest.mark.parametrize("role", ["memplatform_web", "memplatform_worker"])
def test_history_goes_with_a_removed_row_and_stays_with_one_that_exists(
    workspace: Workspace, now: Any, role: str
) -> None:
    entry = entries.remember(make_draft(make_scope(workspace), "tea"), now=now, actor="test").entry
    pk = entry.pk
    mine = Change.objects.filter(table_name="memories_entry", row_id=pk)
    with acting_as(role), pytest.raises(ProgrammingError, match="still exists is kept"), transaction.atomic():
        forget_history(workspace.pk, "memories_entry", [pk])
    assert mine.exists()
    entry.delete()
    with acting_as(role):
        forget_history(workspace.pk, "memories_entry", [pk])
    assert not mine.exists()


def test_a_password_follows_from_the_owners_and_gives_nothing_away() -> None:
    assert password_of("memplatform_web", "secret") == password_of("memplatform_web", "secret")
    different = {password_of("memplatform_web", "other"), password_of("memplatform_worker", "secret")}
    assert password_of("memplatform_web", "secret") not in different


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("postgresql://me:word@db:5432/name?sslmode=require", "postgresql://web:p%40w@db:5432/name?sslmode=require"),
        (
            "postgresql://postgres@/postgres?host=%2Frun&port=5432",
            "postgresql://web:p%40w@/postgres?host=%2Frun&port=5432",
        ),
        ("postgresql://db/name", "postgresql://web:p%40w@db/name"),
    ],
)
def test_the_address_of_another_role_is_the_same_otherwise(url: str, address: str) -> None:
    assert address_of(url, "web", "p@w") == address


def test_a_name_too_long_for_the_server_is_shortened_without_meeting_another() -> None:
    names = {role_of_owner("web", f"{'o' * 60}{n}") for n in range(3)}
    assert len(names) == 3 and all(len(name) <= 63 for name in names)
