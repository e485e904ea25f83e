"""A server that follows the PostgreSQL of a test by streaming replication."""

import shutil
from pathlib import Path
from typing import Any

import psycopg

from memplatform import postgres
from memplatform.postgres import place, programs


class Standby:
    """A copy of the server in one folder, in another; `delay` is how much later it applies what it is sent."""

    def __init__(self, primary: Path, folder: Path, *, delay: str = "0") -> None:
        self.folder = folder
        source, own = place.locate(primary), place.locate(folder)
        place.prepare(own)
        own.cluster.mkdir(mode=0o700)
        own.give(own.cluster)
        copied = programs.run(
            own,
            *("pg_basebackup", "-h", source.sockets, "-p", str(place.PORT), "-U", "postgres"),
            *("-D", own.cluster, "-c", "fast", "-X", "stream", "--no-sync"),
        )
        assert copied.returncode == 0, copied.stdout
        lines = {
            "primary_conninfo": f"host={source.sockets} port={place.PORT} user=postgres",
            "recovery_min_apply_delay": delay,
            "hot_standby_feedback": "on",
            "wal_retrieve_retry_interval": "200ms",
        }
        (own.cluster / "local.conf").write_text("".join(f"{name} = '{text}'\n" for name, text in lines.items()))
        (own.cluster / "standby.signal").touch()
        for name in ("local.conf", "standby.signal"):
            own.give(own.cluster / name)
        self.start()

    @property
    def url(self) -> str:
        return postgres.url(self.folder)

    def start(self) -> None:
        postgres.up(self.folder, postgres.THROWAWAY)

    def stop(self) -> None:
        postgres.down(self.folder)

    def ask(self, question: str) -> list[Any]:
        """The first column."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            return [row[0] for row in connection.execute(question).fetchall()]

    def end(self) -> None:
        """Stop it, and remove it."""
        self.stop()
        shutil.rmtree(self.folder)
