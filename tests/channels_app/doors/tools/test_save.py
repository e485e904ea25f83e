"""memory_save and memory_append: a line of a file, and found again when the call returns (C2, E3)."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memories.files.layout import ScopeFolder, scope_folder
from memories.files.markdown import blocks
from memories.models import Entry, Scope, Workspace
from tests.channels_app.doors.tools.asking import FORMS, by_model, text_of, tool
from tests.channels_app.doors.tools.reading import CHAT, DAILY, OTHERS, OWN, REFUSED, written
from tests.conftest import GROUP, NOW, TELEGRAM, make_key
from tests.memories.files.test_paths import HOSTILE, IN_A_SCOPE
from tests.sessions_app.conftest import Talk, clock

pytestmark = pytest.mark.django_db
LONG_TERM = "memory/scopes/telegram+direct_u42/LONG_TERM.md"


def save(talk: Talk, content: str, target: str = "daily", **asked: Any) -> dict[str, Any]:
    return tool(talk, "memory_save", content=content, target=target, **{"status": 201, **asked})


def append(talk: Talk, content: str, **asked: Any) -> dict[str, Any]:
    return tool(talk, "memory_append", content=content, **{"status": 201, **asked})


def more(name: str) -> dict[str, str]:
    """What the tool needs besides the content."""
    return {"target": "daily"} if name == "memory_save" else {}


def text_at(folder: ScopeFolder, path: str) -> str:
    return (folder.workspace / path).read_text()


def tree(root: Path) -> dict[str, bytes]:
    return {str(place.relative_to(root)): place.read_bytes() for place in root.rglob("*") if place.is_file()}


def test_it_works(talk: Talk, folder: ScopeFolder) -> None:
    answer = save(talk, "My sister Lena moves to Porto on 4 May")
    assert (answer["path"], answer["line"], answer["scope"]) == (DAILY, 3, OWN)
    assert (answer["outcome"], answer["degraded"]) == ("created", [])
    entry = Entry.objects.get(uid=answer["entry"])
    assert (entry.content, entry.type, entry.source) == ("My sister Lena moves to Porto on 4 May", "note", "file")
    assert (entry.path, entry.line_from) == (DAILY, 3)
    lines = text_at(folder, DAILY).split("\n")
    assert lines[0] == "# 2026-03-01" and lines[2].startswith("- My sister Lena moves to Porto on 4 May <!-- ^")
    result = tool(talk, "memory_search", query="where does Lena move to?")["results"][0]
    assert (result["path"], result["line"], result["source"]) == (DAILY, 3, "notes")
    assert tool(talk, "memory_get", path=f"{DAILY}:3")["text"].strip() == "- My sister Lena moves to Porto on 4 May"


def test_what_stays_true_goes_to_the_long_term_file(talk: Talk, folder: ScopeFolder) -> None:
    assert save(talk, "我对花生过敏", "long-term")["path"] == LONG_TERM
    assert "我对花生过敏" in text_at(folder, LONG_TERM)
    assert tool(talk, "memory_search", query="我对什么过敏？")["results"][0]["path"] == LONG_TERM


def test_the_one_owners_memory_is_at_the_root(talk: Talk, workspace: Workspace) -> None:
    at = {"platform": "cli"}
    assert save(talk, "The boat is blue", "long-term", at=at)["path"] == "MEMORY.md"
    assert save(talk, "Painted the boat", at=at)["path"] == "memory/2026-03-01.md"


def test_the_day_is_that_of_the_workspace(workspace: Workspace) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(time_zone="Asia/Shanghai")
    talk = Talk(make_key(workspace))
    evening = NOW.replace(hour=17)  # one in the morning of the day after, there
    answer = talk.post(
        "tools/memory_save", {"address": TELEGRAM, "content": "late", "target": "daily"}, **clock(evening)
    )
    assert answer.json()["path"].endswith("/2026-03-02.md")


def test_each_line_says_from_where_it_came(talk: Talk, folder: ScopeFolder) -> None:
    session = talk.say("hello")["session"]["key"]
    save(talk, "The boat is blue")
    save(talk, "The door is green")
    text = text_at(folder, DAILY)
    assert text.count(f"session={session} scope={OWN} -->") == 1  # however many lines of it there are
    assert [(line.session, line.scope_key, line.at) for line in blocks(text)] == [(session, OWN, NOW)] * 2
    entry = Entry.objects.get(content="The boat is blue")
    assert [(slot.name, slot.value) for slot in entry.slots.all()] == [("source_session_id", session)]


@pytest.mark.parametrize("name", ["memory_save", "memory_append"])
def test_a_line_saved_by_scope_says_that_too(talk: Talk, workspace: Workspace, root: Path, name: str) -> None:
    saved = tool(talk, name, content="The boat is blue", at=OTHERS, status=201, **more(name))
    (line,) = blocks((root / workspace.folder / saved["path"]).read_text())
    assert (line.session, line.scope_key) == ("api", OTHERS)
    entry = Entry.objects.get(uid=saved["entry"])
    assert entry.scope.key == OTHERS
    assert [(slot.name, slot.value) for slot in entry.slots.all()] == [("source_session_id", "api")]


@pytest.mark.parametrize(
    ("content", "memories"),
    [
        ("salmon\ntea\n", ["salmon", "tea"]),
        ("- salmon\n- tea", ["salmon", "tea"]),
        ("My name is Xue.\nI live in Chengdu.", ["My name is Xue.", "I live in Chengdu."]),
        ("我叫小雪。\n\n我住在成都。", ["我叫小雪。", "我住在成都。"]),
        ("We decided to move\nto Chengdu in spring.", ["We decided to move\nto Chengdu in spring."]),
        ("```\nmake run\nmake test\n```", ["```\nmake run\nmake test\n```"]),
        ("The stops:\n  Bergen\n  Oslo", ["The stops:\n  Bergen\n  Oslo"]),
    ],
)
@pytest.mark.parametrize("name", ["memory_save", "memory_append"])
def test_of_several_lines_each_has_its_stamp(
    talk: Talk, root: Path, workspace: Workspace, name: str, content: str, memories: list[str]
) -> None:
    saved = tool(talk, name, content=content, at=OTHERS, status=201, **more(name))
    text = blocks((root / workspace.folder / saved["path"]).read_text())
    assert [(line.text, line.session, line.scope_key, line.at) for line in text] == [
        (memory, "api", OTHERS, NOW) for memory in memories
    ]
    assert sorted(Entry.objects.values_list("content", flat=True)) == sorted(memories)
    assert Entry.objects.get(uid=saved["entry"]).content == memories[0]


def test_in_a_group_it_is_the_groups(talk: Talk, workspace: Workspace) -> None:
    answer = save(talk, "We meet on Thursdays", at=GROUP)
    assert (answer["scope"], answer["path"]) == (CHAT, "memory/scopes/telegram+mybot+group_g1/2026-03-01.md")
    assert Entry.objects.get(uid=answer["entry"]).scope.key == CHAT
    nobody = {**GROUP, "peer": ""}
    assert save(talk, "Everybody brings a cake", at=nobody)["scope"] == CHAT


def test_of_an_address_nobody_is_named_by_nothing_is_saved(talk: Talk, root: Path) -> None:
    for name in ("memory_save", "memory_append"):
        body = {"address": {"platform": "telegram"}, "content": "x"} | (
            {"target": "daily"} if name == "memory_save" else {}
        )
        answer = talk.post(f"tools/{name}", body)
        assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "address")
    assert tree(root) == {} and Entry.objects.count() == 0


def test_into_a_scope_by_its_key(talk: Talk) -> None:
    assert save(talk, "The boat is blue", at=OTHERS)["scope"] == OTHERS
    tool(talk, "memory_save", content="x", target="daily", at="not a key", status=404)


@pytest.mark.thorough
def test_what_was_taken_out_comes_back_by_saving_it_and_the_answer_says_so(talk: Talk) -> None:
    first = save(talk, "My favourite tea is oolong")
    talk.request("DELETE", f"entries/{first['entry']}")
    assert tool(talk, "memory_search", query="favourite tea")["results"] == []
    again = save(talk, "My favourite tea is oolong")
    assert again["outcome"] == "brought_back" and again["entry"]
    assert "oolong" in tool(talk, "memory_search", query="favourite tea")["text"]
    talk.request("DELETE", f"entries/{again['entry']}")
    result = by_model(talk, "memory_save", {"content": "My favourite tea is oolong", "target": "daily"})
    assert text_of(result["message"]).startswith("Saved") and "in use again" in text_of(result["message"])


@pytest.mark.parametrize(
    ("language", "content", "again", "answer"),
    [
        ("en", "My favourite tea is oolong.", "my favourite tea is oolong", "Known already: [{path}:3]"),
        ("zh-hans", "我最喜欢乌龙茶。", "我最喜欢乌龙茶", "早已记住：[{path}:3]"),
    ],
)
def test_the_same_sentence_is_known_already(
    workspace: Workspace, folder: ScopeFolder, language: str, content: str, again: str, answer: str
) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language=language)
    talk = Talk(make_key(workspace))
    first = save(talk, content)
    text = text_at(folder, DAILY)
    second = save(talk, again)
    assert (second["outcome"], second["entry"]) == ("known", first["entry"])
    assert (second["path"], second["line"]) == (first["path"], first["line"])
    result = by_model(talk, "memory_save", {"content": content, "target": "daily"})
    assert text_of(result["message"]).startswith(answer.format(path=DAILY))
    assert text_at(folder, DAILY) == text and Entry.objects.filter(type="note").count() == 1


def test_what_is_known_of_a_day_may_still_become_a_line_that_stays(talk: Talk, folder: ScopeFolder) -> None:
    save(talk, "I am allergic to peanuts")
    stays = save(talk, "I am allergic to peanuts", "long-term")
    assert (stays["outcome"], stays["path"]) == ("created", LONG_TERM)
    assert save(talk, "I am allergic to peanuts", "long-term")["outcome"] == "known"


def test_a_line_that_was_removed_by_hand_is_known_no_more(talk: Talk, folder: ScopeFolder) -> None:
    save(talk, "The boat is blue")
    written(folder, DAILY, "# 2026-03-01", "", "- The door is green")
    assert save(talk, "The boat is blue")["outcome"] != "known"
    assert text_at(folder, DAILY).count("blue") == 1


@pytest.mark.parametrize("name", ["memory_save", "memory_append"])
def test_a_frozen_scope_takes_nothing(talk: Talk, workspace: Workspace, root: Path, name: str) -> None:
    Scope.objects.create(workspace=workspace, key=OWN, kind="user", frozen=True)
    error = tool(talk, name, content="The boat is blue", status=409, **more(name))["errors"][0]
    assert error["code"] == "scope_frozen"
    result = by_model(talk, name, {"content": "The boat is blue", **more(name)})
    assert result["is_error"] and "frozen" in text_of(result["message"])
    assert tree(root) == {} and Entry.objects.count() == 0


@pytest.mark.parametrize("content", ["", "   \n ", "x" * 8_001, "a\0b"])
@pytest.mark.parametrize("name", ["memory_save", "memory_append"])
def test_what_no_memory_can_hold_is_named(talk: Talk, root: Path, name: str, content: str) -> None:
    answer = talk.post(f"tools/{name}", {"address": TELEGRAM, "content": content, **more(name)})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) in ((400, "content"), (400, None))
    result = by_model(talk, name, {"content": content, **more(name)})
    assert result["is_error"] and result["errors"][0]["attr"] == "content"
    assert tree(root) == {} and Entry.objects.count() == 0


def test_what_is_saved_twice_under_one_key_is_saved_once(talk: Talk, folder: ScopeFolder) -> None:
    body = {"address": TELEGRAM, "content": "The boat is blue", "target": "daily"}
    answers = [talk.post("tools/memory_save", body, **{"Idempotency-Key": "a1"}).json() for _ in range(2)]
    call = {"type": "tool_use", "id": "1", "name": "memory_append", "input": {"content": "Rice eats salmon"}}
    for _ in range(2):
        talk.post("tools/call", {"address": TELEGRAM, "call": call}, **{"Idempotency-Key": "a2"})
    assert answers[0] == answers[1]
    assert (text_at(folder, DAILY).count("blue"), text_at(folder, DAILY).count("salmon")) == (1, 1)


@pytest.mark.parametrize("form", FORMS)
def test_a_model_saves_by_its_own_call(talk: Talk, folder: ScopeFolder, form: str) -> None:
    result = by_model(talk, "memory_save", {"content": "The boat is blue", "target": "long-term"}, form=form)
    assert text_of(result["message"]) == f"Saved: [{LONG_TERM}:{result['result']['line']}]."
    assert "The boat is blue" in text_at(folder, LONG_TERM)


def test_a_key_that_may_only_read_saves_nothing_in_any_way(talk: Talk, workspace: Workspace, root: Path) -> None:
    reader = Talk(make_key(workspace, permissions=["read"]))
    tool(reader, "memory_save", content="x", target="daily", status=403)
    calls = [
        {"type": "tool_use", "id": "1", "name": "memory_search", "input": {"query": "boat"}},
        {"type": "tool_use", "id": "2", "name": "memory_append", "input": {"content": "x"}},
    ]
    assert reader.post("tools/call", {"address": TELEGRAM, "calls": calls}).status_code == 403
    assert reader.post("tools/call", {"address": TELEGRAM, "calls": calls[:1]}).status_code == 200
    assert tree(root) == {}


# memory_append


def test_lines_are_added_to_the_end_and_nothing_is_rewritten(talk: Talk, folder: ScopeFolder) -> None:
    path = f"{folder.base}/shopping.md"
    written(folder, path, "# Shopping", "", "- rice")
    answer = append(talk, "salmon for the cat", path=path)
    assert (answer["path"], answer["line"], answer["outcome"]) == (path, 4, "created")
    assert text_at(folder, path).startswith("# Shopping\n\n- rice\n- salmon for the cat <!-- ^")
    assert append(talk, "tea")["path"] == DAILY
    assert append(talk, "milk", path=f"[{path}:3]")["line"] == 6  # below the line that names the session


@pytest.mark.parametrize("path", ["MEMORY.md", "memory/scopes/main/transcripts/2026-03-01.md", "notes.md"])
def test_only_notes_under_memory_are_added_to(talk: Talk, root: Path, path: str) -> None:
    (error,) = append(talk, "x", path=path, at={"platform": "cli"}, status=403)["errors"]
    assert error == REFUSED and tree(root) == {}


@pytest.mark.thorough
@pytest.mark.parametrize("path", [*HOSTILE, *IN_A_SCOPE])
def test_nothing_is_added_along_a_hostile_path(talk: Talk, root: Path, folder: ScopeFolder, path: str) -> None:
    written(folder, LONG_TERM, "- mine")
    before = tree(root)
    body = {"address": TELEGRAM, "content": "x", "path": path}
    assert talk.request("POST", "tools/memory_append", json.dumps(body)).status_code in (
        400,
        403,
    )  # 400: no text at all
    result = by_model(talk, "memory_append", json.dumps({"content": "x", "path": path}))
    assert result["is_error"] and result["errors"][0]["attr"] == "path"
    assert tree(root) == before


@pytest.mark.parametrize("rule", ["none", "same_chat", "all"])
def test_a_group_adds_nothing_to_a_persons_notes(
    talk: Talk, workspace: Workspace, folder: ScopeFolder, rule: str
) -> None:
    workspace.channels.create(platform="telegram", account="mybot", group_user_recall=rule)
    written(folder, DAILY, "- mine")
    (error,) = append(talk, "x", path=DAILY, at=GROUP, status=403)["errors"]
    assert error == REFUSED and text_at(folder, DAILY) == "- mine\n"


def test_a_line_written_by_hand_is_found_by_the_next_search(talk: Talk, folder: ScopeFolder, settings: Any) -> None:
    settings.MEMORY_SYNC_MIN_INTERVAL = timedelta(0)
    written(folder, f"{folder.base}/boat.md", "# Boat", "", "- The hull was painted in Bergen")
    result = tool(talk, "memory_search", query="where was the hull painted?")["results"][0]
    assert (result["path"], result["line"], result["heading"]) == (f"{folder.base}/boat.md", 3, "Boat")


def test_the_folder_of_another_workspace_is_another(talk: Talk, stranger: Workspace, root: Path) -> None:
    save(talk, "The boat is blue")
    hers = Talk(make_key(stranger))
    assert tool(hers, "memory_get", path=DAILY)["found"] is False
    save(hers, "The boat is red")
    assert (root / stranger.folder / DAILY).exists()
    assert scope_folder(stranger.folder, OWN).workspace != scope_folder(talk_folder(talk), OWN).workspace


def talk_folder(talk: Talk) -> str:
    return str(Workspace.objects.get(name="Alice's").folder)


def test_without_a_target_it_goes_to_the_note_of_the_day(talk: Talk) -> None:
    saved = tool(talk, "memory_save", content="晚上七点在河边见", status=201)
    assert saved["path"].endswith(".md") and "LONG_TERM" not in saved["path"]
