"""Foreign folders to import, and the command that imports them."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from memories.models import DailyEvent, Entry, Scope
from tests.conftest import NOW

PROFILE = """# About me

- Mia's cat is called 年糕
- The staging port is 8080

## 家庭

妹妹叫小雨，住在杭州
"""
DAYS = {
    "memory/2026-01-30.md": "# 2026-01-30\n\n- Nina moved her lessons to Tuesday\n",
    "memory/2026-01-31.md": "- 上午去看了牙医\n- 买了新的显示器\n",
    "2025-12-24.md": "Flew to Hamburg at 7:20.\n",
}


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "claw", {"MEMORY.md": PROFILE, **DAYS})


def import_output(folder: Path, *words: str, into: str = "telegram:direct_u42") -> str:
    out = io.StringIO()
    call_command("import", str(folder), "--into", into, "--now", NOW.isoformat(), *words, stdout=out)
    return out.getvalue()


def imported(folder: Path, *words: str, **more: str) -> Any:
    return json.loads(import_output(folder, *words, "--json", **more))


def facts(scope: Scope) -> list[str]:
    return list(Entry.objects.in_scope(scope).live().order_by("pk").values_list("content", flat=True))


def days(scope: Scope) -> list[tuple[str, str]]:
    rows = DailyEvent.objects.in_use().filter(scope=scope).order_by("local_date", "pk")
    return [(str(event.local_date), event.content) for event in rows]


@pytest.fixture
def files(tmp_path: Path, settings: Any, scope: Scope) -> Path:
    """The folder of the files of a workspace."""
    settings.MEMORY_FILES_ROOT = tmp_path
    return tmp_path / scope.workspace.folder
