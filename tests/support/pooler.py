"""A real PgBouncer in transaction mode before the embedded PostgreSQL of a test."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from memplatform.postgres import place
from tests.support.house import free_port

#: Who may come through it, without a password: the owner of the tables and the roles of the processes.
USERS = ("postgres", "memplatform_web", "memplatform_worker", "memplatform_embedder", "memplatform_channels")
_INI = """
[databases]
* = host={sockets} port=5432
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
admin_users = postgres
auth_type = {auth}
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 1000
server_idle_timeout = 5
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
"""


class Pooler:
    """One process of it; `size` connections to the server for each role. With a password, by SCRAM on both sides."""

    def __init__(self, data: Path, folder: Path, size: int = 2, *, password: str = "") -> None:
        program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
        assert program, "PgBouncer is not installed: apt-get install pgbouncer, or sh .ci/pooler"
        self.password, self.port = password or "any", free_port()
        sockets = place.locate(data).sockets
        owner = sockets.stat()
        folder.mkdir(exist_ok=True)
        (folder / "users.txt").write_text("".join(f'"{name}" "{password}"\n' for name in USERS))
        how = {"port": self.port, "size": size, "auth": "scram-sha-256" if password else "trust"}
        (folder / "pgbouncer.ini").write_text(_INI.format(sockets=sockets, folder=folder, **how))
        for path in (folder, *folder.iterdir()):
            os.chown(path, owner.st_uid, owner.st_gid)
        account = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        with (folder / "output").open("w") as output:
            self.process = subprocess.Popen(
                [program, folder / "pgbouncer.ini"], stdout=output, stderr=output, cwd="/", **account
            )
        end = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                break
            except OSError:
                assert self.process.poll() is None and time.monotonic() < end, (folder / "output").read_text()
                time.sleep(0.05)

    def url(self, user: str = "postgres", database: str = "postgres") -> str:
        """The address of a database through it."""
        return f"postgresql://{user}:{self.password}@127.0.0.1:{self.port}/{database}"

    def end(self) -> None:
        """Stop it, whatever it is at."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)
