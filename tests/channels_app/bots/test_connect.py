"""A bot is connected on one page: a name, and then its key, its code, and what arrives of it."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from channels_app.bots.code import FIRST_QUESTION, FIRST_WORDS, LANGUAGES, Connected
from channels_app.models import Channel
from memories.audit.models import AuditEvent, AuditRecord
from memories.models import Bot, BotKey, Workspace
from memories.staff.roles import Role
from tests.conftest import Api
from tests.memories.admin.conftest import enter, make_user

PAGE = "/admin/connect-a-bot/"


@pytest.fixture
def owner(workspace: Workspace) -> Client:
    return enter(make_user("owner", is_staff=True, workspace=workspace))


def connect(owner: Client, workspace: Workspace, **more: Any) -> Any:
    form = {"workspace": workspace.pk, "name": "shop bot", "channel": "telegram", "language": "python", **more}
    return owner.post(PAGE, form)


def text_of(page: Any, name: str) -> str:
    found = re.search(rf'<pre[^>]*id="text-{name}"[^>]*>(.*?)</pre>', page.content.decode(), re.DOTALL)
    assert found
    return unescape(found[1])


def body_of(command: str) -> dict[str, Any]:
    words = shlex.split(command)
    answer: dict[str, Any] = json.loads(words[words.index("-d") + 1])
    return answer


def steps(owner: Client, page: Any) -> tuple[int, list[bool], str]:
    address = re.search(r'hx-get="([^"]+)"', page.content.decode())
    assert address
    answer = owner.get(address[1])
    return answer.status_code, [step.is_done for step in answer.context["steps"]], answer.content.decode()


@pytest.mark.django_db
def test_a_name_is_enough_for_a_key_a_channel_and_code_with_both(owner: Client, workspace: Workspace) -> None:
    assert 'type="hidden" name="workspace"' in owner.get(PAGE).content.decode()  # the only one is not asked for
    page = connect(owner, workspace, language="javascript")
    bot = Bot.objects.get(workspace=workspace)
    token = text_of(page, "key")
    key = BotKey.objects.admit(token, timezone.now())
    assert (bot.name, key and key.permissions) == ("shop bot", ["read", "write"])
    assert Channel.objects.filter(workspace=workspace, platform="telegram", account="shop bot").exists()
    for name in ("turn", "question", *LANGUAGES):
        text = text_of(page, name)
        assert token in text and '"telegram"' in text and '"shop bot"' in text and "http://testserver" in text, name
    assert re.search(r"<details[^>]* open>\s*<summary><span>JavaScript", page.content.decode())
    assert page.headers["Cache-Control"].count("no-store") == 1
    noted = AuditRecord.objects.filter(event=AuditEvent.KEY_ISSUED).get()
    assert token not in json.dumps(noted.details) and noted.about == "shop bot"
    assert token not in owner.get(PAGE).content.decode()


@pytest.mark.django_db
def test_what_arrives_appears_step_by_step_and_then_the_page_asks_no_more(owner: Client, workspace: Workspace) -> None:
    page = connect(owner, workspace)
    assert steps(owner, page)[:2] == (200, [False] * 4)
    api = Api(text_of(page, "key"))
    assert api.post("turns", body_of(text_of(page, "turn"))).status_code == 201
    status, done, text = steps(owner, page)
    assert (status, done) == (200, [True, True, True, False]) and str(FIRST_WORDS) in unescape(text)
    assert api.post("recall", body_of(text_of(page, "question"))).json()["memories"]
    status, done, text = steps(owner, page)
    assert (status, done) == (286, [True] * 4) and str(FIRST_QUESTION) in unescape(text)
    with CaptureQueriesContext(
        connection,
    ) as few:
        steps(owner, page)
    assert len(few) <= 20


@pytest.mark.django_db
def test_a_second_bot_that_is_told_the_same_words_sees_them_remembered(owner: Client, workspace: Workspace) -> None:
    for name in ("shop bot", "night bot"):
        page = connect(owner, workspace, name=name)
        Api(text_of(page, "key")).post("turns", body_of(text_of(page, "turn")))
        assert steps(owner, page)[1] == [True, True, True, False], name


@pytest.mark.django_db
def test_the_code_speaks_the_language_of_the_page(owner: Client, workspace: Workspace) -> None:
    owner.cookies["django_language"] = "zh-hans"
    page = connect(owner, workspace, name="客服机器人")
    for name in ("turn", "python", "javascript"):
        assert "我的小狗叫豆豆。" in text_of(page, name) and '"客服机器人"' in text_of(page, name)


@pytest.mark.django_db
def test_who_connects_again_sees_what_arrives_from_then_on(owner: Client, workspace: Workspace) -> None:
    first = connect(owner, workspace)
    assert Api(text_of(first, "key")).post("turns", body_of(text_of(first, "turn"))).status_code == 201
    second = connect(owner, workspace)
    assert Bot.objects.get(workspace=workspace).keys.count() == 2
    assert steps(owner, second)[1] == [False] * 4 and steps(owner, first)[1] == [True, True, True, False]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "words"),
    [("", "This field is required."), ("Shop Bot", "another spelling would begin another memory"), ("off", "disabled")],
)
def test_what_is_wrong_is_said_at_the_name_and_nothing_is_made(
    owner: Client, workspace: Workspace, name: str, words: str
) -> None:
    Channel.objects.create(workspace=workspace, platform="telegram", account="shop bot")
    Bot.objects.create(workspace=workspace, name="off", disabled_at=timezone.now())
    page = connect(owner, workspace, name=name)
    assert words in page.content.decode() and "text-key" not in page.content.decode()
    assert not BotKey.objects.exists() and Bot.objects.count() == 1


@pytest.mark.django_db
def test_a_bot_is_connected_by_those_who_may_give_keys_and_where_they_may(owner: Client, workspace: Workspace) -> None:
    operator = enter(make_user("op", is_staff=True, workspace=workspace, role=Role.OPERATOR))
    elsewhere = Workspace.objects.create(name="Elsewhere")
    assert operator.get(PAGE).status_code == 403 and connect(operator, workspace).status_code == 403
    assert "text-key" not in connect(owner, elsewhere).content.decode()
    page = connect(owner, workspace)
    stranger = enter(make_user("stranger", is_staff=True, workspace=elsewhere))
    address = re.search(r'hx-get="([^"]+)"', page.content.decode())
    assert address and stranger.get(address[1]).status_code == 404
    mixed = reverse("connect_bot_status", args=[1, 2**62, 0])
    assert owner.get(mixed).status_code == 404


@pytest.mark.parametrize("program", [sys.executable, "node"])
def test_the_programs_that_need_nothing_to_install_run_and_are_answered(
    program: str, transactional_db: Any, live_server: Any, tmp_path: Path
) -> None:
    if not shutil.which(program):
        pytest.skip("This test needs Node, which makes nothing of the platform.")
    workspace = Workspace.objects.create(name="Bakery")
    _key, token = BotKey.issue(Bot.objects.create(workspace=workspace, name="b"), permissions=["read", "write"])
    language = "javascript" if program == "node" else "python"
    code = Connected(live_server.url, token, "telegram", 'it\'s "mine" \\ 我的').program(language)
    file = tmp_path / ("bot.mjs" if program == "node" else "bot.py")
    file.write_text(code)
    ran = subprocess.run([program, file], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0 and "My dog is called Biscuit." in ran.stdout, ran.stderr
    assert 15 <= len(code.splitlines()) <= 35
    assert Channel.objects.get().account == 'it\'s "mine" \\ 我的'


def test_the_programs_for_the_clients_compile() -> None:
    code = Connected("http://h", "mp_x", "telegram", 'a"b')
    compile(code.program("python-client"), "bot.py", "exec")
    assert '"a\\"b"' in code.program("typescript") and "takeTurn" in code.program("typescript")
    curl, _question = code.commands()
    assert shlex.split(curl)[2] == "http://h/api/v1/turns"
