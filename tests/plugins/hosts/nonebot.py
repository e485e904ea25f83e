"""NoneBot 2 with its FastAPI driver and the adapter of OneBot v11."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.clients.environments import Package
from tests.plugins.host import PLUGINS, Host, Place, program
from tests.plugins.onebot import WEBSOCKETS, OneBot, connected
from tests.support.house import free_port

BOT = Path(__file__).parents[1] / "bots" / "answering_nonebot.py"
START_SECONDS = 20


class NoneBot(Host):
    """A bot with a model of its own, since NoneBot has none."""

    name, plugin, platform = "NoneBot 2", "nonebot", "OneBot v11 (QQ)"
    package = Package(
        "nonebot2",
        "2.5.0",
        more=("nonebot2[fastapi]==2.5.0", "nonebot-adapter-onebot==2.4.6", "nonebot-plugin-uninfo==0.11.2", "httpx"),
    )

    @property
    def packages(self) -> tuple[Package, ...]:
        return (self.package, WEBSOCKETS)

    @contextmanager
    def running(self, place: Place) -> Iterator[OneBot]:
        port = free_port()
        shutil.copytree(PLUGINS / "nonebot", place.home / "plugins", dirs_exist_ok=True)
        settings = {
            "PYTHONPATH": f"{self.package.folder}:{place.home / 'plugins'}",
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "MODEL_URL": place.model,
            "MEMPLATFORM_URL": place.memory,
            "MEMPLATFORM_KEY": place.key,
        }
        url = f"ws://127.0.0.1:{port}/onebot/v11/ws"
        command = [self.package.python, str(BOT)]
        with program(command, place, **settings), connected(url, START_SECONDS) as chat:
            yield chat
