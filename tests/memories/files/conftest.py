"""A workspace of markdown in a folder of its own."""

from pathlib import Path
from typing import Any

import pytest

from memories.files import keyword
from memories.files.layout import ScopeFolder, scope_folder

DIRECT = "telegram:direct_u42"
GROUP = "telegram:mybot:group_g1"
HOME = "telegram+direct_u42"


@pytest.fixture(autouse=True)
def root(settings: Any, tmp_path: Path) -> Path:
    """The folder of all workspaces."""
    settings.MEMORY_FILES_ROOT = tmp_path / "files"
    keyword.forget()
    return tmp_path / "files"


@pytest.fixture
def main() -> ScopeFolder:
    return scope_folder("alices", "main")


@pytest.fixture
def direct() -> ScopeFolder:
    return scope_folder("alices", DIRECT)


def write(folder: ScopeFolder, path: str, text: str | bytes) -> Path:
    """A file as somebody's editor writes it."""
    place = folder.workspace / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return place
