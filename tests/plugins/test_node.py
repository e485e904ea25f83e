"""What the plugins for Node share, as test_memory.py has it of those for Python, against the running platform."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from memories.models import Workspace
from sessions_app.models import SessionEvent
from tests.conftest import Api, make_key
from tests.plugins.host import PLUGINS
from tests.plugins.test_memory import DIRECT

#: Runs steps with one memory, and prints what they give and what was logged.
PROGRAM = """
import { Memory } from "%(module)s";
const log = [];
const memory = new Memory(process.env.MEMORY_URL, process.env.MEMORY_KEY, "", (line) => log.push(line));
const from = (text, more = {}) => ({ ...%(address)s, isGroup: false, text, ...more });
const given = [];
%(steps)s
console.log(JSON.stringify({ given, log }));
"""
Node = Callable[..., dict[str, list[Any]]]


@pytest.fixture
def node(live_server: Any, workspace: Workspace) -> Node:
    if not shutil.which("node"):
        pytest.skip("needs Node")
    settings = {"MEMORY_URL": live_server.url, "MEMORY_KEY": make_key(workspace, permissions=["read", "write"])}

    def run(*steps: str, zone: str = "UTC") -> dict[str, list[Any]]:
        module = (PLUGINS / "shared" / "memory.js").as_uri()
        program = PROGRAM % {"module": module, "address": json.dumps(DIRECT), "steps": "\n".join(steps)}
        command = ["node", "--no-warnings", "--input-type=module", "-e", program]
        environment = {"PATH": os.environ["PATH"], "TZ": zone, **settings}
        ran = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=60)
        assert ran.returncode == 0, ran.stderr
        return dict(json.loads(ran.stdout))

    return run


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(("status", "times"), [(400, 2), (401, 2), (429, 1), (503, 1), (0, 1)])
def test_a_message_that_is_refused_takes_memory_from_nobody_else(node: Node, status: int, times: int) -> None:
    answer = f'new Response(JSON.stringify({{ errors: [{{ code: "x" }}] }}), {{ status: {status} }})'
    done = node(
        "let asked = 0;",
        f"globalThis.fetch = async () => {{ asked += 1; {f'return {answer}' if status else 'throw new Error()'}; }};",
        'await memory.context(from("你好")); await memory.context(from("Hello")); given.push(asked);',
    )
    assert done["given"] == [times] and len(done["log"]) == 1


def test_a_long_message_is_asked_about_and_remembered_as_far_as_it_fits(node: Node) -> None:
    done = node(
        'const long = "字".repeat(30_000);',
        'const mei = { id: "m1", senderName: "Mei\\0" };',
        "await memory.report(from(`My cat is called Wren.\\0\\ud83d ${long}`, mei), `好的。\\0${long}`);",
        'const history = [{ role: "user", content: "Hello\\0\\ud83d" }];',
        'const asked = from(`What is my cat called?\\0\\ud83d ${"?".repeat(9_000)}`);',
        "given.push((await memory.context(asked, history)).text);",
    )
    assert done["log"] == [] and "Wren" in done["given"][0]
    question, answer = SessionEvent.objects.order_by("position").values_list("content", flat=True)
    assert question.startswith("My cat is called Wren. 字") and answer.startswith("好的。字")


@pytest.mark.parametrize(("zone", "day"), [("Asia/Shanghai", "2026-01-02"), ("America/New_York", "2026-01-01")])
def test_the_day_of_a_memory_is_that_of_the_place_of_the_bot(
    node: Node, workspace: Workspace, zone: str, day: str
) -> None:
    entry = {"address": DIRECT, "content": "Likes tea.", "at": "2026-01-01T20:00:00Z"}
    assert Api(make_key(workspace)).post("entries", entry).status_code == 201
    steps = (f"given.push(await memory.command(from({json.dumps(typed)})));" for typed in ("/memory", "/memory 1"))
    assert f"Remembered on {day}" in node(*steps, zone=zone)["given"][1]


@pytest.mark.parametrize("typed", ["1\u3000我住在苏州。", "1\n我住在苏州。"])
def test_after_a_number_comes_any_white_space(node: Node, workspace: Workspace, typed: str) -> None:
    Api(make_key(workspace)).post("entries", {"address": DIRECT, "content": "我住在杭州。"})
    commands = ("/memory", f"/更正 {typed}")
    steps = (f"given.push(await memory.command(from({json.dumps(words)})));" for words in commands)
    assert node(*steps)["given"][1].endswith("“我住在苏州。”。")
