"""The example bots, each with the platform it is for as a scripted server, against the running memory."""

import importlib
import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memories.models import Entry, Workspace
from sessions_app.models import SessionEvent
from tests import ROOT
from tests.conftest import make_key
from tests.memories.llm.fake_server import FakeModel, Reply

ME = {"id": 7, "username": "mybot", "first_name": "Bot"}
MEI = {"id": 42, "first_name": "Mei"}
CLOSED = "My bakery is closed on Mondays."
WHEN = "On which day is my bakery closed?"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def example(live_server: Any, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """A program of examples/, imported anew with these variables."""

    def load(name: str, **variables: str) -> Any:
        data = {"MEMORY_URL": live_server.url, "MEMORY_KEY": make_key(workspace), "MODEL_URL": ""}
        for variable, value in (data | variables).items():
            monkeypatch.setenv(variable, value)
        return importlib.import_module(name)

    monkeypatch.syspath_prepend(ROOT / "examples")
    yield load
    for name in ("answering", "terminal_bot", "telegram_bot", "lark_bot"):
        sys.modules.pop(name, None)


def talk(bot: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any, *lines: str, arguments: tuple[str, ...] = ()) -> str:
    monkeypatch.setattr(sys, "argv", ["terminal_bot.py", *arguments])
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    bot.main()
    return str(capsys.readouterr().out)


@pytest.mark.thorough
def test_the_terminal_bot_remembers_over_a_restart(example: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    bot = example("terminal_bot")
    assert "Noted." in talk(bot, monkeypatch, capsys, CLOSED, "", "/reset", arguments=("--echo",))
    assert CLOSED in talk(bot, monkeypatch, capsys, WHEN, arguments=("--echo",))
    with pytest.raises(SystemExit):
        talk(bot, monkeypatch, capsys)  # neither a model nor --echo


@pytest.mark.thorough
def test_the_terminal_bot_gives_its_model_what_memory_knows(
    example: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    with FakeModel(Reply("Noted."), Reply("On Mondays."), Reply(status=500), Reply("Still on Mondays.")) as model:
        bot = example("terminal_bot", MODEL_URL=model.url)
        result = talk(bot, monkeypatch, capsys, CLOSED, WHEN, "Really?", WHEN)
    assert "> On Mondays.\n> (Server error '500" in result and "Still on Mondays." in result
    assert model.requests[1].texts[1:] == [CLOSED, "Noted.", WHEN]


def message(number: int, text: str, chat: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    data = {"message_id": 100 + number, "from": MEI, "chat": chat or {"id": 42, "type": "private"}, "text": text}
    return {"update_id": number, "message": data | more}


class Telegram:
    """Gives out batches of updates, fails once, and at last says that the token was revoked."""

    def __init__(self, server: HTTPServer, *batches: Any) -> None:
        self.batches, self.sent, self.offsets = list(batches), [], []
        for method in ("getMe", "getUpdates", "sendMessage"):
            answer = getattr(self, method)
            server.expect_request(f"/bot1:token/{method}", method="POST").respond_with_handler(answer)

    def getMe(self, _request: Request) -> Response:
        return self._reply(ME)

    def getUpdates(self, request: Request) -> Response:
        self.offsets.append(request.json["offset"])
        if not self.batches:
            return self._refused(401, "Unauthorized")
        batch = self.batches.pop(0)
        return batch if isinstance(batch, Response) else self._reply(batch)

    def sendMessage(self, request: Request) -> Response:
        if request.json["chat_id"] == 13:
            return self._refused(403, "Forbidden: bot was blocked by the user")
        self.sent.append(request.json)
        return self._reply({"message_id": 1})

    @staticmethod
    def _reply(result: Any) -> Response:
        return Response(json.dumps({"ok": True, "result": result}), content_type="application/json")

    @staticmethod
    def _refused(code: int, words: str) -> Response:
        data = {"ok": False, "error_code": code, "description": words}
        return Response(json.dumps(data), status=code, content_type="application/json")


@pytest.mark.thorough
def test_the_telegram_bot_answers_who_speaks_to_it_and_hears_the_rest(
    example: Any, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = {"id": -1001, "type": "supergroup", "title": "Boat"}
    blocked = message(2, "hello?", {"id": 13, "type": "private"}) | {}
    blocked["message"]["from"] = {"id": 13, "first_name": "Al"}
    telegram = Telegram(
        httpserver,
        [message(1, CLOSED), {"update_id": 2, "message": {"message_id": 3, "sticker": {}}}, blocked | {"update_id": 3}],
        Response("<p>Bad gateway</p>", status=502),
        [message(1, CLOSED), message(4, WHEN)],  # the first again
        [message(5, "We paint on Saturday", group), message(6, "@mybot what is my name?", group)],
    )
    bot = example("telegram_bot", TELEGRAM_TOKEN="1:token", TELEGRAM_API_URL=httpserver.url_for("").rstrip("/"))
    monkeypatch.setattr(bot.time, "sleep", lambda _seconds: None)
    with pytest.raises(SystemExit, match="Unauthorized"):
        bot.main()
    assert telegram.offsets == [1, 4, 4, 5, 7]
    first, again, found, grouped = telegram.sent
    assert (first["chat_id"], first["text"]) == (42, "Noted.")
    assert again["reply_parameters"] == first["reply_parameters"] == {"message_id": 101}
    assert CLOSED in found["text"] and grouped["chat_id"] == -1001
    assert Entry.objects.filter(content__startswith=f"User: {CLOSED}", scope__key="telegram:direct_42").count() == 1
    assert [event.content for event in SessionEvent.objects.filter(kind="ambient")] == ["We paint on Saturday"]


@pytest.fixture
def lark(example: Any, httpserver: HTTPServer) -> Iterator[str]:
    """The bot's own address, where Lark sends its events."""
    token = {"code": 0, "msg": "ok", "tenant_access_token": "t-1", "expire": 7200}
    data = {"app_id": "cli_1", "app_secret": "s"}
    httpserver.expect_request("/open-apis/auth/v3/tenant_access_token/internal", json=data).respond_with_json(token)
    body = {"LARK_APP_ID": "cli_1", "LARK_APP_SECRET": "s", "LARK_VERIFICATION_TOKEN": "v", "LARK_PORT": "0"}
    bot = example("lark_bot", LARK_API_URL=httpserver.url_for("").rstrip("/"), **body)
    with bot.memory_of_environment() as memory, bot.server(memory) as server:
        listening = threading.Thread(target=server.serve_forever, args=(0.02,))
        listening.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        listening.join()


def event(number: int, text: str, *, signed: str = "v", chat: str = "p2p", **more: Any) -> dict[str, Any]:
    """As Lark sends it, in version 2.0."""
    data = {"message_id": f"om_{number}", "chat_id": f"oc_{chat}", "chat_type": chat, "message_type": "text"}
    data |= {"content": json.dumps({"text": text}), **more}
    sender = {"sender_id": {"open_id": "ou_42", "union_id": "on_42"}, "sender_type": "user", "tenant_key": "k"}
    header = {"event_id": f"e{number}", "token": signed, "event_type": "im.message.receive_v1", "app_id": "cli_1"}
    return {"schema": "2.0", "header": header, "event": {"sender": sender, "message": data}}


@pytest.mark.thorough
def test_the_lark_bot_answers_each_message_once_and_remembers(lark: str, httpserver: HTTPServer) -> None:
    replies: list[dict[str, Any]] = []
    done = threading.Semaphore(0)

    def take(request: Request) -> Response:
        assert request.headers["Authorization"] == "Bearer t-1"
        replies.append({"to": request.path.split("/")[5]} | request.json)
        done.release()
        return Response('{"code": 0, "msg": "success", "data": {}}', content_type="application/json")

    for number in (1, 2, 3):
        httpserver.expect_request(f"/open-apis/im/v1/messages/om_{number}/reply").respond_with_handler(take)
    challenge = {"type": "url_verification", "challenge": "c-1", "token": "v"}
    assert httpx.post(lark, json=challenge).json() == {"challenge": "c-1"}
    assert httpx.post(lark, json=event(1, CLOSED, signed="forged")).status_code == 403
    mentions = [{"key": "@_user_1", "id": {"open_id": "ou_7"}, "name": "Bot"}]
    results = [event(1, CLOSED), event(1, CLOSED), event(2, WHEN)]
    for one in [*results, event(3, "@_user_1 what do we do?", chat="group", mentions=mentions)]:
        assert httpx.post(lark, json=one).status_code == 200
        assert done.acquire(timeout=10)
    assert (
        [reply["to"] for reply in replies] == [reply["uuid"] for reply in replies] == ["om_1", "om_1", "om_2", "om_3"]
    )
    assert json.loads(replies[0]["content"]) == {"text": "Noted."}
    assert CLOSED in json.loads(replies[2]["content"])["text"]
    assert Entry.objects.filter(content__startswith=f"User: {CLOSED}", scope__key="lark:direct_ou_42").count() == 1
    assert SessionEvent.objects.filter(content="@Bot what do we do?").exists()


@pytest.mark.parametrize("bot", ["terminal_bot", "telegram_bot", "lark_bot"])
def test_a_bot_is_short_enough_to_read(bot: str) -> None:
    assert len((ROOT / "examples" / f"{bot}.py").read_text().splitlines()) < 80
