"""mem0's own client, unmodified, against a live server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from memories.models import Workspace
from tests.conftest import make_key


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The package, which tells nobody that it is used, and writes only into a folder of this run."""
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("mem0"))
        for name, value in (("MEM0_TELEMETRY", "False"), ("MEM0_DIR", folder), ("HOME", folder)):
            patch.setenv(name, value)
        import mem0
        from mem0.memory import telemetry

        assert telemetry.client_telemetry.posthog is None
        yield mem0


@pytest.fixture
def client(package: Any, live_server: Any) -> Iterator[Callable[[str], Any]]:
    """A client with a key; given our address and nothing else."""
    with ExitStack() as opened:

        def begin(key: str) -> Any:
            made = package.MemoryClient(key, host=f"{live_server.url}/api/mem0")
            opened.callback(made.client.close)
            return made

        yield begin


@pytest.fixture
def mem0(client: Callable[[str], Any], workspace: Workspace) -> Any:
    return client(make_key(workspace))
