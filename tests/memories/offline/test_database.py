"""Whether the database is away is found out once, and nobody waits for it."""

import os
import threading
import time
from typing import Any

import psycopg
import pytest
from django.db import InterfaceError, OperationalError
from psycopg import errors
from psycopg_pool import PoolTimeout

from memories.offline import database
from tests.conftest import Api
from tests.support.house import until
from tests.support.outage import database_away, forget, lost


def of(cause: Exception | None) -> OperationalError:
    error = OperationalError("said Django")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        of(errors.AdminShutdown()),
        of(errors.CrashShutdown()),
        of(errors.CannotConnectNow()),
        of(errors.ConnectionFailure()),
        of(psycopg.OperationalError("server closed the connection unexpectedly")),
        InterfaceError("the connection is closed"),
        PoolTimeout("couldn't get a connection after 10.00 sec"),
    ],
)
def test_a_lost_connection_is_told_from_a_statement_that_failed(error: Exception) -> None:
    assert database.is_lost(error)


@pytest.mark.parametrize(
    "error",
    [
        of(errors.QueryCanceled()),
        of(errors.LockNotAvailable()),
        of(errors.DeadlockDetected()),
        of(errors.DiskFull()),
        of(errors.TooManyConnections()),
        of(None),
        ValueError("something else"),
    ],
)
def test_a_statement_that_failed_does_not_put_the_database_away(error: Exception) -> None:
    assert not database.is_lost(error)


@pytest.mark.thorough
def test_while_it_is_away_it_is_asked_once_a_second_by_one_thread(monkeypatch: Any) -> None:
    results: list[float] = []

    def refuse(**_options: Any) -> Any:
        results.append(time.monotonic())
        time.sleep(0.1)
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(psycopg, "connect", refuse)
    database.suspect()
    try:
        threads = [threading.Thread(target=database.is_away) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 1
        until(lambda: database.is_away() and len(results) == 2, 3)
        assert results[1] - results[0] > 0.95
    finally:
        forget()


@pytest.mark.django_db
def test_it_is_back_when_it_answers() -> None:
    database.suspect()
    assert not database.is_away()


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_the_watch_notices_that_its_connection_ended_and_that_it_can_have_another(monkeypatch: Any) -> None:
    """The thread of a web process, on a server that ends connections and refuses new ones."""
    real, refusing, made = psycopg.connect, threading.Event(), []
    back: list[bool] = []

    def connect(**options: Any) -> Any:
        if refusing.is_set():
            raise psycopg.OperationalError("connection refused")
        made.append(real(**options))
        return made[-1]

    monkeypatch.setattr(psycopg, "connect", connect)
    monkeypatch.setattr(database, "PROBE_SECONDS", 0.05)
    ear, wake = os.pipe()
    monkeypatch.setattr(database, "_wake", wake)
    watch = threading.Thread(target=database._watch_for_ever, args=(ear, None, lambda: back.append(True)))
    watch.start()
    until(lambda: made, 5)

    database.suspect()  # a call lost its own connection; the server is there
    until(lambda: not database.is_away(), 5)

    refusing.set()
    with real(**database.connections["default"].get_connection_params()) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [made[-1].info.backend_pid])
    until(database.is_away, 5)
    refusing.clear()
    until(lambda: not database.is_away(), 5)
    until(lambda: back, 5)
    os.close(wake)
    watch.join(timeout=5)
    assert not watch.is_alive()


@pytest.mark.django_db
def test_a_call_that_needs_the_database_is_refused_at_once_while_it_is_away(api: Api) -> None:
    assert api.get("entries").status_code == 200
    with database_away():
        refused = api.get("entries")
    assert refused.status_code == 503
    assert refused.json()["errors"][0]["code"] == "database_unavailable"
    assert api.get("entries").status_code == 200


@pytest.mark.django_db
def test_the_first_call_that_loses_its_connection_tells_the_others(api: Api) -> None:
    with database_away(noticed=False):
        assert api.get("entries").status_code == 503
        assert database.is_away()
    assert isinstance(lost(), OperationalError)
