"""What a table means beyond what Django knows of it, declared once, at its model.

Erasure, export, evaluation and the page of the schema read it. Columns, keys and constraints come from the model; what
is to be known of the table and its constraints is the model's docstring, in Markdown.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from django.apps import apps
from django.db.models import Model


class Fate(Enum):
    """What an erasure does with the rows of a table that are about the erased person."""

    REMOVED = "found by what ties them to the person, and removed"
    ALONG = "removed with the row they hang on"
    CLEARED = "their words are taken out, the row stays"
    SEARCHED = "read through for the person's words and ids, and removed where they are found"
    COUNTED = "counted anew from what is left"
    RECORD = "the record of the erasure itself"
    KEPT = "what staff did, which nobody may change for a while: rows are named by id, and no words are written down"
    NOTHING = "holds nothing that anybody said"


class Chapter(Enum):
    """Where `docs/reference/schema.md` has a table, in the order of the page."""

    TENANTS = "Tenants and clients"
    REMEMBERED = "What is remembered"
    SEARCHED = "What recall searches"
    RECORDS = "Records"
    ERASURES = "Erasures"
    HOME = "For the home page"
    CONVERSATIONS = "Conversations"
    CHANNELS = "Channels"


@dataclass(frozen=True)
class Export:
    """The record an export writes of a row: its columns in their order, the version last; relations only by `refers`.

    A column is exported unless it is left out.
    """

    name: str
    leaves_out: tuple[str, ...] = ()
    refers: Mapping[str, str] = field(default_factory=dict)  # by relation: the record it names
    later: Mapping[str, Any] = field(default_factory=dict)  # what holds where an export of before has no such column


@dataclass(frozen=True, kw_only=True)
class Table:
    """What a table means. A table that says none is one in which something of an erased person may stay."""

    chapter: Chapter
    fate: Fate
    tied_by: str = (
        ""  # the relation that ties a row to the person; empty: `ties.sql` of the erasure says it, or nothing
    )
    is_searched: bool = False  # read through as well, for rows of others that hold the person's words
    clears: str = ""  # the one column that is emptied where such words are found; empty: the row goes
    export: Export | None = None


def tables() -> Iterator[tuple[type[Model], Table]]:
    """Every model that says what its table means."""
    for model in apps.get_models():
        table = getattr(model, "table", None)
        if isinstance(table, Table):
            yield model, table


def children_first(models: Iterable[type[Model]]) -> list[type[Model]]:
    """Models in an order in which rows may be removed: what points at a row goes before it.

    Beyond that the lower app comes first: what was made of messages goes before the messages.
    """
    apps_from_below = [config.label for config in apps.get_app_configs()][::-1]
    rest = sorted(models, key=lambda model: apps_from_below.index(model._meta.app_label))
    ordered = []
    while rest:
        pointed_at = {
            column.related_model for model in rest for column in model._meta.fields if column.related_model is not model
        }
        free = next(model for model in rest if model not in pointed_at)
        rest.remove(free)
        ordered.append(free)
    return ordered
