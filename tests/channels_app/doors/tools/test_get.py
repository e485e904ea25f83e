"""memory_get: what a path leads to, word for word, and nothing of anybody else's (C4)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import entries
from memories.choices import EntryType
from memories.files import disk, markdown
from memories.files.layout import ScopeFolder
from memories.language.quoting import NOTICE
from memories.models import DailyEvent, Scope, Workspace
from tests.channels_app.doors.tools.asking import by_model, text_of, tool
from tests.channels_app.doors.tools.reading import DAILY, NOBODY, OTHERS, OWN, REFUSED, get, paths, refused, written
from tests.conftest import NOW, TELEGRAM, make_draft, make_key
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db


def test_it_works(talk: Talk, folder: ScopeFolder) -> None:
    written(folder, DAILY, *(f"line {n}" for n in range(1, 101)))
    answer = get(talk, DAILY)
    assert answer["text"].split("\n") == [f"line {n}" for n in range(1, 41)]
    assert (answer["from"], answer["lines"], answer["truncated"], answer["next"]) == (1, 40, True, 41)
    last = get(talk, DAILY, **{"from": 91, "lines": 40})
    assert (last["lines"], last["truncated"], last["next"]) == (10, False, None)
    assert (last["found"], last["source"], last["path"]) == (True, "notes", DAILY)


@pytest.mark.parametrize("path", [f"{DAILY}:12", f"[{DAILY}:12]", f" [{DAILY}:12] ", f"{DAILY}:12-20"])
def test_a_path_may_name_its_line(talk: Talk, folder: ScopeFolder, path: str) -> None:
    written(folder, DAILY, *(f"line {n}" for n in range(1, 101)))
    answer = get(talk, path, lines=2)
    assert (answer["text"], answer["from"], answer["path"]) == ("line 12\nline 13", 12, DAILY)
    assert get(talk, path, lines=1, **{"from": 3})["text"] == "line 3"


def test_at_most_three_hundred_lines_come_at_once(talk: Talk, folder: ScopeFolder) -> None:
    written(folder, DAILY, *(f"line {n}" for n in range(1, 401)))
    answer = get(talk, DAILY, lines=1_000)
    assert (answer["lines"], answer["truncated"], answer["next"]) == (300, True, 301)


def test_very_long_lines_are_cut(talk: Talk, folder: ScopeFolder) -> None:
    written(folder, DAILY, "x" * 70_000, "y" * 50_000, "z" * 50_000)
    first = get(talk, DAILY)
    assert (first["lines"], len(first["text"]), first["truncated"]) == (1, 60_000, True)
    second = get(talk, DAILY, **{"from": 2})
    assert (second["lines"], second["text"][0], second["next"]) == (1, "y", 3)


def test_a_path_that_does_not_exist_gives_empty_text(talk: Talk) -> None:
    answer = get(talk, DAILY)
    assert (answer["text"], answer["found"], answer["truncated"], answer["lines"]) == ("", False, False, 0)


def test_what_the_platform_wrote_for_itself_is_left_out_and_lines_keep_their_numbers(
    talk: Talk, folder: ScopeFolder
) -> None:
    disk.append(
        folder, DAILY, markdown.rendered("The boat is blue", at=NOW, session="s", scope_key=OWN), first_line="# Day"
    )
    disk.append(folder, DAILY, markdown.rendered("The door code is 4711", at=NOW, scope_key=OWN))
    disk.append(folder, DAILY, markdown.rendered("Rosa\n\nteaches the violin", at=NOW, scope_key=OWN))
    disk.append(folder, DAILY, "<!-- mine, not the platform's -->\nThe last line")
    read = disk.read(folder, DAILY)
    assert read is not None
    for content in ("The door code is 4711", "Rosa\n\nteaches the violin"):
        text = disk.read(folder, DAILY)
        assert text is not None
        block = next(block for block in markdown.blocks(text.text) if block.text == content)
        disk.rewrite(folder, DAILY, lambda text, block=block: markdown.struck(text, block, NOW))
    shown = get(talk, DAILY)["text"]
    assert shown.split("\n")[:3] == ["# Day", "", "- The boat is blue"]
    assert "4711" not in shown and "Rosa" not in shown and "violin" not in shown and "at=" not in shown
    assert shown.split("\n")[-2:] == ["<!-- mine, not the platform's -->", "The last line"]
    now = disk.read(folder, DAILY)
    assert now is not None and len(shown.split("\n")) == len(now.text.rstrip("\n").split("\n"))


def test_what_people_took_out_is_not_told_from_its_file(talk: Talk, folder: ScopeFolder, workspace: Workspace) -> None:
    written(folder, DAILY, "- The boat is blue", "- My sister's number is 555-1234", "- Rice eats salmon")
    scope = Scope.objects.create(workspace=workspace, key=OWN, kind="user")
    note = make_draft(scope, "My sister's number is 555-1234", type=EntryType.USER_EXPLICIT)
    entry = entries.remember(note, now=NOW, actor="test").entry
    assert "555-1234" in get(talk, DAILY)["text"]
    talk.request("DELETE", f"entries/{entry.uid}")
    assert get(talk, DAILY)["text"] == "- The boat is blue\n\n- Rice eats salmon"


def test_files_of_other_editors_can_be_read(talk: Talk, folder: ScopeFolder) -> None:
    place = folder.workspace / DAILY
    place.parent.mkdir(parents=True)
    place.write_bytes("\ufeff# 标题\r\n- 部署窗口\r\n".encode())
    assert get(talk, DAILY)["text"] == "# 标题\n- 部署窗口"
    place.write_bytes(b"- caf\xe9 <!-- at=2026-03-01T09:00:00+00:00 -->\n- tea\n")
    assert get(talk, DAILY)["text"] == "- caf\ufffd\n- tea"


# memories, days, messages


@pytest.mark.usefixtures("own_scope")
def test_every_path_of_a_search_can_be_read(talk: Talk) -> None:
    results = tool(talk, "memory_search", query="boat violin noon", min_score=0)["results"]
    assert {result["source"] for result in results} >= {"entries", "daily_events"}
    for answer in results:
        for path in [f"{answer['path']}:{answer['line']}", f"[{answer['path']}]", *answer["evidence"]]:
            assert get(talk, path)["found"], path


@pytest.mark.usefixtures("own_scope")
def test_memories_days_and_messages_are_read_whole_with_who_and_when(talk: Talk) -> None:
    read = {source: get(talk, path) for source, path in paths().items()}
    assert read["entries"]["text"] == "User: the boat leaves at noon\nAssistant: aye aye"
    assert read["daily_events"]["text"] == "The violin was repaired"
    assert read["daily_events"]["at"].startswith("2026-02-27")
    message = read["session_events"]
    assert (message["text"], message["speaker"], message["at"]) == (
        "the boat leaves at noon",
        "User",
        NOW.isoformat()[:-6] + "Z",
    )
    assert {source: one["source"] for source, one in read.items()} == {source: source for source in read}


@pytest.mark.thorough
@pytest.mark.usefixtures("own_scope")
def test_another_scope_looks_as_if_nothing_were_there(talk: Talk, workspace: Workspace, stranger: Workspace) -> None:
    other = {**TELEGRAM, "peer": "u7", "chat": "c9"}
    talk.say("hello", address=other)
    nothing = [f"entries/{NOBODY}", f"daily_events/{NOBODY}", f"session_events/{NOBODY}/1/event-1"]
    for path in [*paths().values(), *nothing]:
        assert refused(talk, path, at=other) == refused(talk, path, at=OTHERS) == REFUSED
        assert refused(Talk(make_key(stranger)), path) == REFUSED
    own = Talk(make_key(workspace, name="own", scope_patterns=["telegram:direct_u7"]))
    for path in paths().values():
        assert refused(own, path, at=other) == REFUSED
        tool(own, "memory_get", path=path, status=404)


def test_what_is_out_of_use_looks_as_if_it_were_not_there(talk: Talk, own_scope: Scope) -> None:
    result = paths()
    talk.request("DELETE", f"{result['entries']}")
    assert refused(talk, result["entries"]) == REFUSED
    assert get(talk, result["session_events"])["text"] == ""
    DailyEvent.objects.update(expired_at=NOW)
    assert refused(talk, result["daily_events"]) == REFUSED


def test_a_message_there_is_not_gives_empty_text(talk: Talk, own_scope: Scope) -> None:
    place = paths()["session_events"].rpartition("/")[0]
    for path in (f"{place}/event-0", f"{place}/event-{2**63}", f"{place}/event-{10**18}"):
        assert (get(talk, path)["text"], get(talk, path)["found"]) == ("", False)


@pytest.mark.usefixtures("turns_are_read")
def test_past_its_term_nothing_is_told(talk: Talk, own_scope: Scope) -> None:
    result = paths()
    later = {"X-Memplatform-Now": (NOW + timedelta(days=31)).isoformat()}
    for source, path in result.items():
        answer = talk.post("tools/memory_get", {"address": TELEGRAM, "path": path}, **later)
        assert source == "daily_events" or "noon" not in answer.content.decode()


@pytest.mark.parametrize(
    ("data", "attr"),
    [
        ({"from": 0}, "from"),
        ({"lines": 0}, "lines"),
        ({"from": "1"}, "from"),
        ({"lines": 1.5}, "lines"),
        ({"line": 1}, "line"),
    ],
)
def test_a_wrong_argument_is_named(talk: Talk, data: dict[str, Any], attr: str) -> None:
    answer = talk.post("tools/memory_get", {"address": TELEGRAM, "path": DAILY, **data})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, attr)


def test_a_model_is_told_where_it_stands_and_where_to_go_on(talk: Talk, folder: ScopeFolder) -> None:
    written(folder, DAILY, *(f"line {n}" for n in range(1, 101)))
    text = text_of(by_model(talk, "memory_get", {"path": DAILY, "from": 5, "lines": 2})["message"])
    more = "(There is more: go on with from=7.)"
    assert text.split("\n") == [NOTICE["en"], f"[{DAILY}:5]", "> line 5", "> line 6", more]
    nothing = by_model(talk, "memory_get", {"path": DAILY.replace("03-01", "03-02"), "from": None, "lines": None})
    assert not nothing["is_error"] and "do not guess" in text_of(nothing["message"])
