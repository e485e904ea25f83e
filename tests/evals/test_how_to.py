"""docs/howto/evaluate.md, as pasted."""

import json
import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from evals.judgements import JudgedMemory, JudgedQuestion, read
from memories.index.worker import drain
from memories.models import Workspace
from tests import ROOT
from tests.conftest import Api, make_key
from tests.evals.conftest import evaluate

pytestmark = pytest.mark.django_db
PAGE = (ROOT / "docs" / "howto" / "evaluate.md").read_text()
COMMAND = "python3 bootstrap.py manage evaluate "
COMMANDS = [line.removeprefix(COMMAND) for line in PAGE.splitlines() if line.startswith(COMMAND)]
EXAMPLE = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])  # type: ignore[index]


def test_the_example_is_what_an_export_writes() -> None:
    shown = dict.fromkeys(asdict(JudgedMemory("", "", "")))
    assert list(EXAMPLE) == list(asdict(JudgedQuestion("", "", [], "")))
    assert all(list(memory) == list(shown) for memory in EXAMPLE["served"])


@pytest.mark.thorough
def test_the_commands_work_as_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_of: Any, now: Any) -> None:
    monkeypatch.chdir(tmp_path)
    set_of(name="my_set")
    api = Api(make_key(Workspace.objects.create(name="My workspace")))
    for memory in EXAMPLE["served"]:
        api.post("entries", {"scope": "main", "content": memory["text"]})
    drain(now=now)
    answer = api.post("recall", {"scope": "main", "message": EXAMPLE["question"]}).json()
    best = answer["memories"][0]
    assert best["content"] == EXAMPLE["served"][0]["text"]
    api.post(f"recalls/{answer['recall_id']}/feedback", {"used": [best["id"]], "note": EXAMPLE["note"]})

    printed = [evaluate(*shlex.split(command)) for command in COMMANDS]

    assert len(COMMANDS) == 9 and "1 questions of My workspace in mine.jsonl" in printed[0]
    assert "judged by use" in printed[1] and "- dates" in printed[2]
    (row,) = read(tmp_path / "mine2.jsonl")
    assert row.question == EXAMPLE["question"] and row.note == EXAMPLE["note"]
    assert [asdict(shown)["used"] for shown in row.served if shown.text == best["content"]] == [True]
