"""OpenClaw's gateway with its own Telegram channel, configured by its file."""

import json
import platform as machine
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.clients.environments import Package
from tests.plugins.host import PLUGINS, Host, Place, program
from tests.plugins.telegram import GROUP_CHAT, TOKEN, Telegram, telegram
from tests.support.house import free_port

PLUGIN = "openclaw-memplatform"
ARCHITECTURE = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(machine.machine(), "x64")
START_SECONDS = 240


class OpenClaw(Host):
    """Its gateway, with Node as it needs it."""

    name, plugin, platform = "OpenClaw", "openclaw", "Telegram"
    has_tools = True
    package = Package("openclaw", "2026.9.6", npm=True)
    node = Package(f"node-{sys.platform}-{ARCHITECTURE}", "24.21.0", npm=True)

    @property
    def packages(self) -> tuple[Package, ...]:
        return (self.package, self.node)

    @contextmanager
    def running(self, place: Place) -> Iterator[Telegram]:
        plugin, state = place.home / PLUGIN, place.home / ".openclaw"
        shutil.copytree(PLUGINS / self.plugin, plugin)
        state.mkdir()
        programs = self.node.folder / "node_modules" / self.node.name / "bin"
        command = [str(programs / "node"), str(self.package.folder / "node_modules" / "openclaw" / "openclaw.mjs")]
        with telegram() as chat:
            (state / "openclaw.json").write_text(json.dumps(configuration(place, chat.url, str(plugin))))
            with program(
                [*command, "gateway", "run"], place, PATH=f"{programs}:/usr/bin:/bin", OPENCLAW_NO_RESPAWN="1"
            ):
                if not chat.is_polled.wait(START_SECONDS):
                    raise OSError("it does not ask Telegram for messages")
                yield chat


def configuration(place: Place, telegram: str, plugin: str) -> dict[str, object]:
    """What an owner writes."""
    model = {"id": "scripted", "name": "scripted", "reasoning": False, "input": ["text"], "contextWindow": 128_000}
    model |= {"maxTokens": 4_000, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    provider = {"baseUrl": place.model, "apiKey": "none", "api": "openai-completions", "models": [model]}
    channel = {"enabled": True, "botToken": TOKEN, "apiRoot": telegram, "streaming": {"mode": "off"}}
    channel |= {"dmPolicy": "open", "allowFrom": ["*"], "groupPolicy": "open"}
    channel |= {
        "groups": {str(GROUP_CHAT["id"]): {"requireMention": True}},
        "network": {"dangerouslyAllowPrivateNetwork": True},
    }
    settings = {"url": place.memory, "key": place.key}
    return {
        "gateway": {
            "mode": "local",
            "port": free_port(),
            "bind": "loopback",
            "auth": {"mode": "token", "token": "x" * 32},
        },
        "agents": {
            "defaults": {
                "workspace": str(place.home / "workspace"),
                "skipBootstrap": True,
                "model": {"primary": "scripted/scripted"},
                "heartbeat": {"every": "0m"},
            }
        },
        "session": {"dmScope": "per-channel-peer"},
        "tools": {"toolSearch": False},  # each tool by its name, as the scripted model calls it
        "models": {"mode": "merge", "providers": {"scripted": provider}},
        "channels": {"telegram": channel},
        "plugins": {
            "load": {"paths": [plugin]},
            "slots": {"memory": PLUGIN},
            "entries": {PLUGIN: {"enabled": True, "config": settings, "hooks": {"allowConversationAccess": True}}},
        },
    }
