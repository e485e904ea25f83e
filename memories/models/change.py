"""History: triggers that record every change, whoever makes it (F2)."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import pgtrigger
from django.db import connection, models, transaction
from django.db.models.fields.json import KeyTransform
from django.utils.translation import gettext_lazy as _

from memories.choices import Operation
from memories.models.outbox import tells_of_entries
from memories.models.table import Chapter, Export, Fate, Table
from memories.models.walls import WorkspacePolicy
from memories.tenancy import row_level_security

_WHO = """
    coalesce(nullif(current_setting('memplatform.actor', true), ''), 'sql:' || session_user),
    nullif(current_setting('memplatform.batch', true), '')::bigint,
    coalesce(current_setting('memplatform.run', true), ''),
    clock_timestamp()
"""
_INTO = "INSERT INTO memories_change (workspace_id, table_name, row_id, version, op, old, actor, batch_id, run, at)"
_INSERTED = f"""
{_INTO}
SELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'I', '{{}}'::jsonb, {_WHO} FROM new_rows n;
RETURN NULL;
"""  # noqa: S608 (every part is a constant of this file)
_UPDATED = f"""
{_INTO}
SELECT n.workspace_id, TG_TABLE_NAME, n.id, n.version, 'U', before.columns, {_WHO}
FROM old_rows o
JOIN new_rows n ON n.id = o.id AND n.version <> o.version
CROSS JOIN LATERAL (SELECT to_jsonb(o) AS was, to_jsonb(n) AS now OFFSET 0) row
CROSS JOIN LATERAL (
    SELECT coalesce(jsonb_object_agg(key, value), '{{}}') AS columns FROM jsonb_each(row.was)
    WHERE key <> ALL ({{unrecorded}}) AND value IS DISTINCT FROM row.now -> key
) before;
RETURN NULL;
"""  # noqa: S608 (constants)
_DELETED = f"""
{_INTO}
SELECT o.workspace_id, TG_TABLE_NAME, o.id, o.version, 'D', to_jsonb(o), {_WHO} FROM old_rows o;
RETURN NULL;
"""  # noqa: S608 (constants)


def _recorder(name: str, operation: Any, func: str, **tables: str) -> pgtrigger.Trigger:
    """A trigger after each statement; `tables` names the rows it reads, of before and after."""
    return pgtrigger.Trigger(
        name=f"record_{name}",
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=operation,
        referencing=pgtrigger.Referencing(**tables),  # type: ignore[no-untyped-call]
        func=func,
    )


def record_changes(*, ignored: tuple[str, ...] = (), along: tuple[str, ...] = ()) -> list[pgtrigger.Trigger]:
    """The triggers of a recorded table: one raises `version`, three write Change rows, a statement at a time.

    Columns in `ignored` are never recorded; those in `along` only together with others, as an updated-at is.
    """
    unrecorded = "ARRAY[{}]".format(", ".join(f"'{column}'" for column in ("version", *ignored)))
    return [
        pgtrigger.Trigger(
            name="raise_version",
            when=pgtrigger.Before,
            operation=pgtrigger.Update,
            condition=pgtrigger.AnyChange(exclude=["version", *ignored, *along]),
            func="NEW.version = OLD.version + 1; RETURN NEW;",
        ),
        _recorder("insert", pgtrigger.Insert, _INSERTED, new="new_rows"),
        _recorder(
            "update",
            pgtrigger.Update,
            _UPDATED.replace("{unrecorded}", unrecorded),
            old="old_rows",
            new="new_rows",
        ),
        _recorder("delete", pgtrigger.Delete, _DELETED, old="old_rows"),
    ]


class Recorded(models.Model):
    """A row whose changes are all recorded, with a version that rises with each."""

    version = models.PositiveIntegerField(_("version"), default=1, editable=False)

    class Meta:
        abstract = True


class Change(models.Model):
    """The history: what the changed columns held before, who changed them, in which batch and run.

    No foreign keys, since history outlives what it tells of.

    - `change_operation_known`: `I`, `U` or `D`.
    """

    table = Table(
        chapter=Chapter.RECORDS,
        fate=Fate.REMOVED,
        export=Export("change", leaves_out=("workspace_id", "table_name", "row_id", "batch_id")),
    )

    workspace_id = models.BigIntegerField()
    table_name = models.CharField(_("table"), max_length=63)
    row_id = models.BigIntegerField(_("row"))
    version = models.PositiveIntegerField(_("version"), help_text=_("Of the row after the change."))
    op = models.CharField(_("operation"), max_length=1, choices=Operation)
    old = models.JSONField(_("before"), help_text=_("Old values of the changed columns; the whole row when removed."))
    actor = models.CharField(_("by"), max_length=200)
    batch_id = models.BigIntegerField(_("batch"), null=True)
    run = models.CharField(_("run"), max_length=64, blank=True, default="")
    at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("change")
        verbose_name_plural = _("history")
        triggers = [tells_of_entries()]
        constraints = [
            models.CheckConstraint(condition=models.Q(op__in=Operation.values), name="change_operation_known"),
            WorkspacePolicy(name="change_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["table_name", "row_id", "version"], name="change_by_row"),
            models.Index(fields=["workspace_id", "at"], name="change_by_time"),
            models.Index(
                KeyTransform("entry_id", "old"),
                condition=models.Q(table_name="memories_slot", op="D"),
                name="change_of_removed_slots",
            ),
            models.Index(
                fields=["batch_id", "table_name", "row_id"],
                condition=models.Q(batch_id__isnull=False),
                name="change_of_batch",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.table_name} {self.row_id} v{self.version}"


@dataclass(frozen=True)
class _Acting:
    """As whose the changes of a block are recorded, on which connection to the server."""

    actor: str
    batch: int | None
    run: str
    connection: int

    def covers(self, actor: str, batch: int | None, run: str) -> bool:
        """Whether a block inside this one, with these values, has nothing to set."""
        is_here = self.connection == id(connection.connection)
        return is_here and self.actor == actor and batch in (None, self.batch) and run in ("", self.run)


_acting: ContextVar[_Acting | None] = ContextVar("the innermost block of a known actor", default=None)

#: Sets the actor of what follows in this transaction; batch and run stay where the same actor had set them.
_ACT = """
    SELECT was.actor, was.batch, was.run, set_config('memplatform.actor', %(actor)s, true),
        set_config('memplatform.batch', CASE WHEN was.actor = %(actor)s AND %(batch)s = ''
            THEN coalesce(was.batch, '') ELSE %(batch)s END, true),
        set_config('memplatform.run', CASE WHEN was.actor = %(actor)s AND %(run)s = ''
            THEN coalesce(was.run, '') ELSE %(run)s END, true)
    FROM (SELECT current_setting('memplatform.actor', true) AS actor,
        current_setting('memplatform.batch', true) AS batch,
        current_setting('memplatform.run', true) AS run OFFSET 0) was
"""


@contextmanager
def acting(actor: str, *, batch: int | None = None, run: str = "", savepoint: bool = True) -> Iterator[None]:
    """A transaction whose changes are recorded as this actor's.

    The settings end with the transaction, or with the block inside another one. Inside a block of the same actor, batch
    and run stay as they are there unless they are given. Without `savepoint`, a block inside a transaction that fails
    takes all of it along.
    """
    with transaction.atomic(savepoint=savepoint):
        # Whether the innermost block, or outside of any the request, has set all this already
        around = _acting.get()
        is_request = batch is None and not run
        if around.covers(actor, batch, run) if around else is_request and row_level_security.acts_as(actor):
            yield
            return
        # Actor, batch and run that were set before, and those now
        with connection.cursor() as cursor:
            cursor.execute(_ACT, {"actor": actor, "batch": "" if batch is None else str(batch), "run": run})
            *before, _actor, batch_now, run_now = cursor.fetchone()
        here = _Acting(actor, int(batch_now) if batch_now else None, run_now, id(connection.connection))
        token = _acting.set(here)
        try:
            yield
        finally:
            _acting.reset(token)
        if before[0] or batch is not None or run:  # an outer block goes on under its own name
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT set_config('memplatform.actor', %s, true), set_config('memplatform.batch', %s, true),"
                    " set_config('memplatform.run', %s, true)",
                    [value or "" for value in before],
                )


def forget_history(workspace_id: int, table: str, rows: list[int]) -> None:
    """Remove the history of purged rows; the database refuses it for a row that exists, and logs it.

    No process may remove history in any other way.
    """
    with connection.cursor() as cursor:
        # What the archive has of them goes with its next run; marked first, a restore under way has ended before the
        # history is removed, or waits and finds the mark
        cursor.execute("UPDATE memories_archivedrows SET is_stale = true WHERE workspace_id = %s", [workspace_id])
        cursor.execute("SELECT memplatform_forget_history(%s, %s, %s)", [workspace_id, table, rows])
