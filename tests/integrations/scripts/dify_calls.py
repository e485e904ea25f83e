"""The plugin as Dify's daemon runs it: `main.py`, asked over its standard input and answering on its output."""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import httpx
from dify_plugin.core.entities.plugin.setup import PluginConfiguration
from dify_plugin.core.utils.yaml_loader import load_yaml_file
from dify_plugin.entities.tool import ToolProviderConfiguration
from trial import ADAPTER, DOWN, FACT, KEY, MODEL, NAME, QUESTION, URL, WRONG_KEY, done, entries, person, scenario

PLACE = Path(tempfile.mkdtemp(dir=os.environ["HOME"])) / "plugin"
shutil.copytree(ADAPTER, PLACE)
os.chdir(PLACE)
GOOD = {"url": URL, "key": KEY}


class Daemon:
    """What starts the plugin and asks it."""

    def __init__(self):
        self.log = []
        self.process = subprocess.Popen(
            [sys.executable, "main.py"],
            cwd=PLACE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": "", "INSTALL_METHOD": "local"},
        )
        self.rest = b""
        self.configuration = next(line for line in self.lines() if "plugins" in line)

    def lines(self, seconds=40):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not select.select([self.process.stdout], [], [], 1)[0]:
                continue
            *lines, self.rest = (self.rest + os.read(self.process.stdout.fileno(), 65_536)).split(b"\n")
            for line in lines:
                if line.startswith(b"{"):
                    yield json.loads(line)
        raise AssertionError("the plugin says nothing")

    def asked(self, who, data, conversation="", once=""):
        session = uuid.uuid4().hex
        asked = {"session_id": session, "conversation_id": conversation or None, "message_id": once or None}
        asked |= {"app_id": "app-1", "event": "request", "data": {"type": "tool", "user_id": who, **data}}
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        self.process.stdin.flush()
        answers = []
        for line in self.lines():
            if line["event"] == "log":
                self.log.append(line["data"]["message"])
            if line.get("session_id") != session:
                continue
            if line["data"]["type"] == "end":
                return answers
            if line["data"]["type"] == "error":
                raise ValueError(line["data"]["data"])
            answers.append(line["data"]["data"])
        raise AssertionError("the plugin ended")

    def tool(self, who, tool, conversation="", once="", credentials=None, **parameters):
        named = {"provider": "memplatform", "tool": tool, "credentials": credentials or GOOD}
        data = {"action": "invoke_tool", **named, "tool_parameters": parameters}
        answers = self.asked(who, data, conversation, once)
        texts = [one["message"]["text"] for one in answers if one["type"] == "text"]
        values = {
            one["message"]["variable_name"]: one["message"]["variable_value"]
            for one in answers
            if one["type"] == "variable"
        }
        return "\n".join(texts), values


daemon = Daemon()


def model(context, words):
    messages = [{"role": "system", "content": context}, {"role": "user", "content": words}]
    answer = httpx.post(f"{MODEL}/chat/completions", json={"model": "scripted", "messages": messages})
    return answer.json()["choices"][0]["message"]["content"]


def turn(who, conversation, words, credentials=None, once=""):
    """A chatflow: Recall, LLM, Remember."""
    at = {"conversation": conversation, "credentials": credentials, "once": once}
    context, values = daemon.tool(who, "recall", **at, message=words)
    answer = model(context, words)
    daemon.tool(who, "remember", **at, message=words, answer=answer, recall_id=values["recall_id"])
    return answer


@scenario("its manifest and tools are what dify_plugin takes")
def _():
    manifest = PluginConfiguration(**load_yaml_file("manifest.yaml"))
    assert daemon.configuration["name"] == manifest.name == "memplatform"
    provider = ToolProviderConfiguration(**load_yaml_file(manifest.plugins.tools[0]))
    assert [tool.identity.name for tool in provider.tools] == ["recall", "remember", "search", "save"]
    assert not any(name.name in ("person", "user", "user_id") for tool in provider.tools for name in tool.parameters)


@scenario("a fact of a first session in a second")
def _():
    who = person()
    turn(who, "c-1", FACT)
    assert NAME in turn(who, "c-2", QUESTION) and NAME in turn(who, "c-1", QUESTION)
    assert entries(scope=f"web:direct_{who}")


@scenario("another person does not get it")
def _():
    turn(person(), "c-1", FACT)
    assert turn(person(), "c-1", QUESTION) == "I do not know."


@scenario("memory away, and a key that is refused: the turn goes on, and the log says so")
def _():
    for credentials in ({"url": DOWN, "key": KEY}, {"url": URL, "key": WRONG_KEY}, {"url": "nowhere", "key": KEY}):
        daemon.log.clear()
        assert turn(person(), "c-1", QUESTION, credentials) == "I do not know."
        assert "away" in daemon.tool(person(), "search", credentials=credentials, words="boat")[0]
        assert len(daemon.log) == 3 and all("going on without memory" in line for line in daemon.log), daemon.log
        assert WRONG_KEY not in str(daemon.log)


@scenario("a message that Dify tries again is one turn")
def _():
    who = person()
    for _twice in range(2):
        turn(who, "c-1", FACT, once="m-1")
    turn(who, "c-1", QUESTION, once="m-2")
    assert len(entries(scope=f"web:direct_{who}")) == 2


@scenario("a model searches and saves, of nobody else")
def _():
    who = person()
    assert daemon.tool(who, "save", "c-1", sentence="Her boat is called Wren.")[1] == {"is_remembered": True}
    assert NAME in daemon.tool(who, "search", "c-2", words="boat")[0]
    assert daemon.tool(person(), "search", "c-1", words="boat")[0] == "Nothing is remembered of this."


@scenario("a key is checked when it is entered")
def _():
    for credentials, good in (
        (GOOD, True),
        ({"url": URL, "key": WRONG_KEY}, False),
        ({"url": DOWN, "key": KEY}, False),
    ):
        data = {"action": "validate_tool_credentials", "provider": "memplatform", "credentials": credentials}
        try:
            (answer,) = daemon.asked("x", data)
            assert good and answer["result"] is True, answer
        except ValueError as error:
            assert not good and "does not take them" in str(error) and WRONG_KEY not in str(error), error


daemon.process.kill()
done()
