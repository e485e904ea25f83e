"""Keys of bots that were seen in the last day, for the time the database is away (C11).

A key that is refused, revoked, expired or of a disabled bot leaves the cache at once, and what other ways there are to
end a key are noticed by a sweep every minute. The database's word counts wherever it can be had.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog

from memories.models import BotKey
from memories.offline import signed_files

log = structlog.get_logger(__name__)

#: A key that was not seen for so long has to be seen by the database first.
SEEN_WITHIN = timedelta(hours=24)
#: Seconds between two writes of a key by one process.
WRITTEN_EVERY = 60.0

_written: dict[str, float] = {}  # by digest: when this process wrote it last


def remember(key: BotKey, now: datetime) -> None:
    """Keep a key the database has just admitted, at most once a minute."""
    before = _written.get(key.digest)
    if before is not None and time.monotonic() - before < WRITTEN_EVERY:
        return
    _written[key.digest] = time.monotonic()
    try:
        signed_files.write(_path(key.digest), _card(key, now))
    except OSError as problem:  # a full disk does not keep a bot out
        log.warning("key_not_kept", key=str(key), problem=str(problem))


def forget(digest: str) -> None:
    """Let a key be admitted by nobody but the database."""
    _written.pop(digest, None)
    signed_files.remove(_path(digest))


def admit(token: str, now: datetime) -> BotKey | None:
    """The key with this token as it was when it was last seen; None: unknown here, too long ago, or expired."""
    digest = BotKey.digest_of(token)
    card = signed_files.read(_path(digest))
    if card is None or card.get("digest") != digest:
        return None
    seen, expires = datetime.fromisoformat(card["seen_at"]), card["expires_at"]
    if now - seen > SEEN_WITHIN or (expires and datetime.fromisoformat(expires) <= now):
        forget(digest)
        return None
    key = BotKey.of_row(card)
    key.is_from_cache = True
    return key


def stored_digests() -> Iterator[str]:
    """The digests of all keys that are kept."""
    for path in signed_files.folder("keys").iterdir():
        if not path.name.startswith("."):
            yield path.name


def drop_unusable(now: datetime) -> int:
    """Forget the keys that the database would refuse; how many. Raises django.db.Error while it is away."""
    digests = list(stored_digests())
    usable = set(BotKey.objects.usable(now).filter(digest__in=digests).values_list("digest", flat=True))
    return forget_all(digest for digest in digests if digest not in usable)


def count_unusable(now: datetime) -> int:
    """How many keys `drop_unusable` would forget."""
    digests = list(stored_digests())
    return len(digests) - BotKey.objects.usable(now).filter(digest__in=digests).count()


def forget_all(digests: Iterable[str]) -> int:
    """Forget several keys; how many."""
    count = 0
    for digest in digests:
        forget(digest)
        count += 1
    return count


def _path(digest: str) -> Path:
    return signed_files.folder("keys") / digest


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
