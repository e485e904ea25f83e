"""Channels and sessions without the database, each in a signed file: rules, and who talks where.

The channels of a workspace are kept at most once a minute, a session when it is used and once an hour after that.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import structlog

from channels_app.models import Channel, Identity
from memories.offline import NotCached, store
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address, Resolution

log = structlog.get_logger(__name__)

KEPT_FOR = timedelta(hours=24)
_CHANNELS_EVERY, _SESSIONS_EVERY = 60.0, 3_600.0
_FIELDS = (
    *("platform", "account", "dm_scope", "session_mode", "session_prefix", "group_sessions", "group_prefix"),
    *(
        "capture_group_memory",
        "group_user_recall",
        "secrets",
        "need",
        "serve",
        "max_tokens",
        "path_mode",
        "transcripts",
    ),
)
_kept: dict[Path, float] = {}  # when this process wrote a card last
_MOST_KEPT = 10_000


@dataclass(frozen=True, kw_only=True)
class SessionCard:
    """A session, as far as a message in it has to know."""

    uid: str
    key: str
    platform: str  # of the session; empty where memory shares it between platforms
    account: str
    channel: tuple[str, str]  # platform and account it was used from last
    chat: str
    peer: str
    is_group: bool
    user_scope: str | None
    chat_scope: str | None
    captures_group: bool


def keep_channels(workspace_id: int, *, now: datetime) -> None:
    """Keep the channels of a workspace with their rules, at most once a minute."""
    path = _channels_path(workspace_id)
    if _is_due(path, _CHANNELS_EVERY):
        rows = [list(row) for row in Channel.objects.filter(workspace_id=workspace_id).values_list(*_FIELDS)]
        linked = Identity.objects.filter(workspace_id=workspace_id, person__united_at__isnull=False)
        identities = linked.values_list("platform", "peer", "person__key")
        people = {f"{platform}:{peer}": str(person) for platform, peer, person in identities}
        _write(path, {"channels": rows, "people": people, "kept_at": now.isoformat()})


def forget_channels(workspace_id: int) -> None:
    """Have the channels of a workspace kept anew by the next call: a rule was changed."""
    path = _channels_path(workspace_id)
    _kept.pop(path, None)
    store.remove(path)


def cached_channels(workspace_id: int, *, now: datetime) -> list[Channel]:
    """The channels of a workspace as they were kept last. Raises NotCached."""
    card = _read_channels(workspace_id, now)
    return [Channel(workspace_id=workspace_id, **dict(zip(_FIELDS, row, strict=True))) for row in card["channels"]]


def cached_person(workspace_id: int, address: Address, *, now: datetime) -> str:
    """The linked person of a peer, as it was kept last; empty for a peer of its own. Raises NotCached."""
    people: dict[str, str] = _read_channels(workspace_id, now).get("people", {})
    return people.get(f"{address.platform}:{address.peer}", "")


def _read_channels(workspace_id: int, now: datetime) -> dict[str, Any]:
    card = store.read(_channels_path(workspace_id))
    if card is None or now - datetime.fromisoformat(card["kept_at"]) > KEPT_FOR:
        raise NotCached
    return card


def keep_session(workspace_id: int, uid: str, resolution: Resolution, *, now: datetime) -> None:
    """Keep who talks in a session, so that its messages find their place."""
    if not _is_due(_sessions_path(workspace_id, uid), _SESSIONS_EVERY):
        return
    address = resolution.address
    card = SessionCard(
        uid=uid,
        key=resolution.session_key,
        platform=resolution.session_platform,
        account=resolution.session_account,
        channel=(address.platform, address.account),
        chat=address.chat,
        peer=address.speaker if not address.is_group else "",
        is_group=address.is_group,
        user_scope=resolution.user_scope,
        chat_scope=resolution.chat_scope,
        captures_group=resolution.rules.capture_group_memory,
    )
    record = {"card": asdict(card), "kept_at": now.isoformat()}
    _write(_sessions_path(workspace_id, uid), {"cards": {uid: record}})
    others = (store.read(_sessions_path(workspace_id, card.key)) or {}).get("cards", {})
    _write(_sessions_path(workspace_id, card.key), {"cards": others | {uid: record}})


def cached_session(workspace_id: int, name: str, place: dict[str, str], *, now: datetime) -> SessionCard:
    """The session with this key or id, as it was kept last. Raises NotCached, also where several have the key."""
    records = (store.read(_sessions_path(workspace_id, name)) or {}).get("cards", {})
    cards = [
        SessionCard(**record["card"] | {"channel": tuple(record["card"]["channel"])})
        for record in records.values()
        if now - datetime.fromisoformat(record["kept_at"]) <= KEPT_FOR
    ]
    matches = [card for card in cards if all(getattr(card, field) == value for field, value in place.items())]
    if len(matches) != 1:
        raise NotCached
    return matches[0]


def cached_session_id(caller: Caller, key: str, *, now: datetime) -> str | None:
    """The id of the session with this key, where there is a card of it."""
    try:
        return cached_session(caller.workspace_id, key, {}, now=now).uid
    except NotCached:
        return None


def drop_old(*, now: datetime) -> int:
    """Remove the cards nobody has renewed for a day; how many."""
    old = list(_old(now))
    for path in old:
        store.remove(path)
    return len(old)


def count_old(*, now: datetime) -> int:
    """How many cards `drop_old` would remove."""
    return sum(1 for _path in _old(now))


def _old(now: datetime) -> Iterator[Path]:
    top, oldest = store.root(), (now - KEPT_FOR).timestamp()
    for path in [*top.glob("sessions/*/*"), *top.glob("channels/*")]:
        with suppress(FileNotFoundError):  # written anew meanwhile
            if path.stat().st_mtime < oldest:
                yield path


def _channels_path(workspace_id: int) -> Path:
    return store.root() / "channels" / str(workspace_id)


def _sessions_path(workspace_id: int, name: str) -> Path:
    return store.root() / "sessions" / str(workspace_id) / sha256(name.lower().encode()).hexdigest()[:40]


def _is_due(path: Path, seconds: float) -> bool:
    """Whether a card is to be written by this process now."""
    before = _kept.get(path)
    if before is not None and time.monotonic() - before < seconds:
        return False
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[path] = time.monotonic()
    return True


def _write(path: Path, card: dict[str, Any]) -> None:
    try:
        store.folder(*path.relative_to(store.root()).parts[:-1])
        store.write(path, card)
    except OSError as problem:  # a full disk keeps no call from its answer
        log.warning("card_not_kept", problem=str(problem))
