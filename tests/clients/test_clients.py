"""Both clients against the running platform."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from memplatform_client import AsyncClient, Client, errors

from memories.models import Entry, Workspace
from sessions_app.models import SessionEvent
from tests import ROOT
from tests.conftest import GROUP, TELEGRAM, make_key

SCOPE = "telegram:direct_u42"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.thorough
def test_a_turn_is_reported_and_recalled(memory: Any) -> None:
    taken = memory.take_turn(address=TELEGRAM, user="My bakery is closed on Mondays", assistant="Noted.")
    result = memory.recall(address=TELEGRAM, message="On which day is my bakery closed?", quotas=False, until=None)
    assert [memory["id"] for memory in result["memories"]] == [entry["id"] for entry in taken["entries"]]
    context = memory.context(address=TELEGRAM, message="On which day is my bakery closed?")
    assert [row["content"] for row in context["history"]] == ["My bakery is closed on Mondays", "Noted."]
    assert memory.read_session(context["session"]["key"])["last_position"] == 2


@pytest.mark.thorough
def test_a_list_is_one_run_of_rows_however_many_pages_it_has(memory: Any) -> None:
    for day in range(3):
        memory.save_entry(scope=SCOPE, content=f"Day {day} was fine", slots={"day": str(day)})
    rows = list(memory.list_entries(scope=SCOPE, limit=2))
    assert [row["content"] for row in rows] == [f"Day {day} was fine" for day in (2, 1, 0)]
    assert [row["slots"] for row in memory.list_entries(slots={"day": "1"})] == [{"day": "1"}]
    assert list(memory.list_entries(state="expired")) == []


@pytest.mark.thorough
def test_messages_of_a_session_are_read_over_its_pages(memory: Any) -> None:
    key = memory.meet_session(address=TELEGRAM)["key"]
    events = [{"kind": "user", "content": f"Line {n}", "sender": "u42"} for n in range(5)]
    memory.append_session_events(key, events=events, platform="telegram")
    assert [list_session_event["content"] for list_session_event in memory.list_session_events(key, limit=2)] == [
        f"Line {n}" for n in range(5)
    ]


@pytest.mark.thorough
def test_a_change_of_another_version_is_refused_and_told_by_its_class(memory: Any) -> None:
    uid = memory.save_entry(scope=SCOPE, content="The port is 8080")["id"]
    assert memory.change_entry(uid, content="The port is 9090", if_match=1)["version"] == 2
    with pytest.raises(errors.VersionConflict) as refusal:
        memory.change_entry(uid, content="The port is 7070", if_match=1)
    assert (refusal.value.status, refusal.value.code) == (412, "version_conflict")
    assert refusal.value.request_id
    assert memory.delete_entry(uid, copies="none")["state"] == "expired"
    assert memory.restore_entry(uid, term_days=30)["state"] == "live"


@pytest.mark.thorough
def test_an_error_names_its_field_and_never_the_key(memory: Any, connect: Any, live_server: Any) -> None:
    with pytest.raises(errors.Invalid) as refusal:
        memory.recall(adress=TELEGRAM, message="hi")
    assert (refusal.value.code, refusal.value.attr) == ("unknown", "adress")
    with pytest.raises(errors.NotFound):
        memory.read_entry("01a207a1-547a-748d-ab38-0bc2fe90971e")
    with pytest.raises(errors.NotAuthenticated) as refusal:
        connect("mp_not_known", live_server.url).recall(scope="main", message="hi")
    assert "mp_not_known" not in str(refusal.value)


@pytest.mark.thorough
def test_words_of_python_times_and_odd_names_reach_the_platform(memory: Any) -> None:
    at = datetime.now(UTC) - timedelta(days=1)
    saved = memory.memory_save(address=GROUP, content="王芳 paints the boat: «Mîr»")
    read = memory.memory_get(address=GROUP, path=saved["path"], from_=saved["line"], lines=1)
    assert "王芳 paints the boat: «Mîr»" in read["text"] and read["from"] == saved["line"]
    taken = memory.take_turn(address=TELEGRAM, user="The boat is called Wren", assistant="Noted.", at=at)
    assert datetime.fromisoformat(memory.read_entry(taken["entries"][0]["id"])["created_at"]) == at
    assert list(memory.list_events(from_="2026-01-01", to="2026-01-31")) == []
    flushed = memory.flush_session(taken["session"]["id"], version=1, continue_="They paint a boat.")
    assert flushed["up_to"] == 2
    channel = memory.set_channel_rules("telegram", "my bot/é", label="Paint")
    assert memory.read_channel("telegram", "my bot/é")["id"] == channel["id"]
    with pytest.raises(errors.Invalid):
        memory.take_turn(address=TELEGRAM, user="half a character: \ud83d")


class Loses(httpx.HTTPTransport, httpx.AsyncHTTPTransport):
    """The network takes the request to the platform, and loses the first answer on its way back."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self._sync, self._async = httpx.HTTPTransport(), httpx.AsyncHTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._sync.handle_request(request)
        answer.read()
        return self._passed(request, answer)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._async.handle_async_request(request)
        await answer.aread()
        return self._passed(request, answer)

    def _passed(self, request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        self.sent.append(request.headers["Idempotency-Key"])
        if len(self.sent) == 1:
            raise httpx.ReadError("the line was cut", request=request)
        assert answer.headers["Idempotent-Replayed"] == "true"
        return answer

    def close(self) -> None:
        self._sync.close()

    async def aclose(self) -> None:
        await self._async.aclose()


@pytest.mark.thorough
def test_a_turn_whose_answer_was_lost_is_told_again_and_remembered_once(
    connect: Any, live_server: Any, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memplatform_client.retries.FIRST_PAUSE", 0.01)
    line = Loses()
    memory = connect(make_key(workspace), live_server.url, line)
    taken = memory.take_turn(address=TELEGRAM, user="My cat is called Rice", assistant="What a name.")
    assert len(line.sent) == 2 and len(set(line.sent)) == 1
    assert [str(uid) for uid in Entry.objects.values_list("uid", flat=True)] == [taken["entries"][0]["id"]]
    assert SessionEvent.objects.count() == 2


def test_a_client_closes_what_it_opened(live_server: Any, workspace: Workspace) -> None:
    key = make_key(workspace)
    with Client(key, live_server.url) as memory:
        assert memory.resolve_address(address=TELEGRAM)["user_scope"] == SCOPE
    with pytest.raises(RuntimeError, match="closed"):
        memory.resolve_address(address=TELEGRAM)

    async def at_once() -> list[str]:
        async with AsyncClient(key, live_server.url) as memory:
            peers = [memory.resolve_address(address=TELEGRAM | {"peer": f"u{n}", "chat": ""}) for n in range(5)]
            return [row["user_scope"] for row in await asyncio.gather(*peers)]

    assert asyncio.run(at_once()) == [f"telegram:direct_u{n}" for n in range(5)]


@pytest.mark.thorough
@pytest.mark.parametrize("page", ["clients/python/README.md", "docs/howto/python-client.md"])
def test_what_the_pages_show_runs_as_it_stands(
    live_server: Any, workspace: Workspace, page: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("MEMORY_URL", live_server.url)
    monkeypatch.setenv("MEMORY_KEY", make_key(workspace))
    code = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec("\n".join(code), names)  # noqa: S102 (our own pages)
    assert "I moved to Hangzhou" in capsys.readouterr().out
    if isinstance(memory := names.get("memory"), Client):
        memory.close()
