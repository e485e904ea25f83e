"""Large tables in partitions by workspace: made while everything runs, in short transactions.

A table becomes a list of workspaces that have a partition of their own, and a rest of all others, hashed over so many
parts. Rows are copied in the order of their ids, while a trigger repeats every change in the copy; then the copy takes
the table's name within one transaction. All that is known of a move stands in the catalog: killed at any moment, the
next call goes on. Needs PostgreSQL 18 (foreign keys of partitioned tables that are validated later).

Keys get the workspace as a last column. That a row stays inside its workspace is in every key that points at these
tables already, so none is lost.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils.translation import gettext as _

#: In the order in which a workspace can be taken out: what points at a row goes before it. With the column that counts.
TABLES = {
    "memories_recalltrace": "id",
    "memories_change": "id",
    "sessions_app_eventindex": "event_id",
    "sessions_app_sessionevent": "id",
    "memories_entryindex": "entry_id",
    "memories_entryvector": "id",
    "memories_entry": "id",
}
OLDEST_VERSION = 180_000
_LOCK = 17 << 56  # the highest byte of an advisory lock is its kind
#: Shorter than `deadlock_timeout`: where writers and the copy wait for each other, the copy gives way.
_PATIENCE = "400ms"
_NO_WRITERS = "SHARE ROW EXCLUSIVE"
_TRIES, _BETWEEN_TRIES, _TOLD_EVERY = 150, 0.2, 10.0  # the latter two in seconds
Say = Callable[[str], None]
T = TypeVar("T")


class PartitionsError(Exception):
    """What cannot be done, in a sentence."""


@dataclass(frozen=True)
class Partition:
    """A table that holds rows of a partitioned one; `workspace` where it is one's own."""

    table: str
    name: str
    workspace: int | None
    rows: int
    bytes: int


def parts_of(table: str) -> list[Partition]:
    """The partitions of a table with what the statistics say of them; none where it is in one piece."""
    rows = _rows(
        "SELECT t.relid::regclass::text, c.reltuples, pg_total_relation_size(t.relid) FROM pg_partition_tree(%s) t"
        " JOIN pg_class c ON c.oid = t.relid WHERE t.isleaf AND t.level > 0 ORDER BY length(c.relname), c.relname",
        table,
    )
    begin = f"{table}_w"
    return [
        Partition(
            table, name, int(name[len(begin) :]) if name.startswith(begin) else None, max(int(count), 0), int(size)
        )
        for name, count, size in rows
    ]


def is_partitioned(table: str) -> bool:
    return bool(_rows("SELECT 1 FROM pg_partitioned_table WHERE partrelid = to_regclass(%s)", table))


def unfinished() -> dict[str, int]:
    """Copies that were begun and not finished, by table, with the id up to which they have come."""
    notes = {table: _note(copy) for table in TABLES for copy in _copies(table) if _exists(copy)}
    return {table: note["at"] for table, note in notes.items() if note}


def create(table: str, parts: int, say: Say, *, batch: int) -> None:
    """Put a table into so many partitions, or go on with it; nothing where that is done."""
    _require()
    if is_partitioned(table):
        _validate(say)
        return
    copy = f"{table}_next"
    if not _exists(copy):
        with _locked(*_with_referenced(table, table), mode=_NO_WRITERS), connection.cursor() as cursor:
            cursor.execute(
                f"CREATE TABLE {copy} (LIKE {table} INCLUDING ALL EXCLUDING INDEXES) PARTITION BY LIST (workspace_id)"
            )
            cursor.execute(f"CREATE TABLE {table}_rest PARTITION OF {copy} DEFAULT PARTITION BY HASH (workspace_id)")
            for n in range(parts):
                cursor.execute(
                    f"CREATE TABLE {table}_r{n} PARTITION OF {table}_rest"
                    f" FOR VALUES WITH (MODULUS {parts}, REMAINDER {n})"
                )
            _close_to_all([f"{table}_rest", *(f"{table}_r{n}" for n in range(parts))])
            _keys_and_indexes(table, copy)
            _begin_to_mirror(table, copy, table)
    _copy(table, table, copy, say, batch=batch)
    _take_the_name(table, copy)
    say(f"{table}: {parts} partitions")
    _validate(say)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {table}")


def move(table: str, workspace: int, say: Say, *, batch: int) -> None:
    """Give a workspace a partition of its own, or go on with it: the part it is in is copied into two."""
    _require()
    own, copy = f"{table}_w{workspace}", f"{table}_move"
    if not is_partitioned(table):
        raise PartitionsError(_("%s is in one piece: create partitions first.") % table)
    if _parent(own) == table:
        _validate(say)
        return
    if _exists(own) and not _exists(copy):
        raise PartitionsError(_("%s is there, taken out before; attach it, or drop it.") % own)
    if not _exists(copy):
        source = _part_of(table, workspace)
        with _locked(*_with_referenced(table, source), mode=_NO_WRITERS), connection.cursor() as cursor:
            like = f"LIKE {table} INCLUDING ALL EXCLUDING INDEXES EXCLUDING IDENTITY"
            cursor.execute(f"CREATE TABLE {copy} ({like}) PARTITION BY LIST (workspace_id)")
            cursor.execute(f"CREATE TABLE {own} PARTITION OF {copy} FOR VALUES IN ({workspace})")
            cursor.execute(f"CREATE TABLE {copy}_rest PARTITION OF {copy} DEFAULT")
            _close_to_all([own, f"{copy}_rest"])
            _keys_and_indexes(table, copy)
            # What attaching would read every row for, known of every row that comes
            ((bounds,),) = _rows("SELECT pg_get_partition_constraintdef(%s::regclass)", source)
            cursor.execute(f"ALTER TABLE {copy}_rest ADD CONSTRAINT bounds CHECK ({bounds})")
            for other in {workspace, *(part.workspace for part in parts_of(table) if part.workspace)}:
                cursor.execute(f"ALTER TABLE {copy}_rest ADD CONSTRAINT not_{other} CHECK (workspace_id <> {other})")
            cursor.execute(f"ALTER TABLE {own} ADD CONSTRAINT bounds CHECK (workspace_id = {workspace})")
            _begin_to_mirror(source, copy, table)
    note = _note(copy)
    if note["workspace_partition"] != own:
        raise PartitionsError(
            _("The move into %s was begun and not finished: finish it first.") % note["workspace_partition"]
        )
    _copy(table, note["source"], copy, say, batch=batch)
    _without(table, workspace, but=note["source"])
    _exchange(table, note["source"], copy, workspace)
    say(f"{table}: {own}")
    _validate(say)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {own}")


def detach(table: str, workspace: int) -> str:
    """Take a workspace's own partition out of the table; its name, by which it can be dumped, dropped, or attached."""
    own = f"{table}_w{workspace}"
    if _parent(own) != table:
        raise PartitionsError(_("The workspace has no partition of its own in %s: move it first.") % table)
    try:
        with _locked(table), connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table} DETACH PARTITION {own}")
    except IntegrityError as problem:
        sentence = _("%(own)s cannot be taken out, for other rows point at it: %(problem)s")
        raise PartitionsError(sentence % {"own": own, "problem": " ".join(str(problem).split())}) from problem
    return own


def attach(table: str, workspace: int, say: Say) -> None:
    """Put a partition back that was taken out; refused where the workspace has rows in the table again."""
    own = f"{table}_w{workspace}"
    if _parent(own) == table or not _exists(own):
        return
    if _rows(f"SELECT 1 FROM {table} WHERE workspace_id = %s LIMIT 1", workspace):  # noqa: S608 (names of ours)
        raise PartitionsError(_("The workspace has rows in %s again.") % table)
    _without(table, workspace, but="")
    with _without_incoming_keys(table) as cursor:
        cursor.execute(f"ALTER TABLE {table} ATTACH PARTITION {own} FOR VALUES IN ({workspace})")
        _end_without(table, workspace)
    _validate(say)


def abandon(table: str) -> bool:
    """Take back a copy that was begun; whether there was one. What was in place stays so."""
    for copy in _copies(table):
        if _exists(copy):
            with _locked(table), connection.cursor() as cursor:
                cursor.execute(f"DROP FUNCTION mirror_{copy}() CASCADE")
                cursor.execute(f"DROP TABLE {copy}")
            return True
    return False


def patiently(step: Callable[[], T]) -> T:
    """What a step of this module returns; it is called again where others held what it needs, and goes on."""
    for tries in range(_TRIES):
        try:
            return step()
        except OperationalError:
            if tries == _TRIES - 1 or not connection.is_usable():
                raise
            time.sleep(_BETWEEN_TRIES)
    raise AssertionError


@contextmanager
def alone() -> Iterator[None]:
    """No other session is at it meanwhile; that of a killed command ends once the server has seen it."""
    for _try in range(_TRIES):
        ((is_ours,),) = _rows("SELECT pg_try_advisory_lock(%s)", _LOCK)
        if is_ours:
            break
        time.sleep(_BETWEEN_TRIES)
    else:
        raise PartitionsError(_("Another session is changing partitions."))
    try:
        yield
    finally:
        _rows("SELECT pg_advisory_unlock(%s)", _LOCK)


def _copies(table: str) -> tuple[str, str]:
    return f"{table}_next", f"{table}_move"


def _require() -> None:
    if int(_rows("SHOW server_version_num")[0][0]) < OLDEST_VERSION:
        raise PartitionsError(_("Partitions need PostgreSQL 18 or newer."))


def _close_to_all(names: list[str]) -> None:
    """Rows are reached through the table, which has the policies; directly nobody but the owner sees any."""
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")


def _keys_and_indexes(table: str, copy: str) -> None:
    """Give a copy what the table has: keys with the workspace behind, indexes, and foreign keys to other tables."""
    keys = _rows(
        "SELECT conname, pg_get_constraintdef(oid), contype = 'f' FROM pg_constraint WHERE conrelid = %s::regclass"
        " AND (contype IN ('p', 'u') OR contype = 'f' AND confrelid <> conrelid AND conparentid = 0)",
        table,
    )
    indexes = _rows(
        "SELECT c.relname, pg_get_indexdef(c.oid) FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid"
        " WHERE x.indrelid = %s::regclass AND x.indisvalid AND c.relname !~ '^memories_large_'"
        " AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = c.oid AND contype IN ('p', 'u'))",
        table,
    )
    with connection.cursor() as cursor:
        for name, definition, is_foreign in keys:
            if not is_foreign and "workspace_id" not in definition:
                definition = f"{definition[:-1]}, workspace_id)"
            cursor.execute(f"ALTER TABLE {copy} ADD CONSTRAINT {name if is_foreign else f'next_{name}'} {definition}")
        for name, definition in indexes:
            head, _on, rest = definition.partition(" ON ")
            _name, _using, rest = rest.partition(" USING ")
            cursor.execute(f"{head.removesuffix(name)}next_{name} ON {copy} USING {rest}")


def _begin_to_mirror(source: str, copy: str, table: str) -> None:
    """Have every change of the source repeated in the copy; note where it is to be copied from."""
    key, columns = TABLES[table], ", ".join(_columns(source))
    delete = f"DELETE FROM {copy} WHERE {key} = OLD.{key} AND workspace_id = OLD.workspace_id;"  # noqa: S608
    values = ", ".join(f"NEW.{column}" for column in _columns(source))
    insert = f"INSERT INTO {copy} ({columns}) OVERRIDING SYSTEM VALUE VALUES ({values});"  # noqa: S608 (names of ours)
    note = {"source": source, "at": -(2**63), "workspace_partition": ""}
    if copy.endswith("_move"):
        ((note["workspace_partition"],),) = _rows(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass"
            " AND inhrelid::regclass::text <> %s",
            copy,
            f"{copy}_rest",
        )
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        (schema,) = cursor.fetchone()
        cursor.execute(
            f"CREATE FUNCTION mirror_{copy}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
            f" SET search_path = {schema}, pg_temp AS $$ BEGIN"
            f" IF TG_OP <> 'INSERT' THEN {delete} END IF;"
            f" IF TG_OP <> 'DELETE' THEN {insert} END IF; RETURN NULL; END $$"
        )
        cursor.execute(
            f"CREATE TRIGGER mirror_{copy} AFTER INSERT OR UPDATE OR DELETE ON {source}"
            f" FOR EACH ROW EXECUTE FUNCTION mirror_{copy}()"
        )
        _write_note(cursor, copy, note)


def _copy(table: str, source: str, copy: str, say: Say, *, batch: int) -> None:
    """Copy what was there before the trigger, by id. Rows are locked as they are read, so that one that is removed
    meanwhile is removed from the copy, too; where that is waited for, the batch is tried again."""
    key, columns = TABLES[table], ", ".join(_columns(source))
    statement = f"""
        WITH batch AS MATERIALIZED (
            SELECT {columns} FROM ONLY {source} WHERE {key} > %s ORDER BY {key} LIMIT %s FOR SHARE
        ), put AS (
            INSERT INTO {copy} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM batch ON CONFLICT DO NOTHING
        )
        SELECT max({key}), count(*) FROM batch
    """  # noqa: S608 (names of ours)
    note, copied, noted_at = _note(copy), 0, time.monotonic()

    def one_batch() -> bool:
        nonlocal copied, noted_at
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{_PATIENCE}'")
            cursor.execute(statement, [note["at"], batch])
            last, count = cursor.fetchone()
            if count:
                _write_note(cursor, copy, note | {"at": last})
        note["at"], copied = last, copied + count
        if time.monotonic() - noted_at > _TOLD_EVERY:
            noted_at = time.monotonic()
            say(f"{table}: {copied:,} rows, up to {key} {last}")
        return bool(count)

    while patiently(one_batch):
        pass


def _take_the_name(table: str, copy: str) -> None:
    """In one transaction the copy becomes the table: its triggers, policies, rights, and the keys that point at it."""
    triggers = _rows(
        "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal"
        " AND tgname NOT LIKE 'mirror%%'",
        table,
    )
    policies = _rows(
        "SELECT format('CREATE POLICY %%I ON %%s FOR %%s TO %%s%%s%%s', policyname, tablename, cmd,"
        " array_to_string(roles, ', '), ' USING (' || qual || ')', ' WITH CHECK (' || with_check || ')')"
        " FROM pg_policies WHERE schemaname = current_schema() AND tablename = %s",
        table,
    )
    rights = _rows(
        "SELECT format('GRANT %%s ON %%s TO %%s', a.privilege_type, c.relname, CASE WHEN a.grantee = 0 THEN 'PUBLIC'"
        " ELSE quote_ident(pg_get_userbyid(a.grantee)) END) FROM pg_class c, aclexplode(c.relacl) a"
        " WHERE c.oid = %s::regclass AND a.grantee <> c.relowner",
        table,
    )
    with _without_incoming_keys(table) as cursor:
        cursor.execute(f"DROP FUNCTION mirror_{copy}() CASCADE")
        ((identity, last),) = _rows(
            "SELECT s.name, coalesce(pg_sequence_last_value(s.name::regclass), 0)"
            " FROM pg_get_serial_sequence(%s, %s) s (name)",
            table,
            TABLES[table],
        )
        cursor.execute(f"DROP TABLE {table}")
        cursor.execute(f"ALTER TABLE {copy} RENAME TO {table}")
        cursor.execute(f"COMMENT ON TABLE {table} IS NULL")
        for name in _columns_of(
            "SELECT c.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid"
            " WHERE x.indrelid = %s::regclass AND c.relname LIKE 'next\\_%%'",
            table,
        ):
            cursor.execute(f"ALTER INDEX {name} RENAME TO {name.removeprefix('next_')}")
        if identity:
            sequence = _rows("SELECT pg_get_serial_sequence(%s, %s)", table, TABLES[table])[0][0]
            cursor.execute(f"SELECT setval('{sequence}', {max(last, 1)}, {last > 0})")
            cursor.execute(f"ALTER SEQUENCE {sequence} RENAME TO {identity.rpartition('.')[2]}")
        cursor.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        for (statement,) in (*triggers, *policies, *rights):
            cursor.execute(statement)


def _exchange(table: str, source: str, copy: str, workspace: int) -> None:
    """In one transaction the two copies take the place of the part they were made of."""
    own = f"{table}_w{workspace}"
    ((bound,),) = _rows("SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = %s::regclass", source)
    with _without_incoming_keys(table) as cursor:
        cursor.execute(f"DROP FUNCTION mirror_{copy}() CASCADE")
        cursor.execute(f"ALTER TABLE {copy} DETACH PARTITION {own}")
        cursor.execute(f"ALTER TABLE {copy} DETACH PARTITION {copy}_rest")
        cursor.execute(f"DROP TABLE {copy}")
        cursor.execute(f"ALTER TABLE {table}_rest DETACH PARTITION {source}")
        cursor.execute(f"DROP TABLE {source}")
        cursor.execute(f"ALTER TABLE {copy}_rest RENAME TO {source}")
        cursor.execute(f"ALTER TABLE {table}_rest ATTACH PARTITION {source} {bound}")
        cursor.execute(f"ALTER TABLE {table} ATTACH PARTITION {own} FOR VALUES IN ({workspace})")
        for name, constraint in _rows(
            "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE conrelid IN (%s::regclass, %s::regclass)"
            " AND contype = 'c' AND coninhcount = 0 AND (conname = 'bounds' OR conname ~ '^not_[0-9]+$')",
            source,
            own,
        ):
            cursor.execute(f"ALTER TABLE {name} DROP CONSTRAINT {constraint}")
        _end_without(table, workspace)


def _without(table: str, workspace: int, *, but: str) -> None:
    """Have the other parts know that no row of the workspace is theirs, so that attaching reads none of them."""
    for part in parts_of(table):
        if part.workspace is not None or part.name == but:
            continue
        name = f"not_{workspace}"
        with connection.cursor() as cursor:
            if not _rows("SELECT 1 FROM pg_constraint WHERE conrelid = %s::regclass AND conname = %s", part.name, name):
                with _locked(part.name):
                    check = f"CHECK (workspace_id <> {workspace}) NOT VALID"
                    cursor.execute(f"ALTER TABLE {part.name} ADD CONSTRAINT {name} {check}")
            cursor.execute(f"ALTER TABLE {part.name} VALIDATE CONSTRAINT {name}")


def _end_without(table: str, workspace: int) -> None:
    with connection.cursor() as cursor:
        for part in parts_of(table):
            cursor.execute(f"ALTER TABLE {part.name} DROP CONSTRAINT IF EXISTS not_{workspace}")


@contextmanager
def _without_incoming_keys(table: str) -> Iterator[Any]:
    """A transaction in which nothing points at the table; the keys are there again at its end, to be validated."""
    keys = _rows(
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE confrelid = %s::regclass AND conparentid = 0",
        table,
    )
    # A table that points at itself is asked for by its name, which another one may have by then
    with _locked(table, *(name for name, _key, _definition in keys)), connection.cursor() as cursor:
        for name, key, _definition in keys:
            cursor.execute(f"ALTER TABLE {name} DROP CONSTRAINT {key}")
        yield cursor
        for name, key, definition in keys:
            cursor.execute(f"ALTER TABLE {name} ADD CONSTRAINT {key} {definition.removesuffix(' NOT VALID')} NOT VALID")


def _validate(say: Say) -> None:
    """Have foreign keys checked that were made without; writers go on meanwhile."""
    for name, key in _rows(
        "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'f' AND NOT convalidated"
        " AND conparentid = 0 AND confrelid = ANY (SELECT to_regclass(t) FROM unnest(%s::text[]) t)",
        list(TABLES),
    ):
        say(f"{name}: {key}")
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {name} VALIDATE CONSTRAINT {key}")


@contextmanager
def _locked(*tables: str, mode: str = "ACCESS EXCLUSIVE") -> Iterator[None]:
    """A transaction with these tables locked, which waits for no one longer than a moment: others wait behind it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{_PATIENCE}'")
        cursor.execute(f"LOCK TABLE {', '.join(dict.fromkeys(tables))} IN {mode} MODE")
        yield


def _with_referenced(table: str, source: str) -> list[str]:
    """The source, and the tables its foreign keys point at: first those that are written first, as writers lock them.

    Locked one by one as the keys are made they would be asked for by somebody who writes an entry, and waits for its
    history.
    """
    referenced = _columns_of(
        "SELECT DISTINCT confrelid::regclass::text FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'f'"
        " AND confrelid <> conrelid AND conparentid = 0",
        table,
    )
    large = [name for name in reversed(TABLES) if name in referenced]
    return [*large, source, *sorted(set(referenced) - set(large))]


def _part_of(table: str, workspace: int) -> str:
    """The part of the rest in which the rows of a workspace are."""
    ((name,),) = _rows(
        "SELECT i.inhrelid::regclass::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid,"
        " regexp_match(pg_get_expr(c.relpartbound, c.oid), 'modulus (\\d+), remainder (\\d+)') AS bound"
        " WHERE i.inhparent = %s::regclass"
        " AND satisfies_hash_partition(i.inhparent, bound[1]::int, bound[2]::int, %s::bigint)",
        f"{table}_rest",
        workspace,
    )
    return str(name)


def _parent(name: str) -> str | None:
    parents = _columns_of("SELECT inhparent::regclass::text FROM pg_inherits WHERE inhrelid = to_regclass(%s)", name)
    return parents[0] if parents else None


def _columns(table: str) -> list[str]:
    return _columns_of(
        "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
        " AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
        table,
    )


def _exists(table: str) -> bool:
    return bool(_rows("SELECT to_regclass(%s) IS NOT NULL", table)[0][0])


def _note(copy: str) -> dict[str, Any]:
    """What is noted at a copy; nothing where it has taken the table's name meanwhile."""
    ((text,),) = _rows("SELECT coalesce(obj_description(to_regclass(%s)), '{}')", copy)
    note: dict[str, Any] = json.loads(text)
    return note


def _write_note(cursor: Any, copy: str, note: dict[str, Any]) -> None:
    cursor.execute(f"COMMENT ON TABLE {copy} IS '{json.dumps(note)}'")


def _rows(statement: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _columns_of(statement: str, *values: Any) -> list[str]:
    return [str(row[0]) for row in _rows(statement, *values)]
