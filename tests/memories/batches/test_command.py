"""`manage.py batch`: what an operator without a browser does."""

import json
from getpass import getuser
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import translation

from memories.choices import BatchState, BatchVerb
from memories.management.commands.batch import table
from memories.models import Batch, Entry, Scope, Workspace
from tests.memories.batches.conftest import SUBJECTS, applied, live, planned, remember, step

pytestmark = pytest.mark.django_db


def output_of(*args: Any, **options: Any) -> str:
    out = StringIO()
    call_command("batch", *map(str, args), stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def entries(scope: Scope) -> list[Entry]:
    return remember(scope, *SUBJECTS[:4])


@pytest.fixture
def waiting_batch(scope: Scope, entries: list[Entry]) -> Batch:
    Entry.objects.filter(pk=entries[0].pk).update(pinned=True)
    steps = [step(BatchVerb.CHANGE, entries[0], columns={"content": "the port of staging is 9090"})]
    return planned(scope, steps, "night", judged=True)


@pytest.fixture
def applied_batch(scope: Scope, entries: list[Entry]) -> Batch:
    return applied(scope, [step(BatchVerb.EXPIRE, entry) for entry in entries], "day")


def test_a_list_is_a_table_and_narrowed_by_state(waiting_batch: Batch, scope: Scope) -> None:
    shown = output_of("list", state="proposed").splitlines()
    assert len(shown) == 2 and shown[1].startswith(waiting_batch.uid.hex[-8:])
    assert "Pinned memories it would change: 1." in shown[1]
    assert len(output_of("list", state="applied").splitlines()) == 1
    with translation.override("zh-hans"):
        assert "待批准" in output_of("list") and "将更改已固定的记忆：1 条。" in output_of("list")


def test_a_workspace_sees_its_own(waiting_batch: Batch, stranger: Workspace) -> None:
    assert json.loads(output_of("list", json=True, workspace="Charlie's")) == []
    with pytest.raises(CommandError, match="No such batch"):
        output_of("show", waiting_batch.uid, workspace="Charlie's")
    with pytest.raises(CommandError, match="no workspace"):
        output_of("list", workspace="nobody's")


def test_a_batch_is_shown_word_by_word_by_any_end_of_its_id(waiting_batch: Batch) -> None:
    for asked in (waiting_batch.uid, waiting_batch.uid.hex, waiting_batch.uid.hex[-8:].upper()):
        assert "[-8080-]{+9090+}" in output_of("show", asked)


def test_json_is_what_the_api_answers(waiting_batch: Batch) -> None:
    batch_json = json.loads(output_of("show", waiting_batch.uid, json=True))
    assert (batch_json["id"], batch_json["held_because"][0]["code"]) == (str(waiting_batch.uid), "pinned")
    assert batch_json["changes"][0]["diff"][1:] == [["-", "8080"], ["+", "9090"]]


def test_what_waits_is_approved_in_the_name_of_who_did(waiting_batch: Batch, scope: Scope) -> None:
    assert json.loads(output_of("approve", waiting_batch.uid, json=True))["decided_by"] == f"command:{getuser()}"
    assert "the port of staging is 9090" in live(scope)
    with pytest.raises(CommandError, match="past that"):
        output_of("refuse", waiting_batch.uid)


def test_what_waits_is_refused(waiting_batch: Batch, scope: Scope) -> None:
    output_of("refuse", waiting_batch.uid)
    waiting_batch.refresh_from_db()
    assert waiting_batch.state == BatchState.REFUSED and SUBJECTS[0] in live(scope)


def test_a_batch_is_undone_in_part_then_whole_then_that_undone(applied_batch: Batch, scope: Scope) -> None:
    output_of("undo", applied_batch.uid, rows="1,2", reason="not these")
    assert live(scope) == set(SUBJECTS[:2])
    undo = json.loads(output_of("undo", applied_batch.uid, json=True))
    assert (undo["undoes"], undo["by"]) == (str(applied_batch.uid), f"command:{getuser()}")
    assert live(scope) == set(SUBJECTS[:4])
    output_of("undo", undo["id"])
    assert live(scope) == set(SUBJECTS[:2])


def test_what_was_changed_since_is_left_unless_forced(applied_batch: Batch, entries: list[Entry], scope: Scope) -> None:
    Entry.objects.filter(pk=entries[0].pk).update(topic="ports")
    assert "It was changed meanwhile." in output_of("undo", applied_batch.uid)
    assert SUBJECTS[0] not in live(scope)
    output_of("undo", applied_batch.uid, force=True)
    assert SUBJECTS[0] in live(scope)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["show"], "Which batch"),
        (["show", "ffffffff"], "No such batch"),
        (["undo", "not an id"], "No such batch"),
        (["show", ""], "Which batch"),
    ],
)
def test_what_cannot_be_found_is_one_sentence(args: list[str], why: str, waiting_batch: Batch) -> None:
    with pytest.raises(CommandError, match=why) as refused:
        output_of(*args)
    assert refused.value.returncode == 1


def test_rows_are_numbers(applied_batch: Batch) -> None:
    with pytest.raises(CommandError, match="such as 1,2"):
        output_of("undo", applied_batch.uid, rows="1;2")


def test_chinese_stands_in_columns_too() -> None:
    assert table([["年糕", "cat"], ["abc", "x"]]) == "年糕  cat\nabc   x"
