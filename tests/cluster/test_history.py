"""Histories as files: what is written is read again, and a file that was cut short is still one."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.history import Call, Shown, What, calls_of, mark_of, marks_in, stored_of, text_of, write_rows
from tests.cluster.model import Model, played


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    server = Model(random.Random(1), unsure=0.2, away=0.1)
    calls, stored = played(server, 30, seed=1), list(server.stored())
    write_rows(tmp_path / "history.jsonl", calls)
    write_rows(tmp_path / "stored.jsonl", stored)
    assert calls_of(tmp_path / "history.jsonl") == calls
    assert stored_of(tmp_path / "stored.jsonl") == stored


def test_a_last_line_that_was_cut_short_is_no_call(tmp_path: Path) -> None:
    call = Call("c0-1", "c0", "red", "p", What.READ, 0.5, 1.0, status=200, shows=(Shown("a", False),))
    path = tmp_path / "history.jsonl"
    write_rows(path, [call, call])
    path.write_text(path.read_text()[:-20])
    assert calls_of(path) == [call]
    path.write_text("{\n" + path.read_text())
    with pytest.raises(ValueError, match="line 1"):
        calls_of(path)


@given(st.integers(0, 65_535), st.integers(0, 4095), st.integers(0, 65_535))
def test_a_mark_is_found_in_its_text_alone(client: int, number: int, other: int) -> None:
    mark = mark_of(client, number)
    assert marks_in(f"User: {text_of(mark)}\nAssistant: Noted.") == [mark]
    assert (mark_of(other, number) == mark) == (other == client)
