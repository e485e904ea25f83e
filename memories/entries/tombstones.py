"""What was erased with a person, and is refused when it comes again: known by keyed hashes, without a word of it (F7).

Words are refused in the scopes they were erased from. What is imported is refused in every scope of the workspace,
unless it is so short that anybody may have said it.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from secrets import token_bytes

from django.db import connection, transaction

from memories import secrets
from memories.choices import Source
from memories.entries.duplicates import PendingWrite
from memories.language import text
from memories.models import Scope, Tombstone

SECRET = "erasure"  # noqa: S105 (the name of it)
#: Different terms by which a text is told from what anybody might say.
TELLING = 4
_LOCK = 7_305_121  # any number nobody else uses
_WORDS, _ORIGIN, _MESSAGE = "words", "origin", "message"


@lru_cache(maxsize=1)
def seed() -> bytes:
    """32 random bytes of this installation: hashes are keyed and certificates are signed by them.

    Raises LookupError where nobody was ever erased.
    """
    kept = secrets.read(SECRET)
    if kept is None:
        raise LookupError(SECRET)
    return base64.b64decode(kept)


def begin(former: bytes | None = None) -> None:
    """Make the seed, unless there is one; `former` is that of before a backup was restored."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if secrets.read(SECRET) is None:
            secrets.keep(SECRET, base64.b64encode(former or token_bytes(32)).decode())
    seed.cache_clear()


def digest(workspace_id: int, *parts: str) -> str:
    """The keyed hash of something in a workspace, 64 hex digits."""
    key = hashlib.sha256(b"memplatform.tombstones.1:" + seed()).digest()
    return hmac.new(key, "\0".join([str(workspace_id), *parts]).encode(errors="surrogatepass"), "sha256").hexdigest()


def of_content(workspace_id: int, scope_keys: Iterable[str], content: str) -> list[str]:
    """The tombstones of a text that is erased from scopes."""
    words = text.fingerprint(content)
    places = [*scope_keys, ""] if is_telling(content) else scope_keys
    return [digest(workspace_id, _WORDS, place, words) for place in places]


def of_origin(workspace_id: int, origin: str) -> str:
    """The tombstone of a message, by the path that names it."""
    return digest(workspace_id, _ORIGIN, origin)


def of_message(workspace_id: int, place: Sequence[str], content: str, at: datetime) -> tuple[str, str]:
    """The tombstones of a message by whose it is and where: of its words, and of its words at its moment."""
    parts = (_MESSAGE, *place, text.fingerprint(content))
    return digest(workspace_id, *parts), digest(workspace_id, *parts, at.astimezone(UTC).isoformat())


def is_anybody_erased(workspace_id: int) -> bool:
    """Whether a workspace has tombstones at all."""
    return Tombstone.objects.filter(workspace_id=workspace_id).exists()


def known(workspace_id: int, digests: Iterable[str]) -> set[str]:
    """Which of these tombstones there are."""
    rows = Tombstone.objects.filter(workspace_id=workspace_id, digest__in=sorted(set(digests)))
    return set(rows.values_list("digest", flat=True))


def is_telling(content: str) -> bool:
    """Whether a text is known by its words alone: not everybody says it."""
    return len(text.terms(content)) >= TELLING


class Tombstones:
    """The tombstones that may concern some texts of one workspace, read in one query; in none where there are none."""

    def __init__(self, scopes: Iterable[Scope]) -> None:
        self._workspace = next((scope.workspace_id for scope in scopes if scope.has_tombstones), None)

    @classmethod
    def of_workspace(cls, workspace_id: int) -> "Tombstones":
        """Those of a workspace, whichever its scopes are."""
        found = cls(())
        found._workspace = workspace_id if is_anybody_erased(workspace_id) else None
        return found

    def covering(self, texts: Sequence[tuple[str, str, Sequence[str]]], *, everywhere: bool) -> list[bool]:
        """Of texts, each with the key of its scope and the messages it rests on, which were erased.

        `everywhere`: also words that were erased from another scope, as of what is imported.
        """
        if self._workspace is None or not texts:
            return [False] * len(texts)
        marks = [self._marks(*one, everywhere=everywhere) for one in texts]
        wanted = {mark for words, origins in marks for mark in (*words, *origins)}
        rows = Tombstone.objects.filter(workspace_id=self._workspace, digest__in=sorted(wanted))
        known = set(rows.values_list("digest", flat=True))
        return [bool(known & words) or (bool(origins) and origins <= known) for words, origins in marks]

    def covering_writes(self, writes: Sequence[PendingWrite]) -> list[bool]:
        """The same of drafts."""
        texts = [(write.draft.content, write.draft.scope.key, write.draft.origins) for write in writes]
        here = self.covering(texts, everywhere=False)
        imported = [write.draft.source == Source.MIGRATION for write in writes]
        if self._workspace is None or not any(imported):
            return here
        there = self.covering(texts, everywhere=True)
        return [one or (is_imported and other) for one, other, is_imported in zip(here, there, imported, strict=True)]

    def _marks(
        self, content: str, scope_key: str, origins: Sequence[str], *, everywhere: bool
    ) -> tuple[set[str], set[str]]:
        workspace = self._workspace or 0
        words = text.fingerprint(content)
        places = [scope_key, ""] if everywhere and is_telling(content) else [scope_key]
        return {digest(workspace, _WORDS, place, words) for place in places}, {
            of_origin(workspace, origin) for origin in origins
        }
