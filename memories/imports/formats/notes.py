"""Folders of markdown of which each file says by its front matter what it is.

Claude Code: the folder `memory` of a project, a memory a file, and `MEMORY.md`, an index of them. basic-memory: notes
with observations, `- [category] content #tag (context)`, and relations, `- type [[Note]]`.
"""

import re
from typing import Any

from memories.conf import conf
from memories.files.layout import readable
from memories.imports.batch import LeftOut, LeftOutReason
from memories.imports.bundle import Bundle, FileItem, Reader, fact, profile, time_of
from memories.imports.folder import LONG_TERM, lines_with_context

_FRONT = re.compile(r"\A---\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_KEY = re.compile(r"^[ \t]{0,8}+([\w-]{1,64}):[ \t]{0,8}+(\S[^\n]*)", re.MULTILINE)
_LINK = re.compile(r"\[[^\[\]]{0,200}\]\(([^()]{1,200}\.md)\)|\[\[([^\[\]]{1,200})\]\]")
_OBSERVATION = re.compile(r"\[([^\[\]]{1,60})\]\s+(.+)", re.DOTALL)
_RELATION = re.compile(r"([\w][\w \-]{0,80}?)\s*\[\[([^\]]+)\]\](.*)", re.DOTALL)
_TAG = re.compile(r"(?<!\S)#([\w/-]+)")
_UNNAMED_BOX = (" ", "x", "X", "-")


def front_matter(content: str) -> dict[str, str]:
    """The plain values at the beginning of a file, by their names; those that are nested by their own."""
    front = _FRONT.match(content)
    pairs = _KEY.findall(front[1]) if front else []
    return {name: value.strip().strip("\"'") for name, value in pairs}


def read_claude_code(bundle: Bundle) -> Reader:
    """A memory a file; of the user a line of the profile. Lines of the index that name a file are no memories.

    Raises FileRefused.
    """
    for member in bundle.named("*.md"):
        content = bundle.text(member, conf.FILE_MAX_BYTES)
        if isinstance(content, LeftOut):
            yield content
        elif member.name == LONG_TERM or not front_matter(content):
            subject = "" if member.name == LONG_TERM else member.name.removesuffix(".md")
            for line in lines_with_context(content, subject):
                if member.name == LONG_TERM and _LINK.search(line.words):
                    yield LeftOut(readable(member.path), LeftOutReason.NO_MEMORY, line.number, line.words[:100])
                else:
                    fields = fact([subject]) | {"heading": line.heading[:300]}
                    yield FileItem(number=line.number, path=member.path, content=line.words, fields=fields)
        else:
            front, body = front_matter(content), _FRONT.sub("", content, count=1).strip()
            about = front.get("description", "")
            fields = profile() if front.get("type") == "user" else fact([front.get("type", "")])
            fields |= {"heading": (about or front.get("name", ""))[:300]}
            yield FileItem(number=1, path=member.path, content=body or about, fields=fields)


def read_basic_memory(bundle: Bundle) -> Reader:
    """Observations and relations, each a fact under the title of its note; other lines under their headings.

    Raises FileRefused.
    """
    for member in bundle.named("*.md"):
        content = bundle.text(member, conf.FILE_MAX_BYTES)
        if isinstance(content, LeftOut):
            yield content
            continue
        front = front_matter(content)
        title = front.get("title") or member.name.removesuffix(".md")
        try:
            at = time_of(front.get("modified") or front.get("created") or front.get("date"))
        except ValueError:
            at = None  # a property of the note that is no time; its lines are of no certain day
        lines = list(lines_with_context(content, title))
        if not lines:
            yield LeftOut(readable(member.path), LeftOutReason.EMPTY)
        for line in lines:
            words, names, category = line.words, [title[:100]], ""
            observation, relation = _OBSERVATION.fullmatch(words), _RELATION.fullmatch(words)
            slots: dict[str, str] = {}
            if observation and observation[1] not in _UNNAMED_BOX:
                category, text = observation[1], observation[2].strip()
                slots["tags"] = ", ".join(_TAG.findall(text))
                text = " ".join(_TAG.sub("", text).split())
                words = text if title.casefold() in text.casefold() else f"{title}: {text}"
            elif relation:
                kind, other = " ".join(relation[1].replace("_", " ").split()), relation[2].strip()
                words = f"{title} {kind} {other}{relation[3]}".strip()
                names.append(other[:100])
            fields = fact([category]) | {"heading": line.heading[:300], "names": tuple(dict.fromkeys(names))}
            where: dict[str, Any] = {"number": line.number, "path": member.path, "at": line.at or at}
            yield FileItem(content=words, fields=fields, slots=slots, **where)
