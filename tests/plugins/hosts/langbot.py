"""LangBot with its adapter of OneBot v11: its server, its plugin runtime, set up by calls as its own pages make them.

Its own runner comes from its market; one of ours asks the model here, in the same place of the pipeline.
"""

import io
import json
import time
import urllib.error
import urllib.request
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.environments import Package
from tests.plugins.host import PLUGINS, Host, Place, program
from tests.plugins.onebot import WEBSOCKETS, OneBot, connected
from tests.support.house import free_port

RUNNER = Path(__file__).parents[1] / "bots" / "answering_langbot"
START_SECONDS = 300
KEY, TOKEN = "lbk_key_of_these_trials_0000000000000000", "a-token-of-onebot"  # noqa: S105 (of nobody)


class LangBot(Host):
    """A pipeline with our plugin and a runner that asks the model."""

    name, plugin, platform = "LangBot", "langbot", "OneBot v11 (QQ)"
    package = Package("langbot", "4.11.2")

    @property
    def packages(self) -> tuple[Package, ...]:
        return (self.package, WEBSOCKETS)

    @contextmanager
    def running(self, place: Place) -> Iterator[OneBot]:
        api, control, debug = (free_port() for _three in range(3))
        environment = {
            "PYTHONPATH": str(self.package.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "API__HOST": "127.0.0.1",
            "API__PORT": str(api),
            "API__GLOBAL_API_KEY": KEY,
            "PLUGIN__RUNTIME_WS_URL": f"ws://127.0.0.1:{control}/control/ws",
            "PLUGIN__ENABLE_MARKETPLACE": "false",
            "BOX__ENABLED": "false",
            "SPACE__URL": "",
            "SPACE__DISABLE_TELEMETRY": "true",
        }
        runtime = ["-m", "langbot_plugin.cli.__main__", "rt", "--ws-control-port", str(control)]
        runtime += ["--ws-debug-port", str(debug), "--skip-deps-check"]
        langbot = ["-m", "langbot", "--standalone-runtime"]
        with (
            program([self.package.python, *runtime], place, **environment),
            program([self.package.python, *langbot], place, **environment),
        ):
            bot = set_up(Pages(f"http://127.0.0.1:{api}/api/v1"), place)
            with connected(f"ws://127.0.0.1:{api}/bots/{bot}/onebot/v11/ws", START_SECONDS, TOKEN) as chat:
                yield chat


class Pages:
    """What the pages of LangBot call."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, method: str, path: str, body: Any = None, **files: bytes) -> Any:
        """The data of an answer. Raises OSError."""
        headers = {"X-API-Key": KEY, "Content-Type": "application/json"}
        raw = json.dumps(body).encode() if body is not None else None
        if files:
            boundary = uuid.uuid4().hex
            headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
            raw = b"".join(
                f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}.lbpkg"\r\n'.encode()
                + b"Content-Type: application/octet-stream\r\n\r\n" + content + b"\r\n"
                for name, content in files.items()
            ) + f"--{boundary}--\r\n".encode()  # fmt: skip
        request = urllib.request.Request(f"{self._url}/{path}", raw, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refusal:
            raise OSError(f"{method} {path}: {refusal.code} {refusal.read()[:300]!r}") from None

    def until(self, question: Callable[[], Any], what: str) -> Any:
        """The first answer that is something. Raises OSError."""
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                if answer := question():
                    return answer
            except OSError as problem:
                what = f"{what}: {problem}"[:500]
            if time.monotonic() > end:
                raise OSError(what)
            time.sleep(1)


def set_up(pages: Pages, place: Place) -> str:
    """Install both plugins, and make a bot with a pipeline that has them; its id. Raises OSError."""
    runner = "plugin:tests/answering/asking"
    pages.until(lambda: pages.ask("GET", "plugins") is not None, "its plugins do not answer")
    for name, folder in (("answering", RUNNER), ("memplatform", PLUGINS / "langbot")):
        pages.ask("POST", "plugins/install/local", **{name: packed(folder)})
    for author in ("tests/answering", "memplatform/memplatform"):
        pages.until(lambda author=author: pages.ask("GET", f"plugins/{author}"), f"{author} is not installed")  # type: ignore[misc]
    settings = {"url": place.memory, "key": place.key, "language": "auto"}
    pages.ask("PUT", "plugins/memplatform/memplatform/config", settings)
    started = "Plugin memplatform/memplatform initialized"  # once when it was installed, once with its settings
    pages.until(lambda: place.log.read_text(errors="replace").count(started) > 1, "it does not run")
    pipeline = pages.ask("POST", "pipelines", {"name": "memory", "description": "", "is_default": True})["uuid"]
    config = pages.ask("GET", f"pipelines/{pipeline}")["pipeline"]["config"]
    asking = {"model-url": place.model, "prompt": [{"role": "system", "content": "You are a friendly bot."}]}
    config["ai"] = {"runner": {"id": runner, "expire-time": 0}, "runner_config": {runner: asking}}
    pages.ask("PUT", f"pipelines/{pipeline}", {"config": config})
    adapter = {"connection_mode": "reverse_ws", "access-token": TOKEN}
    bot = {"name": "qq", "adapter": "onebot-v11", "adapter_config": adapter, "enable": True}
    return str(pages.ask("POST", "platform/bots", bot)["uuid"])  # it is bound to the newest default pipeline


def packed(folder: Path) -> bytes:
    """A plugin as it is uploaded."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.writestr(str(path.relative_to(folder)), path.read_bytes())
    return raw.getvalue()
