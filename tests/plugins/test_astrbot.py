"""The plugin for AstrBot by itself, with a stand-in for what it imports of its host."""

import asyncio
import importlib.util
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.plugins.host import PLUGINS


class Anything(ModuleType):
    """A module that has every name, each of which is a class."""

    def __getattr__(self, name: str) -> Any:
        return type(name, (), {"__init__": lambda self, *args: None, "warning": lambda *args: None})


class Decorators:
    """`filter` of AstrBot."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: lambda function: function


class Asked:
    """A memory that notes what it is asked."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    async def context(self, message: Any, history: Any) -> Any:
        self.calls.append(message.text)
        return SimpleNamespace(text="", recall_id=None)

    async def command(self, name: str, argument: str, message: Any) -> str:
        self.calls.append((name, argument))
        return ""


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plugin, whose memory is a note of what it is asked."""
    names = ("api", "api.event", "api.provider", "api.star", "core", "core.agent", "core.agent.message")
    for name in ("astrbot", *(f"astrbot.{name}" for name in names)):
        monkeypatch.setitem(sys.modules, name, Anything(name))
    monkeypatch.setattr(sys.modules["astrbot.api.event"], "filter", Decorators(), raising=False)
    folder = PLUGINS / "astrbot"
    package = ModuleType("plugin_of_astrbot")
    package.__path__ = [str(folder)]
    monkeypatch.setitem(sys.modules, package.__name__, package)
    for name in ("memory", "main"):
        whole = f"{package.__name__}.{name}"
        specification = importlib.util.spec_from_file_location(whole, folder / f"{name}.py")
        assert specification and specification.loader
        monkeypatch.setitem(sys.modules, whole, importlib.util.module_from_spec(specification))
        specification.loader.exec_module(sys.modules[whole])
    made = sys.modules[f"{package.__name__}.main"].Memplatform(None, {"key": ""})
    made.memory = Asked()
    return made


def event(text: str, sender: str = "42") -> Any:
    """A message as AstrBot hands it to a plugin."""
    return SimpleNamespace(
        message_str=text,
        session_id="s-1",
        message_obj=SimpleNamespace(message_id="m-1"),
        get_platform_name=lambda: "aiocqhttp",
        get_platform_id=lambda: "p-1",
        get_self_id=lambda: "10001",
        get_sender_id=lambda: sender,
        get_sender_name=lambda: "Mei",
        get_group_id=lambda: "",
        is_private_chat=lambda: True,
        set_extra=lambda *_pair: None,
        stop_event=lambda: None,
        plain_result=lambda answer: answer,
    )


def test_nothing_is_asked_for_a_message_of_nobody(plugin: Any) -> None:
    request = SimpleNamespace(contexts=[], extra_user_content_parts=[])
    asyncio.run(plugin.remember(event("Good morning!", sender=""), request))
    assert plugin.memory.calls == []
    asyncio.run(plugin.remember(event("你好"), request))
    assert plugin.memory.calls == ["你好"]


@pytest.mark.parametrize("gap", [" ", "\u3000", "\n", " \n "])
def test_after_a_command_comes_any_white_space(plugin: Any, gap: str) -> None:
    asyncio.run(plugin._answer("correct", event(f"更正{gap}1{gap}我住在苏州。")))
    assert plugin.memory.calls == [("correct", f"1{gap}我住在苏州。")]
