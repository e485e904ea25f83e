"""What proves an erasure: a signed certificate, without a word or name of the person; and a file beside the database.

By its file a database that was restored from an older backup erases them again. It holds the certificate, which anybody
may read, and whom it was about, encrypted with the key of secrets.
"""

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.apps import apps
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories import secrets
from memories.entries import suppression
from memories.models import Erasure, ErasureState
from memplatform.erasure import search
from memplatform.erasure.collect import NOT_REACHED
from memplatform.operations import hosts

FORMAT = 1
#: A certificate has a few KB.
MOST_BYTES = 1_000_000


def issue(
    erasure: Erasure, left_over: Mapping[str, Sequence[Any]], still_tied: int, *, now: datetime
) -> dict[str, Any]:
    """The signed certificate of an erasure that is through.

    `left_over` are rows by table in which the same words or the id still stand, `still_tied` those found by their ids.
    """
    body = {
        "format": FORMAT,
        "erasure": str(erasure.uid),
        "workspace": str(erasure.workspace.uid),
        "person": erasure.person,
        "reason": erasure.reason,
        "by": erasure.actor,
        "ordered_at": erasure.created_at.isoformat(),
        "finished_at": now.isoformat(),
        "removed": dict(sorted(erasure.counts.items())),
        "tombstones": erasure.tombstones.count(),
        "verified": {
            "rows_still_tied_to_the_person": still_tied,
            "phrases_searched": len(erasure.phrases),
            "tables_searched": len(search.searched()),
            "same_words_found_in": {table: list(rows)[:20] for table, rows in sorted(left_over.items())},
        },
        "not_reached": [*NOT_REACHED, *(["journals"] if hosts.journals_elsewhere() else [])],
    }
    return signed(body)


def signed(body: Mapping[str, Any]) -> dict[str, Any]:
    """What this installation states, with its signature."""
    key = _private()
    signature = {
        "algorithm": "Ed25519",
        "public_key": base64.b64encode(_public(key)).decode(),
        "value": base64.b64encode(key.sign(_bytes(body))).decode(),
    }
    return {**body, "signature": signature}


def read(file: Path) -> Mapping[str, Any]:
    """The certificate in a file. Raises ValueError, with the reason, and OSError."""
    with file.open("rb") as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(gettext("This is no certificate: it is too large."))
    try:
        certificate = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise ValueError(gettext("This is no certificate.")) from problem
    if not isinstance(certificate, dict):
        raise ValueError(gettext("This is no certificate."))
    return certificate


def verify(certificate: Mapping[str, Any], *, public_key: str | None = None) -> str:
    """Who signed a certificate: `own`, this installation; `named`, whoever has this public key, in base64; or `other`.

    Nothing where it was altered. A key that is named is the one it has to be. Raises ValueError for a key that is none.
    """
    body = {name: value for name, value in certificate.items() if name != "signature"}
    signature = certificate.get("signature")
    expected_key = None
    if public_key is not None:
        try:
            expected_key = base64.b64decode(public_key.strip(), validate=True)
            Ed25519PublicKey.from_public_bytes(expected_key)
        except ValueError as problem:
            message = gettext("This is no public key: it is 32 bytes in base64, as a certificate names it.")
            raise ValueError(message) from problem
    try:
        key = base64.b64decode(signature["public_key"])  # type: ignore[index]
        Ed25519PublicKey.from_public_bytes(key).verify(base64.b64decode(signature["value"]), _bytes(body))  # type: ignore[index]
    except (InvalidSignature, KeyError, TypeError, ValueError, RecursionError):
        return ""
    if expected_key is not None:
        return "named" if key == expected_key else "other"
    try:
        return "own" if key == _public(_private()) else "other"
    except LookupError:  # nobody was ever erased here
        return "other"


def _private() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(
        hashlib.sha256(b"memplatform.certificates.1:" + suppression.seed()).digest()
    )


def _public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def _bytes(body: Mapping[str, Any]) -> bytes:
    """The same for the same content, in whichever order it stands."""
    return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


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


def put_on_file(erasure: Erasure, certificate: dict[str, Any] | None = None) -> Path:
    """Record an erasure when it is ordered, and with its certificate when it is done. Raises OSError."""
    path = folder() / f"{erasure.uid}.json"
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    if erasure.identities:
        content = {
            "uid": str(erasure.uid),
            "workspace": str(erasure.workspace.uid),
            "identities": erasure.identities,
            "reason": erasure.reason,
            "actor": erasure.actor,
            "ordered_at": erasure.created_at.isoformat(),
            "seed": base64.b64encode(suppression.seed()).decode(),
        }
        envelope = secrets.seal(json.dumps(content))
    else:
        envelope = json.loads(path.read_text())["sealed"]
    draft = path.with_name(f".{path.name}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump({"certificate": certificate, "sealed": envelope}, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return path


def on_file_only() -> Iterator[Recorded]:
    """The erasures on file that the database does not know: it is older than they are."""
    for path in sorted(folder().glob("*.json")):
        try:
            content = json.loads(secrets.unseal(json.loads(path.read_text())["sealed"]))
        except (OSError, ValueError, KeyError, secrets.SecretUnreadable) as problem:
            log.error("erasure.unreadable", file=path.name, problem=type(problem).__name__)
            continue
        if not Erasure.objects.filter(uid=content["uid"]).exists():
            uids = UUID(content.pop("uid")), UUID(content.pop("workspace"))
            seed = base64.b64decode(content.pop("seed"))
            yield Recorded(*uids, **content, seed=seed)


_NAMES = {
    "files": _("files of the person"),
    "lines": _("lines in files of others"),
    "journal": _("calls in the journal"),
    "archive": _("rows in the archive"),
    "put_back": _("memories of others, put back"),
    "backups": _("backups made before: restored, they are erased again from the files of erasures"),
    "exports": _("exports and copies somebody took elsewhere, and what webhooks sent"),
    "journals": _(
        "calls in the journals of other hosts, accepted while the database was away or switched off: brought in, those "
        "of the person are given up"
    ),
    "logs": _(
        "logs written before, of the web, worker, embedder and MCP processes, of PostgreSQL, of a proxy in front and "
        "where they were sent: lines hold the id, and addresses that were asked for"
    ),
}
STEPS = {
    "find": _("finding what is about the person"),
    "mark": _("keeping hashes of what goes"),
    "search": _("reading through what no id leads to"),
    "files": _("files and journal"),
    "remove": _("removing rows"),
    "count": _("counting words anew"),
    "archive": _("rewriting the archive"),
    "verify": _("verifying"),
}


def table_name(table: str) -> str:
    """The rows of a table as people call them."""
    if table in _NAMES:
        return str(_NAMES[table])
    model = next((candidate for candidate in apps.get_models() if candidate._meta.db_table == table), None)
    return str(model._meta.verbose_name_plural) if model else table


def counted(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names and numbers, without what is zero."""
    return [(table_name(table), count) for table, count in counts.items() if count]


def progress(erasure: Erasure) -> str:
    """How far it is, in a sentence."""
    if erasure.state == ErasureState.RUNNING and erasure.step in STEPS:
        return str(STEPS[erasure.step])
    if erasure.error:
        return gettext("It was interrupted, and is tried again each minute: %(error)s") % {"error": erasure.error}
    return str(ErasureState(erasure.state).label)


def findings(certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where the same words still stand, and in which rows."""
    rows_by_table = certificate["verified"]["same_words_found_in"]
    return [(table_name(table), ", ".join(map(str, rows))) for table, rows in rows_by_table.items()]
