"""The records of an export, as the models declare them.

A record refers to another by the id outsiders see. Nothing derived is in it: no embeddings, search rows or counters of
words; and nothing of who calls: no keys, receipts or secrets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import DateTimeField, Model
from django.utils.translation import gettext as _

from memories.models import Entry
from memories.models.table import Export, tables

FORMAT = 1
HEAD, END = "export", "end"
#: An entry out of use and its successor, which may stand further down than the entry.
SUCCESSOR = "successor"


class RecordRefused(Exception):
    """A record cannot be read; the message says why."""


@dataclass(frozen=True)
class Kind:
    """One kind of record."""

    model: type[Model]
    columns: tuple[str, ...]
    references: Mapping[str, str] = field(default_factory=dict)  # by relation: the kind it refers to
    later: Mapping[str, Any] = field(default_factory=dict)  # of columns earlier exports do not have

    def written(self, row: Any) -> dict[str, Any]:
        """The columns of a row, as JSON."""
        return {name: as_json(getattr(row, name)) for name in self.columns}

    def read(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The columns in a record, as Python values. Raises RecordRefused."""
        return {name: self._value(record, name) for name in self.columns}

    def _value(self, record: Mapping[str, Any], name: str) -> Any:
        if name not in record and name in self.later:
            return self.later[name]
        if name not in record:
            raise RecordRefused(_("“%(name)s” is missing.") % {"name": name})
        column: Any = self.model._meta.get_field(name)
        if record[name] is None:
            if column.null:
                return None
            raise RecordRefused(_("“%(name)s” is empty.") % {"name": name})
        try:
            value = column.to_python(record[name])
            column.run_validators(value)
        except (ValidationError, ValueError, TypeError, AttributeError) as problem:
            why = " ".join(problem.messages) if isinstance(problem, ValidationError) else str(problem)
            raise RecordRefused(_("“%(name)s”: %(why)s") % {"name": name, "why": why}) from problem
        if column.choices and value not in ("", *(choice for choice, _label in column.flatchoices)):
            raise RecordRefused(_("“%(name)s”: “%(value)s” is not known.") % {"name": name, "value": value})
        if isinstance(column, DateTimeField) and value.tzinfo is None:
            raise RecordRefused(_("“%(name)s”: the time says no zone.") % {"name": name})
        return value


def _kind(model: type[Model], export: Export) -> Kind:
    """The kind a model declares: all its columns but what is left out, and of relations those it refers by."""
    columns = [column.name for column in model._meta.concrete_fields if not column.is_relation]
    kept = [name for name in columns if name not in ("id", *export.leaves_out)]
    return Kind(model, tuple(sorted(kept, key=lambda name: name == "version")), export.refers, export.later)


_DECLARED = {table.export.name: _kind(model, table.export) for model, table in tables() if table.export}
_HANGING = ("identity", "consent", "slot", "evidence", "change", "access")
IDENTITY, CONSENT, SLOT, EVIDENCE, CHANGE, ACCESS = (_DECLARED[name] for name in _HANGING)
#: What hangs on a person or an entry, in its own record: by its name there.
PARTS: Mapping[str, Mapping[str, Kind]] = {
    "person": {"identities": IDENTITY, "consents": CONSENT},
    "entry": {"slots": SLOT, "evidence": EVIDENCE, "history": CHANGE},
}
#: The records that stand by themselves.
KINDS: Mapping[str, Kind] = {
    **{name: kind for name, kind in _DECLARED.items() if name not in _HANGING},
    SUCCESSOR: Kind(Entry, ("version", "archived_at"), {"entry": "entry", "by": "entry"}),
}


def as_json(value: Any) -> Any:
    """A value of a column as JSON has it, to the microsecond."""
    match value:
        case datetime() | date():
            return value.isoformat()
        case UUID():
            return str(value)
        case _:
            return value


def reference(record: Mapping[str, Any], name: str) -> UUID | None:
    """The id by which a record refers to another; None: to none. Raises RecordRefused."""
    value = record.get(name)
    try:
        return None if value is None else UUID(value)
    except (ValueError, AttributeError, TypeError) as problem:
        raise RecordRefused(_("“%(name)s” is no id.") % {"name": name}) from problem
