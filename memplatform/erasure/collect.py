# ruff: noqa: S608 (statements of names of this file)
"""Finding every row that is about a person, by scope, sender, message and lineage, before anything is removed.

What is found is written down, so that an erasure that was killed goes on although what led to it is gone.
"""

from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction

from memories.models import Erasure, ErasureTarget
from memplatform.erasure.person import from_json, own_keys

_ENTRY, _DAY, _EVENT, _SESSION = (
    "memories_entry",
    "memories_dailyevent",
    "sessions_app_sessionevent",
    "sessions_app_session",
)
_SCOPE = "memories_scope"


def _targets(table: str) -> str:
    """The ids found of a table so far."""
    return f"(SELECT row_id FROM memories_erasuretarget WHERE erasure_id = %(erasure)s AND table_name = '{table}')"


_IN_SCOPE = f"scope_id IN {_targets(_SCOPE)}"
#: Of an array of origins: whether a message that was found is among them.
_RESTS = (
    "EXISTS (SELECT FROM unnest({origins}) origin WHERE substring(origin from '/event-([0-9]{{1,18}})$')::bigint IN "
    f"{_targets(_EVENT)})"
)
#: By table, the ids of rows about the person, in this order; each knows what those before it found.
_SEEDS: tuple[tuple[str, str], ...] = (
    (_SCOPE, "SELECT id FROM memories_scope WHERE workspace_id = %(workspace)s AND key = ANY(%(keys)s)"),
    (
        _SESSION,
        "SELECT id FROM sessions_app_session WHERE workspace_id = %(workspace)s AND NOT is_group"
        f" AND user_scope_id IN {_targets(_SCOPE)}",
    ),
    (_EVENT, f"SELECT id FROM sessions_app_sessionevent WHERE session_id IN {_targets(_SESSION)}"),
    (
        _EVENT,
        "SELECT e.id FROM sessions_app_sessionevent e JOIN sessions_app_session s ON s.id = e.session_id"
        " WHERE e.workspace_id = %(workspace)s"
        " AND EXISTS (SELECT FROM unnest(%(platforms)s::text[], %(peers)s::text[]) AS one"
        " (platform, peer) WHERE e.sender_id = one.peer AND s.platform IN ('', one.platform))",
    ),
    (  # what the bot answered to them
        _EVENT,
        "SELECT answer.id FROM sessions_app_sessionevent e CROSS JOIN LATERAL ("
        " SELECT min(position) AS position FROM sessions_app_sessionevent WHERE session_id = e.session_id"
        " AND conversation = e.conversation AND position > e.position AND kind = 'user') following"
        " JOIN sessions_app_sessionevent answer ON answer.session_id = e.session_id"
        " AND answer.conversation = e.conversation AND answer.position > e.position"
        " AND answer.position < coalesce(following.position, 2147483647) AND answer.kind IN ('assistant', 'tool')"
        f" WHERE e.kind = 'user' AND e.id IN {_targets(_EVENT)}",
    ),
    (  # summaries that were made with one of them
        _EVENT,
        "SELECT summary.id FROM sessions_app_sessionevent summary WHERE summary.kind = 'summary' AND EXISTS ("
        " SELECT FROM sessions_app_sessionevent e WHERE e.session_id = summary.session_id"
        " AND e.conversation = summary.conversation AND e.position < summary.position"
        f" AND e.id IN {_targets(_EVENT)}) AND summary.workspace_id = %(workspace)s",
    ),
    (_ENTRY, f"SELECT id FROM memories_entry WHERE {_IN_SCOPE}"),
    (
        _ENTRY,
        "SELECT e.id FROM memories_entry e WHERE e.workspace_id = %(workspace)s AND EXISTS (SELECT FROM"
        " unnest(%(platforms)s::text[], %(peers)s::text[]) AS one (platform, peer)"
        " WHERE e.sender_id = one.peer AND e.channel = one.platform)",
    ),
    (  # messages of theirs that are no longer stored
        _EVENT,
        "SELECT named.id FROM memories_entry e CROSS JOIN LATERAL (SELECT substring(origin from"
        " '/event-([0-9]{1,18})$')::bigint AS id FROM unnest(e.origins) origin) named"
        f" WHERE e.id IN {_targets(_ENTRY)} AND e.type <> 'fact' AND named.id IS NOT NULL"
        " AND NOT EXISTS (SELECT FROM sessions_app_sessionevent s WHERE s.id = named.id)",
    ),
    (_DAY, f"SELECT id FROM memories_dailyevent WHERE {_IN_SCOPE}"),
)
#: Asked again until nothing new is found: what was made of what was found.
_LINEAGE: tuple[tuple[str, str], ...] = (
    (
        _ENTRY,
        "SELECT e.id FROM memories_entry e WHERE e.workspace_id = %(workspace)s AND "
        f"{_RESTS.format(origins='e.origins')}",
    ),
    (
        _DAY,
        "SELECT d.id FROM memories_dailyevent d WHERE d.workspace_id = %(workspace)s AND "
        f"{_RESTS.format(origins='d.origins')}",
    ),
    (
        _ENTRY,
        "SELECT v.entry_id FROM memories_evidence v JOIN memories_dailyevent d ON v.origin = 'daily/' || d.uid"
        f" WHERE v.workspace_id = %(workspace)s AND d.id IN {_targets(_DAY)}",
    ),
    (
        _ENTRY,
        "SELECT l.to_entry_id FROM memories_link l WHERE l.workspace_id = %(workspace)s AND l.kind = 'source_of'"
        f" AND l.from_entry_id IN {_targets(_ENTRY)}",
    ),
    (
        _ENTRY,
        "SELECT l.from_entry_id FROM memories_link l WHERE l.workspace_id = %(workspace)s AND l.kind = 'merged_from'"
        f" AND l.to_entry_id IN {_targets(_ENTRY)}",
    ),
)
_PERSON, _IDENTITY = "channels_app_person", "channels_app_identity"
#: Whose other identities, if any, are not the person's: then it is somebody else.
_NOBODY_ELSE = (
    f" AND NOT EXISTS (SELECT FROM {_IDENTITY} other WHERE other.person_id = who.person"
    f" AND other.id NOT IN {_targets(_IDENTITY)})"
)
#: What operators noted of the person, also of whom they were taken for before; with its history.
_NOTED: tuple[tuple[str, str], ...] = (
    (
        _IDENTITY,
        f"SELECT id FROM {_IDENTITY} WHERE workspace_id = %(workspace)s AND EXISTS (SELECT FROM"
        " unnest(%(platforms)s::text[], %(peers)s::text[]) AS one (platform, peer)"
        f" WHERE {_IDENTITY}.platform = one.platform AND {_IDENTITY}.peer = one.peer)",
    ),
    (
        _PERSON,
        "SELECT who.person FROM (SELECT person_id FROM channels_app_identity WHERE id IN "
        f"{_targets(_IDENTITY)} UNION SELECT (old ->> 'person_id')::bigint FROM memories_change"
        f" WHERE workspace_id = %(workspace)s AND table_name = '{_IDENTITY}' AND row_id IN {_targets(_IDENTITY)}"
        f" AND old ->> 'person_id' IS NOT NULL) who (person) WHERE true{_NOBODY_ELSE}",
    ),
    ("channels_app_consent", f"SELECT id FROM channels_app_consent WHERE person_id IN {_targets(_PERSON)}"),
)
#: What points at what was found.
_POINTERS: tuple[tuple[str, str], ...] = (
    *_NOTED,
    (
        "memories_bufferedturn",
        "SELECT t.id FROM memories_bufferedturn t JOIN memories_extractionbatch b ON b.id = t.batch_id"
        f" WHERE t.workspace_id = %(workspace)s AND (t.user_scope_id IN {_targets(_SCOPE)}"
        f" OR t.chat_scope_id IN {_targets(_SCOPE)} OR EXISTS (SELECT FROM jsonb_array_elements(t.messages) m"
        " WHERE substring(m ->> 'id' from '/event-([0-9]{1,18})$')::bigint IN " + _targets(_EVENT) + "))",
    ),
    ("memories_batch", f"SELECT id FROM memories_batch WHERE {_IN_SCOPE}"),
    (
        "memories_batchchange",
        "SELECT c.id FROM memories_batchchange c WHERE c.workspace_id = %(workspace)s AND c.draft <> '{}' AND EXISTS ("
        "SELECT FROM regexp_matches(c.draft::text, '/event-([0-9]{1,18})\"', 'g') named"
        f" WHERE named[1]::bigint IN {_targets(_EVENT)})",
    ),
    (
        "memories_recalltrace",
        "SELECT id FROM memories_recalltrace WHERE workspace_id = %(workspace)s AND (scope_keys && %(keys)s::varchar[]"
        f" OR scopes && ARRAY{_targets(_SCOPE)}::bigint[] OR served && ARRAY{_targets(_ENTRY)}::bigint[])",
    ),
    (  # of tests that ask others and name what goes, the rest says so
        "memories_pinnedtest",
        "SELECT id FROM memories_pinnedtest WHERE workspace_id = %(workspace)s AND scope_keys && %(keys)s::varchar[]",
    ),
    ("memories_refusedfact", f"SELECT id FROM memories_refusedfact WHERE {_IN_SCOPE}"),
    (
        "memories_refusedfact",
        "SELECT f.id FROM memories_refusedfact f WHERE f.workspace_id = %(workspace)s AND "
        f"{_RESTS.format(origins='f.origins')}",
    ),
    ("memories_filestate", f"SELECT id FROM memories_filestate WHERE {_IN_SCOPE}"),
    (
        "memories_webhookdelivery",
        "SELECT id FROM memories_webhookdelivery WHERE workspace_id = %(workspace)s"
        f" AND event ~ '^(memory|review)' AND row_id IN {_targets(_ENTRY)}",
    ),
    (
        "sessions_app_flush",
        "SELECT f.id FROM sessions_app_flush f WHERE f.workspace_id = %(workspace)s AND EXISTS (SELECT FROM"
        " sessions_app_sessionevent e WHERE e.session_id = f.session_id AND e.conversation = f.conversation"
        f" AND e.id IN {_targets(_EVENT)})",
    ),
)


def collect(erasure: Erasure) -> int:
    """Write down every row that is about the person and was not yet; how many. In one transaction."""
    with transaction.atomic():
        found = _insert_all(_SEEDS, erasure)
        while more := _insert_all(_LINEAGE, erasure):
            found += more
        return found + _insert_all(_POINTERS, erasure)


def count_targets(erasure: Erasure) -> dict[str, int]:
    """How many rows of each table are still to go."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, count(*) FROM memories_erasuretarget WHERE erasure_id = %s GROUP BY 1 ORDER BY 1",
            [erasure.pk],
        )
        return dict(cursor.fetchall())


def parameters(erasure: Erasure) -> Mapping[str, Any]:
    """What the statements above are given."""
    identities = from_json(erasure.identities)
    return {
        "erasure": erasure.pk,
        "workspace": erasure.workspace_id,
        "keys": own_keys(erasure.workspace, identities),
        "platforms": [one.platform for one in identities],
        "peers": [one.peer for one in identities],
    }


def _insert_all(statements: tuple[tuple[str, str], ...], erasure: Erasure) -> int:
    values, count = parameters(erasure), 0
    with connection.cursor() as cursor:
        for table, statement in statements:
            cursor.execute(
                "INSERT INTO memories_erasuretarget (workspace_id, erasure_id, table_name, row_id)"  # noqa: S608
                f" SELECT DISTINCT %(workspace)s::bigint, %(erasure)s::bigint, '{table}', found.id"
                f" FROM ({statement}) AS found (id) ON CONFLICT DO NOTHING",
                values,
            )
            count += int(cursor.rowcount)
    return count


def take(erasure: Erasure, table: str, count: int) -> list[int]:
    """The next ids of a table that are to go."""
    rows = ErasureTarget.objects.filter(erasure=erasure, table_name=table).order_by("row_id")
    return list(rows.values_list("row_id", flat=True)[:count])


def done(erasure: Erasure, table: str, rows: list[int]) -> None:
    """These rows of a table are gone."""
    ErasureTarget.objects.filter(erasure=erasure, table_name=table, row_id__in=rows).delete()
