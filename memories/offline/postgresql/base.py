"""What Django loads of a database's engine."""

from time import monotonic
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg_pool import PoolTimeout

from memories.offline import open_connections

#: What a call waits for a connection while others use them all; the pool's own timeout is how often it looks up.
WAIT_SECONDS = 10.0


class DatabaseWrapper(base.DatabaseWrapper):
    """A pool that is closed still lets wait who came a moment before: each wait is short, and begun again."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        end = monotonic() + WAIT_SECONDS
        while True:
            if open_connections.are_refused():
                raise psycopg.OperationalError("The database is away.")
            try:
                return super().get_new_connection(conn_params)
            except PoolTimeout:
                if monotonic() >= end:
                    raise
