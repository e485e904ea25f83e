"""Koishi with its adapter of OneBot v11, configured by its file, and started by its own command."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.clients.environments import Package
from tests.plugins.host import PLUGINS, Host, Place, program
from tests.plugins.onebot import BOT, WEBSOCKETS, OneBot, connected
from tests.support.house import free_port

ANSWERING = Path(__file__).parents[1] / "bots" / "answering_koishi.js"
START_SECONDS = 60


class Koishi(Host):
    """A bot with a plugin that asks a model, since Koishi has none."""

    name, plugin, platform = "Koishi", "koishi", "OneBot v11 (QQ)"
    package = Package(
        "koishi",
        "4.18.11",
        npm=True,
        more=("koishi-plugin-adapter-onebot@6.9.4", "@koishijs/plugin-server@3.2.9", "@koishijs/plugin-http@0.6.3"),
    )

    @property
    def packages(self) -> tuple[Package, ...]:
        return (self.package, WEBSOCKETS)

    @contextmanager
    def running(self, place: Place) -> Iterator[OneBot]:
        port, modules = free_port(), self.package.folder / "node_modules"
        own = place.home / "node_modules"
        shutil.copytree(PLUGINS / self.plugin, own / "koishi-plugin-memplatform")
        (own / "koishi-plugin-answering").mkdir()
        shutil.copy(ANSWERING, own / "koishi-plugin-answering" / "index.js")
        (place.home / "package.json").write_text("{}")
        (place.home / "koishi.yml").write_text(json.dumps(configuration(place, port)))
        environment = {"NODE_PATH": f"{modules}:{own}", "MODEL_URL": place.model}
        command = ["node", str(modules / "koishi" / "bin.js"), "start"]
        with program(command, place, **environment), connected(f"ws://127.0.0.1:{port}/onebot", START_SECONDS) as chat:
            yield chat


def configuration(place: Place, port: int) -> dict[str, object]:
    """What an owner writes (JSON is YAML)."""
    return {
        "prefix": ["/"],
        "plugins": {
            "http": {},
            "server": {"host": "127.0.0.1", "port": port},
            "adapter-onebot": {"protocol": "ws-reverse", "selfId": str(BOT), "path": "/onebot"},
            "memplatform": {"url": place.memory, "key": place.key},
            "answering": {},
        },
    }
