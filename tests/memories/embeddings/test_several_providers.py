"""Several providers in order: endpoints of their own, and fallbacks of the same model within one time limit (C14)."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memories import embeddings
from memories.embeddings.deterministic import Deterministic
from memories.index import worker
from memories.models import EmbeddingModel
from tests.conftest import Api
from tests.memories.embeddings.test_faults import ask, contents, save

pytestmark = pytest.mark.django_db
FIRST = {"MEMORY_EMBEDDING_MODEL": "some-model", "MEMORY_EMBEDDING_DIMENSION": 64, "MEMORY_EMBEDDING_API_KEY": "sk-one"}


def embed(request: Request) -> Response:
    """What an endpoint answers: as many dimensions as are wanted, of the deterministic 64 and zeros."""
    vectors = Deterministic().embed_passages(request.get_json()["input"], seconds=1)
    data = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    return Response(json.dumps({"data": data}), content_type="application/json")


@pytest.fixture
def two(settings: Any) -> Iterator[tuple[HTTPServer, HTTPServer]]:
    """Two endpoints of the same model, in order."""
    with HTTPServer(threaded=True) as first, HTTPServer(threaded=True) as second:
        for name, value in FIRST.items():
            setattr(settings, name, value)
        settings.MEMORY_EMBEDDING_BASE_URL = first.url_for("/v1")
        settings.MEMORY_EMBEDDING2_BASE_URL = second.url_for("/v1")
        settings.MEMORY_EMBEDDERS = ["endpoint", "endpoint2"]
        embeddings.forget()
        second.expect_request("/v1/embeddings").respond_with_handler(embed)
        yield first, second


@pytest.mark.thorough
def test_the_second_endpoint_answers_in_place_of_the_first(api: Api, two: tuple[HTTPServer, HTTPServer]) -> None:
    first, second = two
    first.expect_request("/v1/embeddings").respond_with_data("no", status=500)
    save(api, "my cat is called Mochi")
    worker.drain(now=timezone.now())
    answer = ask(api)
    assert answer["degraded"] == [] and answer["memories"][0]["why"]["vector"] > 0
    assert len(first.log) >= 1 and {request.get_json()["model"] for request, _ in second.log} == {"some-model"}
    assert EmbeddingModel.objects.get().dimension == 64


@pytest.mark.thorough
def test_a_key_goes_to_the_endpoint_it_was_given_for(api: Api, two: tuple[HTTPServer, HTTPServer]) -> None:
    first, second = two
    first.expect_request("/v1/embeddings").respond_with_data("no", status=500)
    save(api, "my cat is called Mochi")
    ask(api)
    assert {request.headers["Authorization"] for request, _ in first.log} == {"Bearer sk-one"}
    assert {request.headers.get("Authorization") for request, _ in second.log} == {None}


@pytest.mark.thorough
def test_one_that_hangs_leaves_time_for_the_next(api: Api, two: tuple[HTTPServer, HTTPServer], settings: Any) -> None:
    first, _second = two

    first.expect_request("/v1/embeddings").respond_with_handler(lambda request: time.sleep(3) or embed(request))
    settings.MEMORY_EMBED_RECALL_SECONDS = 2.0
    save(api, "my cat is called Mochi")
    assert ask(api)["degraded"] == []  # it has the vector of the second, though the first takes more than there is


@pytest.mark.thorough
def test_one_that_answers_late_but_in_time_serves_when_the_next_does_not(
    api: Api, two: tuple[HTTPServer, HTTPServer], settings: Any
) -> None:
    first, second = two
    second.clear()
    second.expect_request("/v1/embeddings").respond_with_data("no", status=500)

    def late(request: Request) -> Response:
        time.sleep(1.2)
        return embed(request)

    first.expect_request("/v1/embeddings").respond_with_handler(late)
    settings.MEMORY_EMBED_RECALL_SECONDS = 2.0
    save(api, "my cat is called Mochi")
    assert ask(api)["degraded"] == []
    assert len(second.log) == 1


@pytest.mark.thorough
def test_all_of_them_together_have_one_limit(api: Api, two: tuple[HTTPServer, HTTPServer], settings: Any) -> None:
    for server in two:
        server.clear()
        server.expect_request("/v1/embeddings").respond_with_handler(lambda request: time.sleep(6) or embed(request))
    settings.MEMORY_EMBED_RECALL_SECONDS = 0.4
    save(api, "my cat is called Mochi")
    begun = time.monotonic()
    answer = ask(api)
    assert time.monotonic() - begun < 5
    assert answer["degraded"] == ["embedding"] and contents(answer) == ["my cat is called Mochi"]


@pytest.mark.parametrize("other", [{"MODEL": "another-model"}, {"DIMENSION": "32"}])
def test_a_fallback_of_another_model_or_dimension_is_not_asked(
    api: Api, two: tuple[HTTPServer, HTTPServer], settings: Any, other: dict[str, str]
) -> None:
    first, second = two
    for name, value in other.items():
        setattr(settings, f"MEMORY_EMBEDDING2_{name}", value)
    embeddings.forget()
    first.expect_request("/v1/embeddings").respond_with_data("no", status=500)
    save(api, "my cat is called Mochi")
    assert ask(api)["degraded"] == ["embedding"] and not second.log


@pytest.mark.thorough
@pytest.mark.parametrize("dimension", [1, 1536, 4096])
def test_vectors_of_any_dimension_serve(api: Api, httpserver: HTTPServer, settings: Any, dimension: int) -> None:
    def wide(request: Request) -> Response:
        body = json.loads(embed(request).data)
        for row in body["data"]:
            row["embedding"] = (row["embedding"] * (dimension // 64 + 1))[:dimension] if dimension > 1 else [1.0]
        return Response(json.dumps(body), content_type="application/json")

    for name, value in (FIRST | {"MEMORY_EMBEDDING_DIMENSION": dimension}).items():
        setattr(settings, name, value)
    settings.MEMORY_EMBEDDING_BASE_URL = httpserver.url_for("/v1")
    settings.MEMORY_EMBEDDERS = ["endpoint"]
    embeddings.forget()
    httpserver.expect_request("/v1/embeddings").respond_with_handler(wide)
    save(api, "my cat is called Mochi")
    worker.drain(now=timezone.now())
    answer = ask(api)
    assert answer["degraded"] == [] and answer["memories"][0]["why"]["vector"] is not None
    assert EmbeddingModel.objects.get().dimension == dimension


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("BASE_URL", "", "MEMORY_EMBEDDING_BASE_URL is not set."),
        ("MODEL", "", "MEMORY_EMBEDDING_MODEL is not set."),
        ("DIMENSION", 0, "MEMORY_EMBEDDING_DIMENSION is not set."),
        ("DIMENSION", 16_001, "MEMORY_EMBEDDING_DIMENSION is not between 1 and 16000."),
        ("DIMENSION", "many", "MEMORY_EMBEDDING_DIMENSION is no number."),
    ],
)
def test_an_endpoint_that_is_half_configured_is_no_provider_and_says_why(
    settings: Any, caplog: pytest.LogCaptureFixture, name: str, value: Any, text: str
) -> None:
    for setting, usable in (FIRST | {"MEMORY_EMBEDDING_BASE_URL": "http://127.0.0.1:9/v1"}).items():
        setattr(settings, setting, usable)
    setattr(settings, f"MEMORY_EMBEDDING_{name}", value)
    settings.MEMORY_EMBEDDERS = ["endpoint", "memories.embeddings.deterministic.Deterministic"]
    embeddings.forget()
    assert [provider.name for provider in embeddings.providers()] == ["deterministic"]
    assert text in caplog.text


def test_short_names_stand_for_the_providers_that_come_along(settings: Any) -> None:
    settings.MEMORY_EMBEDDERS = ["bundled"]
    embeddings.forget()
    assert [provider.model for provider in embeddings.providers()] == ["multilingual-e5-small-q4"]
