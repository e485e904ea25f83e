"""What measurements stand on: a database, a platform, or the database there is; and what they have in common."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memplatform import postgres
from tests.support.house import House, free_port

ROOT = Path(__file__).resolve().parent.parent
Milliseconds = list[float]


@contextmanager
def folder(**environment: str) -> Iterator[Path]:
    """A data folder thrown away at the end, and the environment of this process for it."""
    top = Path(tempfile.mkdtemp(prefix="memplatform-bench-"))
    top.chmod(0o755)  # started as root, the database's account has to enter
    os.environ.pop("DATABASE_URL", None)
    os.environ |= {"MEMPLATFORM_DATA": str(top / "data"), "MEMORY_CALLS_PER_MINUTE": "1000000", **environment}
    try:
        yield top / "data"
    finally:
        shutil.rmtree(top)


@contextmanager
def database(data: Path) -> Iterator[None]:
    """A fresh database with every table, as `make run` configures it."""
    with postgres.lease(data):
        from django.core.management import call_command
        from django.db import connection

        call_command("migrate", interactive=False, verbosity=0)
        yield
        connection.close()


@contextmanager
def platform(data: Path, root: Path = ROOT, **environment: str) -> Iterator[House]:
    """A running platform on a free port, with the bundled embedder; its log as `make run` writes it.

    `root` holds its files: these, or those of another commit.
    """
    house = House(data, free_port(), root, LOG_LEVEL="INFO", **environment)
    try:
        yield house.greets()
    finally:
        from django.db import connection

        connection.close()
        house.end(signal.SIGINT)
        postgres.down(data)


def sql(statement: str, *values: Any) -> list[Any]:
    """The rows of a statement."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def process(code: str, *arguments: object, **environment: str) -> "subprocess.Popen[str]":
    """Another process that runs this code with Django, until it is done or killed."""
    command = [sys.executable, "-c", f"import sys, django\ndjango.setup()\n{code}", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, text=True)


def begun(code: str, *arguments: object) -> "subprocess.Popen[str]":
    """As `process`, from the moment it prints its first line."""
    started = process(code, *arguments)
    assert started.stdout and started.stdout.readline() == "begun\n"
    return started


def scope_of(name: str, language: str = "en") -> Any:
    """A new scope of a person, in the workspace that `name` begins with."""
    from memories.models import Scope, Workspace

    workspace, _made = Workspace.objects.get_or_create(name=name.split(":")[0], defaults={"language": language})
    number = Scope.objects.filter(workspace=workspace).count()
    return Scope.objects.create(workspace=workspace, key=f"telegram:direct_{name}{number}", kind="user")


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def percentile(values: Milliseconds, percent: int) -> float:
    ascending = sorted(values)
    return round(ascending[min(len(ascending) - 1, len(ascending) * percent // 100)], 2)
