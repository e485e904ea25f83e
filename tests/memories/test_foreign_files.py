"""`manage.py import` of what mem0, Zep, ChatGPT and spreadsheets export: one batch, repeatable, every fault named."""

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memories.choices import ScopeKind
from memories.imports import batch
from memories.imports.formats import format_of
from memories.models import Batch, DailyEvent, Entry, Scope, Workspace
from tests.conftest import NOW, Api
from tests.sessions_app.conftest import clock, clock_of_calls

__all__ = ["clock_of_calls"]
pytestmark = pytest.mark.django_db

MEM0 = {
    "count": 3,
    "results": [
        {
            "id": "9d1c",
            "memory": "Likes Longjing tea",
            "hash": "x",
            "user_id": "ann",
            "categories": ["food"],
            "metadata": {"env": "home", "tags": ["a"]},
            "created_at": "2026-01-02T10:00:00-08:00",
            "updated_at": None,
        },
        {
            "id": "9d1d",
            "memory": "妹妹叫小雨",
            "user_id": "ann",
            "created_at": "2026-01-03T10:00:00Z",
            "immutable": True,
        },
        {"id": "9d1e", "memory": " ", "user_id": "ann", "created_at": "2026-01-03T10:00:00Z"},
    ],
}
ZEP = {
    "episodes": [
        {
            "uuid": "e1",
            "content": "I moved to Hangzhou",
            "role": "Ann",
            "source": "message",
            "created_at": "2026-01-05T20:00:00Z",
        },
        {
            "uuid": "e2",
            "name": "mail",
            "content": "The flight is at 9",
            "source": "text",
            "valid_at": "2026-01-06T08:00:00Z",
        },
    ]
}
EDGES = [
    {
        "uuid": "f1",
        "fact": "Ann lives in Hangzhou",
        "content": "",
        "valid_at": "2026-01-05T20:00:00Z",
        "invalid_at": None,
    },
    {"uuid": "f2", "fact": "Ann lives in Berlin", "content": "", "invalid_at": "2026-01-05T20:00:00Z"},
]


def node(name: str, parent: str | None, role: str, words: Any, at: float | None = None) -> dict[str, Any]:
    message = {"author": {"role": role}, "create_time": at, "content": {"content_type": "text", "parts": words}}
    return {"id": name, "parent": parent, "children": [], "message": message}


CHATGPT = [
    {
        "title": "Tea",
        "create_time": 1767600000.5,
        "current_node": "d",
        "id": "c1",
        "mapping": {
            "root": {"id": "root", "parent": None, "children": ["a"], "message": None},
            "a": node("a", "root", "system", ["You are ChatGPT"]),
            "b": node("b", "a", "user", ["I drink Longjing"], 1767600000.5),
            "c": node("c", "b", "assistant", ["Noted.", {"asset_pointer": "x"}], 1767600005.0),
            "e": node("e", "b", "assistant", ["An answer that was given up"], 1767600003.0),
            "d": node("d", "c", "user", ["And Biluochun"], 1767700000.0),
        },
    },
]
TABLE = """content,type,category,importance,pinned,at,slot.env
"The staging port
is 8080",fact,config,0.9,yes,2026-01-02,staging
Ann sings,user_explicit,,,,,
,fact,,,,,
Too sure,fact,,7,,,
No time,fact,,,,yesterday,
"""


@pytest.fixture
def scope(workspace: Workspace) -> Scope:
    return Scope.objects.create(workspace=workspace, key="telegram:direct_u42", kind=ScopeKind.USER)


def imported(path: Path, *arguments: str, into: str = "telegram:direct_u42") -> Any:
    out = io.StringIO()
    call_command("import", str(path), "--into", into, "--now", NOW.isoformat(), "--json", *arguments, stdout=out)
    return json.loads(out.getvalue())


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_memories_of_mem0_become_facts_with_their_times_and_metadata(scope: Scope, tmp_path: Path) -> None:
    done = imported(written(tmp_path, "all.json", MEM0))
    assert (done["facts"], [row["reason"] for row in done["left_out"]]) == (2, ["empty"])
    entry = Entry.objects.get(content="Likes Longjing tea")
    assert (entry.type, entry.tier, entry.topic, entry.created_at.isoformat()) == (
        "fact",
        2,
        "food",
        "2026-01-02T18:00:00+00:00",
    )
    assert dict(entry.slots.values_list("name", "value")) == {"env": "home", "tags": "a"}
    assert Entry.objects.get(content="妹妹叫小雨").pinned


def test_of_memories_of_several_people_only_those_of_one_go_into_a_scope(scope: Scope, tmp_path: Path) -> None:
    others = [*MEM0["results"], {"memory": "Plays chess", "user_id": "bob"}]
    path = written(tmp_path, "all.json", others)
    with pytest.raises(CommandError, match="ann, bob"):
        imported(path)
    assert not Entry.objects.exists() and not Batch.objects.exists()
    assert imported(path, "--who", "bob")["facts"] == 1
    assert list(Entry.objects.values_list("content", flat=True)) == ["Plays chess"]


def test_episodes_are_what_was_said_on_their_day_and_facts_that_hold_are_facts(scope: Scope, tmp_path: Path) -> None:
    Workspace.objects.filter(pk=scope.workspace_id).update(time_zone="Asia/Shanghai")
    assert imported(written(tmp_path, "episodes.json", ZEP))["events"] == 2
    days = DailyEvent.objects.order_by("local_date", "pk").values_list("local_date", "content")
    assert [(day.isoformat(), content) for day, content in days] == [
        ("2026-01-06", "Ann: I moved to Hangzhou"),
        ("2026-01-06", "The flight is at 9"),
    ]
    assert imported(written(tmp_path, "edges.jsonl", "\n".join(map(json.dumps, EDGES))))["facts"] == 1
    assert list(Entry.objects.filter(type="fact").values_list("content", flat=True)) == ["Ann lives in Hangzhou"]
    turns = Entry.objects.filter(type="chat_turn").order_by("pk")
    assert list(turns.values_list("content", flat=True)) == ["Ann: I moved to Hangzhou", "The flight is at 9"]


def test_conversations_of_chatgpt_are_told_turn_by_turn_along_the_branch_that_was_kept(
    scope: Scope, tmp_path: Path, api: Api
) -> None:
    done = imported(written(tmp_path, "conversations.json", CHATGPT))
    assert (done["facts"], done["events"]) == (2, 2)
    turns = ["User: I drink Longjing\nAssistant: Noted.", "User: And Biluochun"]
    assert [event.content for event in DailyEvent.objects.order_by("pk")] == turns
    assert [entry.content for entry in Entry.objects.order_by("pk")] == turns
    results = api.get("events", scope=scope.key, q="Longjing").json()["results"]
    assert [result["date"] for result in results] == ["2026-01-05"]


def test_what_was_said_to_another_program_is_recalled_as_what_was_said_here(
    scope: Scope, tmp_path: Path, api: Api
) -> None:
    done = imported(written(tmp_path, "conversations.json", CHATGPT))
    answer = api.post("recall", {"scope": scope.key, "message": "Which tea do I drink?"}, **clock(NOW)).json()
    assert "Longjing" in answer["memories"][0]["content"]
    first = Entry.objects.get(content__contains="Longjing")
    assert (first.type, first.heading, first.created_at.date().isoformat()) == ("chat_turn", "Tea", "2026-01-05")
    assert first.expires_at == NOW + timedelta(days=365)
    past = api.post("recall", {"scope": scope.key, "message": "What did I say about tea in January?"}, **clock(NOW))
    assert past.json()["context"].count("Longjing") == 1  # once, though its day tells it, too
    assert imported(tmp_path / "conversations.json")["batch"] is None
    assert api.post(f"batches/{done['batch']}/undo").status_code == 201
    assert not Entry.objects.live().exists() and not DailyEvent.objects.in_use().exists()


def test_what_people_took_out_of_an_imported_history_its_day_does_not_tell_either(
    scope: Scope, tmp_path: Path, api: Api
) -> None:
    imported(written(tmp_path, "conversations.json", CHATGPT))
    first = Entry.objects.get(content__contains="Longjing")
    assert api.request("DELETE", f"entries/{first.uid}").status_code == 200
    data = {"scope": scope.key, "message": "What did I say about Longjing in January?"}
    assert "Longjing" not in str(api.post("recall", data, **clock(NOW)).json()["context"])


def test_into_a_scope_nobody_has_written_to_yet_begins_it_and_a_dry_run_does_not(
    workspace: Workspace, tmp_path: Path
) -> None:
    path = written(tmp_path, "all.json", MEM0)
    assert imported(path, "--dry-run", into="telegram:direct_u99")["facts"] == 2
    assert not Scope.objects.exists()
    assert imported(path, into="telegram:direct_u99")["facts"] == 2
    assert (Scope.objects.get().key, Scope.objects.get().kind) == ("telegram:direct_u99", "user")
    with pytest.raises(CommandError, match="no address"):
        imported(path, into="Nobody's key")


DEEP = "[" * 200_000 + "]" * 200_000


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("mem0.json", f'[{{"memory": "x"}}, {{"memory": "y", "metadata": {DEEP}}}]', "mem0.json.*item.*100"),
        ("results.json", f'{{"results": [{{"memory": {DEEP}}}]}}', "results.json.*item 1.*100"),
        ("chatgpt.json", f'[{{"mapping": {{"a": {{"author": {DEEP}}}}}}}]', "chatgpt.json.*item 1.*100"),
        ("zep.json", f'{{"episodes": [{{"uuid": "1", "content": {DEEP}}}]}}', "zep.json.*item 1.*100"),
        ("export.jsonl", f'{{"record": "export", "x": {DEEP}}}', "export.jsonl.*100|export.jsonl.*of no format"),
        ("long.json", '[{"memory": "' + "x" * (33 * 1024 * 1024) + '"}]', "long.json.*item 1.*32 MB"),
        ("chatgpt.zip", "PK\x03\x04", "chatgpt.zip.*cannot be read"),
    ],
)
def test_a_file_that_is_nested_too_deep_or_has_too_large_an_item_or_is_a_zip_is_refused_by_its_name(
    scope: Scope, tmp_path: Path, name: str, content: str, words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        imported(written(tmp_path, name, content))
    assert not Entry.objects.exists() and not Batch.objects.exists()


@pytest.mark.parametrize("name", ["mem0.json", "memories.csv"])
def test_while_a_large_file_is_read_it_says_how_much_of_it_is(
    scope: Scope, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"Memory {number} " + "of many words " * 400 for number in range(500)]
    content = "content\n" + "\n".join(texts) if name.endswith("csv") else [{"memory": words} for words in texts]
    imported(written(tmp_path, name, content), "--dry-run")
    shares = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Reading ")]
    assert shares[-1] == "Reading 100 %"
    assert 2 < len(shares) <= 11


def test_brackets_in_texts_are_no_nesting(scope: Scope, tmp_path: Path) -> None:
    texts = [{"memory": f"{n} " + '[{"\\' * 3_000} for n in range(3)]
    assert imported(written(tmp_path, "all.json", texts))["facts"] >= 3


def test_of_many_rows_that_are_left_out_the_first_are_named_and_all_counted(
    scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MOST_NAMED", 3)
    file = written(tmp_path, "all.json", [{"memory": ""}] * 5 + [{"memory": "Mia likes tea"}])
    done = imported(file, "--dry-run")
    assert ([row["line"] for row in done["left_out"]], done["left_out_count"], done["facts"]) == ([1, 2, 3], 5, 1)
    out = io.StringIO()
    call_command("import", str(file), "--into", scope.key, stdout=out)
    assert "Left out: 5." in out.getvalue() and "and 2 more" in out.getvalue()


def test_a_row_of_a_table_that_cannot_be_stored_is_named_by_its_line_and_why(scope: Scope, tmp_path: Path) -> None:
    done = imported(written(tmp_path, "memories.csv", TABLE))
    assert done["facts"] == 2
    assert [(row["line"], row["reason"], row.get("why", "")) for row in done["left_out"]] == [
        (5, "empty", ""),
        (6, "unstorable", "Importance lies between 0 and 1."),
        (7, "unstorable", "“yesterday” is not a time."),
    ]
    entry = Entry.objects.get(content="The staging port\nis 8080")
    assert (entry.category, entry.importance, entry.pinned) == ("config", 0.9, True)
    assert dict(entry.slots.values_list("name", "value")) == {"env": "staging"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "content"), [("a.json", MEM0), ("b.json", ZEP), ("c.json", CHATGPT), ("d.csv", TABLE)]
)
def test_each_is_recognised_repeated_without_duplicates_and_undone(
    scope: Scope, tmp_path: Path, api: Api, name: str, content: Any
) -> None:
    path = written(tmp_path, name, content)
    assert format_of(path) == {"a": "mem0", "b": "zep", "c": "chatgpt", "d": "csv"}[name[0]]
    tried, done = imported(path, "--dry-run"), imported(path)
    assert (tried["facts"], tried["events"]) == (done["facts"], done["events"]) != (0, 0)
    again = imported(path)
    assert (again["facts"], again["events"], again["batch"]) == (0, 0, None)
    assert api.post(f"batches/{done['batch']}/undo").status_code == 201
    assert not Entry.objects.live().exists() and not DailyEvent.objects.in_use().exists()
    assert imported(path)["facts"] == done["facts"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", '[{"memory": "x"}, {"memory": ', "After its item 1"),
        ("b.csv", 'content,at\n"x', "Line 2"),
        ("c.csv", "content,colour\nx,red\n", "colour|content, and of the others"),
        ("d.txt", "hello", "--from"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_leaves_nothing(
    scope: Scope, tmp_path: Path, name: str, content: str, words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        imported(written(tmp_path, name, content))
    assert not Entry.objects.exists() and not Batch.objects.exists()


def test_what_people_took_out_since_stays_out(scope: Scope, tmp_path: Path, api: Api) -> None:
    path = written(tmp_path, "all.json", MEM0)
    imported(path)
    taken = Entry.objects.get(content="Likes Longjing tea")
    assert api.request("DELETE", f"entries/{taken.uid}").status_code < 300
    again = imported(path)
    assert again["facts"] == 0 and [(row["line"], row["reason"]) for row in again["left_out"]][0] == (1, "suppressed")
