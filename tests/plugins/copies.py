"""The files that several plugins have, since a host loads a folder alone, and those that are made from our own code."""

import json
from pathlib import Path

from channels_app.doors.tools import registry
from tests.plugins.host import PLUGINS
from tests.plugins.texts import texts

COPIES: dict[str, tuple[str, ...]] = {
    "shared/memory.py": (
        "nonebot/nonebot_plugin_memplatform/memory.py",
        "astrbot/memory.py",
        "langbot/memory.py",
    ),
    "shared/memory.js": ("openclaw/memory.js", "koishi/memory.mjs"),
    "shared/texts.json": (
        "nonebot/nonebot_plugin_memplatform/texts.json",
        "astrbot/texts.json",
        "openclaw/texts.json",
        "koishi/texts.json",
        "langbot/texts.json",
    ),
    "LICENSE": ("nonebot/LICENSE", "astrbot/LICENSE", "openclaw/LICENSE", "koishi/LICENSE", "langbot/LICENSE"),
}
#: What the models of a host may call by themselves.
TOOLS = ("memory_search", "memory_get", "memory_save", "memory_forget")


def tools() -> bytes:
    """The descriptions of those tools."""
    descriptions = [registry.CALLABLE[name].definition(registry.Form.MCP, "en") for name in TOOLS]
    wanted = [
        {
            "name": tool["name"],
            "label": tool["title"],
            "description": tool["description"],
            "parameters": tool["inputSchema"],
        }
        for tool in descriptions
    ]
    return (json.dumps(wanted, ensure_ascii=False, indent=2) + "\n").encode()


def files() -> dict[Path, bytes]:
    """What each file has to hold that is made from something else."""
    made = {PLUGINS / "shared" / "texts.json": texts(), PLUGINS / "openclaw" / "tools.json": tools()}
    for original, copies in COPIES.items():
        content = made.get(PLUGINS / original) or (PLUGINS / original).read_bytes()
        made |= {PLUGINS / copy: content for copy in copies}
    return made


def copy() -> int:
    """Make every one of them anew."""
    for place, content in files().items():
        place.write_bytes(content)
    return 0
