"""What the plugins for Python share: commands about one's own memory, and a bot that answers whatever memory does."""

import asyncio
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from channels_app.platforms import commands
from memories.models import Entry, Workspace
from sessions_app.models import SessionEvent
from tests.conftest import Api, make_key
from tests.plugins.copies import files
from tests.plugins.host import PLUGINS

SPECIFICATION = importlib.util.spec_from_file_location("plugin_memory", PLUGINS / "shared" / "memory.py")
assert SPECIFICATION and SPECIFICATION.loader
shared: Any = importlib.util.module_from_spec(SPECIFICATION)
sys.modules["plugin_memory"] = shared  # dataclasses look their module up
SPECIFICATION.loader.exec_module(shared)

DIRECT = {"platform": "qq", "account": "10001", "peer": "42", "chat": "direct_42"}
GROUP = DIRECT | {"chat": "700"}


def message(text: str, *, is_group: bool = False, **parts: str) -> Any:
    return shared.Message(**{**(GROUP if is_group else DIRECT), "text": text, "is_group": is_group, **parts})


class Plugin:
    """The memory of a plugin, whose answers are waited for, and what it logged."""

    def __init__(self, url: str, key: str, language: str, runner: asyncio.Runner) -> None:
        self.log: list[str] = []
        self.memory = shared.Memory(url, key, language, self.log.append)
        self.run = runner.run

    def ask(self, text: str, **parts: Any) -> str:
        """The answer to a command as it is typed."""
        name, _space, argument = text.removeprefix("/").partition(" ")
        return str(self.run(self.memory.command(name, argument, message(text, **parts))))

    def context(self, text: str, history: Any = None, **parts: Any) -> Any:
        return self.run(self.memory.context(message(text, **parts), history))

    def report(self, text: str, answer: str, **parts: Any) -> None:
        async def done() -> None:
            self.memory.report(message(text, **parts), answer)
            await asyncio.gather(*self.memory._reports)

        self.run(done())


@pytest.fixture
def connect() -> Iterator[Callable[..., Plugin]]:
    with asyncio.Runner() as runner:
        made: list[Plugin] = []

        def make(url: str, key: str = "mp_key", language: str = "") -> Plugin:
            made.append(Plugin(url, key, language, runner))
            return made[-1]

        yield make
        for plugin in made:
            runner.run(plugin.memory.close())


@pytest.fixture
def plugin(connect: Callable[..., Plugin], live_server: Any, workspace: Workspace) -> Plugin:
    return connect(live_server.url, make_key(workspace, permissions=["read", "write"]))


@pytest.fixture
def scripted(connect: Callable[..., Plugin]) -> Callable[..., tuple[Plugin, list[httpx.Request]]]:
    """A plugin whose platform answers by a script, the last of it for ever; and what it was asked."""

    def make(*script: Any) -> tuple[Plugin, list[httpx.Request]]:
        requests: list[httpx.Request] = []
        plugin = connect("http://memory.test")

        def answer(request: httpx.Request) -> httpx.Response:
            requests.append(request)
            planned = script[min(len(requests), len(script)) - 1]
            if isinstance(planned, Exception):
                raise planned
            return httpx.Response(planned[0], text=planned[1])

        plugin.memory._http = httpx.AsyncClient(
            base_url="http://memory.test/api/v1/", transport=httpx.MockTransport(answer)
        )
        return plugin, requests

    return make


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made; they take no time."""
    made: list[float] = []
    wait = asyncio.sleep

    async def sleep(seconds: float) -> None:
        made.append(seconds)
        await wait(0)

    monkeypatch.setattr(shared.asyncio, "sleep", sleep)
    return made


@pytest.mark.parametrize(("place", "content"), files().items(), ids=lambda value: getattr(value, "name", ""))
def test_a_file_of_a_plugin_is_what_it_is_made_from(place: Path, content: bytes) -> None:
    assert place.read_bytes() == content, "python -m tests.plugins copy"


def test_the_sentences_are_there_in_both_languages() -> None:
    english, chinese = shared.TEXTS.values()
    assert english.keys() == chinese.keys()
    assert all(english[name] != chinese[name] for name in english)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/memory", ("memory", "")),
        ("/记忆 猫", ("memory", "猫")),
        ("/改正 1 我住在杭州", ("correct", "1 我住在杭州")),
        ("/memoryless", None),
        ("What is /memory?", None),
    ],
)
def test_a_command_is_typed_as_on_platforms_of_our_own(typed: str, meant: tuple[str, str] | None) -> None:
    assert shared.command_of(typed) == meant
    ours = commands.read(typed)
    assert meant == (ours and (ours.name, ours.argument))


def test_a_plugin_takes_a_command_with_a_name_as_it_does_not_know_its_own() -> None:
    """A platform of our own knows its name and takes it away; a command with another's is not its."""
    assert shared.command_of("/forget@mem_bot 1") == ("forget", "1")
    assert commands.read("/forget@mem_bot 1") is None


# commands


@pytest.mark.django_db(transaction=True)
def test_a_person_sees_corrects_and_forgets_what_is_remembered_of_them(plugin: Plugin) -> None:
    assert plugin.ask("/memory") == "I know nothing about you yet."
    plugin.report("My cat is called Wren.", "A lovely name.", id="m1")
    seen = plugin.ask("/memory")
    assert "1. " in seen and "Wren" in seen
    assert "from what you said in a chat" in plugin.ask("/memory 1") or "a fact drawn" in plugin.ask("/memory 1")
    assert plugin.ask("/correct 1 My cat is called Robin.").endswith(" is now “My cat is called Robin.”.")
    assert plugin.ask("/correct 1") == "/correct 1 and then how it really is."
    assert plugin.ask("/forget 1") == "Forgotten: “My cat is called Robin.”"
    assert plugin.ask("/forget 1") == "There is no number 1 in the last list. /memory shows it."
    assert "Robin" not in plugin.ask("/memory")


@pytest.mark.django_db(transaction=True)
def test_a_number_is_what_the_person_saw_and_not_what_came_since(plugin: Plugin, workspace: Workspace) -> None:
    api = Api(make_key(workspace))
    first = api.post("entries", {"address": DIRECT, "content": "Likes tea."}).json()
    plugin.ask("/memory")
    api.post("entries", {"address": DIRECT, "content": "Plays the viola in an orchestra."})
    assert plugin.ask("/forget 1") == "Forgotten: “Likes tea.”"
    assert plugin.ask("/forget 2").startswith("There is no number 2")
    assert Entry.objects.get(uid=first["id"]).expired_at


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("command", ["/forget 1", "/correct 1 Likes coffee."])
def test_what_changed_since_it_was_seen_is_left_alone(plugin: Plugin, workspace: Workspace, command: str) -> None:
    api = Api(make_key(workspace))
    entry = api.post("entries", {"address": DIRECT, "content": "Likes tea."}).json()
    plugin.ask("/memory")
    change = api.request("PATCH", f"entries/{entry['id']}", json.dumps({"content": "Likes green tea."}))
    assert change.status_code == 200
    assert "has changed since" in plugin.ask(command)
    assert Entry.objects.get(uid=entry["id"]).content == "Likes green tea."


@pytest.mark.django_db(transaction=True)
def test_nobody_sees_or_changes_the_memory_of_another(plugin: Plugin) -> None:
    plugin.report("My cat is called Wren.", "A lovely name.", id="m1")
    plugin.ask("/memory")
    stranger = {"peer": "43", "chat": "direct_43"}
    assert plugin.ask("/memory", **stranger) == "I know nothing about you yet."
    assert plugin.ask("/forget 1", **stranger).startswith("There is no number 1")
    assert "Wren" in plugin.ask("/memory")


@pytest.mark.django_db(transaction=True)
def test_in_a_group_nothing_is_shown(plugin: Plugin) -> None:
    plugin.report("My cat is called Wren.", "A lovely name.", id="m1")
    for command in ("/memory", "/memory 1", "/forget 1"):
        assert "direct chat" in plugin.ask(command, is_group=True)
    assert "Wren" in plugin.ask("/memory")


@pytest.mark.django_db(transaction=True)
def test_a_secret_is_not_shown(plugin: Plugin, workspace: Workspace) -> None:
    api = Api(make_key(workspace))
    api.post("entries", {"address": DIRECT, "content": "Password: hunter2", "category": "credential"})
    assert "(a secret, not shown here)" in plugin.ask("/memory") and "hunter2" not in plugin.ask("/memory 1")


@pytest.mark.django_db(transaction=True)
def test_the_answer_is_in_the_language_of_the_person_or_the_one_that_is_set(
    plugin: Plugin, connect: Callable[..., Plugin], live_server: Any, workspace: Workspace
) -> None:
    plugin.report("我住在杭州。", "好的。", id="m1")
    assert plugin.ask("/memory").startswith("我记得关于你的这些：")
    english = connect(live_server.url, make_key(workspace), "en")
    assert english.ask("/memory").startswith("What I know about you:")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("typed", ["1\u3000我住在苏州。", "1\n我住在苏州。", "1\t 我住在苏州。"])
def test_after_a_number_comes_any_white_space(plugin: Plugin, typed: str) -> None:
    plugin.report("我住在杭州。", "好的。", id="m1")
    plugin.ask("/memory")
    assert plugin.ask(f"/correct {typed}").endswith("“我住在苏州。”。")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("zone", "day"), [("Asia/Shanghai", "2026-01-02"), ("America/New_York", "2026-01-01")])
def test_the_day_of_a_memory_is_that_of_the_place_of_the_bot(
    plugin: Plugin, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, zone: str, day: str
) -> None:
    entry = {"address": DIRECT, "content": "Likes tea.", "at": "2026-01-01T20:00:00Z"}
    assert Api(make_key(workspace)).post("entries", entry).status_code == 201
    plugin.ask("/memory")
    with monkeypatch.context() as there:
        there.setenv("TZ", zone)
        time.tzset()
        shown = plugin.ask("/memory 1")
    time.tzset()
    assert f"Remembered on {day}" in shown


# turns


@pytest.mark.django_db(transaction=True)
def test_a_long_message_is_asked_about_and_remembered_as_far_as_it_fits(plugin: Plugin) -> None:
    long = "字" * 30_000  # 90,000 bytes
    plugin.report(f"My cat is called Wren.\0\ud83d {long}", f"好的。\0{long}", id="m1", sender_name="Mei\0")
    assert plugin.log == []
    question, answer = SessionEvent.objects.order_by("position").values_list("content", flat=True)
    assert question.startswith("My cat is called Wren. 字") and answer.startswith("好的。字")
    history = [{"role": "user", "content": "Hello\0\ud83d"}]
    words = f"What is my cat called?\0\ud83d {'?' * 9_000}"
    assert "Wren" in plugin.context(words, history=history).text and plugin.log == []


@pytest.mark.django_db(transaction=True)
def test_a_message_that_is_reported_twice_is_remembered_once(plugin: Plugin, workspace: Workspace) -> None:
    for _delivery in range(2):
        plugin.report("My cat is called Wren.", "A lovely name.", id="m1")
    page = Api(make_key(workspace)).get("sessions").json()["results"]
    assert [session["tokens"] for session in page] and plugin.log == []
    events = Api(make_key(workspace)).get(f"sessions/{page[0]['key']}/events").json()["results"]
    assert [event["content"] for event in events] == ["My cat is called Wren.", "A lovely name."]


@pytest.mark.django_db(transaction=True)
def test_what_the_history_of_the_host_says_is_not_repeated(plugin: Plugin) -> None:
    plugin.report("My cat is called Wren.", "A lovely name.", id="m1")
    history = [
        {"role": "system", "content": "You are a bot."},
        {"role": "user", "content": [{"type": "text", "text": "My cat is called Wren."}, {"type": "image_url"}]},
        {"role": "assistant", "content": "A lovely name."},
    ]
    assert "Wren" in plugin.context("What is my cat called?", history=[]).text
    context = plugin.context("What is my cat called?", history=history)
    assert "Wren" not in context.text and context.history == []


@pytest.mark.parametrize(
    "failure", [httpx.ConnectError("no"), (500, "{}"), (200, "<html>"), (200, "[]"), (429, '{"errors": []}')]
)
def test_a_bot_answers_whatever_memory_does(scripted: Any, failure: Any) -> None:
    plugin, requests = scripted(failure)
    for _turn in range(3):
        assert plugin.context("Hello").text == ""
    assert len(requests) == 1, "it is not waited for again at once"
    assert len(plugin.log) == 1 and "answering without memory" in plugin.log[0]
    assert plugin.ask("/memory") == "My memory does not answer at the moment. Please try again later."


@pytest.mark.parametrize("status", [400, 401, 404, 409])
def test_a_message_that_is_refused_takes_memory_from_nobody_else(scripted: Any, status: int) -> None:
    plugin, requests = scripted((status, '{"errors": [{"code": "unknown"}]}'), (200, '{"text": "The boat is Wren."}'))
    assert plugin.context("你好", account="10002").text == ""
    assert plugin.context("Hello").text == "The boat is Wren." and len(requests) == 2
    assert len(plugin.log) == 1 and f"{status} unknown" in plugin.log[0]


def test_a_bot_waits_for_memory_two_seconds_at_most(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, _requests = scripted((200, "{}"))

    async def hang(*args: Any, **kwargs: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(plugin.memory._http, "request", hang)
    monkeypatch.setattr(shared, "WAIT", 0.05)
    assert plugin.context("Hello").text == "" and "TimeoutError" in plugin.log[0]


def test_a_report_that_nobody_took_is_sent_again_the_same(scripted: Any, pauses: list[float]) -> None:
    plugin, requests = scripted(httpx.ConnectError("no"), (503, '{"errors": [{"code": "x"}]}'), (201, "{}"))
    plugin.report("Hello", "Hi", id="m1")
    assert pauses == [0.0, 1.0, 4.0] and plugin.log == []
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 1
    assert json.loads(requests[0].content)["user"] == "Hello"


def test_a_report_that_is_refused_or_has_no_id_is_sent_once(scripted: Any, pauses: list[float]) -> None:
    for answer, parts in (((400, '{"errors": [{"code": "unknown"}]}'), {"id": "m1"}), (httpx.ConnectError("no"), {})):
        plugin, requests = scripted(answer)
        plugin.report("My secret word", "Hi", **parts)
        assert len(requests) == 1 and len(plugin.log) == 1
        assert "not remembered" in plugin.log[0] and "secret" not in plugin.log[0]
