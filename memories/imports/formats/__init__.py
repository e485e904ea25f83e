"""The formats that are understood, each a declaration: its name, how it is recognised, who reads it, what it becomes.

A new format is a reader in one of the modules here, and a line among FORMATS. The command, its help, the page of the
formats and the error for a file that is none of them follow from it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatch
from pathlib import Path

from django.utils.translation import gettext as _

from memories.files.layout import readable
from memories.imports.bundle import Bundle, FileRefused, Member, Reader
from memories.imports.formats import agents, chats, graphs, notes, stores, tables


class Kind(Enum):
    """What a file looks like, and which part of its beginning says what it is."""

    JSON = "json"
    TABLE = "table"  # its first line
    MARKDOWN = "markdown"  # its front matter


@dataclass(frozen=True)
class Sign:
    """Words that all stand at the beginning of a file of such a name; alone, a file may have any name."""

    words: tuple[str, ...]
    files: str = "*.json*"
    kind: Kind = Kind.JSON

    def is_of(self, member: Member, is_single: bool) -> bool:
        """Raises FileRefused."""
        if not (is_single or fnmatch(member.name, self.files)):
            return False
        beginning = member.beginning.replace("\r\n", "\n")
        kind = Kind.TABLE
        if beginning.lstrip()[:1] in ("[", "{"):
            kind = Kind.JSON
        elif beginning.startswith("---\n"):
            kind = Kind.MARKDOWN
        ends = {Kind.TABLE: "\n", Kind.MARKDOWN: "\n---"}  # of JSON all of it says what it is
        sign = beginning.partition(ends[kind])[0] if kind in ends else beginning
        return kind == self.kind and all(word in sign for word in self.words)


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
    "claude": Format(
        "Claude",
        "the zip of “Export data”, or `conversations.json` or `memories.json` of it",
        "turns and events of their days; what was kept of the user and of projects as facts",
        "support.claude.com: How can I export my Claude data?",
        chats.read_claude,
        (
            Sign(('"chat_messages"', '"sender"'), "conversations*.json"),
            Sign(('"conversations_memory"',), "*.json"),
        ),
    ),
    "claude-code": Format(
        "Claude Code",
        "the folder `~/.claude/projects/…/memory`",
        "a memory a file, of the user a line of the profile",
        "code.claude.com: How Claude remembers your project",
        notes.read_claude_code,
        (Sign(("name:", "description:", "type:"), "*.md", Kind.MARKDOWN),),
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
    "langgraph": Format(
        "LangGraph store",
        "items of its store: a list, `items`, or one a line",
        "an item a fact, what else its value holds as slots; whose it is, a part of the namespace says",
        "langchain-ai/langgraph: libs/checkpoint/langgraph/store/base/__init__.py",
        stores.read_langgraph,
        (Sign(('"namespace"', '"key"', '"value"')),),
    ),
    "memobase": Format(
        "memobase",
        "profiles or events of a user",
        "profiles as lines of the profile under their topics; events as turns and events of their days",
        "memodb-io/memobase: docs/site/features/event/event.mdx",
        stores.read_memobase,
        (Sign(('"attributes"', '"sub_topic"')), Sign(('"event_data"',))),
    ),
    "hindsight": Format(
        "Hindsight",
        "the zip of a bank or of its documents, or memory units as they are listed",
        "a memory unit that is valid a fact, its entities as names and its context as heading",
        "vectorize-io/hindsight: hindsight_api/engine/transfer/schema.py, docs/developer/api/memories.mdx",
        stores.read_hindsight,
        (Sign(('"source_bank_id"', '"schema_version"'), "manifest.json"), Sign(('"fact_type"', '"text"'))),
    ),
    "supermemory": Format(
        "supermemory",
        "entries (`memoryEntries`) or documents (`memories`, `documents`) as they are listed",
        "the latest of each entry a fact, a static one a line of the profile; a document without entries a fact",
        "supermemoryai/supermemory: packages/validation/schemas.ts",
        stores.read_supermemory,
        (Sign(('"isLatest"',)), Sign(('"containerTags"', '"createdAt"'))),
    ),
    "basic-memory": Format(
        "basic-memory",
        "a folder of its notes in markdown",
        "every observation and every relation a fact under the title of its note; other lines under their headings",
        "basicmachines-co/basic-memory: README.md",
        notes.read_basic_memory,
        (Sign(("title:", "permalink:"), "*.md", Kind.MARKDOWN),),
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
        (Sign(("content",), "*.csv", kind=Kind.TABLE),),
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
    """The name of the format of a file, a zip or a folder. Raises FileRefused, which names all there are."""
    if name := recognised(Bundle(path)):
        return name
    message = _("“%(name)s” is of no format that is known; these are, and --from names one: %(formats)s.")
    formats = "; ".join(f"{name} ({kind.title}: {kind.file})" for name, kind in FORMATS.items())
    raise FileRefused(message % {"name": readable(path.name), "formats": formats})
