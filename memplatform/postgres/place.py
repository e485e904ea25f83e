"""Where the embedded cluster lives and which account runs it; what goes wrong there, in sentences.

PostgreSQL refuses to run as root. An ordinary user runs it as themselves, inside the data folder. Root hands
it to an unprivileged account; where that one cannot enter the data folder (a clone below root's home), the
cluster lies in /var/lib/memplatform instead, and a note in the data folder says so.
"""

import errno
import hashlib
import os
import pwd
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote


class PostgresError(Exception):
    """The message is a whole sentence for a person; a command prints it and exits with 1."""


def disk_full(folder: Path) -> PostgresError:
    """The error of a folder whose disk has no room."""
    return PostgresError(f"The disk that holds {folder} is full.")


@contextmanager
def explain_os_errors(folder: Path) -> Iterator[None]:
    """Raise OSErrors of a folder as a PostgresError with a sentence."""
    try:
        yield
    except OSError as problem:
        match problem.errno:
            case errno.ENOSPC | errno.EDQUOT:
                raise disk_full(folder) from problem
            case errno.EACCES | errno.EPERM | errno.EROFS:
                name = problem.filename or folder
                raise PostgresError(f"Nothing can be kept in {folder}: {name} is not writable.") from problem
            case errno.EEXIST | errno.ENOTDIR:
                raise PostgresError(f"Nothing can be kept in {folder}: it is not a folder.") from problem
        raise


ELSEWHERE = Path("/var/lib/memplatform")
PORT = 5432  # names the socket file only: nothing listens on the network
_PRIVATE, _PASSABLE = 0o700, 0o711
_ROOM = 8_000_000  # bytes, for credentials and logs
_SOCKET_FOLDER_MAX = 88  # bytes; with the file's name it must fit 104, the smallest sun_path


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int


@dataclass(frozen=True)
class Place:
    data: Path
    home: Path  # the data folder, or its stand-in that the account can enter
    account: Account | None  # None: the server runs as whoever calls

    @property
    def cluster(self) -> Path:
        return self.home / "postgres"

    @property
    def log(self) -> Path:
        return self.home / "logs" / "postgres.log"

    @property
    def sockets(self) -> Path:
        inside = self.home / "run"
        if len(os.fsencode(inside)) <= _SOCKET_FOLDER_MAX:
            return inside
        digest = hashlib.sha256(os.fsencode(self.home)).hexdigest()[:12]
        return Path("/tmp") / f"memplatform-{self.uid}-{digest}"  # noqa: S108 - owner and mode are checked

    @property
    def socket(self) -> Path:
        return self.sockets / f".s.PGSQL.{PORT}"

    @property
    def uid(self) -> int:
        return self.account.uid if self.account else os.geteuid()

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={quote(str(self.sockets), safe='')}&port={PORT}"

    def give(self, path: Path) -> None:
        """Make the server's account the owner, where that is not the caller."""
        if self.account:
            os.chown(path, self.account.uid, self.account.gid, follow_symlinks=False)


def locate(data: Path) -> Place:
    """The same answer before and after the first start, without touching anything."""
    data = Path(os.path.realpath(data))
    if os.geteuid():
        return Place(data, data, None)
    home = _noted_folder(data) or (data if (data / "postgres").exists() else None)
    if home:
        return Place(data, home, _owner(home / "postgres") or _unprivileged_account())
    account = _unprivileged_account()
    elsewhere = ELSEWHERE / hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    return Place(data, data if can_enter(account, data) else elsewhere, account)


def prepare(place: Place) -> None:
    """Make the folders. Idempotent, and safe to be killed at any line."""
    require(place.data)
    with explain_os_errors(place.home):
        if place.home != place.data:
            _folder(place.home)
            if os.geteuid() == 0 and place.home.parent == ELSEWHERE:  # former versions made it for root alone
                ELSEWHERE.chmod(ELSEWHERE.stat().st_mode | _PASSABLE)
            (place.data / "LOCATION").write_text(f"{place.home}\n")
        _folder(place.log.parent)
        # Logs of former versions were open to all: names of people stand in them
        for path in (place.log.parent, *place.log.parent.iterdir()):
            mode = path.stat().st_mode
            if path.stat().st_uid == os.geteuid() and mode & 0o066:
                path.chmod(mode & ~0o066 if path.is_dir() else 0o600)
        # Whoever can enter it can use the database: it must be ours alone
        folder = place.sockets
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            about = folder.lstat()
            ours = about.st_uid in (place.uid, os.geteuid()) and stat.S_IMODE(about.st_mode) == 0o700
            if not stat.S_ISDIR(about.st_mode) or not ours:
                raise PostgresError(
                    f"{folder} is not a private folder of the database's account; remove it and start again."
                ) from None
        place.give(folder)


def require(data: Path) -> None:
    """Make the data folder. Raises PostgresError where it cannot be written, or its disk is full."""
    with explain_os_errors(data):
        _folder(data)
    if not os.access(data, os.W_OK | os.X_OK):
        raise PostgresError(f"Nothing can be kept in {data}: it is not writable.")
    if shutil.disk_usage(data).free < _ROOM:
        raise disk_full(data)


def can_enter(account: Account, folder: Path) -> bool:
    """By the permission bits of the folder and of everything above it (those that exist)."""
    for about in (step.stat() for step in (folder, *folder.parents) if step.exists()):
        if about.st_uid == account.uid:
            bit = stat.S_IXUSR
        elif about.st_gid == account.gid:
            bit = stat.S_IXGRP
        else:
            bit = stat.S_IXOTH
        if not about.st_mode & bit:
            return False
    return True


def _noted_folder(data: Path) -> Path | None:
    try:
        home = Path((data / "LOCATION").read_text().strip())
    except FileNotFoundError:
        return None
    if home.parent != ELSEWHERE:
        raise PostgresError(f"{data / 'LOCATION'} names {home}, which is not a folder in {ELSEWHERE}.")
    return home


def _owner(cluster: Path) -> Account | None:
    """A cluster is always run by the account it belongs to."""
    try:
        about = cluster.stat()
    except FileNotFoundError:
        return None
    return Account(about.st_uid, about.st_gid) if about.st_uid else None


def _unprivileged_account() -> Account:
    for name in ("postgres", "_postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise PostgresError(
        "PostgreSQL does not run as root, and there is no account 'postgres' or 'nobody' to run it as;"
        " create one or start as an ordinary user."
    )


def _folder(path: Path) -> None:
    """For its owner alone; where root hands the server to another account, that may pass through, not look.

    So may it through each folder above that is made on the way: the umask of a platform is 077.
    """
    mode = _PASSABLE if os.geteuid() == 0 else _PRIVATE
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
