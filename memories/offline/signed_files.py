"""Small files that only the platform writes and only its account reads: signed, and bound to the place they are in.

One that was altered, copied, moved or brought back from a backup is refused: what it says may be long untrue.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core import signing

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
