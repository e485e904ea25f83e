"""What is kept for the time the database is away: small files that only the platform writes and only its account reads,
and among them the keys of bots that were seen in the last day (C11).

A file is signed, and bound to the place it is in: one that was altered, copied, moved or brought back from a backup is
refused, for what it says may be long untrue. A key that is refused, revoked, expired or of a disabled bot leaves at
once, and what other ways there are to end a key are noticed by a sweep every minute. The database's word counts
wherever it can be had.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.core import signing

from memories.models import BotKey
from memories.models.ids import uuid7

_SALT = "memories.offline"


def root() -> Path:
    """The folder of all that is kept for the time without a database."""
    return Path(settings.MEMORY_OFFLINE_ROOT)


def folder(*names: str) -> Path:
    """A folder below the root, made for this account alone."""
    place = root()
    for name in ("", *names):
        place = place / name
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def write(path: Path, content: dict[str, Any]) -> None:
    """Put a file in place at once; its signature knows its name and its inode. Raises OSError."""
    draft = path.with_name(f".{uuid7().hex}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            bound = {"name": _name(path), "inode": os.fstat(file.fileno()).st_ino, "content": content}
            file.write(signing.dumps(bound, salt=_SALT))
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def read(path: Path) -> dict[str, Any] | None:
    """What a file says; None where there is none, and where it is not the one that was written here."""
    try:
        with path.open() as file:
            bound = signing.loads(file.read(), salt=_SALT)
            inode = os.fstat(file.fileno()).st_ino
    except (OSError, ValueError, signing.BadSignature):
        return None
    is_own = isinstance(bound, dict) and (bound.get("name"), bound.get("inode")) == (_name(path), inode)
    content = bound.get("content") if is_own else None
    return content if isinstance(content, dict) else None


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


log = structlog.get_logger(__name__)

#: A key that was not seen for so long has to be seen by the database first.
SEEN_WITHIN = timedelta(hours=24)
#: Seconds between two writes of a key by one process.
WRITTEN_EVERY = 60.0

_written: dict[str, float] = {}  # by digest: when this process wrote it last


def remember_key(key: BotKey, now: datetime) -> None:
    """Keep a key the database has just admitted, at most once a minute."""
    before = _written.get(key.digest)
    if before is not None and time.monotonic() - before < WRITTEN_EVERY:
        return
    _written[key.digest] = time.monotonic()
    try:
        write(_path(key.digest), _card(key, now))
    except OSError as problem:  # a full disk does not keep a bot out
        log.warning("key_not_kept", key=str(key), problem=str(problem))


def forget_key(digest: str) -> None:
    """Let a key be admitted by nobody but the database."""
    _written.pop(digest, None)
    remove(_path(digest))


def admit_key(token: str, now: datetime) -> BotKey | None:
    """The key with this token as it was when it was last seen; None: unknown here, too long ago, or expired."""
    digest = BotKey.digest_of(token)
    card = read(_path(digest))
    if card is None or card.get("digest") != digest:
        return None
    seen_at, expires = datetime.fromisoformat(card["seen_at"]), card["expires_at"]
    if now - seen_at > SEEN_WITHIN or (expires and datetime.fromisoformat(expires) <= now):
        forget_key(digest)
        return None
    key = BotKey.of_row(card)
    key.is_from_cache = True
    return key


def stored_digests() -> Iterator[str]:
    """The digests of all keys that are kept."""
    for path in folder("keys").iterdir():
        if not path.name.startswith("."):
            yield path.name


def drop_unusable(now: datetime) -> int:
    """Forget the keys that the database would refuse; how many. Raises django.db.Error while it is away."""
    digests = list(stored_digests())
    usable = set(BotKey.objects.usable(now).filter(digest__in=digests).values_list("digest", flat=True))
    return forget_keys(digest for digest in digests if digest not in usable)


def count_unusable(now: datetime) -> int:
    """How many keys `drop_unusable` would forget."""
    digests = list(stored_digests())
    return len(digests) - BotKey.objects.usable(now).filter(digest__in=digests).count()


def forget_keys(digests: Iterable[str]) -> int:
    """Forget several keys; how many."""
    count = 0
    for digest in digests:
        forget_key(digest)
        count += 1
    return count


def _path(digest: str) -> Path:
    return folder("keys") / digest


def _card(key: BotKey, now: datetime) -> dict[str, Any]:
    workspace = key.workspace
    return {
        "id": key.pk,
        "digest": key.digest,
        "prefix": key.prefix,
        "permissions": list(key.permissions),
        "scope_patterns": list(key.scope_patterns),
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
        "bot": {"id": key.bot_id, "name": key.bot.name},
        "workspace": {
            name: getattr(workspace, name) for name in ("id", "language", "time_zone", "folder", "is_enabled")
        },
        "seen_at": now.isoformat(),
    }


# calls of a key in one minute, counted by this process alone

_counting = threading.Lock()
_calls: Counter[str] = Counter()
_minute: datetime | None = None


def count_call(digest: str, minute: datetime) -> int:
    """Count one more call of a key, and return how many it has made in this minute."""
    global _minute  # noqa: PLW0603 (threads of this process)
    with _counting:
        if minute != _minute:
            _calls.clear()
            _minute = minute
        _calls[digest] += 1
        return _calls[digest]
