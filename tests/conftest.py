"""Who appears in the tests: Alice's workspace with its bot, and a stranger's beside it."""

import gc
import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.db import connection
from django.test import Client, TransactionTestCase, override_settings
from django.test.client import ClientHandler
from django.utils import timezone, translation
from psycopg import sql
from psycopg.pq import TransactionStatus

from memories import embeddings, postgresql
from memories.choices import EntryType, Permission, ScopeKind, Source
from memories.entries.draft import Draft
from memories.models import Bot, BotKey, OAuthClient, OAuthGrant, Scope, Workspace
from memories.tenancy import row_level_security
from tests.support import migrated, postgres_server, properties  # noqa: F401 (before hypothesis is told of a profile)
from tests.support.emptied import delete_all_rows

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

#: Where tests wait for what they start, longest first.
WAITING = ("tests/system", "tests/release", "tests/clients", "tests/journeys")
#: Where tests compute longest, longest first.
COMPUTING = ("tests/memories/admin", "tests/memories", "tests/docs", "tests/memplatform", "tests/channels_app")
#: Folders whose tests start processes, kill them and wait for others: on a machine that is held up for seconds one may
#: fail though nothing is wrong. Each is tried once more, and the summary names it.
TRIED_TWICE = ("tests/system", "tests/journeys")
#: So many tests with a database does `make quick` take of each file: every part of every app is asked for something.
QUICK_OF_A_FILE = 2

gc.disable()  # while tests are collected, nearly all that is made stays
admin.autodiscover()  # as in a web: its pages are there before any of them is asked for
#: For formats of addresses that no schema here has, jsonschema would read forty grammars with it: seconds each process.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


def pytest_collection_finish() -> None:
    """What was imported stays: the garbage collector need not walk over it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 50)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="of each file what needs no database, and a few of the rest")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("quick"):
        wanted = quick(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
        items[:] = [item for item in items if item in wanted]
    for item in items:
        if item.nodeid.startswith(TRIED_TWICE):
            item.add_marker(pytest.mark.flaky(reruns=1))
    items[:] = by_turns(items)


def by_turns(items: list[pytest.Item]) -> list[pytest.Item]:
    """A file that waits, two that compute, and so on: those who share the files of a run (`--dist loadfile
    --no-loadscope-reorder`) wait while others compute. What takes longest comes first, so that all are busy to the end.
    """
    files: defaultdict[Path, list[pytest.Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: _place(item, (*WAITING, *COMPUTING))):
        files[item.path].append(item)
    waiting = [file for file in files.values() if file[0].nodeid.startswith(WAITING)]
    computing = [file for file in files.values() if not file[0].nodeid.startswith(WAITING)]
    turns = chain.from_iterable(zip_longest(waiting, computing[::2], computing[1::2]))
    return [item for file in turns for item in file or ()]


def _place(item: pytest.Item, folders: tuple[str, ...]) -> int:
    return next((n for n, folder in enumerate(folders) if item.nodeid.startswith(folder)), len(folders))


def quick(items: list[pytest.Item]) -> set[pytest.Item]:
    """Whatever needs no database; of a file's tests that do the first few, each with its first parameters."""
    wanted: set[pytest.Item] = set()
    by_file: defaultdict[Path, set[str]] = defaultdict(set)
    for item in items:
        name, names = item.name.partition("[")[0], by_file[item.path]
        if "db" not in getattr(item, "fixturenames", ()) and not item.get_closest_marker("django_db"):
            wanted.add(item)
        elif name not in names and len(names) < QUICK_OF_A_FILE:
            names.add(name)
            wanted.add(item)
    return wanted


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Where the server is our own, the tables are a copy."""
    if not os.environ.get("DATABASE_URL"):
        connection.settings_dict["TEST"]["TEMPLATE"] = migrated.pattern(postgres_server.DATA)


@pytest.fixture(scope="session", autouse=True)
def settings_of_every_test(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set once: a setting that changes tells a dozen receivers, which costs more than many a test."""
    with override_settings(
        # Words are hashed into vectors: no model, no network, the same everywhere.
        MEMORY_EMBEDDERS=["memories.embeddings.deterministic.Deterministic"],
        MEMORY_EMBED_RECALL_SECONDS=5.0,  # a busy machine must not degrade a test by accident
        MEMORY_EMBED_PENDING_SECONDS=0.0,  # no worker embeds beside a test
        # Every Client has the middleware made anew; it need not read all the packages' folders each time.
        WHITENOISE_AUTOREFRESH=True,
        MEMORY_OFFLINE_ROOT=tmp_path_factory.mktemp("offline"),
        MEMORY_FILES_ROOT=tmp_path_factory.mktemp("files"),
        ERASURES_ROOT=tmp_path_factory.mktemp("erasures"),
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],  # real ones are slow on purpose
    ):
        yield


@pytest.fixture(autouse=True)
def every_test_begins_alike() -> Iterator[None]:
    """In English, whatever a request of the test before asked for, with an embedder of its own and without files."""
    embeddings.forget()
    for left in Path(settings.MEMORY_FILES_ROOT).glob("*/"):
        shutil.rmtree(left)
    yield
    translation.deactivate()


@pytest.fixture(scope="session", autouse=True)
def requests_are_answered_as_the_web() -> Iterator[None]:
    """Every request of a test is bound by what the role of the web may do, as it is in a web process."""
    answer = ClientHandler.__call__

    def bound(handler: ClientHandler, environ: Any) -> Any:
        if connection.connection is None or connection.connection.closed:  # a test without a database
            return answer(handler, environ)
        with acting_as(row_level_security.WEB_ROLE):
            return answer(handler, environ)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClientHandler, "__call__", bound)
        yield


@pytest.fixture(scope="session", autouse=True)
def tables_are_emptied_row_by_row() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("DATABASE_URL"):  # on our own server the tests are superuser
            patch.setattr(TransactionTestCase, "_fixture_teardown", delete_all_rows)
        yield


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def turns_are_read(settings: Any) -> None:
    """As if a model had drawn facts from every turn when it was said: each lives as long as its type says."""
    settings.MEMORY_UNREAD_TURN_TTL = timedelta(0)


@pytest.fixture
def workspace(db: None) -> Workspace:
    return Workspace.objects.create(name="Alice's")


@pytest.fixture
def stranger(db: None) -> Workspace:
    return Workspace.objects.create(name="Charlie's")


@pytest.fixture
def as_the_web(db: None) -> Iterator[None]:
    """This connection acts as the web's role, as every web process does."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET ROLE {row_level_security.WEB_ROLE}")
        yield
        row_level_security.leave()
        cursor.execute("RESET ROLE")


@contextmanager
def acting_as(role: str) -> Iterator[None]:
    """This connection has the rights of a role, without a statement that a test would count."""
    if postgresql.is_pooled():  # tests.support.behind_pooler: what is set for a session would be another's
        with postgresql.putting_settings({"role": role}):
            yield
        return
    raw = connection.connection
    (before,) = raw.execute("SELECT current_setting('role')").fetchone()
    raw.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    try:
        yield
    finally:
        if not raw.closed and raw.info.transaction_status != TransactionStatus.INERROR:
            raw.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(before)))


def make_scope(workspace: Workspace, key: str = "telegram:direct_u42", kind: str = ScopeKind.USER) -> Scope:
    return Scope.objects.create(workspace=workspace, key=key, kind=kind)


@pytest.fixture
def scope(workspace: Workspace) -> Scope:
    return make_scope(workspace)


def make_draft(scope: Scope, content: str, **kwargs: Any) -> Draft:
    """A memory saved on purpose, unless told otherwise."""
    defaults: dict[str, Any] = {"type": EntryType.USER_EXPLICIT, "source": Source.TOOL, "at": NOW}
    return Draft(scope=scope, content=content, **(defaults | kwargs))


def make_key(workspace: Workspace, *, name: str = "bot", permissions: list[str] | None = None, **kwargs: Any) -> str:
    """The token of a new key with every permission, unless told otherwise."""
    bot, _made = Bot.objects.get_or_create(workspace=workspace, name=name)
    _key, token = BotKey.issue(bot, permissions=permissions or list(Permission.values), **kwargs)
    return token


def make_grant(bot: Bot, user: Any, word: str = "w", **kwargs: Any) -> OAuthGrant:
    """That somebody let a client of MCP in to read, which has not come yet."""
    client = OAuthClient.objects.create(
        client_id=f"id-{word}", name=f"client-{word}", redirect_uris=[f"https://{word}.example/"], auth_method="none",
        registered_from="x", registered_at=NOW,
    )  # fmt: skip
    own = {"platform": "telegram", "peer": f"peer-{word}", "permissions": ["read"]} | kwargs
    return OAuthGrant.objects.create(
        workspace=bot.workspace, bot=bot, client=client, user=user, resource="https://memory.example/mcp",
        code_challenge="c", code_expires_at=NOW, created_at=NOW, expires_at=timezone.now() + timedelta(days=30), **own,
    )  # fmt: skip


class Api:
    """A bot at the wire: JSON in, JSON out."""

    def __init__(self, token: str | None) -> None:
        self._client = Client(raise_request_exception=False)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self._client.post(
            f"/api/v1/{path}",
            body if body is not None else {},
            content_type="application/json",
            headers={**self._headers, **headers},
        )

    def get(self, path: str, **params: Any) -> Any:
        return self._client.get(f"/api/v1/{path}", params, headers=self._headers)

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        return self._client.generic(
            method,
            f"/api/v1/{path}",
            body if body is not None else "",
            content_type="application/json",
            headers={**self._headers, **headers},
        )


@pytest.fixture
def api(workspace: Workspace) -> Api:
    return Api(make_key(workspace))


TELEGRAM = {"platform": "telegram", "account": "mybot", "peer": "u42", "chat": "c7"}
GROUP = {"platform": "telegram", "account": "mybot", "peer": "u42", "chat": "g1", "is_group": True}
