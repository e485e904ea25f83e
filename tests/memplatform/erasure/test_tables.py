"""What is derived from the models is what was listed by hand."""

from memories.models import Batch, BatchChange, DailyEvent, Entry, Scope
from memories.models.table import Fate, tables
from memplatform.erasure.collect import tied_by_key, ties
from memplatform.erasure.remove import CLEARING, in_order
from sessions_app.models import Session, SessionEvent


def test_what_points_at_a_row_goes_before_it_and_memories_go_before_messages() -> None:
    place = in_order().index
    assert place(BatchChange) < place(Batch) < place(Scope)
    assert place(BatchChange) < place(Entry) < place(SessionEvent) < place(Session) < place(Scope)
    assert place(DailyEvent) < place(SessionEvent)


def test_a_table_whose_words_are_taken_out_says_which() -> None:
    assert [model for model, table in tables() if table.fate is Fate.CLEARED and model not in CLEARING] == []


def test_every_tie_is_of_a_table_whose_rows_go_or_are_cleared() -> None:
    parts = {phase: ties(phase) for phase in ("seeds", "lineage", "pointers")}
    assert {phase: len(found) for phase, found in parts.items()} == {"seeds": 11, "lineage": 5, "pointers": 9}
    tied = {table for found in parts.values() for table, _statement in found} | {table for table, _ in tied_by_key()}
    assert tied <= {model._meta.db_table for model in in_order()}
