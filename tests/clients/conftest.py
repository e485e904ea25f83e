"""Both clients, so that one test speaks for them."""

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from memplatform_client import AsyncClient, Client

from memories.models import Workspace
from tests.conftest import make_key

KINDS: dict[str, Any] = {"sync": Client, "async": AsyncClient}


class Waited:
    """An AsyncClient whose answers are waited for, so that it is used as the other."""

    def __init__(self, client: AsyncClient, runner: asyncio.Runner) -> None:
        self._client, self._runner = client, runner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def wait(*args: Any, **kwargs: Any) -> Any:
            answer = method(*args, **kwargs)
            return self._runner.run(answer if inspect.iscoroutine(answer) else collected(answer))

        return wait


async def collected(rows: Any) -> list[Any]:
    return [row async for row in rows]


@pytest.fixture(params=KINDS)
def connect(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes a client of either kind; `transport` stands between it and the network."""
    with asyncio.Runner() as runner:
        made = []

        def make(key: str, url: str = "http://memory.test", transport: Any = None, **kwargs: Any) -> Any:
            http = {"sync": httpx.Client, "async": httpx.AsyncClient}[request.param](transport=transport)
            client = KINDS[request.param](key, url, http=http, **kwargs)
            made.append(client)
            return client if request.param == "sync" else Waited(client, runner)

        yield make
        for client in made:
            client.close() if request.param == "sync" else runner.run(client.aclose())


@pytest.fixture
def memory(connect: Any, live_server: Any, workspace: Workspace) -> Any:
    return connect(make_key(workspace), live_server.url)
