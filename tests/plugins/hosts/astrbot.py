"""AstrBot with its adapter of OneBot v11, configured as its dashboard writes it, and started by its own command."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.clients.environments import Package
from tests.plugins.host import PLUGINS, Host, Place, program
from tests.plugins.onebot import WEBSOCKETS, OneBot, connected
from tests.support.house import free_port

NAME = "astrbot_plugin_memplatform"
START_SECONDS = 120


def interpreter(version: str) -> str:
    """A Python of this version; empty where there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [sys.executable, shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}*/bin/python"))]
    for place in filter(None, places):
        asked = [str(place), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        answer = subprocess.run(asked, capture_output=True, text=True)
        if answer.stdout.strip() == version:
            return str(place)
    return ""


class AstrBot(Host):
    """The bot of most of our users."""

    name, plugin, platform = "AstrBot", "astrbot", "OneBot v11 (QQ)"
    package = Package("AstrBot", "4.29.3", python=interpreter("3.12"))

    @property
    def packages(self) -> tuple[Package, ...]:
        return (self.package, WEBSOCKETS)

    @contextmanager
    def running(self, place: Place) -> Iterator[OneBot]:
        port, data = free_port(), place.home / "data"
        shutil.copytree(PLUGINS / self.plugin, data / "plugins" / NAME)
        (data / "config").mkdir()
        (data / "temp").mkdir()
        (place.home / ".astrbot").touch()
        settings = {"url": place.memory, "key": place.key, "language": ""}
        (data / "config" / f"{NAME}_config.json").write_text(json.dumps(settings))
        (data / "cmd_config.json").write_text(json.dumps(configuration(place.model, port)))
        environment = {
            "PYTHONPATH": str(self.package.folder),
            "ASTRBOT_ROOT": str(place.home),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [self.package.python, "-m", "astrbot.cli", "run"]
        with program(command, place, **environment), connected(f"ws://127.0.0.1:{port}/ws", START_SECONDS) as chat:
            yield chat


def configuration(model: str, port: int) -> dict[str, object]:
    """What differs from AstrBot's defaults."""
    source = {"id": "scripted", "provider": "openai", "type": "openai_chat_completion", "enable": True}
    source |= {"provider_type": "chat_completion", "key": ["none"], "api_base": model, "timeout": 30}
    platform = {"id": "qq", "type": "aiocqhttp", "enable": True, "ws_reverse_host": "127.0.0.1"}
    return {
        "config_version": 5,
        "provider_sources": [source],
        "provider": [{"id": "scripted/chat", "provider_source_id": "scripted", "model": "scripted", "enable": True}],
        "agent_runner": {"runner_type": "local", "config": {"model": {"provider_id": "scripted/chat"}}},
        "platform": [{**platform, "ws_reverse_port": port, "ws_reverse_token": ""}],
        "platform_settings": {"enable_id_white_list": False},
        "dashboard": {"enable": False},
        "disable_metrics": True,
        "log_level": "INFO",
    }
