"""A file for each erasure, beside the database: so that one that was restored from an older backup erases them again.

Each holds the certificate, which anybody may read, and whom it was about, encrypted with the key of secrets.
"""

import base64
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings

from memories import secrets
from memories.entries import suppression
from memories.models import Erasure

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Recorded:
    """What a file tells of an erasure."""

    uid: UUID
    workspace: UUID
    identities: list[dict[str, str]]
    reason: str
    actor: str
    ordered_at: str
    seed: bytes


def folder() -> Path:
    """Where the files are."""
    return Path(settings.ERASURES_ROOT)


def write(erasure: Erasure, certificate: dict[str, Any] | None = None) -> Path:
    """Record an erasure when it is ordered, and with its certificate when it is done. Raises OSError."""
    path = folder() / f"{erasure.uid}.json"
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    sealed = _sealed(erasure) if erasure.identities else json.loads(path.read_text())["sealed"]
    draft = path.with_name(f".{path.name}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump({"certificate": certificate, "sealed": sealed}, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return path


def _sealed(erasure: Erasure) -> str:
    return secrets.seal(
        json.dumps(
            {
                "uid": str(erasure.uid),
                "workspace": str(erasure.workspace.uid),
                "identities": erasure.identities,
                "reason": erasure.reason,
                "actor": erasure.actor,
                "ordered_at": erasure.created_at.isoformat(),
                "seed": base64.b64encode(suppression.seed()).decode(),
            }
        )
    )


def missing() -> Iterator[Recorded]:
    """The erasures on file that the database does not know: it is older than they are."""
    for path in sorted(folder().glob("*.json")):
        try:
            told = json.loads(secrets.unseal(json.loads(path.read_text())["sealed"]))
        except (OSError, ValueError, KeyError, secrets.SecretUnreadable) as problem:
            log.error("erasure.unreadable", file=path.name, problem=type(problem).__name__)
            continue
        if not Erasure.objects.filter(uid=told["uid"]).exists():
            seed, uids = base64.b64decode(told.pop("seed")), (UUID(told.pop("uid")), UUID(told.pop("workspace")))
            yield Recorded(*uids, **told, seed=seed)
