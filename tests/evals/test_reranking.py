"""evaluate --rerank: the owner's reranker beside the ranking, on a set and on what people asked."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import timezone
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from evals.judgements import read
from memories import reranker
from memories.index.worker import drain
from memories.models import Workspace
from tests import ROOT
from tests.conftest import Api, make_key
from tests.evals.conftest import evaluate, measured
from tests.support import rerank_server

pytestmark = pytest.mark.django_db
PAGE = (ROOT / "docs" / "howto" / "use-a-reranker.md").read_text()
COMMAND = "python3 bootstrap.py manage evaluate "
COMMANDS = [line.removeprefix(COMMAND) for line in PAGE.splitlines() if line.startswith(COMMAND)]
#: The reranker of the tests finds what speaks of zeolite best, the ranking what shares more words.
CORPUS = [
    {"doc_id": "near", "scope": "mei", "seq": 1, "text": "my grey cat is called the grey cat"},
    {"doc_id": "right", "scope": "mei", "seq": 2, "text": "a cat likes zeolite"},
]
QUERIES = [
    {"query_id": "q1", "scope": "mei", "query": "what is my grey cat called?", "category": "en", "gold": ["right"]}
]


def rerank(request: Request) -> Response:
    status, body = rerank_server.jina(request.get_json())
    return Response(json.dumps(body), status=status, content_type="application/json")


@pytest.fixture
def server(httpserver: HTTPServer, settings: Any) -> Iterator[HTTPServer]:
    settings.MEMORY_RERANK_BASE_URL = httpserver.url_for("")
    settings.MEMORY_RERANK_FORM = "jina"
    reranker.forget()
    httpserver.expect_request("/rerank").respond_with_handler(rerank)
    yield httpserver
    reranker.forget()


@pytest.fixture
def folder(set_of: Callable[..., Path]) -> Path:
    return set_of(CORPUS, QUERIES)


def test_both_are_printed_side_by_side(folder: Path, server: HTTPServer) -> None:
    report = measured(folder, "--rerank")
    assert report["without"]["mean"]["mrr"] == 0.5 and report["with"]["mean"]["mrr"] == 1.0
    assert report["first_right"] == {"higher": 1, "lower": 0, "same": 0}
    assert report["reranked"] == 1 and report["rerank_ms"]["p95"] > 0 and report["degraded"] == 0
    printed = evaluate(folder, "--rerank")
    assert re.search(r"^recall@1 +0\.0000 +1\.0000 +\+1\.0000$", printed, re.MULTILINE)
    assert re.search(r"^ +without +with +change$", printed, re.MULTILINE)
    assert "the right one higher: 1, lower: 0, the same: 0" in printed
    assert "within MEMORY_RERANK_SECONDS (0.5)" in printed


def test_a_slow_one_is_measured_and_told(folder: Path, server: HTTPServer, settings: Any) -> None:
    settings.MEMORY_RERANK_SECONDS = 0.000_001
    report = measured(folder, "--rerank")
    assert report["with"]["mean"]["mrr"] == 1.0
    assert report["in_time"] == 0.0 and report["limit_seconds"] == 0.000_001
    assert "0% within MEMORY_RERANK_SECONDS (1e-06)" in evaluate(folder, "--rerank")


@pytest.mark.thorough
def test_without_the_option_it_is_not_asked(folder: Path, server: HTTPServer) -> None:
    assert measured(folder)["mean"]["mrr"] == 0.5 and server.log == []
    evaluate(folder, "--ablate")
    assert server.log == []


def test_where_no_question_has_two_candidates_it_says_so(set_of: Callable[..., Path], server: HTTPServer) -> None:
    printed = evaluate(set_of(CORPUS[1:], QUERIES), "--rerank")
    assert "the reranker was not asked" in printed


@pytest.mark.parametrize(
    ("address", "options", "says"),
    [
        ("", ["--rerank"], "set MEMORY_RERANK_BASE_URL"),
        ("http://127.0.0.1:9", ["--rerank"], "gives no answer that can be used"),
        ("http://127.0.0.1:9", ["--rerank", "--ablate"], "not both"),
    ],
)
def test_one_that_cannot_be_measured_is_told_in_a_sentence(
    folder: Path, settings: Any, address: str, options: list[str], says: str
) -> None:
    settings.MEMORY_RERANK_BASE_URL = address
    reranker.forget()
    with pytest.raises(CommandError, match=says):
        evaluate(folder, *options)


def test_figures_of_a_reranker_that_failed_do_not_count(folder: Path, server: HTTPServer) -> None:
    server.clear()
    server.expect_oneshot_request("/rerank").respond_with_handler(rerank)  # to warm up
    server.expect_request("/rerank").respond_with_data("{}", status=500)
    with pytest.raises(CommandError, match="1 answers were degraded"):
        evaluate(folder, "--rerank")


def test_the_commands_of_the_page_work_as_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: HTTPServer
) -> None:
    monkeypatch.chdir(tmp_path)
    api = Api(make_key(Workspace.objects.create(name="My workspace")))
    for row in CORPUS:
        api.post("entries", {"scope": "main", "content": row["text"]})
    drain(now=timezone.now())
    answer = api.post("recall", {"scope": "main", "message": QUERIES[0]["query"]}).json()
    used = next(memory["id"] for memory in answer["memories"] if "zeolite" in memory["content"])
    api.post(f"recalls/{answer['recall_id']}/feedback", {"used": [used], "note": ""})
    server.clear_log()

    printed = [evaluate(*shlex.split(command)) for command in COMMANDS]

    assert len(COMMANDS) == 3
    assert "the right one" in printed[1] and "within MEMORY_RERANK_SECONDS" in printed[1]
    assert len(server.log) == 4  # to warm up, and once a question, twice
    (row,) = read(tmp_path / "mine2.jsonl")
    assert used in {shown.id for shown in row.served}
