"""How each process logs in to the database: its role, the password of it, and the address. No Django here."""

import hashlib
from urllib.parse import quote, urlsplit, urlunsplit

#: Processes with a role of their own; whatever else is started works as the owner of the tables, who also migrates.
PROCESSES = ("web", "worker", "embedder")
_NAME_MAX = 63  # bytes, in PostgreSQL
_ROUNDS = 100_000


def role_of(process: str) -> str:
    """The usual name of a process's role."""
    return f"memplatform_{process}"


def role_of_owner(process: str, owner: str) -> str:
    """Its name where the usual one belongs to somebody else: roles are shared by all databases of a server."""
    name = f"{role_of(process)}_{owner}"
    if len(name.encode()) <= _NAME_MAX:
        return name
    return f"{role_of(process)}_{hashlib.sha256(owner.encode()).hexdigest()[:12]}"


def password_of(role: str, secret: str) -> str:
    """The role's password, which follows from a secret of the owner: on every machine the same, and kept nowhere.

    Whoever learns it does not learn the secret.
    """
    return hashlib.pbkdf2_hmac("sha256", secret.encode(), f"memplatform {role}".encode(), _ROUNDS).hex()


def address_of(url: str, role: str, password: str) -> str:
    """The same database, as another role."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(role, safe='')}:{quote(password, safe='')}@{place}"))


def user_of(url: str) -> str:
    """The role an address names; empty where it names none."""
    return urlsplit(url).username or ""
