"""Finding every row that is about a person, by scope, sender, message and lineage, before anything is removed.

What is found is written down, so that an erasure that was killed goes on although what led to it is gone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from memories.models import ArchivedRows, Erasure, ErasureTarget
from memories.models.table import Fate, tables
from memplatform.erasure.person import from_json, keys_of

# ruff: noqa: S608 (statements of `ties.sql`, and names of tables)


#: Under this name stand entries that were put back, until the archive has been rid of their history.
PUT_BACK = ArchivedRows._meta.db_table


@cache
def ties(phase: str) -> Sequence[tuple[str, str]]:
    """The tables of a phase, each with the statement that gives the ids of rows about the person."""
    parts = re.split(r"^-- (\w+) (\w+): .*$", Path(__file__).with_name("ties.sql").read_text(), flags=re.MULTILINE)
    statements = zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    return [(table, statement) for name, table, statement in statements if name == phase]


def tied_by_key() -> Iterator[tuple[str, str]]:
    """The tables whose rows one key ties to a row that was found, and the statements."""
    for model, table in tables():
        if table.tied_by:
            key = model._meta.get_field(table.tied_by)
            assert key.related_model and not isinstance(key.related_model, str)
            ids_query = f"SELECT row_id FROM found WHERE table_name = '{key.related_model._meta.db_table}'"
            name = model._meta.db_table
            yield name, f"SELECT id FROM {name} WHERE {table.tied_by}_id IN ({ids_query})"


def collect(erasure: Erasure) -> int:
    """Write down every row that is about the person and was not yet; how many. In one transaction."""
    with transaction.atomic():
        count = _write_down(ties("seeds"), erasure)
        while more := _write_down(ties("lineage"), erasure):
            count += more
        return count + _write_down([*ties("pointers"), *tied_by_key()], erasure)


def _write_down(parts: Sequence[tuple[str, str]], erasure: Erasure) -> int:
    identities = from_json(erasure.identities)
    values: dict[str, Any] = {
        "erasure": erasure.pk,
        "workspace": erasure.workspace_id,
        "keys": keys_of(erasure),
        "platforms": [identity.platform for identity in identities],
        "peers": [identity.peer for identity in identities],
    }
    count = 0
    with connection.cursor() as cursor:
        for table, statement in parts:
            cursor.execute(
                "WITH found AS NOT MATERIALIZED ("
                "SELECT table_name, row_id FROM memories_erasuretarget WHERE erasure_id = %(erasure)s)"
                " INSERT INTO memories_erasuretarget (workspace_id, erasure_id, table_name, row_id)"
                f" SELECT DISTINCT %(workspace)s::bigint, %(erasure)s::bigint, '{table}', tied.id"
                f" FROM ({statement}) AS tied (id) ON CONFLICT DO NOTHING",
                values,
            )
            count += int(cursor.rowcount)
    return count


def take(erasure: Erasure, table: str, count: int | None = None) -> list[int]:
    """The next ids of a table that are to go; without a count all."""
    rows = ErasureTarget.objects.filter(erasure=erasure, table_name=table).order_by("row_id")
    return list(rows.values_list("row_id", flat=True)[:count])


OTHERS: Mapping[str, Fate] = {
    **dict.fromkeys(("django_admin_log", "django_session", "django_q_task"), Fate.SEARCHED),
    "django_q_ormq": Fate.NOTHING,  # ids of what is to be worked on
    **dict.fromkeys(
        (
            *("auth_user", "auth_group", "auth_permission", "auth_group_permissions", "auth_user_groups"),
            *("auth_user_user_permissions", "axes_accessattempt", "axes_accessattemptexpiration"),
            *("axes_accessfailurelog", "axes_accesslog", "django_content_type", "django_migrations"),
            "django_q_schedule",
        ),
        Fate.NOTHING,
    ),
}
#: Places outside the tables that no platform reaches, in the order of the certificate. Logs hold ids, and no words.
NOT_REACHED = ("backups", "exports", "logs")


@cache
def fates() -> Mapping[str, Fate]:
    """By table, what becomes of the rows about an erased person."""
    return {model._meta.db_table: table.fate for model, table in tables()} | dict(OTHERS)
