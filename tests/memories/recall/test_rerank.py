"""The best candidates in the order of the owner's reranker: it decides the order, and nothing else (A7, A12)."""

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from prometheus_client import REGISTRY
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memories import reranker
from memories.index import worker
from memories.language.text import count_tokens
from memories.models import Entry, RecallTrace, Workspace
from memories.recall import forget_answers
from tests.conftest import TELEGRAM, Api, make_key
from tests.support import rerank_server

pytestmark = pytest.mark.django_db
QUESTION = "what is my grey cat called?"
#: In the ranking's own order for QUESTION; the reranker finds the last best.
CONTENTS = ["my grey cat is called Mochi", "the grey cat sleeps all day", "a cat likes zeolite"]


def rerank(request: Request) -> Response:
    status, body = rerank_server.jina(request.get_json())
    return Response(json.dumps(body), status=status, content_type="application/json")


@pytest.fixture
def endpoint(httpserver: HTTPServer, settings: Any) -> Iterator[HTTPServer]:
    settings.MEMORY_RERANK_BASE_URL = httpserver.url_for("")
    settings.MEMORY_RERANK_SECONDS = 5.0  # a busy machine must not degrade a test by accident
    settings.MEMORY_RERANK_FORM = "jina"
    reranker.forget()
    forget_answers()
    yield httpserver
    reranker.forget()


@pytest.fixture
def server(endpoint: HTTPServer) -> HTTPServer:
    endpoint.expect_request("/rerank", method="POST").respond_with_handler(rerank)
    return endpoint


def save(api: Api, *contents: str, scope: str = "telegram:direct_u42") -> None:
    for content in contents:
        assert api.post("entries", {"scope": scope, "content": content}).status_code == 201
    worker.drain(now=timezone.now())


def ask(api: Api, message: str = QUESTION, **kwargs: Any) -> dict[str, Any]:
    response = api.post("recall", {"address": TELEGRAM, "message": message, **kwargs})
    assert response.status_code == 200, response.json()
    return response.json()


def contents(answer: dict[str, Any]) -> list[str]:
    return [memory["content"] for memory in answer["memories"]]


def shown(server: HTTPServer) -> list[str]:
    """The texts of the last request."""
    return server.log[-1][0].get_json()["documents"]  # type: ignore[no-any-return]


def test_memories_come_in_its_order_and_both_orders_are_told(api: Api, server: HTTPServer) -> None:
    save(api, *CONTENTS)
    answer = ask(api)
    assert contents(answer) == [CONTENTS[2], CONTENTS[0], CONTENTS[1]]
    assert answer["degraded"] == []
    orders = [memory["why"]["rerank"] for memory in answer["memories"]]
    assert [(why["rank_before"], why["rank_after"]) for why in orders] == [(3, 1), (1, 2), (2, 3)]
    assert [why["score"] for why in orders] == sorted((why["score"] for why in orders), reverse=True)
    assert answer["context"].splitlines()[1].endswith(CONTENTS[2])
    own = [memory["score"] for memory in answer["memories"]]
    assert own != sorted(own, reverse=True)  # they are the ranking's still
    (trace,) = RecallTrace.objects.all()
    assert trace.timings["rerank"] > 0
    result = api.get(f"recalls/{answer['recall_id']}").json()
    assert [memory["why"]["rerank"] for memory in result["memories"]] == orders
    assert shown(server) == CONTENTS and server.log[-1][0].get_json()["query"] == QUESTION


def test_off_it_is_not_asked(api: Api, endpoint: HTTPServer, settings: Any) -> None:
    settings.MEMORY_RERANK_BASE_URL = ""
    save(api, *CONTENTS)
    answer = ask(api)
    assert contents(answer) == CONTENTS and answer["degraded"] == [] and endpoint.log == []
    assert [memory["why"]["rerank"] for memory in answer["memories"]] == [None] * 3
    assert "rerank" not in RecallTrace.objects.get().timings


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["keyword", "fts"])
def test_modes_that_go_by_the_match_alone_are_not_reranked(api: Api, server: HTTPServer, mode: str) -> None:
    save(api, *CONTENTS)
    assert ask(api, mode=mode)["memories"] and server.log == []


def test_a_single_candidate_has_no_order(api: Api, server: HTTPServer) -> None:
    save(api, CONTENTS[0])
    assert contents(ask(api)) == [CONTENTS[0]] and server.log == []


def test_what_is_below_the_floor_is_neither_shown_nor_served(api: Api, server: HTTPServer) -> None:
    save(api, *CONTENTS, "zeolite")
    answer = ask(api, explain=True)
    assert "zeolite" not in contents(answer) and "zeolite" not in shown(server)
    (left_out,) = [memory for memory in answer["left_out"] if memory["content"] == "zeolite"]
    assert left_out["reason"] == "floor" and left_out["why"]["rerank"] is None


@pytest.mark.thorough
def test_the_walls_hold(api: Api, server: HTTPServer, stranger: Workspace) -> None:
    """The best of all by the reranker, once another's, once of another scope, once past its time, once taken out."""
    save(api, *CONTENTS, "my cat likes old zeolite", "my cat likes secret zeolite")
    save(api, "her cat likes zeolite", scope="telegram:direct_u43")
    save(Api(make_key(stranger)), "a stranger's cat likes zeolite")
    Entry.objects.filter(content__contains="old").update(expired_at=timezone.now())
    Entry.objects.filter(content__contains="secret").update(suppressed_at=timezone.now())
    assert contents(ask(api, explain=True)) == [CONTENTS[2], CONTENTS[0], CONTENTS[1]]
    assert sorted(shown(server)) == sorted(CONTENTS)


def test_quotas_hold_and_go_by_its_order(api: Api, server: HTTPServer) -> None:
    save(api, *CONTENTS)
    assert contents(ask(api, limit=1)) == [CONTENTS[2]]


def test_those_it_is_not_asked_about_come_after_in_their_own_order(api: Api, server: HTTPServer, settings: Any) -> None:
    settings.MEMORY_RERANK_CANDIDATES = 2
    save(api, *CONTENTS, "that cat likes a lot of zeolite, and of basalt, and of quartz")
    answer = ask(api)
    assert shown(server) == CONTENTS[:2] and contents(answer)[:2] == CONTENTS[:2]
    assert [bool(memory["why"]["rerank"]) for memory in answer["memories"]] == [True, True, False, False]
    rest = [memory["score"] for memory in answer["memories"][2:]]
    assert rest == sorted(rest, reverse=True)


def test_long_texts_and_long_questions_are_shortened(api: Api, server: HTTPServer) -> None:
    long = "the cat begins. " + "it goes on and on. " * 200 + "the cat ends with zeolite."
    save(api, CONTENTS[0], long)
    assert contents(ask(api, "long ago. " * 200 + QUESTION)) == [long, CONTENTS[0]]
    (cut,) = [text for text in shown(server) if text != CONTENTS[0]]
    assert cut.startswith("the cat begins.") and cut.endswith("the cat ends with zeolite.")
    assert count_tokens(cut) < 270
    question = server.log[-1][0].get_json()["query"]
    assert question.endswith(QUESTION) and count_tokens(question) <= 130


def test_words_of_others_are_shown_under_their_names(api: Api, server: HTTPServer) -> None:
    group = {**TELEGRAM, "is_group": True, "chat": "c9"}
    for peer, name, message in (("u42", "Mei", "my cat is called Mochi"), ("u43", "Bob", "my cat is called Tiger")):
        turn = {"address": {**group, "peer": peer}, "user": message, "assistant": "Noted.", "sender_name": name}
        assert api.post("turns", turn).status_code == 201
    worker.drain(now=timezone.now())
    assert api.post("recall", {"address": group, "message": "what is Bob's cat called?"}).status_code == 200
    assert any(text.startswith("Bob: ") and "Tiger" in text for text in shown(server))


def slow(request: Request) -> Response:
    time.sleep(0.5)
    return rerank(request)


FAULTS = {
    "too slow": slow,
    "an error": lambda request: Response("{}", status=500),
    "nonsense": lambda request: Response('{"results": [{"index": 7, "relevance_score": 1}]}'),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", FAULTS)
def test_without_its_answer_the_own_order_holds_and_the_answer_says_so(
    api: Api, endpoint: HTTPServer, settings: Any, kind: str
) -> None:
    settings.MEMORY_RERANK_SECONDS = 0.2 if kind == "too slow" else 5.0
    endpoint.expect_request("/rerank").respond_with_handler(FAULTS[kind])
    save(api, *CONTENTS)
    answer = ask(api)
    assert contents(answer) == CONTENTS and answer["degraded"] == ["rerank"]
    assert [memory["why"]["rerank"] for memory in answer["memories"]] == [None] * 3
    assert RecallTrace.objects.get().degraded == ["rerank"]


@pytest.mark.thorough
def test_one_that_keeps_failing_is_left_alone_and_recall_says_so(api: Api, endpoint: HTTPServer) -> None:
    endpoint.expect_request("/rerank").respond_with_data("{}", status=503)
    save(api, *CONTENTS)
    assert [ask(api)["degraded"] for _n in range(6)] == [["rerank"]] * 6
    assert len(endpoint.log) == 3


def test_metrics_count_its_time_and_its_failures(api: Api, endpoint: HTTPServer) -> None:
    names = {
        "memplatform_recall_seconds_count": {"step": "rerank"},
        "memplatform_recalls_degraded_total": {"part": "rerank"},
    }

    def counted() -> list[float]:
        return [REGISTRY.get_sample_value(name, labels) or 0.0 for name, labels in names.items()]

    endpoint.expect_ordered_request("/rerank").respond_with_handler(rerank)
    endpoint.expect_ordered_request("/rerank").respond_with_data("{}", status=500)
    save(api, *CONTENTS)
    (times, failures), _answers = counted(), [ask(api, cache=False), ask(api, "which cat is grey?", cache=False)]
    assert counted() == [times + 2, failures + 1]


def test_an_answer_is_kept_with_its_order_and_a_degraded_one_is_not(api: Api, endpoint: HTTPServer) -> None:
    endpoint.expect_ordered_request("/rerank").respond_with_data("{}", status=500)
    endpoint.expect_ordered_request("/rerank").respond_with_handler(rerank)
    save(api, *CONTENTS)
    answers = [ask(api) for _n in range(3)]
    assert [(answer["cached"], answer["degraded"]) for answer in answers] == [
        (False, ["rerank"]),
        (False, []),
        (True, []),
    ]
    assert contents(answers[1]) == contents(answers[2]) == [CONTENTS[2], CONTENTS[0], CONTENTS[1]]
    assert len(endpoint.log) == 2


@pytest.mark.django_db(transaction=True)
def test_it_is_asked_outside_of_transactions(api: Api, server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, seen = reranker.scores, []

    def watched(*args: Any, **kwargs: Any) -> Any:
        seen.append(connection.in_atomic_block)
        return scores(*args, **kwargs)

    monkeypatch.setattr(reranker, "scores", watched)
    save(api, *CONTENTS)
    ask(api)
    assert seen == [False]


def test_a_trace_of_before_has_no_such_order(api: Api, server: HTTPServer) -> None:
    save(api, *CONTENTS)
    answer = ask(api)
    trace = RecallTrace.objects.get()
    kept: Any = trace.candidates
    at = kept["columns"].index("rerank")
    for row in [kept["columns"], *kept["rows"]]:
        del row[at]
    RecallTrace.objects.filter(pk=trace.pk).update(candidates=kept, created_at=trace.created_at - timedelta(days=1))
    trace = api.get(f"recalls/{answer['recall_id']}").json()
    assert [memory["why"]["rerank"] for memory in trace["memories"]] == [None] * 3
