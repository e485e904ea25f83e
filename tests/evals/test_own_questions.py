"""manage.py evaluate on what people asked: exported, judged by hand, measured on the live memory, which stays as is."""

import json
import stat
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from memories.index.worker import drain
from memories.models import Entry, RecallTrace, Workspace
from tests.conftest import Api, make_key
from tests.evals.conftest import evaluate, measured, rows_of_every_table

pytestmark = pytest.mark.django_db
SAID = ("my cat is called Mochi", "the train to Lisbon leaves at noon", "我家的猫叫麻薯", "牙医把我的预约改到了星期四")


@pytest.fixture
def api_with_recalls(api: Api, workspace: Workspace, now: datetime) -> Api:
    """A bot remembered a few things, asked two questions, and told what it used for one."""
    for row in SAID:
        assert api.post("entries", {"scope": "main", "content": row}).status_code == 201
    drain(now=now)
    first = api.post("recall", {"scope": "main", "message": "do you remember what my cat is called?"}).json()
    used = [item["id"] for item in first["memories"] if "Mochi" in item["content"]]
    assert api.post(f"recalls/{first['recall_id']}/feedback", {"used": used, "note": "it helped"}).status_code == 200
    api.post("recall", {"scope": "main", "message": "你还记得牙医把我的预约改到什么时候了吗？"})
    return api


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def judge(path: Path, *relevant: list[str] | None) -> None:
    """What the owner does by hand."""
    rows = [row | {"relevant": ids} for row, ids in zip(lines(path), relevant, strict=True)]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def ids(word: str) -> list[str]:
    return [str(uid) for uid in Entry.objects.filter(content__contains=word).values_list("uid", flat=True)]


def export(workspace: Workspace, path: Path, *options: object) -> Path:
    evaluate("--export", path, "--workspace", workspace.name, *options)
    return path


def test_an_owner_measures_their_own_bot(api_with_recalls: Api, workspace: Workspace, tmp_path: Path) -> None:
    """Export, judge, measure: the example of the how-to."""
    path = export(workspace, tmp_path / "mine.jsonl")
    cat, dentist = lines(path)
    assert cat["question"] == "do you remember what my cat is called?" and cat["relevant"] is None
    assert cat["scopes"] == ["main"] and datetime.fromisoformat(cat["asked_at"]).tzinfo and cat["note"] == "it helped"
    shown = {item["text"]: item for item in cat["served"]}
    assert shown["my cat is called Mochi"]["used"] is True
    assert all(item["used"] is None for item in dentist["served"])

    judge(path, ids("Mochi"), ids("牙医"))
    report = measured(path, "--workspace", workspace.name)
    by_hand = report["categories"]["judged by hand"]
    assert by_hand["recall@5"] == by_hand["recall@1"] == by_hand["mrr"] == 1.0
    assert report["precision"]["judged by hand"]["precision@1"] == 1.0
    assert set(report["evidence"]["answerable"]) <= {"found", "weak", "none"}
    assert report["latency_ms"]["p50"] > 0 and report["degraded"] == report["gone"] == 0


@pytest.mark.thorough
def test_measuring_reads_and_does_not_write(api_with_recalls: Api, workspace: Workspace, tmp_path: Path) -> None:
    path = export(workspace, tmp_path / "mine.jsonl")
    judge(path, ids("Mochi"), ids("牙医"))
    before, versions = rows_of_every_table(), list(Entry.objects.values_list("pk", "updated_at"))
    for options in ([], ["--ablate"], ["--pool", tmp_path / "pooled.jsonl"]):
        evaluate(path, "--workspace", workspace.name, *options)
    assert rows_of_every_table() == before
    assert list(Entry.objects.values_list("pk", "updated_at")) == versions


def test_without_a_judgement_what_was_used_counts(api_with_recalls: Api, workspace: Workspace, tmp_path: Path) -> None:
    report = measured(export(workspace, tmp_path / "mine.jsonl"), "--workspace", workspace.name)
    assert set(report["categories"]) == {"judged by use"} and report["unjudged"] == 1
    assert report["evidence"]["answerable"] == {}, "what a bot used does not tell what it lacked"


def test_a_question_memory_cannot_answer_is_judged_by_its_verdict(
    api_with_recalls: Api, workspace: Workspace, tmp_path: Path
) -> None:
    path = export(workspace, tmp_path / "mine.jsonl")
    judge(path, ids("Mochi"), [])
    report = measured(path, "--workspace", workspace.name)
    assert report["questions"] == 1 and sum(report["evidence"]["unanswerable"].values()) == 1.0
    assert set(report["evidence"]["separation"]) == {"auc", "none", "none_or_weak"}


def test_what_was_said_later_is_not_served(
    api_with_recalls: Api, workspace: Workspace, tmp_path: Path, now: datetime
) -> None:
    path = export(workspace, tmp_path / "mine.jsonl")
    api_with_recalls.post("entries", {"scope": "main", "content": "my cat is called Mochi the second now"})
    drain(now=now)
    judge(path, ids("the second"), None)
    assert measured(path, "--workspace", workspace.name)["categories"]["judged by hand"]["recall@10"] == 0.0


def test_what_is_gone_is_told(api_with_recalls: Api, workspace: Workspace, tmp_path: Path, now: datetime) -> None:
    path = export(workspace, tmp_path / "mine.jsonl")
    judge(path, ids("Mochi"), None)
    Entry.objects.filter(content__contains="Mochi").update(archived_at=now)
    report = measured(path, "--workspace", workspace.name)
    assert report["gone"] == 1 and report["categories"]["judged by hand"]["recall@10"] == 0.0
    assert "1 memories judged to help that are gone" in evaluate(path, "--workspace", workspace.name)


def test_the_wall_stands(
    api_with_recalls: Api, workspace: Workspace, stranger: Workspace, tmp_path: Path, now: datetime
) -> None:
    other = Api(make_key(stranger))
    other.post("entries", {"scope": "main", "content": "my cat is called Tiger"})
    drain(now=now)
    other.post("recall", {"scope": "main", "message": "do you remember what my cat is called?"})
    mine = export(workspace, tmp_path / "mine.jsonl")
    theirs = export(stranger, tmp_path / "theirs.jsonl")
    assert "Tiger" not in mine.read_text() and "Mochi" not in theirs.read_text()
    judge(mine, ids("Tiger"), None)
    report = measured(mine, "--workspace", workspace.name)
    assert report["categories"]["judged by hand"]["recall@10"] == 0.0 and report["gone"] == 1


def test_questions_are_not_asked_of_another_memory(api_with_recalls: Api, workspace: Workspace, tmp_path: Path) -> None:
    mine = export(workspace, tmp_path / "mine.jsonl")
    empty = Workspace.objects.create(name="Empty")
    report = measured(mine, "--workspace", empty.name)
    assert report["unasked"] == {"questions": 2, "scopes": ["main"]} and report["questions"] == 0


def test_today_s_finds_are_put_beside_what_was_served(
    api_with_recalls: Api, workspace: Workspace, tmp_path: Path
) -> None:
    path = export(workspace, tmp_path / "mine.jsonl")
    judge(path, ids("Mochi"), None)
    rows = [row | {"served": []} for row in lines(path)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    evaluate(path, "--workspace", workspace.name, "--pool", tmp_path / "pooled.jsonl")
    first, second = lines(tmp_path / "pooled.jsonl")
    assert first["relevant"] == ids("Mochi") and second["relevant"] is None
    texts = {shown["text"] for shown in first["served"] if shown["today"]}
    assert "my cat is called Mochi" in texts


@pytest.mark.thorough
def test_only_ingredients_that_leave_the_rows_alone_are_left_out(
    api_with_recalls: Api, workspace: Workspace, tmp_path: Path
) -> None:
    path = export(workspace, tmp_path / "mine.jsonl")
    judge(path, ids("Mochi"), ids("牙医"))
    ablation = measured(path, "--workspace", workspace.name, "--ablate")["ablation"]
    assert {"all of it", "- vectors", "- dates"} <= set(ablation)
    assert not any("neighbours" in name for name in ablation)


def test_the_file_is_its_owner_s_and_is_not_written_over(
    api_with_recalls: Api, workspace: Workspace, tmp_path: Path
) -> None:
    path = export(workspace, tmp_path / "mine.jsonl")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(CommandError, match="there already"):
        export(workspace, path)


def test_an_export_is_of_the_days_asked_for_and_no_larger(
    api_with_recalls: Api, workspace: Workspace, tmp_path: Path
) -> None:
    RecallTrace.objects.filter(message__contains="cat").update(created_at=datetime.fromisoformat("2025-01-01T00:00Z"))
    assert len(lines(export(workspace, tmp_path / "late.jsonl", "--since", "2025-06-01"))) == 1
    assert len(lines(export(workspace, tmp_path / "one.jsonl", "--most", 1))) == 1
    assert len(lines(export(workspace, tmp_path / "all.jsonl"))) == 2


def test_a_question_that_needed_no_memory_is_not_exported(
    api_with_recalls: Api, workspace: Workspace, tmp_path: Path
) -> None:
    api_with_recalls.post("recall", {"scope": "main", "message": "hi"})
    assert len(lines(export(workspace, tmp_path / "mine.jsonl"))) == 2


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("no json", "line 1"),
        ('{"trace": "r"}', "line 1"),
        ('{"trace": "r", "question": "q", "scopes": ["s"], "asked_at": "2025-01-01T00:00:00"}', "zone"),
        ('{"trace": "r", "question": "q", "scopes": [], "asked_at": "2025-01-01T00:00Z", "relevant": ["x"]}', "UUID"),
        ('{"trace": "r", "question": "q", "scopes": [], "asked_at": "2025-01-01T00:00Z", "relevant": "x"}', "list"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_named(workspace: Workspace, tmp_path: Path, line: str, text: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(CommandError, match=text):
        evaluate(path, "--workspace", workspace.name)


def test_without_a_workspace_those_there_are_named(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Alice's"):
        evaluate("--export", tmp_path / "mine.jsonl")
    with pytest.raises(CommandError, match="Evaluate what"):
        evaluate()
