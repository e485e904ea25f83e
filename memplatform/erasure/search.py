"""Knowing an erased person again in texts: to remove what no id leads to, and to find what is left.

What a person wrote is kept as keyed hashes of five words in a row: enough to find it again, and nothing to read.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session as Login
from django.db import connection
from django_q.models import Task

from memories.entries import suppression
from memories.language import text
from memories.language.text import CJK
from memories.models import Batch, DailyEvent, Entry, Erasure, RecallTrace
from memories.models.table import Fate, tables
from memplatform.erasure.collect import fates, take
from memplatform.erasure.person import peers_of
from sessions_app.models import Session

LENGTH = 5  # words in a row; a Chinese character counts as one
MOST = 200_000  # of one person; of more those with the lowest hashes are kept
_WORD = re.compile(rf"[{CJK}]|[^\s{CJK}]+")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def phrases_of(texts: Iterable[str]) -> set[int]:
    """The phrases of texts; none of a text that is too short for one."""
    key = _phrase_key()
    return {phrase for content in texts for phrase in _phrases(content, key)}


def _phrase_key() -> bytes:
    return hashlib.sha256(b"memplatform.phrases.1:" + suppression.seed()).digest()


def _phrases(content: str, key: bytes) -> Iterator[int]:
    words = [word.encode(errors="surrogatepass") for word in _WORD.findall(text.normalise(content))]
    for start in range(len(words) - LENGTH + 1):
        digest = hashlib.blake2b(b" ".join(words[start : start + LENGTH]), digest_size=8, key=key).digest()
        yield int.from_bytes(digest, signed=True)


class Matcher:
    """Whether a text tells something of an erased person: their words, an id of what is erased, or their own id."""

    def __init__(self, phrases: Collection[int], uids: Collection[UUID] = (), peers: Collection[str] = ()) -> None:
        self._phrases, self._uids, self._key = frozenset(phrases), frozenset(map(str, uids)), _phrase_key()
        names = "|".join(re.escape(peer) for peer in peers if len(peer) > 2)
        self._peers = re.compile(rf"(?<![\w-])(?:{names})(?![\w-])") if names else None

    def matches(self, content: str) -> bool:
        """Whether it names something erased, or the person, by id; or holds five words in a row that they wrote."""
        if self._peers and self._peers.search(content):
            return True
        if not self._uids.isdisjoint(_UID.findall(content)):
            return True
        return any(phrase in self._phrases for phrase in _phrases(content, self._key))


CHUNK = 500
#: The columns of a table, and whether words may stand in each.
_COLUMNS = """
    SELECT column_name,
        data_type IN ('text', 'character varying', 'jsonb', 'json') OR udt_name IN ('_text', '_varchar')
    FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = %s ORDER BY ordinal_position
"""


def matcher_of(erasure: Erasure) -> Matcher:
    """What knows the person again while the rows that were found are still there."""
    uids: list[UUID] = []
    for model in (Entry, DailyEvent, Session, RecallTrace, Batch):
        rows = model._default_manager.filter(pk__in=take(erasure, model._meta.db_table))
        uids += rows.values_list("uid", flat=True)
    return Matcher(erasure.phrases, uids, peers_of(erasure))


def remove_loose(erasure: Erasure, matcher: Matcher, add: Callable[[str, int], None]) -> None:
    """Remove the rows no id leads to that say something of the person; `add` gets the table and how many."""
    for model, table in tables():
        if table.is_searched or table.clears or table.fate is Fate.SEARCHED:
            for keys in _matching(model._meta.db_table, erasure.workspace_id, matcher):
                rows = model._default_manager.filter(pk__in=keys)
                add(model._meta.db_table, rows.update(**{table.clears: ""}) if table.clears else rows.delete()[0])
    # What Django and the queue keep of what people did: of no workspace, and short
    object_ids = {str(pk) for model in (Entry, Session) for pk in take(erasure, model._meta.db_table)}
    log_rows = LogEntry.objects.select_related("content_type").iterator(chunk_size=CHUNK)
    models = {Entry._meta.model_name, Session._meta.model_name}
    log_pks = [
        row.pk
        for row in log_rows
        if (row.object_id in object_ids and row.content_type and row.content_type.model in models)
        or matcher.matches(f"{row.object_repr} {row.change_message}")
    ]
    add(LogEntry._meta.db_table, LogEntry.objects.filter(pk__in=log_pks).delete()[0])
    logins = [row.pk for row in Login.objects.iterator(chunk_size=CHUNK) if matcher.matches(str(row.get_decoded()))]
    add(Login._meta.db_table, Login.objects.filter(pk__in=logins).delete()[0])
    tasks = [
        row.pk
        for row in Task.objects.iterator(chunk_size=CHUNK)
        if matcher.matches(f"{row.args} {row.kwargs} {row.result}")
    ]
    add(Task._meta.db_table, Task.objects.filter(pk__in=tasks).delete()[0])


def searched() -> list[str]:
    """The tables that are read through in the end: those in which anybody's words may stand."""
    apart = {Login._meta.db_table, Task._meta.db_table}  # not to be read as text; `remove_loose` reads them
    unread = (Fate.RECORD, Fate.KEPT, Fate.NOTHING)
    return [table for table, fate in fates().items() if fate not in unread and table not in apart]


def left_over(erasure: Erasure, matcher: Matcher) -> dict[str, list[int]]:
    """By table, the rows in which five words of the person stand in a row, or their id, at most a hundred each."""
    rows_left = {}
    for table in searched():
        rows = [pk for some in _matching(table, erasure.workspace_id, matcher) for pk in some]
        if rows:
            rows_left[table] = rows[:100]
    return rows_left


def _matching(table: str, workspace_id: int, matcher: Matcher) -> Iterator[list[int]]:
    """The ids of rows of a table that match, in pieces."""
    rows = _texts(table, workspace_id)
    while some := list(islice(rows, CHUNK)):
        if pks := [pk for pk, text in some if matcher.matches(text)]:
            yield pks


def _texts(table: str, workspace_id: int) -> Iterator[tuple[int, str]]:
    """What the rows of a table say in words, a page at a time by their ids."""
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS, [table])
        columns = dict(cursor.fetchall())
    # Of a table whose rows hang on one other row each, that; empty: it has none, and no words
    key = next((name for name in ("id", "entry_id", "event_id") if name in columns), "")
    if not any(columns.values()) or not key:
        return
    words = ", ' ', ".join(f'"{column}"::text' for column, holds_words in columns.items() if holds_words)
    inside = "workspace_id = %(workspace)s AND" if "workspace_id" in columns else ""
    last = -1
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {key}, concat({words}) FROM {table} WHERE {inside} {key} > %(last)s"  # noqa: S608
                f" ORDER BY {key} LIMIT {CHUNK}",
                {"workspace": workspace_id, "last": last},
            )
            rows = cursor.fetchall()
        yield from rows
        if len(rows) < CHUNK:
            return
        last = rows[-1][0]
