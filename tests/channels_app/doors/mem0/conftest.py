"""mem0's own client, unmodified: over a live server, or inside this process, where it is answered as by the web."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from django.test import Client

from memories.models import Workspace
from tests.conftest import make_key
from tests.support.mem0_package import quiet_mem0


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with quiet_mem0(tmp_path_factory.mktemp("mem0")) as mem0:
        yield mem0


def answer(request: httpx.Request) -> httpx.Response:
    """The platform's answer, without a socket between."""
    headers = {name: value for name, value in request.headers.items() if name not in ("content-length", "host")}
    path, kind = request.url.raw_path.decode(), request.headers.get("Content-Type", "application/json")
    text = Client(raise_request_exception=False).generic(request.method, path, request.read(), kind, headers=headers)
    return httpx.Response(text.status_code, headers=dict(text.headers), content=text.content)


@pytest.fixture
def client(package: Any) -> Iterator[Callable[[str], Any]]:
    """A client with a key, inside this process."""
    with ExitStack() as opened:

        def begin(key: str) -> Any:
            http = opened.enter_context(httpx.Client(transport=httpx.MockTransport(answer)))
            return package.MemoryClient(key, host="http://testserver/api/mem0", client=http)

        yield begin


@pytest.fixture
def mem0(client: Callable[[str], Any], workspace: Workspace) -> Any:
    return client(make_key(workspace))
