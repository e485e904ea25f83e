"""What a person does with `memplatform`, against the running platform."""

import json
import stat
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from memplatform_client.cli.commands import memplatform

from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.models import Entry
from memplatform.operations.models import Heartbeat
from tests import ROOT
from tests.clients.command_line.conftest import Person
from tests.conftest import Api

pytestmark = [pytest.mark.thorough, pytest.mark.django_db(transaction=True)]


def test_what_is_remembered_is_answered_and_found(person: Person) -> None:
    remembered = person("remember", "My", "bakery", "is", "closed", "on", "Mondays")
    assert (remembered.code, remembered.output.split(": ")[0]) == (0, "Remembered")
    again = person("remember", "-", typed="My bakery is closed on Mondays\n")
    assert again.output == remembered.output.replace("Remembered", "That is known already")
    answer = person("ask", "On which day is my bakery closed?")
    assert (answer.code, answer.output.splitlines()[0]) == (0, "My bakery is closed on Mondays")
    uid = remembered.output.split(": ")[1].strip()
    assert f"entries/{uid}" in person("search", "bakery", "--mode", "keyword").output
    assert person("search", "bakery", "--json").json["results"][0]["snippet"] == "My bakery is closed on Mondays"
    nothing = person("search", "zeppelin", "--mode", "keyword")
    assert (nothing.code, nothing.output, nothing.errors) == (1, "", "Error: Nothing was found.\n")


@pytest.mark.parametrize(("zone", "day"), [("Asia/Shanghai", "2026-01-02"), ("America/New_York", "2026-01-01")])
def test_a_day_is_that_of_the_terminal(person: Person, key_for: Callable[..., str], zone: str, day: str) -> None:
    where = {"address": {"platform": "cli"}, "at": "2026-01-01T20:00:00Z"}
    assert Api(key_for()).post("entries", {**where, "content": "我住在杭州。"}).status_code == 201
    for asked in (("ask", "我住在哪里？"), ("search", "杭州"), ("status",)):
        assert f" {day}  " in f" {person(*asked, TZ=zone).output}".replace("\n", " "), asked


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/New_York"])
def test_what_happened_on_a_day_has_that_day_everywhere(person: Person, zone: str) -> None:
    person("remember", "The port is 8080")
    event = EventDraft(scope=Entry.objects.get().scope, local_date=date(2026, 1, 1), content="Planted a quince.")
    daily_events.write([event], now=timezone.now(), actor="test")
    assert "    2026-01-01  " in person("search", "quince", TZ=zone).output
    assert "    2026-01-01  " in person("ask", "What did I plant on 1 January 2026?", TZ=zone).output


def test_what_is_forgotten_is_named_by_its_id_and_comes_back(person: Person) -> None:
    uid = person("remember", "The port is 8080", "--pin", "--json").json["id"]
    by_words = person("forget", "port", "8080")
    assert by_words.code == 2 and uid in by_words.errors and "Nothing was forgotten" in by_words.errors
    assert Entry.objects.get(uid=uid).expired_at is None
    forgotten = person("forget", uid)
    assert forgotten.output == f"Forgotten: The port is 8080\nTo bring it back: memplatform forget --undo {uid}\n"
    assert Entry.objects.get(uid=uid).expired_at
    assert person("forget", "--undo", uid).output == "Known again: The port is 8080\n"
    assert Entry.objects.get(uid=uid).expired_at is None
    assert person("forget", "--undo", "the", "port").code == 2


def test_at_a_terminal_one_is_asked_which_memory_is_to_be_forgotten(person: Person) -> None:
    person("remember", "The port is 8080")
    code, screen = person.at_a_terminal("forget", "port", typed="0\n")
    assert code == 0 and "1. The port is 8080" in screen and Entry.objects.get().expired_at is None
    code, screen = person.at_a_terminal("forget", "port", typed="1\n")
    assert code == 0 and "Forgotten: The port is 8080" in screen and Entry.objects.get().expired_at


def test_a_file_is_brought_in_once_and_taken_back_alone(person: Person, tmp_path: Path) -> None:
    person("remember", "My dog is called Rex")
    file = tmp_path / "notes.md"
    file.write_text(
        "# Home\n- My dog is called Rex\n- My sister is called Lena\n- My sister is called Lena\n1. 我住在杭州\n"
    )
    shown = person("import", str(file), "--dry-run", "--json").json
    assert [memory["content"] for memory in shown["memories"]] == [
        "My dog is called Rex",
        "My sister is called Lena",
        "我住在杭州",
    ]
    assert shown["left_out"] == {"headings and marks": 1, "twice in the file": 1}
    assert Entry.objects.count() == 1
    first = person("import", str(file), "--json").json
    assert (first["new"], first["known"], first["refused"]) == (2, 1, 0)
    second = person("import", str(file), "--json").json
    assert (second["new"], second["known"]) == (0, 3)
    assert person("import", "--undo", second["run"]).code == 1
    assert "Taken back by the batch" in person("import", "--undo", first["run"]).output
    in_use = Entry.objects.filter(archived_at=None).values_list("content", flat=True)
    assert list(in_use) == ["My dog is called Rex"]


def test_what_the_platform_refuses_is_named_and_the_rest_comes_in(person: Person, tmp_path: Path) -> None:
    file = tmp_path / "memories.json"
    file.write_text(json.dumps(["likes tea", {"text": "nothing \x00 here"}, "has a dog"]))
    brought_in = person("import", str(file), "--json")
    assert (brought_in.code, brought_in.json["new"], brought_in.json["refused"]) == (0, 2, 1)
    assert "nothing \ufffd here" in brought_in.errors and "content:" in brought_in.errors
    assert sorted(Entry.objects.values_list("content", flat=True)) == ["has a dog", "likes tea"]


def test_at_a_terminal_a_file_is_brought_in_after_a_question(person: Person, tmp_path: Path) -> None:
    (tmp_path / "memories.txt").write_text("likes tea\n")
    code, screen = person.at_a_terminal("import", str(tmp_path / "memories.txt"), typed="n\n")
    assert code == 1 and "1 to bring in from" in screen and Entry.objects.count() == 0
    code, screen = person.at_a_terminal("import", str(tmp_path / "memories.txt"), typed="y\n")
    assert code == 0 and "1 new" in screen and Entry.objects.count() == 1


def test_an_export_comes_back_with_its_kinds_and_times(person: Person, tmp_path: Path) -> None:
    person("remember", "The boat is called Wren")
    file = tmp_path / "memory.jsonl"
    assert "records written" in person("export", "-o", str(file)).output
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert (records[0]["record"], records[-1]["record"]) == ("export", "end")
    entry = Entry.objects.get()
    shown = person("import", str(file), "--scope", "web:default:direct_local", "--dry-run", "--json").json
    assert [(memory["content"], memory["type"]) for memory in shown["memories"]] == [(entry.content, entry.type)]
    assert shown["memories"][0]["at"] == entry.stated_at.isoformat()
    printed = person("export", "--all", "--history").output.splitlines()
    assert json.loads(printed[-1])["record"] == "end"


def test_of_an_export_comes_back_only_what_is_in_use_each_with_its_own_end(person: Person, tmp_path: Path) -> None:
    names = ("in use", "until spring", "archived", "expired", "suppressed", "superseded", "over")
    rows = {name: Entry.objects.get(uid=person("remember", f"{name} 喝茶", "--json").json["id"]) for name in names}
    now, file = timezone.now(), tmp_path / "memory.jsonl"
    ahead = now + timedelta(days=30)
    Entry.objects.filter(pk=rows["until spring"].pk).update(expires_at=ahead)
    Entry.objects.filter(pk=rows["over"].pk).update(expires_at=now - timedelta(days=1))
    Entry.objects.filter(pk=rows["superseded"].pk).update(superseded_by=rows["in use"])
    for mark in ("archived", "expired", "suppressed"):
        Entry.objects.filter(pk=rows[mark].pk).update(**{f"{mark}_at": now})
    person("export", "-o", str(file))
    shown = person("import", str(file), "--dry-run", "--json").json
    assert {one["content"]: one.get("expires_at") for one in shown["memories"]} == {
        "in use 喝茶": None,
        "until spring 喝茶": ahead.isoformat(),
    }
    brought_in = person("import", str(file), "--scope", "web:default:direct_local")
    assert "2 new" in brought_in.output and "refused" in brought_in.output and brought_in.code == 0
    assert Entry.objects.exclude(pk=rows["until spring"].pk).get(content="until spring 喝茶").expires_at == ahead


@pytest.mark.parametrize(("language", "words"), [("C.UTF-8", "2 scopes"), ("zh_CN.UTF-8", "2 个作用域")])
def test_an_export_of_several_people_is_not_poured_into_the_memory_of_one(
    person: Person, tmp_path: Path, language: str, words: str
) -> None:
    file = tmp_path / "all.jsonl"
    person("remember", "Likes tea")
    person("remember", "王芳喜欢咖啡", "--scope", "web:default:direct_wang")
    person("export", "--all", "-o", str(file))
    refused = person("import", str(file), "--yes", LANG=language)
    assert refused.code == 1 and words in refused.errors and "manage.py import" in refused.errors
    assert Entry.objects.count() == 2


def test_an_export_that_is_refused_leaves_no_file(person: Person, tmp_path: Path, key_for: Callable[..., str]) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text("the last one\n")
    refused = person("export", "-o", str(file), "--key", key_for("read", "write"))
    assert refused.code == 3 and "Ask an operator" in refused.errors
    assert file.read_text() == "the last one\n"
    assert [path.name for path in tmp_path.iterdir()] == ["memory.jsonl"]


@pytest.mark.parametrize(
    ("text", "memories"),
    [
        ('{"results": [{"memory": "likes tea"}, {"memory": ""}]}', ["likes tea"]),
        ('["likes tea", {"text": "has a dog"}]', ["likes tea", "has a dog"]),
        ('{"content": "likes tea"}\n{"content": "has a dog", "archived_at": "2026-01-01T00:00:00Z"}\n', ["likes tea"]),
        ("\ufefflikes tea\r\n\r\n* has a dog\n", ["likes tea", "has a dog"]),
    ],
)
def test_the_form_of_a_file_is_seen_by_what_stands_in_it(
    person: Person, tmp_path: Path, text: str, memories: list[str]
) -> None:
    file = tmp_path / "memories"
    file.write_text(text)
    shown = person("import", str(file), "--dry-run", "--json").json
    assert [memory["content"] for memory in shown["memories"]] == memories


@pytest.mark.parametrize("text", ['{"users": 3}', "", '{"content": "one"}\n{"content": \n', "\x00\xff"])
def test_a_file_that_holds_no_memories_is_refused_with_what_is_read(person: Person, tmp_path: Path, text: str) -> None:
    file = tmp_path / "memories"
    file.write_bytes(text.encode("latin-1"))
    refused = person("import", str(file))
    assert refused.code == 1 and str(file) in refused.errors or "Line 2 is no JSON" in refused.errors
    assert Entry.objects.count() == 0


def test_a_memory_moves_no_cursor(person: Person) -> None:
    person("remember", "The sign says \x1b[2Jempty \u202eback")
    answer = person("ask", "what does the sign say?")
    assert "The sign says \ufffd[2Jempty \ufffdback" in answer.output
    assert person("ask", "what does the sign say?", "--json").json["memories"][0]["content"].count("\x1b") == 1


def test_the_status_names_the_platform_the_scope_and_what_was_kept_last(person: Person, live_server: Any) -> None:
    asleep = person("status")
    assert asleep.code == 4 and f"{live_server.url}: It is not ready to answer. (embedder, worker)" in asleep.output
    assert "Scope: main" in asleep.output and "Nothing is kept" in asleep.output
    now = timezone.now()
    for name in ("web", "embedder", "worker"):
        Heartbeat.objects.create(name=name, pid=1, started_at=now, beat_at=now)
    person("remember", "The port is 8080")
    awake = person("status")
    assert awake.code == 0 and "Everything runs" in awake.output
    assert awake.output.splitlines()[-1].endswith("The port is 8080")
    assert person("status", "--json").json["newest"]["content"] == "The port is 8080"


def test_the_page_names_every_command_and_every_flag() -> None:
    page = (ROOT / "docs/howto/command-line.md").read_text()
    for name, command in memplatform.commands.items():
        assert f"memplatform {name}" in page
        flags = [flag for parameter in command.params for flag in parameter.opts if flag.startswith("--")]
        assert [flag for flag in flags if f"`{flag}" not in page and f" {flag}" not in page] == [], name
