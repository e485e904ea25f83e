"""The platform over real HTTP, MCP before it as its process serves it, and the official client."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from channels_app.doors.mcp import PATH
from channels_app.doors.mcp.http import LettingIn, make_app
from memories.models import Workspace
from tests.conftest import make_key
from tests.support.house import until

HOSTS = ["localhost", "127.0.0.1"]
Talk = Callable[[Client], Awaitable[Any]]


@pytest.fixture
def mcp(live_server: Any, settings: Any, tmp_path: Any) -> Iterator[str]:
    """Where MCP is spoken."""
    settings.MEMORY_FILES_ROOT = tmp_path
    with served(live_server.url) as url:
        yield url


class served:  # noqa: N801 - reads as a function
    """MCP before the API at an address, until the block ends."""

    def __init__(self, platform: str, letting_in: LettingIn = LettingIn()) -> None:  # noqa: B008 - nothing changes it
        app = make_app(httpx.AsyncClient(base_url=platform, trust_env=False), HOSTS, letting_in)
        self.server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        self.thread = threading.Thread(target=self.server.run)

    def __enter__(self) -> str:
        self.thread.start()
        until(lambda: self.server.started, 10)
        return f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}{PATH}"

    def __exit__(self, *_error: object) -> None:
        self.server.should_exit = True
        self.thread.join()


@pytest.fixture
def key(workspace: Workspace) -> str:
    return make_key(workspace)


def as_client(url: str, key: str, talk: Talk, *, mode: str = "auto", at: dict[str, str] | None = None) -> Any:
    """What the official client is told; `mode` is the generation of the protocol."""

    async def run() -> Any:
        headers = {"Authorization": f"Bearer {key}", **(at or {})}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return await talk(client)

    return asyncio.run(run())


def call(url: str, key: str, name: str, *, at: dict[str, str] | None = None, **arguments: Any) -> Any:
    """One call of a tool."""
    return as_client(url, key, lambda client: client.call_tool(name, arguments), at=at)
