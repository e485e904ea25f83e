"""A bot that uses mem0's library, with a model and an embedder of ours, and memplatform as its shadow."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from memplatform_shadow import Shadow
from memplatform_shadow.log import read_lines

from memories.models import Workspace
from tests.conftest import make_key
from tests.support.mem0_package import quiet_mem0
from tests.support.scripted_openai import DIMENSIONS, scripted_model

#: What mem0's model makes of a message with these words.
SCRIPT = {
    "sister": ["Ann's sister is called Lena", "Lena paints boats"],
    "moved": ["Ann moved to Hangzhou in May"],
    "女儿": ["王芳的女儿叫小雨"],
}


class Line(httpx.HTTPTransport):
    """The way to the platform, which can be cut: before a call gets there, or before its answer is back."""

    def __init__(self) -> None:
        super().__init__()
        self.is_cut, self.loses_answers = False, False
        self.passed: list[tuple[httpx.Request, httpx.Response]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.is_cut:
            raise httpx.ConnectError("nobody there", request=request)
        answer = super().handle_request(request)
        answer.read()
        self.passed.append((request, answer))
        if self.loses_answers:
            raise httpx.ReadError("the line was cut", request=request)
        return answer


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with quiet_mem0(tmp_path_factory.mktemp("mem0")) as mem0:
        yield mem0


@pytest.fixture(scope="session")
def model() -> Iterator[str]:
    with scripted_model(SCRIPT) as base_url:
        yield base_url


@pytest.fixture
def config(package: Any, model: str) -> dict[str, Any]:
    """Of a store in this process alone."""
    from qdrant_client import QdrantClient

    where = {"api_key": "none", "openai_base_url": model, "model": "scripted"}
    rows = {"client": QdrantClient(":memory:"), "embedding_model_dims": DIMENSIONS}
    return {
        "llm": {"provider": "openai", "config": where},
        "embedder": {"provider": "openai", "config": where},
        "vector_store": {"provider": "qdrant", "config": rows},
        "history_db_path": ":memory:",
    }


@pytest.fixture
def mem0(package: Any, config: dict[str, Any]) -> Iterator[Any]:
    with package.Memory.from_config(config) as memory:
        yield memory


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def begin(
    workspace: Workspace, live_server: Any, tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Shadow]]:
    """Begins a shadow beside the platform; the folder is the same each time, unless another is named."""
    for name, seconds in (("FIRST_PAUSE", 0.01), ("LONGEST_PAUSE", 0.02), ("IDLE", 0.02)):
        monkeypatch.setattr(f"memplatform_shadow.mirror.{name}", seconds)
    key, begun = make_key(workspace), list[Shadow]()

    def make(folder: str = "shadow", **options: Any) -> Shadow:
        http = options.pop("http", lambda: httpx.Client(transport=line))
        url = options.pop("url", live_server.url)
        begun.append(Shadow(key, url, folder=tmp_path / folder, http=http, **options))
        return begun[-1]

    yield make
    for shadow in begun:
        shadow.close()


@pytest.fixture
def noted(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """What the log says once the shadow has done all."""

    def lines(shadow: Shadow, kind: str = "") -> list[dict[str, Any]]:
        assert shadow.wait(30)
        read = [line for line in read_lines(tmp_path / "shadow") if line is not None]
        return [line for line in read if line["kind"] == kind or not kind]

    return lines


def until(condition: Callable[[], Any]) -> None:
    """Wait for what another thread does."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not happen in half a minute"


class Clock:
    """Days that pass when they are told to."""

    def __init__(self) -> None:
        self.at = time.time() - 8 * 86_400

    def __call__(self) -> float:
        return self.at

    def pass_hours(self, hours: float) -> None:
        self.at += hours * 3600
