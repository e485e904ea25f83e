"""The formats that are understood, each a declaration: its name, how it is recognised, who reads it, what it becomes.

A new format is a reader in one of the modules here, and a line among FORMATS. The command, its help, the page of the
formats and the error for a file that is none of them follow from it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from django.utils.translation import gettext as _

from memories.files.layout import readable
from memories.imports.bundle import Bundle, FileRefused, Member, Reader
from memories.imports.formats import agents, chats, graphs, tables


@dataclass(frozen=True)
class Sign:
    """Words that all stand at the beginning of a file of such a name; alone, a file may have any name."""

    words: tuple[str, ...]
    files: str = "*.json*"
    is_json: bool = True

    def is_of(self, member: Member, is_single: bool) -> bool:
        """Raises FileRefused."""
        if not (is_single or fnmatch(member.name, self.files)):
            return False
        beginning = member.beginning
        if self.is_json != (beginning.lstrip()[:1] in ("[", "{")):
            return False
        start = beginning if self.is_json else beginning.partition("\n")[0]
        return all(word in start for word in self.words)


@dataclass(frozen=True)
class Format:
    """What another program keeps or exports."""

    title: str
    file: str  # as its makers call it
    becomes: str
    described_in: str  # the public page, or the file of its bundle, its shape is taken from
    read: Callable[[Bundle], Reader]
    signs: tuple[Sign, ...]


#: In the order in which a file is compared with them.
FORMATS: Mapping[str, Format] = {
    "chatgpt": Format(
        "ChatGPT",
        "the zip of “Export data”, or `conversations.json` of it",
        "turns and events of their days; the profile and the saved memories as facts",
        "help.openai.com: How do I export my ChatGPT history and data?",
        chats.read_chatgpt,
        (Sign(('"mapping"', '"author"'), "conversations*.json"),),
    ),
    "letta": Format(
        "Letta",
        "an agent file, `.af`",
        "the block “human” as lines of the profile, other blocks as facts; messages as turns",
        "letta-ai/agent-file: README.md; letta-ai/letta: letta/schemas/agent_file.py",
        agents.read_letta,
        (
            Sign(('"agent_type"', '"core_memory"'), "*.af"),
            Sign(('"agents"', '"block_ids"'), "*.af"),
        ),
    ),
    "memory-graph": Format(
        "MCP knowledge graph memory",
        "`memory.jsonl`, or what `read_graph` answers",
        "every observation and every relation a fact, under the names of what it is about",
        "modelcontextprotocol/servers: src/memory/index.ts",
        graphs.read_memory_graph,
        (
            Sign(('"entityType"', '"observations"'), "*.json*"),
            Sign(('"relationType"', '"from"'), "*.json*"),
        ),
    ),
    "mem0": Format(
        "mem0",
        "JSON of `get_all`: a list, or with `results`",
        "facts; metadata, agent, run and app as slots",
        "mem0ai/mem0: docs/api-reference/memory/get-memories.mdx",
        tables.read_mem0,
        (Sign(('"memory"',)),),
    ),
    "zep": Format(
        "Zep, Graphiti",
        "episodes or edges: a list, `episodes`, `edges`, or one a line",
        "episodes as turns and events of their days; edges that hold as facts",
        "getzep/graphiti: graphiti_core/nodes.py, graphiti_core/edges.py",
        graphs.read_zep,
        (Sign(('"content"', '"uuid"')), Sign(('"fact"', '"uuid"'))),
    ),
    "csv": Format(
        "CSV",
        "a table with a line of columns, `content` among them",
        "a memory a row",
        "RFC 4180",
        tables.read_csv,
        (Sign(("content",), "*.csv", is_json=False),),
    ),
}


def recognised(bundle: Bundle) -> str | None:
    """The name of the format of a bundle. Raises FileRefused."""
    for name, kind in FORMATS.items():
        for member in bundle.members:
            if any(sign.is_of(member, bundle.is_single) for sign in kind.signs):
                return name
    return None


def format_of(path: Path) -> str:
    """The name of the format of a file, a zip or a folder. Raises FileRefused."""
    found = recognised(Bundle(path))
    if found is None:
        raise FileRefused(not_understood(path))
    return found


def not_understood(path: Path) -> str:
    """The sentence about something of no format that is known, with all that are."""
    message = _("“%(name)s” is of no format that is known; these are, and --from names one: %(known)s.")
    known = "; ".join(f"{name} ({kind.title}: {kind.file})" for name, kind in FORMATS.items())
    return message % {"name": readable(path.name), "known": known}
