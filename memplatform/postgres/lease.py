"""Holding the server: it runs while anybody needs it, and the last one to leave stops it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memplatform.postgres.cluster import Conf
from memplatform.postgres.place import locate
from memplatform.postgres.server import down, lock_file, up


@contextmanager
def lease(data: Path, conf: Conf | None = None) -> Iterator[str]:
    """The server's address, valid inside. A killed holder leaves it running, and the next one adopts it."""
    with lock_file(locate(data), "lease.lock") as held:
        fcntl.flock(held, fcntl.LOCK_SH)  # waits while the last holder is just stopping it
        try:
            yield up(data, conf)
        finally:
            if _is_last(held.fileno()):
                down(data)


def _is_last(held: int) -> bool:
    """Let go first: of two that leave together, one at least finds nobody else."""
    fcntl.flock(held, fcntl.LOCK_UN)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
