"""Calls that begin at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connection


def at_once(call: Callable[[int], Any], count: int) -> list[Any]:
    """What the calls return, all begun together, each on a connection of its own."""
    gate = threading.Barrier(count)

    def run(n: int) -> Any:
        gate.wait(30)
        try:
            return call(n)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))
