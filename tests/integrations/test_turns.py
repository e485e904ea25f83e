"""What adapters report of a turn, and keep until it is reported, against the running platform."""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from memplatform_client.errors import ApiError
from memplatform_client.turns import BotMemory

from memories.models import Workspace
from sessions_app.models import SessionEvent
from tests.conftest import make_key
from tests.integrations.adapters import INTEGRATIONS

pytestmark = pytest.mark.django_db(transaction=True)
LONG = "船" * 30_000  # 90,000 bytes
Hook = Callable[..., tuple[str, str]]


@pytest.fixture
def key(workspace: Workspace) -> str:
    return make_key(workspace, permissions=["read", "write"])


@pytest.fixture
def hook(live_server: Any, key: str, tmp_path: Path) -> Hook:
    """Calls a hook of Claude Code in a session of Dana's; what it prints, and its log."""
    settings = {"MEMPLATFORM_URL": live_server.url, "MEMPLATFORM_KEY": key, "MEMPLATFORM_PERSON": "dana"}
    settings |= {"CLAUDE_PLUGIN_DATA": str(tmp_path / "data"), "PATH": os.environ["PATH"]}

    def call(name: str, **fields: Any) -> tuple[str, str]:
        ran = subprocess.run(
            [sys.executable, str(INTEGRATIONS / "claude_code" / "scripts" / "memory.py")],
            input=json.dumps({"hook_event_name": name, "session_id": "s-1", **fields}),
            env=settings,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout, ran.stderr

    return call


def module_of(path: Path) -> Any:
    """A module of an adapter, which stands in no package."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def remembered() -> list[str]:
    """The messages the platform has."""
    return list(SessionEvent.objects.order_by("pk").values_list("content", flat=True))


def test_claude_code_reports_a_long_turn_and_one_with_what_cannot_be_stored(hook: Hook) -> None:
    assert hook("UserPromptSubmit", prompt=f"The kiln is hot.\0\ud83d {LONG}")[1] == ""
    assert hook("Stop", last_assistant_message=f"Careful.\0 {LONG}")[1] == ""
    question, answer = remembered()
    assert question.startswith("The kiln is hot. 船") and answer.startswith("Careful. 船")


@pytest.mark.parametrize("half", ['{"prompts": ["The kil', "", "[1, 2]", "3", '"好"', '{"prompts": "x"}', "\udcff"])
def test_claude_code_goes_on_after_a_hook_was_killed_while_it_wrote(hook: Hook, tmp_path: Path, half: str) -> None:
    hook("UserPromptSubmit", prompt="Good morning!")
    (kept,) = (tmp_path / "data").iterdir()
    kept.write_text(half, errors="surrogateescape")
    assert hook("UserPromptSubmit", prompt="The kiln is hot.")[1] == ""
    assert [path.name for path in (tmp_path / "data").iterdir()] == [kept.name] and kept.stat().st_mode & 0o077 == 0
    assert hook("Stop", last_assistant_message="当心。")[1] == ""
    assert remembered() == ["The kiln is hot.", "当心。"]


def test_claude_code_keeps_what_it_had_where_its_file_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when it is killed there: a file is written whole beside the old one, and then takes its place."""
    module = module_of(INTEGRATIONS / "claude_code" / "scripts" / "memory.py")
    monkeypatch.setenv("CLAUDE_PLUGIN_DATA", str(tmp_path / "data"))
    event = {"session_id": "s-1"}
    module.keep(event, {"prompts": ["The kiln is hot."], "once": "1"})
    with pytest.raises(TypeError):
        module.keep(event, {"prompts": ["It stands outside."], "once": object()})
    assert module.waiting(event)["prompts"] == ["The kiln is hot."]


def test_open_webui_reports_a_long_turn_and_one_with_what_cannot_be_stored(live_server: Any, key: str) -> None:
    made = module_of(INTEGRATIONS / "open_webui" / "memplatform_filter.py").Filter()
    made.valves = made.Valves(url=live_server.url, key=key, seconds=30)
    messages = [{"role": "user", "content": f"The kiln is hot.\0\ud83d {LONG}"}]
    answered = [*messages, {"role": "assistant", "content": f"Careful.\0 {LONG}"}]
    asyncio.run(made.outlet({"chat_id": "c-1", "id": "m-1", "messages": answered}, __user__={"id": "dana"}))
    question, answer = remembered()
    assert question.startswith("The kiln is hot. 船") and answer.startswith("Careful. 船")
    asked = {"messages": [{"role": "user", "content": "Is the kiln hot?\0\ud83d"}]}
    body = asyncio.run(made.inlet(asked, __user__={"id": "dana"}, __metadata__={"chat_id": "c-2"}))
    assert "The kiln is hot." in body["messages"][0]["content"]


class Line(httpx.BaseTransport):
    """A line to the platform on which the reports of turns go wrong as planned, and then no more."""

    def __init__(self, *planned: Any) -> None:
        self._planned, self._line = list(planned), httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        planned = self._planned.pop(0) if self._planned and request.url.path.endswith("/turns") else None
        if isinstance(planned, tuple):
            errors = [{"code": planned[1], "detail": "No.", "attr": None}]
            return httpx.Response(planned[0], json={"errors": errors}, request=request)
        answer = self._line.handle_request(request)
        if planned:
            answer.close()
            raise planned
        return answer

    def close(self) -> None:
        self._line.close()


@pytest.fixture
def session_of(live_server: Any, key: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Makes sessions of the OpenAI Agents SDK, of which stands here what the adapter imports."""
    for name in ("agents", "agents.memory", "agents.run"):
        module = ModuleType(name)
        for part in ("TResponseInputItem", "SessionABC", "CallModelData", "ModelInputData"):
            setattr(module, part, type(part, (), {"__class_getitem__": classmethod(lambda cls, _item: cls)}))
        monkeypatch.setitem(sys.modules, name, module)
    adapter = module_of(INTEGRATIONS / "openai_agents" / "memplatform_agents.py")
    with ExitStack() as lines:

        def make(*planned: Any, strict: bool = False) -> Any:
            http = lines.enter_context(httpx.Client(transport=Line(*planned)))
            return adapter.MemplatformSession(BotMemory(key, live_server.url, strict=strict, http=http), "dana", "c-1")

        yield make


def say(session: Any, words: str, answer: str) -> None:
    """A run of an agent: what is known is asked for, then its items are added."""
    session._latest = session._memory.before("dana", words, "c-1", [])
    items = [{"role": "user", "content": words}, {"role": "assistant", "content": answer}]
    asyncio.run(session.add_items(items))


LOST = httpx.ReadTimeout("the answer is lost")


@pytest.mark.parametrize(
    "planned", [LOST, (401, "not_authenticated"), (429, "throttled"), (503, "unavailable"), (409, "session_busy")]
)
def test_a_turn_that_is_not_taken_now_is_reported_once_more_as_it_was(session_of: Any, planned: Any) -> None:
    session = session_of(planned)
    say(session, "The kiln is hot.", "Careful.")
    session._memory._silent_until = 0.0
    say(session, "窑是热的吗？", "是的。")
    assert remembered() == ["The kiln is hot.", "Careful.", "窑是热的吗？", "是的。"]
    items = asyncio.run(session.get_items())
    assert [item["content"] for item in items] == remembered(), "nothing waits any more"


@pytest.mark.parametrize("planned", [(400, "invalid"), (413, "too_large"), (409, "scope_frozen"), (409, "new_code")])
@pytest.mark.parametrize("strict", [False, True])
def test_a_turn_that_is_refused_for_good_stops_no_later_one(session_of: Any, planned: Any, strict: bool) -> None:
    session = session_of(planned, strict=strict)
    if strict:
        with pytest.raises(ApiError):
            say(session, "The kiln is hot.", "Careful.")
    else:
        say(session, "The kiln is hot.", "Careful.")
    say(session, "窑是热的吗？", "是的。")
    assert remembered() == ["窑是热的吗？", "是的。"]
    assert [item["content"] for item in asyncio.run(session.get_items())] == remembered()
