"""The files that several plugins have, since a host loads a folder alone: where their copies belong."""

from pathlib import Path

from tests.plugins.host import PLUGINS

COPIES: dict[str, tuple[str, ...]] = {
    "shared/memory.py": ("nonebot/nonebot_plugin_memplatform/memory.py", "astrbot/memory.py"),
    "LICENSE": ("nonebot/LICENSE", "astrbot/LICENSE"),
}


def pairs() -> list[tuple[Path, Path]]:
    """Each original with each of its copies."""
    return [(PLUGINS / original, PLUGINS / copy) for original, copies in COPIES.items() for copy in copies]


def copy() -> int:
    """Make every copy anew."""
    for original, place in pairs():
        place.write_bytes(original.read_bytes())
    return 0
