"""The certificate of an erasure: what was removed and how that was verified, signed, without a word or name of it."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.utils.translation import gettext as _

from memories.entries import suppression
from memories.models import Erasure
from memplatform.erasure import search
from memplatform.erasure.tables import NOT_REACHED

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
        "not_reached": list(NOT_REACHED),
    }
    return {**body, "signature": _sign(body)}


def read(file: Path) -> Mapping[str, Any]:
    """The certificate in a file. Raises ValueError, with the reason, and OSError."""
    with file.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(_("This is no certificate: it is too large."))
    try:
        certificate = json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise ValueError(_("This is no certificate.")) from problem
    if not isinstance(certificate, dict):
        raise ValueError(_("This is no certificate."))
    return certificate


def verify(certificate: Mapping[str, Any], *, public_key: str | None = None) -> str:
    """Who signed a certificate: `own`, this installation; `named`, whoever has this public key, in base64; or `other`.

    Nothing where it was altered. A key that is named is the one it has to be. Raises ValueError for a key that is none.
    """
    body = {name: value for name, value in certificate.items() if name != "signature"}
    signature = certificate.get("signature")
    wanted = None if public_key is None else _named(public_key)
    try:
        key = base64.b64decode(signature["public_key"])  # type: ignore[index]
        Ed25519PublicKey.from_public_bytes(key).verify(base64.b64decode(signature["value"]), _bytes(body))  # type: ignore[index]
    except (InvalidSignature, KeyError, TypeError, ValueError, RecursionError):
        return ""
    if wanted is not None:
        return "named" if key == wanted else "other"
    try:
        return "own" if key == _public(_private()) else "other"
    except LookupError:  # nobody was ever erased here
        return "other"


def _named(public_key: str) -> bytes:
    try:
        key = base64.b64decode(public_key.strip(), validate=True)
        Ed25519PublicKey.from_public_bytes(key)
    except ValueError as problem:
        raise ValueError(_("This is no public key: it is 32 bytes in base64, as a certificate names it.")) from problem
    return key


def _sign(body: Mapping[str, Any]) -> dict[str, str]:
    key = _private()
    return {
        "algorithm": "Ed25519",
        "public_key": base64.b64encode(_public(key)).decode(),
        "value": base64.b64encode(key.sign(_bytes(body))).decode(),
    }


def _private() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(
        hashlib.sha256(b"memplatform.certificates.1:" + suppression.seed()).digest()
    )


def _public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def _bytes(body: Mapping[str, Any]) -> bytes:
    """The same for the same content, in whichever order it stands."""
    return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
