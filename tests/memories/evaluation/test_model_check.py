"""`manage.py llm check`: one model will do, one reads badly, one cannot (D7)."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memories.evaluation import model_check
from memories.models import Entry, Spend, Workspace
from tests.memories.consolidation.extraction.conftest import model as model  # noqa: PLC0414 (a fixture)
from tests.memories.llm.fake_server import Asked, FakeModel, credulous, verdicts

pytestmark = pytest.mark.django_db
CONVERSATIONS = json.loads((Path(model_check.__file__).parent / "data" / "model_check.json").read_text("utf-8"))
TRUE = {statement for one in CONVERSATIONS for statement in one["true"]}


def check(*arguments: str) -> str:
    out = StringIO()
    call_command("llm", "check", *arguments, stdout=out)
    return out.getvalue()


def careful(asked: Asked) -> Any:
    return verdicts(asked, lambda statement: "entailed" if statement in TRUE else "not_stated")


def test_a_model_that_quotes_and_reads_well_will_do(model: FakeModel) -> None:
    model.reader = careful
    result = check("--price-in", "1", "--price-out", "2")
    assert "answers that can be used: 6 of 6" in result
    assert "true statements 18 of 18, false ones 24 of 24" in result
    assert "decoys taken for true: 0 of" in result and "that costs about" in result
    assert result.strip().endswith("It will do: facts are kept with their words, and read a second time.")


def test_one_that_believes_everything_is_not_believed(model: FakeModel) -> None:
    model.reader = credulous
    result = check()
    assert "false ones 0 of 24" in result and "batches believed: 0 of 6" in result
    assert "its reading is not believed" in result


@pytest.mark.thorough
def test_one_that_answers_nothing_usable_will_not_do(model: FakeModel) -> None:
    model.otherwise = "Certainly!"
    result = check()
    assert "answers that can be used: 0 of 6" in result and "It will not do" in result


def test_another_reader_is_asked_by_its_name(model: FakeModel) -> None:
    model.reader = careful
    check("--reader", "large")
    assert {reading.body["model"] for reading in model.readings} == {"large"}
    assert {request.body["model"] for request in model.requests} == {"small"}


def test_nothing_is_left_behind(model: FakeModel) -> None:
    before = Workspace.objects.count()
    check()
    assert (Workspace.objects.count(), Entry.objects.count(), Spend.objects.count()) == (before, 0, 0)


def test_without_a_model_it_says_what_to_set(settings: Any) -> None:
    settings.MEMORY_LLM_BASE_URL = ""
    with pytest.raises(CommandError, match="MEMORY_LLM_BASE_URL"):
        check()
