"""The roles the processes log in as: made with the tables, let in at every start, and checked.

The user of DATABASE_URL owns the tables and migrates. Web, worker and embedder log in as roles that own nothing. Where
that user may make roles, it makes them; else an administrator does, and gives their addresses. Where there are none,
the processes work as the owner, and `check --database default` explains what that means.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import psycopg
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage
from django.db import Error, connection, transaction
from django.utils.translation import gettext as _
from psycopg import sql

from memplatform.database import rights

#: Processes with a role of their own; whatever else is started works as the owner of the tables, who also migrates.
PROCESSES = ("web", "worker", "embedder", "channels")
_CONNECT_SECONDS = 5
_NAME_MAX = 63  # bytes, in PostgreSQL
_ROUNDS = 100_000
_LOOK = """
    SELECT r.rolcanlogin, coalesce(shobj_description(r.oid, 'pg_authid'), ''),
        pg_has_role(current_user, r.oid, 'SET'),
        (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
            OR pg_has_role(current_user, r.oid, 'MEMBER WITH ADMIN OPTION')
    FROM pg_roles r WHERE r.rolname = %s
"""


class AccessMode(Enum):
    """How a process comes to work as its role."""

    LOGIN = "it logs in as the role"
    ASSUMED = "it logs in as the owner and takes the role on"
    OWNER = "it works as the owner"


@dataclass(frozen=True)
class Access:
    """What a process is given to reach the database."""

    role: str  # empty: the owner's
    mode: AccessMode
    address: str  # for DATABASE_URL

    def environment(self) -> dict[str, str]:
        """For the process: its own address, and nobody else's."""
        others = {f"MEMPLATFORM_{process.upper()}_DATABASE_URL": "" for process in PROCESSES}
        assumed = self.role if self.mode is AccessMode.ASSUMED else ""
        who, direct = urlsplit(self.address), ""
        if settings.DIRECT_URL and self.address:  # past the pooler as whom it comes through it
            direct = address_of(settings.DIRECT_URL, unquote(who.username or ""), unquote(who.password or ""))
        addresses = {"DATABASE_URL": self.address, "DATABASE_DIRECT_URL": direct}
        return {**others, **addresses, "MEMPLATFORM_WEB_ROLE": assumed}


#: Of a process that knows no database.
NO_ACCESS = Access("", AccessMode.OWNER, "")


@dataclass(frozen=True)
class _RoleState:
    can_log_in: bool
    note: str
    can_be_assumed: bool
    can_be_altered: bool


def ensure() -> None:
    """Make the roles, as far as this user may, and give them their rights. Run as the owner; safe to run again."""
    for process in PROCESSES:
        if _configured_url(process) or not _default_role(process):
            continue
        # A role of the usual name, unless that is somebody else's; an older one of ours, without a login, is adopted
        for name in (_default_role(process), role_of_owner(process, _owner())):
            about = _role_state(name)
            if about is None:
                _run("CREATE ROLE {} LOGIN", name)
            elif about.note != _note() and (about.can_log_in or not about.can_be_altered):
                continue
            elif not about.can_log_in:
                _run("ALTER ROLE {} LOGIN", name)
            if about is None or about.note != _note():
                _run("COMMENT ON ROLE {} IS {}", name, sql.Literal(_note()))
            if not _can_be_assumed(name):  # where its password is refused, it can still be taken on
                _run("GRANT {} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE", name)
            break
    roles_found = {process: role for process in PROCESSES if (role := find(process))}
    for role in roles_found.values():
        rights.grant(role)
    rights.open_to_jobs(role for process, role in roles_found.items() if process != "web")


def find(process: str) -> str:
    """The role of a process, if there is one that is ours or that this user can take on; else empty."""
    if url := _configured_url(process):
        return urlsplit(url).username or ""
    names = [usual, role_of_owner(process, _owner())] if (usual := _default_role(process)) else []
    states = {name: about for name in names if (about := _role_state(name))}
    ours = (name for name, about in states.items() if about.note == _note())
    assumed = (name for name, about in states.items() if about.can_be_assumed and process == "web")
    return next(ours, next(assumed, ""))


def provide_access(url: str) -> dict[str, Access]:
    """How each process gets in; where it takes a password, the role has it after this."""
    return {process: _access(process, url, may_give_password=True) for process in PROCESSES}


def access_mode(process: str) -> AccessMode:
    """How a process gets in, without changing anything."""
    access = _access(process, "", may_give_password=False)
    return access.mode if access.role else AccessMode.OWNER


def _access(process: str, url: str, *, may_give_password: bool) -> Access:
    role = find(process)
    if configured := _configured_url(process):
        return Access(role, AccessMode.LOGIN, configured)
    if role and (_logs_in(role) or (may_give_password and _give_password(role) and _logs_in(role))):
        return Access(role, AccessMode.LOGIN, address_of(url, role, _password(role)))
    if role and process == "web" and _can_be_assumed(role):
        return Access(role, AccessMode.ASSUMED, url)
    return Access("", AccessMode.OWNER, url)


def role_of_owner(process: str, owner: str) -> str:
    """The role's name where the usual one belongs to somebody else: all databases of a server share their roles."""
    name = f"memplatform_{process}_{owner}"
    if len(name.encode()) <= _NAME_MAX:
        return name
    return f"memplatform_{process}_{hashlib.sha256(owner.encode()).hexdigest()[:12]}"


@cache  # it takes a tenth of a second, and is asked for several times at every start
def password_of(role: str, secret: str) -> str:
    """The role's password, derived from a secret of the owner: the same on every machine, and stored nowhere.

    It does not reveal the secret.
    """
    return hashlib.pbkdf2_hmac("sha256", secret.encode(), f"memplatform {role}".encode(), _ROUNDS).hex()


def address_of(url: str, role: str, password: str) -> str:
    """The address of the same database for another role."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(role, safe='')}:{quote(password, safe='')}@{host}"))


def _role_state(name: str) -> _RoleState | None:
    with connection.cursor() as cursor:
        cursor.execute(_LOOK, [name])
        row = cursor.fetchone()
    return _RoleState(*row) if row else None


def _can_be_assumed(name: str) -> bool:
    about = _role_state(name)
    return about is not None and about.can_be_assumed


def _logs_in(role: str) -> bool:
    parameters: dict[str, Any] = connection.get_connection_params()
    overrides = {"user": role, "password": _password(role), "connect_timeout": _CONNECT_SECONDS}
    try:
        with psycopg.connect(**(parameters | overrides)):
            return True
    except psycopg.OperationalError:
        return False


def _give_password(role: str) -> bool:
    """Hashed here: the server, and its log, never see it in clear."""
    connection.ensure_connection()
    password_hash = connection.connection.pgconn.encrypt_password(_password(role).encode(), role.encode())
    return _run("ALTER ROLE {} LOGIN PASSWORD {}", role, sql.Literal(password_hash.decode()))


def _password(role: str) -> str:
    return password_of(role, connection.settings_dict["PASSWORD"] or settings.SECRET_KEY)


def _default_role(process: str) -> str:
    """Its usual name; empty for a web that is to work without the second wall."""
    return str(settings.WEB_ROLE) if process == "web" else f"memplatform_{process}"


def _configured_url(process: str) -> str:
    return str(settings.DATABASE_LOGINS[process])


def _owner() -> str:
    return str(connection.settings_dict["USER"])


def _note() -> str:
    return f"memplatform: made for the databases of {_owner()}"


def _run(statement: str, name: str, *more: sql.Composable) -> bool:
    """Run a statement about a role; False when this user may not."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql.SQL(statement).format(sql.Identifier(name), *more))
    except Error:
        return False
    return True


_SHOWN = 3  # of many rights


def problems() -> Iterator[CheckMessage]:
    """What keeps the platform from working is an error, a risk a warning. Asked as the owner of the tables."""
    roles = {process: role for process in PROCESSES if (role := find(process))}
    for process, role in roles.items():
        is_job = process != "web"
        missing, excess = rights.differences(role)
        if is_job and (closed_tables := rights.closed_to_jobs([role])):
            missing.append(f"POLICY every_workspace ON {', '.join(closed_tables[:_SHOWN])}")
        if missing:
            yield checks.Error(
                _("The database role %(role)s lacks %(right)s.") % {"role": role, "right": _list_text(missing)},
                _("Run manage.py migrate as the owner of these tables, or let their owner grant it."),
                id="memplatform.E012",
            )
        if excess:
            yield checks.Warning(
                _("The database role %(role)s may do more than it should: %(right)s.")
                % {"role": role, "right": _list_text(excess)},
                _("Let whoever granted it revoke it; history is to be added to alone."),
                id="memplatform.W007",
            )
    modes = {process: access_mode(process) for process in PROCESSES}
    if modes["web"] is AccessMode.ASSUMED:
        yield checks.Warning(
            _("The web takes on the database role %s with the owner's login, which SQL let into a query can undo.")
            % roles["web"],
            _("See docs/howto/use-your-own-postgresql.md for a login of its own."),
            id="memplatform.W008",
        )
    if as_owner := [process for process, mode in modes.items() if mode is AccessMode.OWNER]:
        yield checks.Warning(
            _("No database role of its own lets in: %s; what works as the owner of the tables, no second wall binds.")
            % ", ".join(as_owner),
            _("See docs/howto/use-your-own-postgresql.md for the roles and how to make them."),
            id="memplatform.W009",
        )


def _list_text(rights_: list[str]) -> str:
    rest = len(rights_) - _SHOWN
    more = _(" and %d more") % rest if rest > 0 else ""
    return "; ".join(rights_[:_SHOWN]) + more
