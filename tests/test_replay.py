"""The example bot: one conversation over real HTTP, measured as the house measures itself."""

import gzip
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evals import dataset
from evals.report import figures
from evals.run import evaluate
from examples import replay
from memories.index.worker import drain
from memories.models import Workspace
from tests.conftest import make_key

TEXTS = [
    ("Ana", "S1", "I started to keep bees on the roof last week."),
    ("Ben", "S1", "How many hives are there?"),
    ("Ana", "S1", "Three, and a fourth one arrives in May."),
    ("Ben", "S2", "我把自行车借给了邻居。"),
    ("Ana", "S2", "The roof has to be repaired before winter."),
]
QUESTIONS = [
    ("What does Ana keep on the roof?", [0], "single"),
    ("自行车借给谁了？", [3], "single"),
    ("When does the fourth hive arrive, and how many are there?", [1, 2], "multi"),
    ("Nobody answered this.", [], "none"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus = [
        {"doc_id": f"d{n}", "scope": "talk", "session_id": session, "speaker": who, "text": text, "seq": n}
        for n, (who, session, text) in enumerate(TEXTS)
    ]
    queries = [
        {"query_id": f"q{n}", "scope": "talk", "query": text, "gold": [f"d{d}" for d in gold], "category": kind}
        for n, (text, gold, kind) in enumerate(QUESTIONS)
    ]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return tmp_path


def replayed(url: str, key: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> dict[str, Any]:
    """Its figures, with an embedder that works whenever it waits."""
    arguments = ["--url", url, "--key-file", str(key), "--scope", "talk", "--json"]
    files = [f"--{name}={folder / name}.jsonl.gz" for name in ("corpus", "queries")]
    monkeypatch.setattr(sys, "argv", ["replay.py", *arguments, *files])
    wait = replay.wait
    monkeypatch.setattr(replay, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(replay, "wait", lambda *a, **kw: (drain(now=datetime.now(UTC)), wait(*a, **kw)))
    replay.main()
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_a_bot_finds_over_http_what_the_house_finds_within(
    live_server: Any, workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    key = folder / "key"
    key.write_text(make_key(workspace))
    over_http = replayed(live_server.url, key, folder, monkeypatch, capsys)
    other = Workspace.objects.create(name="Within")
    within = figures(evaluate(dataset.load(folder), other, now=datetime.now(UTC)), "talk")

    assert (over_http["texts"], over_http["entries"], over_http["questions"]) == (5, 5, 3)
    assert over_http["degraded"] == 0
    for part in ("mean", "mean_of_categories", "categories", "group"):
        assert over_http[part] == within[part]
    assert over_http["mean"]["recall@5"] > 0
    assert set(over_http["latency_ms"]) == {"p50", "p95"}


@pytest.mark.django_db(transaction=True)
def test_a_refusal_is_told_in_the_servers_words(
    live_server: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    key = folder / "key"
    key.write_text("mp_unknown")
    with pytest.raises(SystemExit, match="401.*not known"):
        replayed(live_server.url, key, folder, monkeypatch, capsys)
