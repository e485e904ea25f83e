"""A PostgreSQL for the tests: the embedded one in .data/test, unless DATABASE_URL names another.

Loaded before Django's settings (`-p tests.support.postgres_server`). Two runs at once share the server, each with a
database of its own.

Compiled modules are kept even where PYTHONDONTWRITEBYTECODE says no, as it does in many containers: the tests start
over a hundred processes, of which each would compile the product anew.
"""

import fcntl
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest
from django.db import connections

from memplatform import postgres
from tests import ROOT

DATA = ROOT / ".data" / "test"
_held = ExitStack()
os.environ["MEMPLATFORM_DATA"] = str(DATA)
os.environ.pop("MEMPLATFORM_PROCESS", None)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    try:
        postgres.require(DATA)
        if not os.environ.get("DATABASE_URL"):
            _held.enter_context(postgres.lease(DATA, postgres.THROWAWAY))
    except postgres.PostgresError as problem:
        raise pytest.UsageError(str(problem)) from problem
    # The first free number names this run's database.
    connections.databases["default"]["TEST"]["NAME"] = f"test_memplatform_{_number()}"


def pytest_unconfigure(config: pytest.Config) -> None:
    _held.close()


def _number() -> int:
    number = 1
    while not _take(DATA / f"database-{number}.lock"):
        number += 1
    return number


def _take(path: Path) -> IO[str] | None:
    file = _held.enter_context(path.open("a"))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return file
