"""What Django loads of a database's engine."""

from time import monotonic
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.postgresql import base
from psycopg_pool import PoolTimeout

from memories import postgresql
from memories.offline.open_connections import PRIMARY, Connections, is_spared

#: What a call waits for a connection while others use them all; the pool's own timeout is how often it looks up.
WAIT_SECONDS = 10.0


class DatabaseWrapper(base.DatabaseWrapper):
    """Behind a pooler, cursors that leave nothing on a connection (memories.postgresql).

    A pool that is closed still lets wait who came a moment before: each wait is short, and begun again."""

    server: Connections = PRIMARY

    def get_connection_params(self) -> dict[str, Any]:
        parameters: dict[str, Any] = super().get_connection_params()
        if postgresql.is_pooled() and self.alias != postgresql.DIRECT:
            parameters["cursor_factory"] = postgresql.PooledCursor
        return parameters

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        end = monotonic() + WAIT_SECONDS
        while True:
            if self.server.are_refused():
                raise psycopg.OperationalError("The database is away.")
            try:
                connection = super().get_new_connection(conn_params)
                connection.is_spared = is_spared.get()
                return connection
            except PoolTimeout:
                if monotonic() >= end:
                    raise


class ReplicaWrapper(DatabaseWrapper):
    """The same to a replica, with pools of its own; it goes by the name of the database whose copy it is."""

    def __init__(self, settings_dict: dict[str, Any], server: Connections, pools: dict[str, Any]) -> None:
        super().__init__(settings_dict, DEFAULT_DB_ALIAS)
        self.server = server
        self._connection_pools = pools
