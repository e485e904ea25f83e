"""What is ended of the connections to a server that is slow."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connections

from memories.offline.open_connections import Connections, EndableConnection, is_spared


class Server(Connections):
    """A server with another one that can answer in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.others = [Connections()]


@contextmanager
def spared() -> Iterator[None]:
    token = is_spared.set(True)
    try:
        yield
    finally:
        is_spared.reset(token)


@pytest.fixture
def server(db: None) -> Server:
    return Server()


def connected(server: Server, *, is_lent_to_spared: bool) -> EndableConnection:
    kind: Any = type("Connection", (EndableConnection,), {"server": server})
    parameters = connections["default"].get_connection_params()
    connection: EndableConnection = kind.connect(**parameters | {"autocommit": True})
    connection.is_spared = is_lent_to_spared
    return connection


def asked(connection: EndableConnection) -> tuple[threading.Thread, list[object]]:
    """A thread that waits for an answer, and where it puts what came of it."""
    results: list[object] = []

    def ask() -> None:
        try:
            results.append(connection.execute("SELECT pg_sleep(0.5)").statusmessage)
        except psycopg.OperationalError as error:
            results.append(type(error))

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, results


def test_a_slow_server_is_waited_for_by_those_alone_whom_nobody_else_can_answer(server: Server) -> None:
    reader, writer = connected(server, is_lent_to_spared=True), connected(server, is_lent_to_spared=False)
    try:
        waiting = [asked(reader), asked(writer)]
        server.spare()
        for thread, _results in waiting:
            thread.join(10)
        assert [results for _thread, results in waiting] == [[psycopg.OperationalError], ["SELECT 1"]]
    finally:
        reader.close()
        writer.close()


def test_calls_that_are_spared_a_slow_server_ask_it_for_nothing_until_it_is_quick(server: Server) -> None:
    server.spare()
    assert not server.are_refused()
    with spared():
        assert server.are_refused()
    server.admit()
    with spared():
        assert not server.are_refused()


def test_where_no_other_server_answers_a_slow_one_is_waited_for(server: Server) -> None:
    server.spare()
    server.others[0].end_all()
    server.spare()
    with spared():
        assert not server.are_refused()
