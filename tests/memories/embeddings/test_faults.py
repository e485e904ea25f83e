"""Whatever becomes of the embedder, recall answers by keywords and says so (A12)."""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memories import embeddings
from memories.embeddings.deterministic import Deterministic
from memories.index import model_change, worker
from memories.models import EntryIndex, EntryVector, IndexQueueItem
from tests.conftest import TELEGRAM, Api

pytestmark = pytest.mark.django_db


class Broken(Deterministic):
    """Behaves as the test says, and counts how often it is asked."""

    asked = 0
    behaviour: Callable[[], Any] = staticmethod(lambda: None)

    def embed_passages(self, texts: list[str], *, seconds: float) -> Any:
        Broken.asked += 1
        return Broken.behaviour()

    def embed_query(self, text: str, *, seconds: float) -> Any:
        Broken.asked += 1
        return Broken.behaviour()


class Picky(Deterministic):
    """Chokes on one text, as some endpoints do."""

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        if any("poison" in text for text in texts):
            raise RuntimeError("this text is too much")
        return super().embed_passages(texts, seconds=seconds)


class Narrow(Deterministic):
    """The same model, served with fewer dimensions than before."""

    dimension = 32

    def _embed(self, text: str) -> list[float]:
        return super()._embed(text)[:31] + [1.0]


def use(settings: Any, *classes: type | str) -> None:
    settings.MEMORY_EMBEDDERS = [
        name if isinstance(name, str) else f"{name.__module__}.{name.__name__}" for name in classes
    ]
    embeddings.forget()
    Broken.asked = 0


def fail(error: BaseException) -> Callable[[], Any]:
    def behaviour() -> Any:
        raise error

    return behaviour


def hang() -> Any:
    time.sleep(0.5)
    return [[1.0] * 64]


def save(api: Api, content: str) -> None:
    assert api.post("entries", {"scope": "telegram:direct_u42", "content": content}).status_code == 201


def ask(api: Api, message: str = "what is my cat called?", **kwargs: Any) -> dict[str, Any]:
    response = api.post("recall", {"address": TELEGRAM, "message": message, **kwargs})
    assert response.status_code == 200, response.json()
    return response.json()


def contents(answer: dict[str, Any]) -> list[str]:
    return [memory["content"] for memory in answer["memories"]]


BEHAVIOURS = {
    "raising what it may": fail(embeddings.EmbedderFailed("no")),
    "raising what it may not": fail(ZeroDivisionError("no")),
    "out of memory": fail(MemoryError()),
    "timing out by itself": fail(TimeoutError()),
    "answering nothing": lambda: None,
    "an empty answer": lambda: [],
    "a wrong dimension": lambda: [1.0] * 63,
    "not a number": lambda: [float("nan")] * 64,
    "no direction": lambda: [0.0] * 64,
    "words": lambda: ["a"] * 64,
    "a number": lambda: 5,
    "too slow": hang,
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", BEHAVIOURS)
def test_a_broken_embedder_degrades_recall_and_no_more(api: Api, settings: Any, kind: str) -> None:
    save(api, "my cat is called Mochi")
    worker.drain(now=timezone.now())
    Broken.behaviour = staticmethod(BEHAVIOURS[kind])
    use(settings, Broken)
    settings.MEMORY_EMBED_RECALL_SECONDS = 0.1
    settings.MEMORY_EMBED_WRITE_SECONDS = 0.1
    answer = ask(api)
    assert contents(answer) == ["my cat is called Mochi"]
    assert answer["degraded"] == ["embedding"]
    assert answer["memories"][0]["why"]["vector"] is None
    save(api, "my dog is called Bello")
    assert worker.drain(now=timezone.now()) == 1
    assert IndexQueueItem.objects.get().failures == 1
    assert contents(ask(api, "what is my dog called?"))[0] == "my dog is called Bello"


def test_without_an_embedder_recall_is_by_keywords(api: Api, settings: Any) -> None:
    settings.MEMORY_EMBEDDERS = []
    save(api, "my cat is called Mochi")
    assert worker.drain(now=timezone.now()) == 1
    answer = ask(api)
    assert contents(answer) == ["my cat is called Mochi"] and answer["degraded"] == ["embedding"]


def test_an_embedder_that_cannot_be_loaded_is_passed_over(api: Api, settings: Any) -> None:
    use(settings, "no.such.Provider", Deterministic)
    save(api, "my cat is called Mochi")
    assert ask(api)["degraded"] == []


def test_keywords_asked_for_are_not_degraded(api: Api, settings: Any) -> None:
    Broken.behaviour = staticmethod(fail(ZeroDivisionError()))
    use(settings, Broken)
    save(api, "my cat is called Mochi")
    answer = ask(api, mode="keyword")
    assert answer["degraded"] == [] and Broken.asked == 0
    assert contents(ask(api, mode="vector")) == ["my cat is called Mochi"]


@pytest.mark.thorough
def test_a_dead_embedder_is_soon_left_alone_and_tried_again_after_a_rest(api: Api, settings: Any) -> None:
    Broken.behaviour = staticmethod(fail(ZeroDivisionError()))
    use(settings, Broken)
    save(api, "my cat is called Mochi")
    for n in range(8):
        assert ask(api, f"what is my cat called, {n}?")["degraded"] == ["embedding"]
    assert Broken.asked == 3
    settings.MEMORY_BREAKER_REST = timedelta(0)
    embeddings._breakers["deterministic"].open_until = 0.0
    Broken.behaviour = staticmethod(lambda: [1.0] * 64)
    assert ask(api, "what is my cat called now?")["degraded"] == []
    assert Broken.asked == 4


def test_the_next_provider_of_the_same_model_takes_over(api: Api, settings: Any) -> None:
    Broken.behaviour = staticmethod(fail(ZeroDivisionError()))
    use(settings, Broken, Deterministic)
    save(api, "my cat is called Mochi")
    worker.drain(now=timezone.now())
    answer = ask(api)
    assert answer["degraded"] == [] and answer["memories"][0]["why"]["vector"] > 0


def test_a_text_the_embedder_chokes_on_does_not_hold_up_the_others(api: Api, settings: Any) -> None:
    use(settings, Picky)
    for content in ("apples are red", "this is poison", "plums are blue"):
        save(api, content)
    now = timezone.now()
    worker.drain(now=now)
    assert EntryVector.objects.count() == 0
    worker.drain(now=now + timedelta(minutes=1))
    assert sorted(EntryVector.objects.values_list("entry__content", flat=True)) == ["apples are red", "plums are blue"]
    assert IndexQueueItem.objects.get().entry.content == "this is poison"


def test_what_failed_is_tried_again_ever_more_rarely(api: Api, settings: Any) -> None:
    Broken.behaviour = staticmethod(fail(ZeroDivisionError()))
    use(settings, Broken)
    save(api, "my cat is called Mochi")
    waits, now = [], timezone.now()
    for _try in range(12):
        assert worker.drain(now=now) == 1
        embeddings.forget()
        stale = IndexQueueItem.objects.get()
        waits.append((stale.retry_at - now).total_seconds())
        now = stale.retry_at
    assert waits == sorted(waits) and waits[0] < 60 and waits[-1] == 600
    use(settings, Deterministic)
    worker.drain(now=now)
    assert not IndexQueueItem.objects.exists() and EntryIndex.objects.get().embedding


def test_a_model_whose_dimension_changed_is_embedded_anew(api: Api, settings: Any) -> None:
    save(api, "my cat is called Mochi")
    worker.drain(now=timezone.now())
    use(settings, Narrow)
    answer = ask(api)  # before the embedder has noticed
    assert contents(answer) == ["my cat is called Mochi"] and answer["degraded"] == ["reembedding"]
    save(api, "my dog is called Bello")
    worker.drain(now=timezone.now())
    model_change.finish(now=timezone.now())
    assert {len(row.embedding) for row in EntryIndex.objects.all()} == {32}
    answer = ask(api)
    assert answer["degraded"] == [] and answer["memories"][0]["why"]["vector"] > 0


@pytest.fixture
def endpoint(httpserver: HTTPServer, settings: Any) -> HTTPServer:
    settings.MEMORY_EMBEDDING_BASE_URL = httpserver.url_for("/v1")
    settings.MEMORY_EMBEDDING_API_KEY = "sk-test"
    settings.MEMORY_EMBEDDING_MODEL = "some-model"
    settings.MEMORY_EMBEDDING_DIMENSION = 64
    use(settings, "memories.embeddings.compatible.OpenAICompatible")
    return httpserver


def embed(request: Request) -> Response:
    """What such an endpoint answers, in an order of its own."""
    texts = request.get_json()["input"]
    vectors = Deterministic().embed_passages(texts, seconds=1)
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    body = {
        "object": "list",
        "model": "some-model",
        "data": data[::-1],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }

    return Response(json.dumps(body), content_type="application/json")


def test_any_endpoint_that_speaks_the_openai_api_can_embed(api: Api, endpoint: HTTPServer) -> None:
    endpoint.expect_request("/v1/embeddings", method="POST").respond_with_handler(embed)
    save(api, "my cat is called Mochi")
    save(api, "the train to Lisbon leaves at noon")
    worker.drain(now=timezone.now())
    answer = ask(api)
    assert answer["degraded"] == [] and answer["memories"][0]["why"]["vector"] > 0
    results = [request.get_json() for request, _response in endpoint.log]
    assert results[0]["model"] == "some-model" and len(results[0]["input"]) == 2
    assert {request.headers["Authorization"] for request, _response in endpoint.log} == {"Bearer sk-test"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, "{}"),
        (401, '{"error": "no"}'),
        (429, "slow down"),
        (200, "<html>"),
        (200, "{}"),
        (200, '{"data": []}'),
        (200, '{"data": null}'),
        (200, '{"data": [{"index": 0, "embedding": [1, 2]}]}'),
        (200, '{"data": [{"index": 0, "embedding": null}]}'),
    ],
)
def test_an_endpoint_that_answers_nonsense_degrades_recall(
    api: Api, endpoint: HTTPServer, status: int, body: str
) -> None:
    endpoint.expect_request("/v1/embeddings").respond_with_data(body, status=status, content_type="application/json")
    save(api, "my cat is called Mochi")
    answer = ask(api)
    assert contents(answer) == ["my cat is called Mochi"] and answer["degraded"] == ["embedding"]
    assert len(endpoint.log) == 1


def test_a_redirect_of_the_embedding_endpoint_is_not_followed(api: Api, endpoint: HTTPServer) -> None:
    elsewhere = endpoint.url_for("/elsewhere")
    endpoint.expect_request("/v1/embeddings").respond_with_data("", status=307, headers={"Location": elsewhere})
    save(api, "my cat is called Mochi")
    assert ask(api)["degraded"] == ["embedding"]
    assert {request.path for request, _response in endpoint.log} == {"/v1/embeddings"}


def test_an_endpoint_without_an_address_is_no_embedder(api: Api, settings: Any) -> None:
    settings.MEMORY_EMBEDDING_BASE_URL = ""
    use(settings, "memories.embeddings.compatible.OpenAICompatible")
    save(api, "my cat is called Mochi")
    assert ask(api)["degraded"] == ["embedding"]


def test_a_machine_that_usually_takes_longer_is_given_longer_up_to_a_limit(api: Api, settings: Any) -> None:
    class Slow(Deterministic):
        seconds = 0.12

        def embed_query(self, text: str, *, seconds: float) -> list[float]:
            time.sleep(Slow.seconds)
            return super().embed_query(text, seconds=seconds)

    settings.MEMORY_EMBED_RECALL_SECONDS, settings.MEMORY_EMBED_RECALL_MOST_SECONDS = 0.06, 0.25
    settings.MEMORY_EMBEDDERS = []
    slow = Slow()
    embeddings._providers.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embeddings, "providers", lambda: [slow])
        assert embeddings.query_seconds() == 0.06
        late = [embeddings.embed_query(f"question {n}", seconds=embeddings.query_seconds()) for n in range(2)]
        assert late == [None, None]
        time.sleep(0.3)  # they end all the same, and tell how long they took
        embeddings._breakers.clear()
        assert embeddings.query_seconds() > 0.06
        for n in range(5):
            embeddings.embed_query(f"more {n}", seconds=1.0)
        assert embeddings.query_seconds() == 0.25
        assert embeddings.embed_query("in time", seconds=embeddings.query_seconds()) is not None
    embeddings.forget()
    assert embeddings.query_seconds() == 0.06
