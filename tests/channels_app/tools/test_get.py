"""memory_get: what a path leads to, word for word, and nothing of anybody else's (C4)."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from channels_app.models import Channel
from memories import entries
from memories.choices import EntryType
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.files import disk, markdown
from memories.files.layout import ScopeFolder, scope_folder
from memories.models import DailyEvent, Entry, Scope, Workspace
from sessions_app.models import Session, SessionEvent
from tests.channels_app.tools.asking import FORMS, by_model, text_of, tool
from tests.conftest import GROUP, NOW, TELEGRAM, make_draft, make_key
from tests.memories.files.test_paths import HOSTILE, IN_A_SCOPE
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
OWN, OTHERS, CHAT = "telegram:direct_u42", "telegram:direct_u7", "telegram:mybot:group_g1"
DAILY = f"memory/scopes/{OWN}/2026-03-01.md"
NOBODY = "019a0000-0000-7000-8000-000000000000"


@pytest.fixture(autouse=True)
def root(settings: Any, tmp_path: Path) -> Path:
    settings.MEMORY_FILES_ROOT = tmp_path / "files"
    return tmp_path / "files"


@pytest.fixture
def folder(workspace: Workspace) -> ScopeFolder:
    return scope_folder(workspace.folder, OWN)


def written(folder: ScopeFolder, path: str, *lines: str) -> None:
    place = folder.workspace / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(lines) + "\n")


def get(talk: Talk, path: str, **asked: Any) -> dict[str, Any]:
    return tool(talk, "memory_get", path=path, **asked)


def refused(talk: Talk, path: str, **asked: Any) -> dict[str, Any]:
    """The one error of a path that may not be read."""
    (error,) = tool(talk, "memory_get", path=path, status=400, **asked)["errors"]
    return dict(error)


REFUSED = {"code": "path_not_allowed", "detail": "This path leads to no file of this scope.", "attr": "path"}


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
    for said in ("The door code is 4711", "Rosa\n\nteaches the violin"):
        text = disk.read(folder, DAILY)
        assert text is not None
        block = next(block for block in markdown.blocks(text.text) if block.text == said)
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


@pytest.fixture
def known(talk: Talk) -> Scope:
    talk.say("the boat leaves at noon", "aye aye")
    scope = Scope.objects.get(key=OWN)
    day = EventDraft(scope=scope, local_date=date(2026, 2, 27), content="The violin was repaired")
    daily_events.write([day], now=NOW, actor="test")
    return scope


def paths() -> dict[str, str]:
    event = SessionEvent.objects.select_related("session").get(content="the boat leaves at noon")
    return {
        "entries": f"entries/{Entry.objects.get(content__contains='noon').uid}",
        "daily_events": f"daily_events/{DailyEvent.objects.get().uid}",
        "session_events": event.session.origin_of(event),
    }


@pytest.mark.usefixtures("known")
def test_every_path_of_a_search_can_be_read(talk: Talk) -> None:
    found = tool(talk, "memory_search", query="boat violin noon", min_score=0)["results"]
    assert {one["source"] for one in found} >= {"entries", "daily_events"}
    for one in found:
        for path in [f"{one['path']}:{one['line']}", f"[{one['path']}]", *one["evidence"]]:
            assert get(talk, path)["found"], path


@pytest.mark.usefixtures("known")
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


@pytest.mark.usefixtures("known")
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


def test_what_is_out_of_use_looks_as_if_it_were_not_there(talk: Talk, known: Scope) -> None:
    told = paths()
    talk.request("DELETE", f"{told['entries']}")
    assert refused(talk, told["entries"]) == REFUSED
    assert get(talk, told["session_events"])["text"] == ""
    DailyEvent.objects.update(expired_at=NOW)
    assert refused(talk, told["daily_events"]) == REFUSED


def test_a_message_there_is_not_gives_empty_text(talk: Talk, known: Scope) -> None:
    place = paths()["session_events"].rpartition("/")[0]
    for path in (f"{place}/event-0", f"{place}/event-{2**63}", f"{place}/event-{10**18}"):
        assert (get(talk, path)["text"], get(talk, path)["found"]) == ("", False)


def test_past_its_term_nothing_is_told(talk: Talk, known: Scope) -> None:
    told = paths()
    later = {"X-Memplatform-Now": (NOW + timedelta(days=31)).isoformat()}
    for source, path in told.items():
        answer = talk.post("tools/memory_get", {"address": TELEGRAM, "path": path}, **later)
        assert source == "daily_events" or "noon" not in answer.content.decode()


# groups


def listen(workspace: Workspace, rule: str) -> None:
    Channel.objects.update_or_create(
        workspace=workspace, platform="telegram", account="mybot", defaults={"group_user_recall": rule}
    )


@pytest.mark.parametrize(("rule", "is_open"), [("none", False), ("same_chat", False), ("all", True)])
def test_in_a_group_a_persons_files_are_open_only_where_it_may_hear_all(
    talk: Talk, workspace: Workspace, folder: ScopeFolder, rule: str, is_open: bool
) -> None:
    listen(workspace, rule)
    written(folder, DAILY, "- The boat is blue")
    if is_open:
        assert get(talk, DAILY, at=GROUP)["text"] == "- The boat is blue"
    else:
        assert refused(talk, DAILY, at=GROUP) == refused(talk, DAILY.replace("03-01", "03-02"), at=GROUP) == REFUSED
    assert get(talk, DAILY)["text"] == "- The boat is blue"


def test_a_groups_own_files_and_messages_are_read_there_and_nowhere_else(talk: Talk, workspace: Workspace) -> None:
    talk.say("the group meets at the harbour", address=GROUP)
    chat = scope_folder(workspace.folder, CHAT)
    written(chat, chat.long_term, "- We meet on Thursdays")
    event = SessionEvent.objects.select_related("session").get(content__contains="harbour")
    path = event.session.origin_of(event)
    for read, words in ((chat.long_term, "Thursdays"), (path, "harbour")):
        assert words in get(talk, read, at=GROUP)["text"]
        assert words in get(talk, read, at=CHAT)["text"]
        assert refused(talk, read) == refused(talk, read, at={**GROUP, "chat": "g2"}) == REFUSED


@pytest.mark.parametrize("rule", ["none", "same_chat", "all"])
def test_no_group_reads_a_private_message(talk: Talk, workspace: Workspace, known: Scope, rule: str) -> None:
    listen(workspace, rule)
    told = paths()
    assert refused(talk, told["session_events"], at=GROUP) == REFUSED
    assert refused(talk, told["daily_events"], at=GROUP) == REFUSED
    if rule == "all":
        assert "noon" in get(talk, told["entries"], at=GROUP)["text"]
    else:
        assert refused(talk, told["entries"], at=GROUP) == REFUSED


def test_a_group_hears_what_a_member_said_there_and_never_a_credential(talk: Talk, workspace: Workspace) -> None:
    talk.say("my favourite tea is oolong", address=GROUP)
    own = Entry.objects.get(scope__key=OWN)
    assert "oolong" in get(talk, f"entries/{own.uid}", at=GROUP)["text"]
    secret = {"address": GROUP, "content": "The password of the router is hunter2", "category": "credential"}
    saved = talk.post("entries", secret).json()["id"]
    assert refused(talk, f"entries/{saved}", at=GROUP) == REFUSED
    assert "hunter2" in get(talk, f"entries/{saved}", at=OWN)["text"]


# the wall of paths

#: Names of ours that look like paths of rows, and are none.
ODD = [
    "entries", "entries/", f"entries/{NOBODY}/", f"entries/{NOBODY.upper()}", f"entries/../entries/{NOBODY}",
    "entries/1", f"entries/{NOBODY}\n", "daily_events/2026-03-01", "session_events/../MEMORY.md",
    *(f"session_events/{NOBODY}{rest}" for rest in ("", "/1", "/1/event-1/x", "/-1/event-1", "/1/event-1e3")),
    *(f"session_events/{NOBODY}{rest}" for rest in ("/１/event-1", "/1/event--1")),
]  # fmt: skip


@pytest.mark.parametrize("path", [*HOSTILE, *IN_A_SCOPE, *ODD])
def test_a_hostile_path_is_refused_in_the_same_words_by_every_door(
    talk: Talk, workspace: Workspace, folder: ScopeFolder, path: str
) -> None:
    written(folder, folder.long_term, "- mine")
    main, others = scope_folder(workspace.folder, "main"), scope_folder(workspace.folder, OTHERS)
    written(main, main.long_term, "- the owner's")
    written(others, others.long_term, "- hers")
    answer = talk.request("POST", "tools/memory_get", _body(path))
    assert answer.status_code == 400, answer.content
    said = answer.content.decode()
    assert "mine" not in said and "hers" not in said and "owner" not in said
    assert answer.json()["errors"][0]["attr"] in ("path", None)  # NUL and half characters: the whole body is refused
    if answer.json()["errors"][0]["attr"] is None:
        return
    for form in FORMS:
        told = by_model(talk, "memory_get", {"path": path}, form=form)
        assert told["is_error"] and told["result"] is None and told["errors"][0]["attr"] == "path"
        assert "hers" not in text_of(told["message"]) and "owner" not in text_of(told["message"])


def _body(path: str) -> str:
    return json.dumps({"address": TELEGRAM, "path": path})


def test_a_link_out_of_the_folder_is_not_followed(talk: Talk, folder: ScopeFolder, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("- a secret")
    place = folder.workspace / folder.base
    place.mkdir(parents=True)
    (place / "link.md").symlink_to(tmp_path / "secret.md")
    (place / "out").symlink_to(tmp_path)
    for path in (f"{folder.base}/link.md", f"{folder.base}/out/secret.md", f"{folder.base}/out/nothing.md"):
        assert refused(talk, path) == REFUSED


@pytest.mark.parametrize(
    ("asked", "attr"),
    [
        ({"from": 0}, "from"),
        ({"lines": 0}, "lines"),
        ({"from": "1"}, "from"),
        ({"lines": 1.5}, "lines"),
        ({"line": 1}, "line"),
    ],
)
def test_a_wrong_argument_is_named(talk: Talk, asked: dict[str, Any], attr: str) -> None:
    answer = talk.post("tools/memory_get", {"address": TELEGRAM, "path": DAILY, **asked})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, attr)


def test_a_model_is_told_where_it_stands_and_where_to_go_on(talk: Talk, folder: ScopeFolder) -> None:
    written(folder, DAILY, *(f"line {n}" for n in range(1, 101)))
    text = text_of(by_model(talk, "memory_get", {"path": DAILY, "from": 5, "lines": 2})["message"])
    assert text.split("\n") == [f"[{DAILY}:5]", "line 5", "line 6", "(There is more: go on with from=7.)"]
    nothing = by_model(talk, "memory_get", {"path": DAILY.replace("03-01", "03-02"), "from": None, "lines": None})
    assert not nothing["is_error"] and "do not guess" in text_of(nothing["message"])


def test_a_session_of_a_chat_that_remembers_nothing_tells_nothing(talk: Talk, workspace: Workspace) -> None:
    talk.say("the boat leaves at noon", address=GROUP)
    workspace.channels.update(capture_group_memory=False)
    talk.say("hello", address=GROUP)
    event = SessionEvent.objects.select_related("session").get(content="the boat leaves at noon")
    assert get(talk, event.session.origin_of(event), at=GROUP)["text"] == ""
    assert Session.objects.count() == 1
