"""A bot that was seen while the database was there, and files to answer from."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from memories.files import keyword
from memories.files.layout import scope_folder
from memories.models import Workspace
from memories.offline import journal
from memories.offline.journal import Stream
from tests.conftest import TELEGRAM, Api

MINE = "telegram:direct_u42"


@pytest.fixture(autouse=True)
def places(tmp_path: Path, settings: Any) -> None:
    settings.MEMORY_OFFLINE_ROOT, settings.MEMORY_FILES_ROOT = tmp_path / "offline", tmp_path / "files"
    keyword.forget()


@pytest.fixture
def bot(api: Api, django_capture_on_commit_callbacks: Any) -> Api:
    """Of a channel the platform knows."""
    with django_capture_on_commit_callbacks(execute=True):
        assert api.post("turns", turn("before it all", "noted")).status_code == 201
    return api


def turn(user: str, assistant: str = "", **more: Any) -> dict[str, Any]:
    return {"address": TELEGRAM, "user": user, "assistant": assistant, **more}


def stream(workspace: Workspace) -> Stream:
    return Stream(workspace.pk, "telegram", "mybot")


def waiting(workspace: Workspace) -> list[str]:
    """What the user said in the turns that wait."""
    lines = journal.read(stream(workspace))
    return [line.record.body["request"].get("user", "") if line.record else "" for line in lines]


def note(workspace: Workspace, text: str, *, scope: str = MINE, day: date | None = None) -> None:
    """Written by hand."""
    folder = scope_folder(workspace.folder, scope)
    path = folder.workspace / (folder.daily(day) if day else folder.long_term)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def transcript(workspace: Workspace, *, scope: str = MINE) -> str:
    folder = scope_folder(workspace.folder, scope)
    return "".join((folder.workspace / file.path).read_text() for file in folder.transcripts())
