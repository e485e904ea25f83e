"""The example loop: a model searches, reads and saves by its own calls, over real HTTP, against a scripted model."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from examples import tool_loop
from memories.models import Entry, RecallTrace, Workspace
from sessions_app.models import SessionEvent
from tests import ROOT
from tests.conftest import make_key
from tests.memories.llm.fake_server import Asked, FakeModel, Reply

QUESTION = "On which day do we paint the boat, and can you remember that Lena brings the brushes?"


def model_reply(**message: Any) -> Reply:
    """A message of the model, as an OpenAI-compatible server sends it."""
    return Reply(body=json.dumps({"choices": [{"message": {"role": "assistant", "content": "", **message}}]}).encode())


def call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}


def searches(asked: Asked) -> Reply:
    names = [tool["function"]["name"] for tool in asked.body["tools"]]
    assert {"memory_search", "memory_get", "memory_save", "memory_append", "memory_update", "memory_list"} <= set(names)
    assert "memory_search" in asked.texts[0]
    return model_reply(tool_calls=[call(1, "memory_search", query="When do we paint the boat?", max_results=None)])


def reads_what_was_found(request: Asked) -> Reply:
    """The best path of the answer is read before a day is named."""
    found = request.body["messages"][-1]
    assert (found["role"], found["tool_call_id"]) == ("tool", "call_1")
    path = re.findall(r"\[([^\]]+\.md:\d+)\]", found["content"])[0]
    return model_reply(tool_calls=[call(2, "memory_get", **{"path": path, "from": None, "lines": None})])


def saves_two_things_of_which_one_is_wrong(request: Asked) -> Reply:
    assert "Saturday" in request.texts[-1]
    good = call(3, "memory_save", content="Lena brings the brushes.", target="daily")
    return model_reply(tool_calls=[good, call(4, "memory_save", content="Lena brings the brushes.", target="forever")])


def answers(asked: Asked) -> Reply:
    saved, refused = asked.body["messages"][-2:]
    assert saved["content"].startswith("Saved: [memory/") and "target" in refused["content"]
    return model_reply(content="On Saturday. I will remember that Lena brings the brushes.")


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_a_model_finds_reads_and_saves_in_one_loop(
    live_server: Any, workspace: Workspace, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEMORY_FILES_ROOT = tmp_path
    key = make_key(workspace)
    monkeypatch.setattr(tool_loop, "MEMORY", f"{live_server.url}/api/v1/")
    note = {"address": tool_loop.ADDRESS, "content": "We paint the boat on Saturday.", "target": "long-term"}
    tool_loop.ask(tool_loop.MEMORY + "tools/memory_save", key, note)
    script = (searches, reads_what_was_found, saves_two_things_of_which_one_is_wrong, answers)
    with FakeModel(*script) as model:
        monkeypatch.setattr(tool_loop, "MODEL", f"{model.url}/chat/completions")
        reply = tool_loop.reply(QUESTION, key)
    assert reply == "On Saturday. I will remember that Lena brings the brushes."
    assert model.calls == 4
    assert "We paint the boat on Saturday." in (tmp_path / workspace.folder / "MEMORY.md").read_text()
    assert Entry.objects.filter(type="note", content="Lena brings the brushes.").count() == 1
    assert list(SessionEvent.objects.order_by("position").values_list("content", flat=True)) == [QUESTION, reply]
    assert RecallTrace.objects.filter(query__always_events=True).count() == 1


def test_the_page_shows_the_loop_as_it_is() -> None:
    page = (ROOT / "docs" / "howto" / "tools-for-your-model.md").read_text()
    code = (ROOT / "examples" / "tool_loop.py").read_text()
    assert page.partition("```python\n")[2].partition("```")[0] == code.partition('"""\n\n')[2]
    assert len([line for line in code.partition('"""\n\n')[2].splitlines() if line]) <= 40
