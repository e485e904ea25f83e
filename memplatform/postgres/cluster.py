"""Making a cluster, and the configuration it starts with."""

import os
import secrets
import shutil
from collections.abc import Mapping

from memplatform.postgres import programs
from memplatform.postgres.place import PORT, Place, PostgresError, disk_full, explain_os_errors

Conf = Mapping[str, str | int]

#: For a laptop. Lines in <cluster>/local.conf win over these.
CONF: Conf = {
    "shared_buffers": "128MB",
    "max_connections": 100,
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "1GB",
    "random_page_cost": "1.1",
    "autovacuum_naptime": "10s",  # until a fresh table is analyzed, every plan takes it for empty and reads all of it
    "jit": "off",  # compiling costs more than the short queries of a recall
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    # A refused statement quotes messages of people, as does the reason. Its sender gets the reason, and logs it.
    "log_min_messages": "log",  # starts, stops, crashes; no refused statements, which rank below
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_duration_statement": -1,
    "log_parameter_max_length": 0,
    "log_parameter_max_length_on_error": 0,
}
#: For a cluster that may be thrown away (tests): a crash of the machine may lose it.
THROWAWAY: Conf = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_wal_size": "256MB",
    "shared_buffers": "64MB",
}
_ROOM_TO_MAKE = 200_000_000  # bytes: a fresh cluster with its first WAL segments
_ROOM_TO_START = 32_000_000  # two WAL segments


def ensure(place: Place, conf: Conf | None) -> None:
    """A whole cluster or none: initdb works aside, and the result is renamed."""
    exists = (place.cluster / "PG_VERSION").exists()
    if shutil.disk_usage(place.home).free < (_ROOM_TO_START if exists else _ROOM_TO_MAKE):
        raise disk_full(place.home)
    if exists:
        return
    with explain_os_errors(place.home):
        for unfinished in place.home.glob("postgres.new-*"):
            shutil.rmtree(unfinished, ignore_errors=True)  # a killed start's initdb may still write into it
        draft = place.home / f"postgres.new-{secrets.token_hex(4)}"
        draft.mkdir(mode=0o700)
        place.give(draft)
        options = ["-U", "postgres", "-E", "UTF8", "--locale=C"]
        options += ["--locale-provider=builtin", "--builtin-locale=PG_UNICODE_FAST"]
        options += ["--auth-local=trust", "--auth-host=reject"]  # the socket's folder is the lock
        options += ["--no-sync"] if (conf or {}).get("fsync") == "off" else []
        process = programs.run(place, "initdb", "-D", draft, *options)
        if process.returncode:
            shutil.rmtree(draft, ignore_errors=True)
            last = process.stdout.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
            if "No space left" in process.stdout:
                raise disk_full(place.home)
            raise PostgresError(f"The database could not be made in {place.home}: {last[0]}")
        with (draft / "postgresql.conf").open("a") as file:
            file.write("\ninclude_if_exists = 'memplatform.conf'\ninclude_if_exists = 'local.conf'\n")
        draft.rename(place.cluster)


def configure(place: Place, conf: Conf | None) -> None:
    """Written anew at every start; the addresses depend on where the folder lies today."""
    sockets = str(place.sockets).replace('"', '""')
    settings = {
        **CONF,
        **(conf or {}),
        "listen_addresses": "",
        "port": PORT,
        "unix_socket_directories": f'"{sockets}"',
        "unix_socket_permissions": "0700",
    }
    lines = ["# Written at every start; put your own lines into local.conf."]
    for name, value in settings.items():
        text = str(value).replace("\\", "\\\\").replace("'", "''")
        lines.append(f"{name} = '{text}'")
    draft = place.cluster / f"memplatform.conf.{os.getpid()}"
    with explain_os_errors(place.cluster):
        draft.write_text("\n".join(lines) + "\n")
        place.give(draft)
        draft.replace(place.cluster / "memplatform.conf")
