"""`manage.py export` and `manage.py import` of what it wrote: undone, repeated, interrupted, refused (F8)."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from memories import entries
from memories.choices import BatchState, EntryType, Source
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.entries.draft import Draft
from memories.entries.files import folder_of
from memories.entries.history import history_of
from memories.files.layout import folder_name
from memories.models import Batch, DailyEvent, Entry, IndexQueueItem, Scope, Suppression, Workspace
from memories.notes.index import sync_scope
from memories.notes.save import save_note
from memplatform.transfer import export as exporting
from memplatform.transfer import importing, records
from sessions_app.models import SessionEvent
from tests.conftest import NOW, Api, make_key, make_scope
from tests.memplatform.transfer import platforms

pytestmark = pytest.mark.django_db
ADDRESS = {"platform": "telegram", "account": "mybot", "peer": "u42", "chat": "c7"}


def remember(scope: Scope, content: str, **fields: Any) -> Entry:
    draft = Draft(scope=scope, type=EntryType.USER_EXPLICIT, content=content, source=Source.MANUAL, at=NOW, **fields)
    return entries.remember(draft, now=NOW, actor="ann").entry


@pytest.fixture
def scope(workspace: Workspace) -> Scope:
    scope = make_scope(workspace)
    remember(scope, "The staging port is 8080", slots={"env": "staging"}, pinned=True)
    remember(scope, "妹妹叫小雨，住在杭州")
    taken = remember(scope, "My PIN is 4711")
    entries.expire(taken, now=NOW, actor="ann", suppress=True)
    daily_events.write([EventDraft(scope=scope, local_date=NOW.date(), content="看了牙医")], now=NOW, actor="ann")
    return scope


def command_answer(command: str, *arguments: Any) -> Any:
    out = io.StringIO()
    call_command(command, *map(str, arguments), "--json", stdout=out)
    return json.loads(out.getvalue())


def live(workspace: Workspace) -> list[str]:
    return sorted(Entry.objects.filter(workspace=workspace).live().values_list("content", flat=True))


def test_what_was_brought_in_is_found_by_its_words_and_waits_for_its_embedding(
    scope: Scope, stranger: Workspace, tmp_path: Path
) -> None:
    command_answer("export", tmp_path / "out", "--workspace", scope.workspace.name)
    command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    answer = Api(make_key(stranger)).post("recall", {"scope": scope.key, "message": "which port is staging on?"}).json()
    assert [memory["content"] for memory in answer["memories"]][:1] == ["The staging port is 8080"]
    assert IndexQueueItem.objects.filter(workspace=stranger).count() == 2
    brought = Scope.objects.get(workspace=stranger)
    assert (brought.entry_count, live(stranger)) == (2, live(scope.workspace))


@pytest.mark.thorough
def test_where_there_is_no_workspace_yet_the_import_makes_the_one_of_the_export(tmp_path: Path) -> None:
    before = transaction.savepoint()
    there = platforms.new_workspace("there")
    remember(make_scope(there), "The staging port is 8080")
    command_answer("export", tmp_path / "out")
    transaction.savepoint_rollback(before)
    command_answer("import", tmp_path / "out")
    made = Workspace.objects.get()
    assert (made.name, live(made)) == (there.name, ["The staging port is 8080"])


@pytest.mark.thorough
def test_it_is_one_batch_that_can_be_undone_and_the_undo_too(scope: Scope, stranger: Workspace, tmp_path: Path) -> None:
    command_answer("export", tmp_path / "out", "--scope", scope.key)
    (uid,) = command_answer("import", tmp_path / "out", "--workspace", stranger.name)["batches"]
    api = Api(make_key(stranger))
    assert api.get(f"batches/{uid}").json()["counts"] == {"create": 3, "tell": 1}
    assert api.post(f"batches/{uid}/undo").status_code == 201
    assert (live(stranger), DailyEvent.objects.in_use().filter(workspace=stranger).count()) == ([], 0)
    undo = Batch.objects.get(undoes__uid=uid)
    assert api.post(f"batches/{undo.uid}/undo").status_code == 201
    assert live(stranger) == live(scope.workspace)
    assert Batch.objects.get(uid=uid).state == BatchState.APPLIED


def test_repeated_it_brings_nothing_and_leaves_what_was_changed_since(
    scope: Scope, stranger: Workspace, tmp_path: Path
) -> None:
    command_answer("export", tmp_path / "out", "--scope", scope.key)
    command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    Entry.objects.filter(workspace=stranger, content__contains="8080").update(importance=0.1)
    again = command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    assert (sum(again["created"].values()), again["batches"], again["left_out"]) == (0, [], [])
    assert Entry.objects.get(workspace=stranger, content__contains="8080").importance == 0.1


def test_what_was_taken_out_is_not_brought_back_by_an_import(
    scope: Scope, workspace: Workspace, tmp_path: Path
) -> None:
    other = make_scope(workspace, "telegram:direct_u43")
    remember(other, "妹妹叫小雨，住在杭州")
    command_answer("export", tmp_path / "out", "--scope", scope.key)
    entries.expire(Entry.objects.get(scope=other), now=NOW, actor="ann", suppress=True)
    done = command_answer("import", tmp_path / "out", "--into", other.key)
    assert [row["reason"] for row in done["left_out"] if row["reason"] == "suppressed"] == ["suppressed"]
    assert sorted(Entry.objects.in_scope(other).live().values_list("content", flat=True)) == [
        "The staging port is 8080"
    ]
    assert Suppression.objects.filter(scope=other).count() == 2  # and what was taken out there stays out here
    draft = Draft(scope=other, type=EntryType.FACT, tier=2, content="My PIN is 4711", source=Source.EXTRACTION, at=NOW)
    assert not entries.remember(draft, now=NOW, actor="machine").is_kept


def test_a_dry_run_says_the_same_and_writes_nothing(scope: Scope, stranger: Workspace, tmp_path: Path) -> None:
    command_answer("export", tmp_path / "out", "--workspace", scope.workspace.name)
    tried = command_answer("import", tmp_path / "out", "--workspace", stranger.name, "--dry-run")
    assert not Scope.objects.filter(workspace=stranger).exists()
    done = command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    assert tried["created"] == done["created"]


def test_with_its_history_every_version_can_be_read_again(scope: Scope, stranger: Workspace, tmp_path: Path) -> None:
    entry = Entry.objects.get(content__contains="8080")
    entries.update(
        entry, entries.Edit(columns={"content": "The staging port is 9090"}, slots={"env": None}), now=NOW, actor="bob"
    )
    command_answer("export", tmp_path / "out", "--scope", scope.key, "--history")
    command_answer("import", tmp_path / "out", "--workspace", stranger.name, "--actor", "eve")
    brought = Entry.objects.get(workspace=stranger, content__contains="9090")
    ours, theirs = (
        [(step.version, step.actor, step.wording, step.slots) for step in history_of(item)] for item in (entry, brought)
    )
    assert [step for step in theirs if step[1] != "command:eve"] == ours
    assert (
        Api(make_key(stranger)).post(f"entries/{brought.uid}/revert", {"version": 1}).json()["slots"]["env"]
        == "staging"
    )


def test_files_come_along_and_their_lines_stay_lines(scope: Scope, stranger: Workspace, tmp_path: Path) -> None:
    save_note(scope, folder_of(scope).long_term, "Bob plays chess", now=NOW)
    command_answer("export", tmp_path / "out", "--workspace", scope.workspace.name)
    assert command_answer("import", tmp_path / "out", "--workspace", stranger.name)["files"] == 1
    brought = Scope.objects.get(workspace=stranger)
    before = live(stranger)
    assert "Bob plays chess" in (folder_of(brought).workspace / folder_of(brought).long_term).read_text()
    sync_scope(brought, now=NOW)
    assert live(stranger) == before and Entry.objects.filter(workspace=stranger, path__gt="").count() == 1
    assert "- 妹妹叫小雨" in (tmp_path / "out" / "markdown" / folder_name(scope.key) / "MEMORY.md").read_text()


def test_files_of_a_folder_of_before_come_into_the_one_of_today(
    scope: Scope, stranger: Workspace, tmp_path: Path
) -> None:
    (folder_of(scope).workspace / "memory/scopes" / scope.key).mkdir(parents=True)
    note = save_note(scope, folder_of(scope).long_term, "Bob plays chess", now=NOW)
    command_answer("export", tmp_path / "out", "--workspace", scope.workspace.name)
    assert command_answer("import", tmp_path / "out", "--workspace", stranger.name)["files"] == 1
    long_term = folder_of(Scope.objects.get(workspace=stranger)).long_term
    assert (":" in note.path, ":" in long_term) == (True, False)
    assert Entry.objects.get(workspace=stranger, path__gt="").path == long_term


@pytest.mark.parametrize("broken", ['{"record":"entry"', '{"record":"poem"}', '{"record":"day","content":"x"}', "[]"])
def test_a_broken_line_is_named_before_anything_is_written(
    scope: Scope, stranger: Workspace, tmp_path: Path, broken: str
) -> None:
    command_answer("export", tmp_path / "out", "--scope", scope.key)
    file = tmp_path / "out" / "memory.jsonl"
    lines = file.read_text().split("\n")
    file.write_text("\n".join([*lines[:3], broken, *lines[3:]]))
    with pytest.raises(CommandError, match="Line 4: "):
        command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    file.write_text("\n".join(lines[:4]))
    with pytest.raises(CommandError, match="ends at line 4"):
        command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    assert not Scope.objects.filter(workspace=stranger).exists()


def test_a_frozen_scope_takes_nothing_and_after_thawing_it_goes_on(
    scope: Scope, stranger: Workspace, tmp_path: Path
) -> None:
    command_answer("export", tmp_path / "out", "--scope", scope.key)
    frozen = make_scope(stranger, scope.key)
    Scope.objects.filter(pk=frozen.pk).update(frozen=True)
    with pytest.raises(CommandError, match=scope.key):
        command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    Scope.objects.filter(pk=frozen.pk).update(frozen=False)
    command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    assert live(stranger) == live(scope.workspace)


class Killed(BaseException):
    """As a kill -9: nothing more is run."""


def dying(pages: int) -> Any:
    """Writes so many pages, and of the next one a part."""
    write, left = exporting._write, iter(range(pages))

    def written(file: Any, records: list[Any]) -> None:
        write(file, records)
        if next(left, None) is None:
            file.write(b'{"record":"entry","conte')
            file.flush()
            raise Killed

    return written


@pytest.mark.thorough
def test_killed_at_any_page_an_export_and_an_import_go_on(
    scope: Scope, stranger: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(20):
        remember(scope, f"Number {n} is {n * 7919}")
    monkeypatch.setattr(exporting, "PAGE", 4)
    monkeypatch.setattr(importing, "PAGE", 4)
    write, arguments, kills = exporting._write, ["export", tmp_path / "out", "--scope", scope.key], 0
    while not (tmp_path / "out" / "memory.jsonl").exists():
        monkeypatch.setattr(exporting, "_write", dying(2))
        try:
            command_answer(*arguments, *(["--resume"] if kills else []))
        except Killed:
            kills += 1
        monkeypatch.setattr(exporting, "_write", write)
    assert kills > 3
    command_answer("export", tmp_path / "whole", "--scope", scope.key)
    texts = [(tmp_path / name / "memory.jsonl").read_text().split("\n") for name in ("out", "whole")]
    assert texts[0][1:] == texts[1][1:]
    bring = importing._BRING["entry"]
    calls = iter(range(3))

    def killed(*given: Any) -> None:
        bring(*given)
        if next(calls, None) is None:
            raise Killed

    monkeypatch.setitem(importing._BRING, "entry", killed)
    with pytest.raises(Killed):
        command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    assert 0 < len(live(stranger)) < len(live(scope.workspace))
    monkeypatch.setitem(importing._BRING, "entry", bring)
    command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    assert live(stranger) == live(scope.workspace)


@pytest.mark.thorough
def test_resumed_while_bots_go_on_an_export_holds_the_conversations_as_it_began(
    scope: Scope, stranger: Workspace, tmp_path: Path, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = {"address": ADDRESS, "user": "I moved to Hangzhou", "assistant": "Noted."}
    api.post("turns", turn)
    api.post("turns", {**turn, "user": "And now to Suzhou"})
    write, arguments = exporting._write, ["export", tmp_path / "out", "--workspace", scope.workspace.name]
    position = tmp_path / "out" / "memory.jsonl.position"
    monkeypatch.setattr(exporting, "PAGE", 1)
    while not position.exists() or json.loads(position.read_text())["kind"] != "message":
        monkeypatch.setattr(exporting, "_write", dying(2 if not position.exists() else 1))
        with pytest.raises(Killed):
            command_answer(*arguments, *(["--resume"] if position.exists() else []))
        monkeypatch.setattr(exporting, "_write", write)
    for address in (ADDRESS, {**ADDRESS, "peer": "u43", "chat": "c8"}):
        assert api.post("turns", {**turn, "address": address, "user": "Later on"}).status_code == 201
    remember(scope, "The staging port is 9090")
    command_answer(*arguments, "--resume")
    done = command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    assert (done["left_out"], done["created"]["session"], done["created"]["message"]) == ([], 1, 4)
    assert "The staging port is 9090" in live(stranger)
    assert Api(make_key(stranger)).post("turns", {**turn, "user": "Back here"}).status_code == 201


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_session_goes_on_after_its_last_message_whatever_the_export_tells_of_it(
    is_reset: bool, scope: Scope, stranger: Workspace, tmp_path: Path, api: Api
) -> None:
    turn = {"address": ADDRESS, "user": "I moved to Hangzhou", "assistant": "Noted."}
    session = api.post("turns", turn).json()["session"]
    if is_reset:
        api.post(f"sessions/{session['id']}/reset")
        api.post("turns", turn)
    command_answer("export", tmp_path / "out", "--workspace", scope.workspace.name)
    file = tmp_path / "out" / "memory.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    (told,) = [row for row in rows if row["record"] == "session"]
    told |= {"conversation": 1, "next_position": 2}
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command_answer("import", file, "--workspace", stranger.name)
    answer = Api(make_key(stranger)).post("turns", {**turn, "user": "And now to Suzhou"})
    assert (answer.status_code, answer.json()["session"]["conversation"]) == (201, 2 if is_reset else 1)
    assert SessionEvent.objects.filter(workspace=stranger).count() == (6 if is_reset else 4)


@pytest.mark.thorough
def test_a_conversation_goes_on_elsewhere_and_one_that_goes_on_here_is_left_alone(
    scope: Scope, stranger: Workspace, tmp_path: Path, api: Api
) -> None:
    turn = {"address": ADDRESS, "user": "I moved to Hangzhou", "assistant": "Noted."}
    session = api.post("turns", turn).json()["session"]
    command_answer("export", tmp_path / "out", "--workspace", scope.workspace.name)
    other = Api(make_key(stranger))
    assert command_answer("import", tmp_path / "out", "--workspace", stranger.name)["created"]["message"] == 2
    went_on = other.post("turns", {**turn, "user": "And now to Suzhou"}).json()["session"]
    assert (went_on["key"], went_on["conversation"]) == (session["key"], 1) and went_on["id"] != session["id"]
    history = other.post("context", {"address": ADDRESS, "message": "where do I live?"}).json()["history"]
    assert [row["content"] for row in history] == ["I moved to Hangzhou", "Noted.", "And now to Suzhou", "Noted."]
    third = Workspace.objects.create(name="Dora's")
    busy = Api(make_key(third))
    busy.post("turns", {**turn, "user": "I am Dora"})
    done = command_answer("import", tmp_path / "out", "--workspace", third.name)
    assert (done["left_out"], done["created"]["session"], done["created"]["message"]) == ([], 1, 2)
    history = busy.post("context", {"address": ADDRESS, "message": "who am I?"}).json()["history"]
    assert [row["content"] for row in history] == ["I am Dora", "Noted."]
    turns = Entry.objects.filter(workspace=third, content__contains="Hangzhou")
    assert turns.count() == 1  # what was remembered of it came all the same


def test_a_file_reaches_no_memory_of_a_scope_it_does_not_hold(
    scope: Scope, workspace: Workspace, tmp_path: Path
) -> None:
    other = remember(make_scope(workspace, "telegram:direct_u43"), "Bob plays chess")
    command_answer("export", tmp_path / "out", "--scope", scope.key)
    file = tmp_path / "out" / "memory.jsonl"
    *lines, end, _empty = file.read_text().split("\n")
    uid = str(Entry.objects.in_scope(scope).live().earliest("pk").uid)
    forged = {
        "record": "successor",
        "entry": str(other.uid),
        "by": uid,
        "version": other.version + 1,
        "archived_at": None,
    }
    counts = json.loads(end)["counts"]
    file.write_text(
        "\n".join([*lines, json.dumps(forged), json.dumps({"record": "end", "counts": {**counts, "successor": 1}})])
    )
    assert [row["reason"] for row in command_answer("import", file, "--workspace", workspace.name)["left_out"]] == [
        "no_entry"
    ]
    other.refresh_from_db()
    assert other.is_live()


def test_what_came_into_many_scopes_is_one_run_and_taken_back_by_one_command(
    scope: Scope, stranger: Workspace, tmp_path: Path
) -> None:
    other = make_scope(scope.workspace, "telegram:direct_u7")
    remember(other, "Omar drinks coffee")
    command_answer("export", tmp_path / "out", "--workspace", scope.workspace.name)
    out = io.StringIO()
    call_command("import", str(tmp_path / "out"), "--workspace", stranger.name, stdout=out)
    (line,) = [line for line in out.getvalue().splitlines() if "To take it back" in line]
    run = line.rpartition(" ")[2]
    assert Batch.objects.filter(workspace=stranger, run=run).count() == 2
    out = io.StringIO()
    call_command("batch", "undo", run, stdout=out)
    assert live(stranger) == [] and out.getvalue().splitlines() == ["Taken back: 2 batches of one run."]
    with pytest.raises(CommandError, match="already"):
        call_command("batch", "undo", run)
    assert live(scope.workspace)


@pytest.mark.parametrize(
    ("line", "limit"),
    [
        ('{"record":"scope","label":' + "[" * 120 + "]" * 120 + "}", "100 deep"),
        ('{"record":"scope","label":"' + "x" * (1024 * 1024) + '"}', "over 1 MB"),
    ],
    ids=["deep", "long"],
)
def test_a_line_over_a_limit_is_named_with_the_limit_and_nothing_is_written(
    scope: Scope, stranger: Workspace, tmp_path: Path, line: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "ITEM_BYTES", 1024 * 1024)
    command_answer("export", tmp_path / "out", "--scope", scope.key)
    file = tmp_path / "out" / "memory.jsonl"
    lines = file.read_text().split("\n")
    file.write_text("\n".join([*lines[:2], line, *lines[2:]]))
    with pytest.raises(CommandError) as refusal:
        command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    assert limit in str(refusal.value) and "3" in str(refusal.value)
    assert not Scope.objects.filter(workspace=stranger).exists()


def test_while_an_export_is_read_it_says_how_much_of_it_is(
    scope: Scope, stranger: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command_answer("export", tmp_path / "out", "--scope", scope.key)
    capsys.readouterr()
    command_answer("import", tmp_path / "out", "--workspace", stranger.name)
    lines = capsys.readouterr().err.splitlines()
    shares = [line for line in lines if line.startswith("Reading ") and line.endswith(" %")]
    assert shares[-1] == "Reading 100 %"
    assert len(shares) > 1
