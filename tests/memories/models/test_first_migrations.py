"""The tables of the first migrations are made at once: one by one they made a first start five seconds longer."""

from importlib import import_module
from typing import Any

import pytest
from django.db.migrations import CreateModel
from django.db.migrations.state import ProjectState
from pgtrigger.migrations import AddTrigger

from memories.migrations._sql import NewTables

FIRST = ("memories", "sessions_app", "channels_app", "memplatform.operations")


def first(app: str) -> Any:
    return import_module(f"{app}.migrations.0001_initial").Migration


@pytest.mark.parametrize("app", FIRST)
def test_tables_and_triggers_of_a_first_migration_stand_together(app: str) -> None:
    operations = first(app).operations
    assert [one for one in operations if isinstance(one, CreateModel | AddTrigger)] == []
    assert len([one for one in operations if isinstance(one, NewTables)]) == 1


def test_what_was_rendered_before_is_not_rendered_again_for_each_table() -> None:
    (tables,) = (one for one in first("memories").operations if isinstance(one, NewTables))
    state = ProjectState()
    assert state.apps  # rendered, and kept
    tables.state_forwards("memories", state)
    assert "apps" not in state.__dict__
    made = {one.name_lower for one in tables.operations if isinstance(one, CreateModel)}
    assert {name for app, name in state.models if app == "memories"} == made
