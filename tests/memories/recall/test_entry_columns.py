"""The entry a recall makes of a row is the one Django would have made."""

import pytest
from django.db import connection

from memories import entries
from memories.models import Entry, Scope
from memories.recall.candidates import COLUMNS, entry_of
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db


def test_an_entry_of_a_row_is_as_django_makes_it(scope: Scope) -> None:
    entries.remember_many([make_draft(scope, "Mia plays the violin")], now=NOW, actor="bot:t")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(COLUMNS)}, 1 FROM memories_entry")
        row = cursor.fetchone()
    ours, djangos = entry_of(row), Entry.from_db(connection.alias, COLUMNS, row[:-1])
    assert ours == djangos
    assert {name: value for name, value in vars(ours).items() if name != "_state"} == {
        name: value for name, value in vars(djangos).items() if name != "_state"
    }
    assert (ours._state.adding, ours._state.db) == (False, connection.alias)
    assert ours.get_deferred_fields() == djangos.get_deferred_fields()
    assert ours.tier == Entry.objects.get().tier  # what was not read is read when it is asked for
