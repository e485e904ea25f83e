"""A bot whose model has tools, the clock it talks by, and a folder of files of its own."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.files.layout import ScopeFolder, scope_folder
from memories.models import Scope, Workspace
from tests.channels_app.doors.tools.reading import OWN
from tests.conftest import NOW
from tests.sessions_app.conftest import Talk, clock_of_calls, talk

__all__ = ["talk", "clock_of_calls"]


@pytest.fixture(autouse=True)
def root(settings: Any, tmp_path: Path) -> Path:
    settings.MEMORY_FILES_ROOT = tmp_path / "files"
    return tmp_path / "files"


@pytest.fixture
def folder(workspace: Workspace) -> ScopeFolder:
    return scope_folder(workspace.folder, OWN)


@pytest.fixture
def own_scope(talk: Talk) -> Scope:
    talk.say("the boat leaves at noon", "aye aye")
    scope = Scope.objects.get(key=OWN)
    day = EventDraft(scope=scope, local_date=date(2026, 2, 27), content="The violin was repaired")
    daily_events.write([day], now=NOW, actor="test")
    return scope
