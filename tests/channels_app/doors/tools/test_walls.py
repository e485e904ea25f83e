"""No tool reads out of its place: groups, other scopes, and hostile paths by every door (C4, E2)."""

import json
import re
from pathlib import Path

import pytest

from channels_app.models import Channel
from memories.files.layout import ScopeFolder, scope_folder
from memories.models import Entry, Scope, Workspace
from sessions_app.models import Session, SessionEvent
from tests.channels_app.doors.tools.asking import FORMS, by_model, text_of
from tests.channels_app.doors.tools.reading import (
    CHAT,
    DAILY,
    NOBODY,
    OTHERS,
    OWN,
    REFUSED,
    get,
    paths,
    refused,
    written,
)
from tests.conftest import GROUP, TELEGRAM
from tests.memories.files.test_paths import HOSTILE, IN_A_SCOPE
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db


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
def test_no_group_reads_a_private_message(talk: Talk, workspace: Workspace, own_scope: Scope, rule: str) -> None:
    listen(workspace, rule)
    result = paths()
    assert refused(talk, result["session_events"], at=GROUP) == REFUSED
    assert refused(talk, result["daily_events"], at=GROUP) == REFUSED
    if rule == "all":
        assert "noon" in get(talk, result["entries"], at=GROUP)["text"]
    else:
        assert refused(talk, result["entries"], at=GROUP) == REFUSED


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


@pytest.mark.thorough
@pytest.mark.parametrize("path", [*HOSTILE, *IN_A_SCOPE, *ODD])
def test_a_hostile_path_is_refused_in_the_same_words_by_every_door(
    talk: Talk, workspace: Workspace, folder: ScopeFolder, path: str
) -> None:
    written(folder, folder.long_term, "- mine")
    main, others = scope_folder(workspace.folder, "main"), scope_folder(workspace.folder, OTHERS)
    written(main, main.long_term, "- the owner's")
    written(others, others.long_term, "- hers")
    answer = talk.request("POST", "tools/memory_get", _body(path))
    page = answer.content.decode()
    assert "mine" not in page and "hers" not in page and "owner" not in page
    assert answer.json()["errors"][0]["attr"] == "path"
    is_path = answer.json()["errors"][0]["code"] not in ("blank", "max_length", "parse_error", "invalid")
    assert answer.status_code == (403 if is_path else 400), answer.content
    if re.search("[\0\ud800-\udfff]", path):  # no body may hold these, whatever it asks for
        return
    for form in FORMS:
        result = by_model(talk, "memory_get", {"path": path}, form=form)
        assert result["is_error"] and result["result"] is None and result["errors"][0]["attr"] == "path"
        assert "hers" not in text_of(result["message"]) and "owner" not in text_of(result["message"])


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


@pytest.mark.thorough
def test_a_session_of_a_chat_that_remembers_nothing_tells_nothing(talk: Talk, workspace: Workspace) -> None:
    talk.say("the boat leaves at noon", address=GROUP)
    workspace.channels.update(capture_group_memory=False)
    talk.say("hello", address=GROUP)
    event = SessionEvent.objects.select_related("session").get(content="the boat leaves at noon")
    assert get(talk, event.session.origin_of(event), at=GROUP)["text"] == ""
    assert Session.objects.count() == 1
