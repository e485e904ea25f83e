"""A field of an entry is named in one table, which all that treats fields reads."""

from dataclasses import fields

from memories.api.entries import EntryAnswer, EntryChange
from memories.entries.draft import COLUMN_SLOTS, DRAFTED, FIELDS, FORM_FIELDS, Draft
from memories.models import Entry

#: Of a draft, what is stored otherwise than as it is.
COMPUTED = {"scope", "at", "importance", "slots", "chats", "origins", "evidence"}


def test_every_column_is_in_the_table() -> None:
    assert set(FIELDS) == {column.name for column in Entry._meta.concrete_fields}
    assert set(COLUMN_SLOTS) <= set(FIELDS)


def test_every_field_of_a_draft_is_stored() -> None:
    assert {field.name for field in fields(Draft)} == {*DRAFTED, *COMPUTED}


def test_the_api_takes_and_shows_every_field_of_the_form() -> None:
    assert set(EntryChange().fields) == {*FORM_FIELDS, "slots"}
    assert set(FORM_FIELDS) <= set(EntryAnswer().fields)
