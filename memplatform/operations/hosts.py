"""The hosts that work with one database: each is entered when it starts, and one that does not fit is refused.

Nothing a host keeps on its disk may be needed by another: they share the keys and the folder of memory in markdown.
"""

import hashlib
import os
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memories.files import layout
from memplatform import environment
from memplatform.operations.models import Host

#: Beside the folders of the workspaces, in the folder of memory in markdown: its id. Where two hosts find the same id,
#: they share the folder.
FOLDER_MARK = ".memplatform-folder"
_DATA_MARK = "host-id"
#: Parts that open no file of memory.
_WITHOUT_FILES = {"mcp"}
#: A host that was not seen for so long does not run.
SILENCE = timedelta(seconds=30)
#: A host that was not seen for so long is forgotten, with the folder it had.
FORGOTTEN_AFTER = timedelta(days=30)
_LOCK = 16 << 56  # the highest byte of an advisory lock is its kind


class HostRefused(Exception):
    """This host does not fit to the others; the message says in whole sentences why, and what to do."""


@dataclass(frozen=True)
class Identity:
    """What a host is known by: columns of its row."""

    name: str
    uid: UUID
    parts: tuple[str, ...]
    folder: UUID | None
    folder_path: str
    signing_keys: tuple[str, ...]
    sealing_keys: tuple[str, ...]


def identity(data: Path, parts: Sequence[str]) -> Identity:
    """Of this host; what is not written down yet is made. Raises HostRefused."""
    try:
        has_files = not _WITHOUT_FILES.issuperset(parts)
        signing = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
        return Identity(
            name=settings.HOST_NAME,
            uid=_mark(data / _DATA_MARK),
            parts=tuple(parts),
            folder=_mark(layout.root() / FOLDER_MARK) if has_files else None,
            folder_path=str(layout.root())[:1000] if has_files else "",
            signing_keys=_fingerprints(signing),
            sealing_keys=_fingerprints([*settings.SECRETS_KEYS, *signing]),
        )
    except OSError as problem:
        raise HostRefused(
            _("%(file)s cannot be read or written: %(reason)s.")
            % {"file": problem.filename, "reason": problem.strerror}
        ) from problem


def join(host: Identity, *, now: datetime, is_alone: bool = False) -> None:
    """Enter this host; `is_alone` where nobody else can reach the database. Raises HostRefused."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        Host.objects.filter(seen_at__lt=now - FORGOTTEN_AFTER).delete()
        rivals = Host.objects.exclude(name=host.name)
        if is_alone:
            rivals.delete()
        _require_fit(host, rivals, now)
        columns = {
            **vars(host),
            "version": environment.version(),
            "pid": os.getpid(),
            "started_at": now,
            "seen_at": now,
            "stopped_at": None,
        }
        Host.objects.update_or_create(name=host.name, defaults=columns)


def see(*, now: datetime) -> None:
    """This host is there."""
    Host.objects.filter(name=settings.HOST_NAME).update(seen_at=now)


def leave(*, now: datetime) -> None:
    """This host has stopped as it should."""
    Host.objects.filter(name=settings.HOST_NAME).update(seen_at=now, stopped_at=now)


def others(*, now: datetime) -> QuerySet[Host]:
    """The other hosts that run."""
    return running(now=now).exclude(name=settings.HOST_NAME)


def journals_elsewhere() -> bool:
    """Whether other hosts, running or not, may hold calls that were accepted without the database."""
    return Host.objects.exclude(name=settings.HOST_NAME).filter(parts__contains=["web"]).exists()


def running(*, now: datetime) -> QuerySet[Host]:
    """The hosts that run."""
    return Host.objects.filter(seen_at__gt=now - SILENCE, stopped_at=None)


def forget(name: str) -> bool:
    """Take a host off the list that will not come back, with its claim on keys and folder; whether it was there."""
    row_count, _by_table = Host.objects.filter(name=name).delete()
    return bool(row_count)


def _require_fit(host: Identity, rivals: QuerySet[Host], now: datetime) -> None:
    """Stopped hosts have a say about the folder alone: from another one their notes would be missing."""
    if twin := running(now=now).filter(name=host.name).exclude(uid=host.uid).first():
        seconds = (now - twin.seen_at).total_seconds()
        raise HostRefused(
            _(
                "A host called %(name)s works with this database already (seen %(seconds)d s ago)."
                " Set MEMPLATFORM_HOST_NAME to another name here."
            )
            % {"name": host.name, "seconds": seconds}
        )
    for rival in rivals.order_by("-seen_at"):
        if rival.stopped_at is None:
            _require_keys("SECRET_KEY", host.signing_keys, rival.signing_keys, rival.name)
            _require_keys("MEMPLATFORM_SECRETS_KEY", host.sealing_keys, rival.sealing_keys, rival.name)
        if host.folder and rival.folder and host.folder != rival.folder:
            raise HostRefused(
                _(
                    "The folder of memory in markdown here, %(here)s, is not the one of the host %(name)s,"
                    " %(there)s. All hosts share one folder: let MEMORY_FILES_ROOT name it here, such as by a mount."
                    " If that host is gone for good, with its folder: manage.py hosts --forget %(name)s"
                )
                % {"here": host.folder_path, "there": rival.folder_path, "name": rival.name}
            )


def _require_keys(setting: str, here: Sequence[str], there: Sequence[str], name: str) -> None:
    """Each must be able to read what the other signs or encrypts."""
    if here[0] in there and there[0] in here:
        return
    raise HostRefused(
        _(
            "%(setting)s is not the one of the host %(name)s, which works with this database, too. Give all hosts the"
            " same: where it is not set, SECRET_KEY stands in credentials/secret-key of the data folder there."
            " If that host is gone for good: manage.py hosts --forget %(name)s"
        )
        % {"setting": setting, "name": name}
    )


def _mark(path: Path) -> UUID:
    """The id in a file, made once however many make it at a time."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{socket.gethostname()}.{os.getpid()}")
        draft.write_text(str(uuid4()))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return UUID(path.read_text().strip())


def _fingerprints(keys: Iterable[str]) -> tuple[str, ...]:
    """Enough to tell keys apart, and no help in finding them out."""
    return tuple(hashlib.sha256(f"memplatform.hosts.1:{key}".encode()).hexdigest()[:16] for key in keys)
