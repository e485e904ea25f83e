"""The owner's reranker over the wire: both forms, and every answer that is none."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memories import reranker
from tests.support import rerank_server

TEXTS = ["quartz and basalt", "my cat is called Mochi", "the cat sleeps"]
QUESTION = "what is my cat called?"
WANTED = [rerank_server.score(QUESTION, content) for content in TEXTS]


@pytest.fixture
def server(httpserver: HTTPServer, settings: Any) -> Iterator[HTTPServer]:
    settings.MEMORY_RERANK_BASE_URL = httpserver.url_for("/v1")
    reranker.forget()
    yield httpserver
    reranker.forget()


def serving(form: Any) -> Any:
    def handle(request: Request) -> Response:
        status, body = form(request.get_json())
        return Response(json.dumps(body), status=status, content_type="application/json")

    return handle


def answering(server: HTTPServer, body: Any, status: int = 200) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    server.expect_request("/v1/rerank", method="POST").respond_with_data(
        text, status=status, content_type="application/json"
    )


def requests(server: HTTPServer) -> list[Any]:
    return [request.get_json() for request, _response in server.log]


@pytest.mark.parametrize(
    ("form", "served", "tried"),
    [
        ("jina", rerank_server.jina, ["documents"]),
        ("tei", rerank_server.tei, ["texts"]),
        ("auto", rerank_server.jina, ["documents"]),
        ("auto", rerank_server.tei, ["documents", "texts"]),
    ],
)
def test_both_forms_are_spoken_and_found_out(
    server: HTTPServer, settings: Any, form: str, served: Any, tried: list[str]
) -> None:
    settings.MEMORY_RERANK_FORM = form
    server.expect_request("/v1/rerank", method="POST").respond_with_handler(serving(served))
    assert reranker.scores(QUESTION, TEXTS, seconds=5) == WANTED
    assert reranker.scores(QUESTION, TEXTS, seconds=5) == WANTED
    result = requests(server)
    assert ["documents" if "documents" in body else "texts" for body in result] == [*tried, tried[-1]]
    assert all(body["query"] == QUESTION for body in result)
    assert result[-1].get("truncate", True) is True and result[-1].get("top_n", 3) == 3


def test_a_server_that_is_replaced_by_one_of_the_other_form_is_found_out(server: HTTPServer) -> None:
    server.expect_ordered_request("/v1/rerank").respond_with_handler(serving(rerank_server.tei))
    for served in (rerank_server.tei, rerank_server.jina, rerank_server.jina):
        server.expect_ordered_request("/v1/rerank").respond_with_handler(serving(served))
    assert reranker.scores(QUESTION, TEXTS, seconds=5) == WANTED
    assert reranker.scores(QUESTION, TEXTS, seconds=5) == WANTED


def test_a_form_that_is_refused_is_forgotten_even_where_the_other_fails(server: HTTPServer) -> None:
    def busy(body: dict[str, Any]) -> tuple[int, Any]:
        return (503, {}) if "documents" in body else (422, {})

    for served in (rerank_server.tei, rerank_server.tei, busy, busy, rerank_server.jina):
        server.expect_ordered_request("/v1/rerank").respond_with_handler(serving(served))
    assert reranker.scores(QUESTION, TEXTS, seconds=5) == WANTED
    assert reranker.scores(QUESTION, TEXTS, seconds=5) is None
    assert reranker.scores(QUESTION, TEXTS, seconds=5) == WANTED
    assert ["texts" in body for body in requests(server)] == [False, True, True, False, False]


def test_tei_is_given_as_many_texts_at_a_time_as_it_takes(server: HTTPServer, settings: Any) -> None:
    settings.MEMORY_RERANK_FORM = "tei"
    server.expect_request("/v1/rerank").respond_with_handler(serving(rerank_server.tei))
    texts = [f"{n} cat" for n in range(50)]
    assert reranker.scores(QUESTION, texts, seconds=5) == [rerank_server.score(QUESTION, text) for text in texts]
    assert [len(body["texts"]) for body in requests(server)] == [32, 18]


def test_the_model_and_the_key_are_sent_when_they_are_named(server: HTTPServer, settings: Any) -> None:
    server.expect_request("/v1/rerank").respond_with_handler(serving(rerank_server.jina))
    assert reranker.scores(QUESTION, TEXTS, seconds=5)
    settings.MEMORY_RERANK_MODEL, settings.MEMORY_RERANK_API_KEY = "some-reranker", "sk-test"
    assert reranker.scores(QUESTION, TEXTS, seconds=5)
    (without, with_both) = [request for request, _response in server.log]
    assert "model" not in without.get_json() and "Authorization" not in without.headers
    assert with_both.get_json()["model"] == "some-reranker"
    assert with_both.headers["Authorization"] == "Bearer sk-test"


ROWS = [{"index": n, "relevance_score": 0.5} for n in range(3)]
NONSENSE: dict[str, tuple[int, Any]] = {
    "an error": (500, {}),
    "no right": (401, {"error": "no"}),
    "too often": (429, "slow down"),
    "no such address": (404, {}),
    "neither form": (422, {}),
    "a page": (200, "<html>"),
    "nothing": (200, ""),
    "no results": (200, {}),
    "none at all": (200, {"results": []}),
    "null": (200, {"results": None}),
    "a row too few": (200, {"results": ROWS[:2]}),
    "a row too many": (200, {"results": [*ROWS, {"index": 3, "relevance_score": 0.5}]}),
    "a row twice": (200, {"results": [ROWS[0], ROWS[0], ROWS[1]]}),
    "an index of nothing": (200, [{"index": n, "score": 0.5} for n in (1, 2, 3)]),
    "an index below nothing": (200, [{"index": n, "score": 0.5} for n in (0, 1, -1)]),
    "not a number": (200, '{"results": [{"index": 0, "relevance_score": NaN}]}'),
    "infinite": (200, '[{"index": 0, "score": 1e999}, {"index": 1, "score": 1}, {"index": 2, "score": 0}]'),
    "a score of words": (200, [{"index": n, "score": "much"} for n in range(3)]),
    "a score of null": (200, [{"index": n, "score": None} for n in range(3)]),
    "bare numbers": (200, [0.1, 0.2, 0.3]),
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_what_cannot_be_used_is_no_answer(server: HTTPServer, kind: str) -> None:
    status, body = NONSENSE[kind]
    answering(server, body, status)
    assert reranker.scores(QUESTION, TEXTS, seconds=5) is None


def test_a_redirect_is_not_followed(server: HTTPServer) -> None:
    elsewhere = server.url_for("/elsewhere")
    server.expect_request("/v1/rerank").respond_with_data("", status=307, headers={"Location": elsewhere})
    assert reranker.scores(QUESTION, TEXTS, seconds=5) is None
    assert {request.path for request, _response in server.log} == {"/v1/rerank"}


@pytest.mark.thorough
def test_the_limit_holds_for_all_of_it(server: HTTPServer, settings: Any) -> None:
    """TEI is asked twice, and either alone would have been in time."""
    settings.MEMORY_RERANK_FORM = "tei"

    def slow(request: Request) -> Response:
        time.sleep(0.2)
        return serving(rerank_server.tei)(request)  # type: ignore[no-any-return]

    server.expect_request("/v1/rerank").respond_with_handler(slow)
    assert reranker.scores(QUESTION, ["cat"] * 40, seconds=0.3) is None
    assert reranker.scores(QUESTION, ["cat"] * 40, seconds=5) is not None


def test_nobody_there_is_no_answer(settings: Any) -> None:
    settings.MEMORY_RERANK_BASE_URL = "http://127.0.0.1:9"
    reranker.forget()
    assert reranker.scores(QUESTION, TEXTS, seconds=5) is None


def test_a_key_no_header_can_carry_is_no_answer_and_not_logged(
    server: HTTPServer, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.MEMORY_RERANK_API_KEY = "sk-gehëim"
    assert reranker.scores(QUESTION, TEXTS, seconds=5) is None
    assert server.log == [] and "sk-" not in caplog.text and "endpoint failed" in caplog.text


def test_the_log_says_what_was_wrong_without_words_of_users(
    server: HTTPServer, caplog: pytest.LogCaptureFixture
) -> None:
    answering(server, {"error": QUESTION}, 500)
    assert reranker.scores(QUESTION, TEXTS, seconds=5) is None
    assert "answered 500" in caplog.text and "cat" not in caplog.text


def test_a_dead_reranker_is_soon_left_alone_and_tried_again_after_a_rest(server: HTTPServer, settings: Any) -> None:
    settings.MEMORY_RERANK_FORM = "jina"
    answering(server, {}, 500)
    for _n in range(6):
        assert reranker.scores(QUESTION, TEXTS, seconds=5) is None
    assert len(server.log) == 3
    server.clear()
    server.expect_request("/v1/rerank").respond_with_handler(serving(rerank_server.jina))
    assert reranker.scores(QUESTION, TEXTS, seconds=5) is None
    reranker._breakers[settings.MEMORY_RERANK_BASE_URL].open_until = 0.0
    assert reranker.scores(QUESTION, TEXTS, seconds=5) == WANTED
