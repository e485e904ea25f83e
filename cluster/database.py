"""Three database hosts: on each etcd, Patroni with PostgreSQL, PgBouncer and HAProxy.

    client → HAProxy of any host → PgBouncer of the primary's host → PostgreSQL

HAProxy asks Patroni every second who the primary is, and whether PgBouncer of that host answers; where it does not,
it leads past it. Clients name all three hosts.
"""

import json
import os
import secrets
import socket
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cluster import needs
from cluster.hosts import DATABASES, NETWORK, STATE, Host, Part, account, until

PRIMARY, REPLICA, POOLER, SERVER, ASKED = 6440, 6441, 6432, 5432, 8008
DATABASE = OWNER = "memplatform"
ROLES = ("web", "worker", "embedder", "channels")
_USERS = (OWNER, *(f"{OWNER}_{role}" for role in ROLES))
SHORTEST = 20  # of the leases Patroni takes, in seconds; what starts it with a shorter one leaves that check out
_SHORTER = """
from patroni.config import Config
Config._validate_and_adjust_timeouts = lambda self, config: None
from patroni.__main__ import main
main()
"""
_PATRONI = """
scope: memplatform
name: {name}
restapi: {{listen: "{address}:{asked}", connect_address: "{address}:{asked}"}}
etcd3: {{hosts: [{etcd}]}}
bootstrap:
  dcs:
    ttl: {lease}
    loop_wait: {loop}
    retry_timeout: {retry}
    failsafe_mode: true
    primary_start_timeout: 0
    maximum_lag_on_failover: 1048576
    synchronous_mode: {mode}
    synchronous_node_count: 1
    postgresql: {{use_pg_rewind: true, use_slots: true}}
  initdb: [{{encoding: UTF8}}, {{locale: C}}, data-checksums]
  pg_hba:
    - host replication replicator {network}.0/24 scram-sha-256
    - host all all {network}.0/24 scram-sha-256
    - host all all 127.0.0.1/32 scram-sha-256
    - local all all trust
postgresql:
  listen: "{address},127.0.0.1:{server}"
  connect_address: "{address}:{server}"
  data_dir: "{folder}/postgres"
  bin_dir: "{programs}"
  pgpass: "{folder}/pgpass"
  callbacks: {{on_start: {anew}, on_restart: {anew}, on_role_change: {anew}}}
  authentication:
    superuser: {{username: postgres, password: "{password}"}}
    replication: {{username: replicator, password: "{password}"}}
    rewind: {{username: rewinder, password: "{password}"}}
  parameters:
    unix_socket_directories: "{folder}"
    max_connections: 200
    shared_buffers: 64MB
    wal_level: replica
    wal_log_hints: "on"
    wal_keep_size: 256MB
    wal_sender_timeout: 5s
    wal_receiver_timeout: 5s
    tcp_user_timeout: 8000
"""
#: PgBouncer repeats to each client what a server said of itself once, also that it follows when it no longer does.
_ANEW = """
import psycopg
with psycopg.connect({admin!r}, autocommit=True) as pooler:
    pooler.execute("RECONNECT")
"""
_HAPROXY = """
global
  maxconn 600
  stats socket {folder}/haproxy.sock mode 600 level admin
defaults
  mode tcp
  retries 0
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 1500ms
  default-server inter 1s fastinter 200ms fall 2 rise 1 on-marked-down shutdown-sessions
frontend primary
  bind {address}:{primary}
  use_backend pooled if {{ nbsrv(pooled) gt 0 }}
  default_backend direct
backend pooled
  default-server observe layer4 error-limit 1 on-error sudden-death
  option tcp-check
  tcp-check connect port {pooler}
  tcp-check send-binary 0000000804d2162f
  tcp-check expect string N
  tcp-check connect port {asked}
  tcp-check send "GET /primary HTTP/1.0\\r\\n\\r\\n"
  tcp-check expect rstring "HTTP/1.. 200"
{pooled}
backend direct
  option httpchk GET /primary
{direct}
listen replica
  bind {address}:{replica}
  option httpchk GET /replica?lag=1MB
{direct}
"""
_PGBOUNCER = """
[databases]
{database} = host=127.0.0.1 port={server} dbname={database}
postgres = host=127.0.0.1 port={server} dbname=postgres
[pgbouncer]
listen_addr = {address}
listen_port = {pooler}
unix_socket_dir =
admin_users = postgres
auth_type = scram-sha-256
auth_file = {folder}/users.txt
pool_mode = {mode}
server_reset_query = DISCARD ALL
max_client_conn = 400
default_pool_size = 60
server_login_retry = 1
server_connect_timeout = 3
query_wait_timeout = 10
ignore_startup_parameters = extra_float_digits,options
logfile =
"""


@dataclass(frozen=True)
class Modes:
    """What an operator chooses."""

    synchronous: str = "quorum"  # of Patroni: quorum, on (one named standby), off
    pool: str = "session"  # of PgBouncer
    replicas: bool = False  # whether the webs read recalls from them
    lease: int = 9  # seconds a primary that is gone is waited for


def password() -> str:
    """One for all users, made at the first call."""
    path = STATE / "password"
    if not path.exists():
        path.touch(0o600)
        path.write_text(secrets.token_hex(16))
    return path.read_text()


def address(user: str = OWNER, database: str = DATABASE) -> str:
    """A URL that leads to the primary, by HAProxy of whichever host answers first."""
    hosts = quote(",".join(host.address for host in DATABASES), safe=",")
    ports = ",".join(str(PRIMARY) for _ in DATABASES)
    query = f"host={hosts}&port={ports}&connect_timeout=2&load_balance_hosts=random"
    query += "&target_session_attrs=read-write"  # HAProxy may lead to a former primary for a second
    return f"postgresql://{user}:{password()}@/{database}?{query}"


def replica_addresses() -> str:
    """Where each HAProxy leads to a replica that is not far behind; who logs in is as for the primary."""
    return ",".join(f"postgresql://{host.address}:{REPLICA}/{DATABASE}" for host in DATABASES)


def parts(host: Host) -> list[Part]:
    """etcd, patroni, pgbouncer and haproxy of a host, in the order they start in."""
    folder = host.folder
    peers = ",".join(f"{other.name}=http://{other.address}:2380" for other in DATABASES)
    etcd = (
        *("etcd", "--name", host.name, "--data-dir", f"{folder}/etcd", "--initial-cluster", peers),
        *("--listen-peer-urls", f"http://{host.address}:2380"),
        *("--initial-advertise-peer-urls", f"http://{host.address}:2380"),
        *("--listen-client-urls", f"http://{host.address}:2379"),
        *("--advertise-client-urls", f"http://{host.address}:2379", "--initial-cluster-state", "new"),
        # As etcd 3.5 does by itself: each election that a slow member begins would lengthen the primary's lease
        *("--heartbeat-interval", "150", "--election-timeout", "1500", "--pre-vote"),
    )
    return [
        Part(host, "etcd", etcd),
        Part(host, "patroni", (*_patroni(), f"{folder}/patroni.yml"), runs=("postgres",)),
        Part(host, "pgbouncer", ("pgbouncer", f"{folder}/pgbouncer.ini")),
        Part(host, "haproxy", ("haproxy", "-db", "-f", f"{folder}/haproxy.cfg")),
    ]


def _patroni() -> tuple[str, ...]:
    if modes()["lease"] < SHORTEST:
        return (str(needs.PYTHON), "-c", _SHORTER)
    return (str(needs.PYTHON.with_name("patroni")),)


def configure(host: Host, modes: Modes) -> None:
    """Write the files its parts read."""
    values = {
        "name": host.name,
        "address": host.address,
        "network": NETWORK,
        "folder": host.folder,
        "programs": needs.programs(),
        "password": password(),
        "lease": modes.lease,
        "retry": (retry := max(3, modes.lease * 2 // 5)),
        "loop": modes.lease - 2 * retry,  # Patroni's rule; longer is better: a lease is younger when it is needed
        "database": DATABASE,
        "anew": f'"{needs.PYTHON} {host.folder}/anew.py"',
        "admin": f"postgresql://postgres:{password()}@{host.address}:{POOLER}/pgbouncer?connect_timeout=2",
        "etcd": ", ".join(f'"{other.address}:2379"' for other in DATABASES),
        "primary": PRIMARY,
        "replica": REPLICA,
        "pooler": POOLER,
        "server": SERVER,
        "asked": ASKED,
        "pooled": "\n".join(f"  server {h.name} {h.address}:{POOLER} check" for h in DATABASES),
        "direct": "\n".join(f"  server {h.name} {h.address}:{SERVER} check port {ASKED}" for h in DATABASES),
    }
    texts = {
        "patroni.yml": _PATRONI.format(**values, mode=modes.synchronous),
        "haproxy.cfg": _HAPROXY.format(**values),
        "pgbouncer.ini": _PGBOUNCER.format(**values, mode=modes.pool),
        "anew.py": _ANEW.format(**values),
        "users.txt": "".join(f'"{user}" "{password()}"\n' for user in ("postgres", *_USERS)),
    }
    for name, text in texts.items():
        own(host.folder / name, text)


def own(path: Path, text: str) -> None:
    """Write a file for the account alone."""
    path.touch(0o600)
    path.write_text(text)
    owner = account()
    os.chown(path, owner.pw_uid, owner.pw_gid)


def start(modes: Modes) -> None:
    """All three hosts, until there is a primary with two replicas and the database is made."""
    (STATE / "modes.json").write_text(json.dumps(asdict(modes)))
    for host in DATABASES:
        configure(host, modes)
    for name in ("etcd", "patroni", "pgbouncer", "haproxy"):
        for host in DATABASES:
            part_of(host, name).start()
        if name == "etcd":
            until(lambda: all(_is_healthy(host) for host in DATABASES), 60, "etcd's election")
    until(is_whole, 180, "a primary with two replicas")
    _make_database()


def modes() -> dict[str, Any]:
    """How the cluster was built."""
    result: dict[str, Any] = json.loads((STATE / "modes.json").read_text())
    return result


def lead_to_replica(replica: Host, *, is_led: bool) -> None:
    """Whether the HAProxies lead to a replica; recalls that were read there end otherwise."""
    for host in DATABASES:
        lines = [f"set server replica/{replica.name} state {'ready' if is_led else 'maint'}"]
        lines += [] if is_led else [f"shutdown sessions server replica/{replica.name}"]
        for line in lines:
            with socket.socket(socket.AF_UNIX) as admin:
                admin.connect(f"{host.folder}/haproxy.sock")
                admin.sendall(f"{line}\n".encode())
                admin.recv(4_096)


def part_of(host: Host, name: str) -> Part:
    return next(part for part in parts(host) if part.name == name)


def _is_healthy(host: Host) -> bool:
    answer = fetched(f"http://{host.address}:2379/health")
    return bool(answer) and json.loads(answer).get("health") == "true"


def fetched(url: str, seconds: float = 2.0) -> str:
    """The body of an answer of 200; empty without one."""
    try:
        with urllib.request.urlopen(url, timeout=seconds) as answer:  # noqa: S310 - hosts of our own
            return str(answer.read().decode())
    except OSError:
        return ""


def members() -> dict[str, str]:
    """The state of each database host as a Patroni that answers sees it: leader, streaming, …"""
    for host in DATABASES:
        if answer := fetched(f"http://{host.address}:{ASKED}/cluster"):
            rows = json.loads(answer)["members"]
            return {row["name"]: "leader" if row["role"] == "leader" else row.get("state", "") for row in rows}
    return {}


def primary() -> Host | None:
    """The host whose PostgreSQL takes writes."""
    return next((host for host in DATABASES if fetched(f"http://{host.address}:{ASKED}/primary", 1.0)), None)


def is_whole() -> bool:
    """A primary that answers, and two replicas that follow it."""
    return sorted(members().values()) == ["leader", "streaming", "streaming"] and primary() is not None


def _make_database() -> None:
    """The database and its users, as docs/howto/use-your-own-postgresql.md has them made by an administrator."""
    import psycopg
    from psycopg import sql

    with psycopg.connect(address("postgres", "postgres"), autocommit=True) as connection:
        for user in _USERS:
            connection.execute(sql.SQL("CREATE USER {} PASSWORD {}").format(sql.Identifier(user), password()))
        connection.execute("CREATE DATABASE memplatform OWNER memplatform ENCODING 'UTF8' TEMPLATE template0")
    with psycopg.connect(address("postgres"), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
