"""The product on its hosts: two with the web, two with worker and embedder, over one database.

`manage.py up --only …` starts and watches the parts of a host. HAProxy of every web host leads to both webs.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from cluster import database
from cluster.hosts import ROOT, SPARE, STATE, WEBS, WORKERS, Host, Part, until

WEB, FRONT = 8001, 8000  # of the web itself, and of the HAProxy in front
WORKSPACES = ("red", "blue")
READY_SECONDS = 240
STOP_SECONDS = 45  # `up` says 30
_FRONT = """
global
  maxconn 600
defaults
  mode http
  timeout client 30s
  timeout server 20s
listen web
  bind {address}:{front}
{watched}
{servers}
"""
#: How a web is watched, and given up, as the HAProxy we ship does it.
_SHIPPED = ROOT / "deploy" / "compose" / "haproxy.cfg"
_WATCHED = ("retries", "option", "timeout connect", "timeout check", "http-check", "default-server")
#: Starts a program again when it ends, as systemd would.
_AGAIN = ("sh", "-c", 'while :; do "$@"; sleep 1; done', "sh")
#: Prints the keys of one bot in each of two workspaces, as JSON.
_KEYS = """
import json
from memories.choices import Permission
from memories.models import Bot, BotKey, Workspace
keys = {}
for name in %r:
    bot = Bot.objects.create(workspace=Workspace.objects.create(name=name), name="load")
    keys[name] = BotKey.issue(bot, permissions=list(Permission.values), label="load")[1]
print(json.dumps(keys))
"""


def environment_of(host: Host | None) -> dict[str, str]:
    """What the parts of a host are given; without a host, a command that migrates."""
    folder = host.folder if host else STATE / "setup"
    return {
        "MEMPLATFORM_DATA": str(folder / "data"),
        "MEMORY_FILES_ROOT": str(STATE / "files"),  # on real machines a network disk
        "MEMPLATFORM_ERASURES": str(STATE / "erasures"),
        "SECRET_KEY": f"of a cluster for tests {database.password()}",
        "MEMPLATFORM_METRICS_KEY": database.password(),
        "DATABASE_URL": database.address(),
        **{
            f"MEMPLATFORM_{role.upper()}_DATABASE_URL": database.address(f"memplatform_{role}")
            for role in database.ROLES
        },
        **({"DATABASE_REPLICA_URL": database.replica_addresses()} if database.modes().get("replicas") else {}),
        "MEMPLATFORM_HOST": host.address if host else "127.0.0.1",
        "MEMPLATFORM_HOST_NAME": host.name if host else "setup",
        "MEMPLATFORM_PORT": str(WEB),
        "ALLOWED_HOSTS": ",".join(web.address for web in (*WEBS, SPARE)),
        "MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic",
        "MEMORY_CALLS_PER_MINUTE": "1000000",
        "OMP_NUM_THREADS": "1",
        "HOME": "/root",
    }


def parts(host: Host) -> list[Part]:
    """What runs on a host of the product."""
    is_web = host in (*WEBS, SPARE)
    names = ("web",) if is_web else ("worker", "embedder")
    environment = environment_of(host)
    command = (*_AGAIN, sys.executable, "manage.py", "up", "--only", ",".join(names))
    runs = (os.path.basename(os.path.realpath(sys.executable)),)
    own = [Part(host, "up", command, environment, as_root=True, runs=runs, code=code_of(host))]
    front = Part(host, "haproxy", ("haproxy", "-db", "-f", f"{host.folder}/haproxy.cfg"))
    return [*own, front] if host in WEBS else own


def embedder(host: Host) -> Part:
    """The embedder of a worker host, without the rest; `up` starts it again."""
    return Part(host, "embedder", (), title="mem embedder")


def code_of(host: Host) -> Path:
    """The folder of the version a host runs."""
    path = host.folder / "code"
    return Path(path.read_text()) if path.exists() else ROOT


def restart(host: Host, code: Path) -> None:
    """End a host's part of the product as systemd would, and start it from another folder."""
    (part,) = (part for part in parts(host) if part.name == "up")
    for pid in part.pids():
        if os.path.basename(os.readlink(f"/proc/{pid}/exe")) in ("sh", "dash", "bash"):
            os.kill(pid, signal.SIGKILL)  # what would start it again
    supervisor = part.host.folder / "data" / "supervisor.pid"
    os.kill(int(supervisor.read_text()), signal.SIGTERM)
    with suppress(TimeoutError):
        until(lambda: not part.is_up(), STOP_SECONDS)
    part.send(signal.SIGKILL)
    (host.folder / "code").write_text(str(code))
    (part,) = (part for part in parts(host) if part.name == "up")
    part.start()


def start(code: Path = ROOT) -> None:
    """The tables, keys of two workspaces, and every host, of the version in a folder, until both webs answer."""
    for name in ("files", "erasures", "setup"):
        (STATE / name).mkdir(mode=0o700)
    _manage(code, "migrate", "--no-input", "-v0")
    keys = _manage(code, "shell", "-v0", "-c", _KEYS % (WORKSPACES,))
    path = STATE / "keys.json"
    path.touch(0o600)
    path.write_text(keys.strip().splitlines()[-1])
    servers = "\n".join(f"  server {web.name} {web.address}:{WEB} check" for web in WEBS)
    for host in WEBS:
        values = {"address": host.address, "front": FRONT, "watched": watched(), "servers": servers}
        database.own(host.folder / "haproxy.cfg", _FRONT.format(**values))
    for host in (*WEBS, *WORKERS):
        (host.folder / "code").write_text(str(code))
        for part in parts(host):
            part.start()
    until(lambda: all(is_ready(web) for web in WEBS), READY_SECONDS, "two webs that answer")


def watched() -> str:
    """The lines of the shipped backend of webs that say when a web is led to."""
    section = _SHIPPED.read_text().partition("\nbackend web\n")[2].splitlines()
    section = section[: next(number for number, line in enumerate(section) if not line.startswith(" "))]
    return "\n".join(line for line in section if line.strip().startswith(_WATCHED))


def is_ready(web: Host) -> bool:
    """Whether a web answers, with its database."""
    body = database.fetched(f"http://{web.address}:{WEB}/readyz")
    return bool(body) and not json.loads(body).get("not_ready")


def keys() -> dict[str, str]:
    """The key of each workspace's bot."""
    result: dict[str, str] = json.loads((STATE / "keys.json").read_text())
    return result


def _manage(code: Path, *words: str) -> str:
    """The output of a command of manage.py of this version."""
    own_variables = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    process = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=code,
        env={**own_variables, **environment_of(None)},
        capture_output=True,
        text=True,
    )
    if process.returncode:
        raise RuntimeError(f"manage.py {words[0]}: {(process.stderr or process.stdout).strip()[-2000:]}")
    return process.stdout


def logs() -> list[Path]:
    return sorted(STATE.glob("*/*.log")) + sorted(STATE.glob("*/data/logs/*.log"))
