"""Suppressions: what people took out of use, no machine writes again (A15)."""

import base64
import hashlib
import hmac
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from secrets import token_bytes

from django.db import connection, transaction
from django.db.models import Q

from memories import secrets
from memories.choices import MACHINE_SOURCES, EntryType, ScopeKind, Source
from memories.entries import files
from memories.entries.duplicates import PendingWrite
from memories.index import search_rows
from memories.language import text
from memories.models import Change, Entry, Erasure, FileProblem, FileState, Scope, Suppression, Tombstone
from memories.models.change import acting
from memories.models.entry import EntryQuerySet

#: Sources by which somebody saves a memory on purpose.
EXPLICIT_SOURCES = frozenset({Source.TOOL, Source.MANUAL})
#: Sources that store a message word for word; when it is repeated, its suppression covers the new message too.
REPLAYED_SOURCES = frozenset({Source.CONVERSATION_CAPTURE, Source.MEMORY_CAPTURE})
#: Messages one suppression names at most; drafts from further ones are suppressed by their words alone.
ORIGINS_MOST = 500
#: `conversation` of a suppression whose messages come from several conversations.
SEVERAL = "*"


class Suppressions:
    """The suppressions that may concern some drafts, read in one query; in none where there `are_any` not."""

    def __init__(self, scope_ids: Iterable[int], writes: Sequence[PendingWrite], *, are_any: bool) -> None:
        self._rows: list[Suppression] = []
        if not are_any:
            return
        origins = sorted({origin for write in writes for origin in write.draft.origins})
        words = sorted({write.fingerprint for write in writes})
        about = Q(fingerprint__in=words) | Q(wordings__overlap=words)
        if origins:
            about |= Q(origins__overlap=origins)
        self._rows = list(Suppression.objects.filter(about, scope__in=list(scope_ids)).select_related("entry"))

    def quarantines(self, write: PendingWrite) -> bool:
        """Whether a write rests on a message in quarantine, or says by the same source what is in it without any;
        whoever offers it but a person by hand."""
        draft = write.draft
        if draft.source == Source.MANUAL:
            return False
        for row in self._rows:
            if not row.quarantine or row.scope_id != draft.scope.pk:
                continue
            if row.origins or row.entry is None:
                if not set(row.origins).isdisjoint(draft.origins):
                    return True
            elif row.fingerprint == write.fingerprint and row.entry.source == draft.source:
                return True
        return False

    def against(self, write: PendingWrite) -> Entry | None:
        """The suppressed entry that a machine is about to write again; None when the write may go on."""
        if write.draft.source not in MACHINE_SOURCES:
            return None
        # it has the suppressed words, or rests on suppressed messages alone; of quarantine see `quarantines`
        here = (row for row in self._rows if not row.quarantine and row.scope_id == write.draft.scope.pk)
        origins = set(write.draft.origins)
        matching = (
            row for row in here if _has_same_words(row, write) or (bool(origins) and origins <= set(row.origins))
        )
        row = next((row for row in matching if not _is_asked_again(row, write)), None)
        if row is None:
            return None
        new_origins = [origin for origin in write.draft.origins if origin not in row.origins]
        if write.draft.source in REPLAYED_SOURCES and new_origins and len(row.origins) < ORIGINS_MOST:
            # the messages in which the words were repeated are covered, too
            row.origins = [*row.origins, *new_origins]
            conversations = {origin.rpartition("/")[0] for origin in row.origins}
            row.conversation = conversations.pop() if len(conversations) == 1 else SEVERAL
            row.save(update_fields=["origins", "conversation"])
        return row.entry

    def lift(self, write: PendingWrite) -> bool:
        """Whether saving these words on purpose, or asking anew that they be kept, ended a suppression of them."""
        on_purpose = write.draft.source in EXPLICIT_SOURCES
        same = (row for row in self._rows if _has_same_words(row, write))
        lifted = [row for row in same if on_purpose or _is_asked_again(row, write)]
        for row in lifted:
            self._rows.remove(row)
            if row.entry is not None:
                release(write.draft.scope, [row.entry], now=row.entry.updated_at)
        return bool(lifted)


def _has_same_words(row: Suppression, write: PendingWrite) -> bool:
    return (
        not row.quarantine
        and row.scope_id == write.draft.scope.pk
        and write.fingerprint in (row.fingerprint, *row.wordings)
    )


def _is_asked_again(row: Suppression, write: PendingWrite) -> bool:
    """Whether the person asks in a new message that it be kept («remember that …»): the explicit save of a chat.

    A message from before the suppression, sent again or imported, asks for nothing new; and in a group nobody asks for
    what another member had said.
    """
    draft = write.draft
    if draft.source != Source.CONVERSATION_CAPTURE or draft.type != EntryType.USER_EXPLICIT:
        return False
    if draft.scope.kind != ScopeKind.USER and row.entry and row.entry.sender_id != draft.slots.get("sender_id", ""):
        return False
    since = row.created_at.replace(microsecond=0)  # chat platforms tell whole seconds
    return draft.at >= since and not set(draft.origins) <= set(row.origins)


def suppress(scope: Scope, entries: Sequence[Entry], *, now: datetime, actor: str) -> None:
    """Suppress entries of a scope, and mark what else rests on their messages there."""
    resting = list(_sharing_origins(scope, entries))

    # by entry, the fingerprints of its earlier words, and of what else rests on its messages
    fingerprints: defaultdict[int, set[str]] = defaultdict(set)
    changes = Change.objects.filter(
        workspace_id=scope.workspace_id,
        table_name=Entry._meta.db_table,
        row_id__in=[entry.pk for entry in (*entries, *resting)],
        old__has_key="fingerprint",
    )
    for pk, fingerprint in changes.values_list("row_id", "old__fingerprint"):
        fingerprints[pk].add(fingerprint)
    for entry in resting:
        fingerprints[entry.pk].add(entry.fingerprint)
    wordings = {}
    for entry in entries:
        beside = [other.pk for other in resting if not set(entry.origins).isdisjoint(other.origins)]
        wordings[entry.pk] = sorted(fingerprints[entry.pk].union(*(fingerprints[pk] for pk in beside)))
    rows = [
        Suppression(
            workspace_id=entry.workspace_id,
            scope=scope,
            entry=entry,
            fingerprint=entry.fingerprint,
            wordings=wordings[entry.pk],
            origins=entry.origins,
            actor=actor,
            created_at=now,
        )
        for entry in entries
    ]
    Suppression.objects.bulk_create(rows, ignore_conflicts=True)
    _mark([entry.pk for entry in resting if entry.suppressed_at is None], suppressed_at=now, now=now)
    files.follow_messages(scope, {origin for entry in entries for origin in entry.origins})


def release(scope: Scope, entries: Sequence[Entry], *, now: datetime) -> None:
    """End the suppression of entries of a scope."""
    Suppression.objects.filter(workspace_id=scope.workspace_id, scope=scope, entry__in=entries).delete()
    reconcile(scope, entries, now=now)


def carry_over(source: Scope, target: Scope, *, actor: str) -> None:
    """What was taken out of one memory stays out of another that takes its place, too."""
    columns = ("entry_id", "quarantine", "fingerprint", "wordings", "origins", "conversation", "created_at")
    there = Suppression.objects.filter(workspace_id=source.workspace_id, scope=source, entry__isnull=False)
    with acting(actor):
        Suppression.objects.bulk_create(
            (
                Suppression(workspace_id=source.workspace_id, scope=target, actor=actor, **row)
                for row in there.values(*columns)
            ),
            ignore_conflicts=True,
        )


def take_back(source: Scope, target: Scope, *, actor: str) -> None:
    """The undo of `carry_over`."""
    with acting(actor):
        Suppression.objects.filter(workspace_id=target.workspace_id, scope=target, entry__scope=source).delete()


def reconcile(scope: Scope, entries: Sequence[Entry], *, now: datetime) -> None:
    """Unmark what rests on the same messages as these entries, unless another suppression covers it.

    Files whose lines were left out are read again when they are looked at next: some may hold these words.
    """
    here = Suppression.objects.filter(workspace_id=scope.workspace_id, scope=scope)
    suppressed = {origin for origins in here.values_list("origins", flat=True) for origin in origins}
    freed = _sharing_origins(scope, entries).filter(suppressed_at__isnull=False, quarantined_at__isnull=True)
    if suppressed:
        freed = freed.exclude(origins__overlap=sorted(suppressed))
    _mark(list(freed.values_list("pk", flat=True)), suppressed_at=None, now=now)
    left_out = FileState.objects.filter(workspace_id=scope.workspace_id, scope=scope, problem=FileProblem.SUPPRESSED)
    left_out.update(modified_ns=0)
    files.follow_messages(scope, {origin for entry in entries for origin in entry.origins})


def _sharing_origins(scope: Scope, entries: Sequence[Entry]) -> EntryQuerySet:
    """Other entries of the scope that rest on the same messages."""
    origins = sorted({origin for entry in entries for origin in entry.origins})
    others = Entry.objects.in_scope(scope).exclude(pk__in=[entry.pk for entry in entries])
    return others.filter(origins__overlap=origins) if origins else others.none()


def _mark(marked: Sequence[int], *, suppressed_at: datetime | None, now: datetime) -> None:
    Entry.objects.filter(pk__in=marked).update(suppressed_at=suppressed_at, updated_at=now)
    search_rows.enqueue(marked)


def lift_suppression(scope: Scope, content: str, *, now: datetime, actor: str) -> bool:
    """End the suppressions of these words, which somebody saves on purpose; whether there were any (A15)."""
    words = text.fingerprint(content)
    about = Q(quarantine="") & (Q(fingerprint=words) | Q(wordings__contains=[words]))
    with acting(actor):
        rows = Suppression.objects.filter(about, workspace_id=scope.workspace_id, scope=scope).select_related("entry")
        entries = [row.entry for row in rows if row.entry is not None]
        if entries:
            release(scope, entries, now=now)
    return bool(entries)


SECRET = "erasure"  # noqa: S105 (the name of it)
#: Different terms that set a text apart from what anybody might say.
TELLING = 4
_LOCK = 7_305_121  # any number nobody else uses
_WORDS, _ORIGIN, _MESSAGE = "words", "origin", "message"


@lru_cache(maxsize=1)
def seed() -> bytes:
    """32 random bytes of this installation: hashes are keyed and certificates are signed by them.

    Raises LookupError where nobody was ever erased.
    """
    secret = secrets.read(SECRET)
    if secret is None:
        raise LookupError(SECRET)
    return base64.b64decode(secret)


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


def of_person(workspace_id: int, platform: str, peer: str) -> str:
    """The hash by which a certificate names somebody."""
    return digest(workspace_id, "person", platform, peer)


#: Whether somebody, by platform and id, is erased.
IsErased = Callable[[str, str], bool]


def erased_since(workspace_id: int, since: datetime) -> IsErased | None:
    """Tells who was ordered to be erased since a moment; None: nobody."""
    erasures = Erasure.objects.filter(workspace_id=workspace_id, created_at__gte=since)
    people = {person for hashes in erasures.values_list("person", flat=True) for person in hashes}
    return (lambda platform, peer: of_person(workspace_id, platform, peer) in people) if people else None


def of_content(workspace_id: int, scope_keys: Iterable[str], content: str, *, everywhere: bool = True) -> list[str]:
    """The tombstones of a text in scopes; `everywhere`: also those by which it is known whatever its scope."""
    words = text.fingerprint(content)
    places = [*scope_keys, ""] if everywhere and is_telling(content) else scope_keys
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


def tombstones_among(workspace_id: int, digests: Iterable[str]) -> set[str]:
    """Which of these tombstones there are."""
    rows = Tombstone.objects.filter(workspace_id=workspace_id, digest__in=sorted(set(digests)))
    return set(rows.values_list("digest", flat=True))


def is_telling(content: str) -> bool:
    """Whether its words alone set a text apart: not everybody says it."""
    return len(text.terms(content)) >= TELLING


class Tombstones:
    """The tombstones that may concern some texts of one workspace, read in one query; in none where there are none."""

    def __init__(self, scopes: Iterable[Scope]) -> None:
        self._workspace = next((scope.workspace_id for scope in scopes if scope.has_tombstones), None)

    @classmethod
    def of_workspace(cls, workspace_id: int) -> "Tombstones":
        """Those of a workspace, whichever its scopes are."""
        tombstones = cls(())
        tombstones._workspace = workspace_id if is_anybody_erased(workspace_id) else None
        return tombstones

    def covering(self, texts: Sequence[tuple[str, str, Sequence[str]]], *, everywhere: bool) -> list[bool]:
        """Of texts, each with the key of its scope and the messages it rests on, which were erased.

        `everywhere`: also words that were erased from another scope, as of what is imported.
        """
        if (workspace := self._workspace) is None or not texts:
            return [False] * len(texts)
        marks = []
        for content, scope_key, origins in texts:
            of_words = set(of_content(workspace, [scope_key], content, everywhere=everywhere))
            marks.append((of_words, {of_origin(workspace, origin) for origin in origins}))
        erased = tombstones_among(workspace, (mark for of_words, of_origins in marks for mark in of_words | of_origins))
        return [
            bool(erased & of_words) or (bool(of_origins) and of_origins <= erased) for of_words, of_origins in marks
        ]

    def covering_writes(self, writes: Sequence[PendingWrite]) -> list[bool]:
        """The same of drafts."""
        texts = [(write.draft.content, write.draft.scope.key, write.draft.origins) for write in writes]
        here = self.covering(texts, everywhere=False)
        imported = [write.draft.source == Source.MIGRATION for write in writes]
        if self._workspace is None or not any(imported):
            return here
        there = self.covering(texts, everywhere=True)
        return [one or (is_imported and other) for one, other, is_imported in zip(here, there, imported, strict=True)]
