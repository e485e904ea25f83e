"""What frameworks for agents keep of one.

Letta: an agent file, which holds an agent or several with their blocks of memory and their messages; of an older
version one agent with its `core_memory`.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from memories.files.parsing import saved_lines
from memories.imports.batch import LeftOut, LeftOutReason
from memories.imports.bundle import Bundle, FileItem, Member, Reader, fact, items, profile, time_of
from memories.imports.formats.chats import Message, profile_lines, turns_of


def read_letta(bundle: Bundle) -> Reader:
    """The blocks of memory, and the conversation with each agent. Raises FileRefused."""
    for member in bundle.named("*.af", "*.json"):
        for _number, file in items(bundle, member):
            agents = file.get("agents") or [file]
            blocks = file.get("blocks") or [block for agent in agents for block in agent.get("core_memory") or ()]
            for number, block in enumerate(blocks, start=1):
                # Of the human a profile; the persona is an instruction to the agent, no memory
                label, value = str(block.get("label") or ""), str(block.get("value") or "").strip()
                if label == "persona":
                    yield LeftOut(member.path, LeftOutReason.INSTRUCTIONS, number, label)
                    continue
                if not value:
                    yield LeftOut(member.path, LeftOutReason.EMPTY, number, label)
                    continue
                at = time_of(block.get("updated_at") or block.get("created_at"))
                fields = profile() if label == "human" else fact([label]) | {"heading": label[:300]}
                for line in profile_lines(value) if label == "human" else saved_lines(value):
                    if line.endswith(": ?"):  # a form that was not filled in
                        yield LeftOut(member.path, LeftOutReason.EMPTY, number, line)
                    else:
                        yield FileItem(number=number, path=member.path, content=line, at=at, fields=fields)
            for agent in agents:
                name = str(agent.get("name") or agent.get("id") or "")
                messages = _letta_messages(member, agent.get("messages") or ())
                yield from turns_of(messages, number=1, path=member.path, name=name, title=name)
            for name in ("tools", "files", "sources", "mcp_servers"):
                for number, other in enumerate(file.get(name) or (), start=1):
                    detail = f"{name}: {other.get('name') or other.get('file_name') or ''}"
                    yield LeftOut(member.path, LeftOutReason.NO_MEMORY, number, detail)


def _letta_messages(member: Member, messages: Iterable[dict[str, Any]]) -> Iterator[Message | LeftOut]:
    """What a person or the agent wrote; calls of tools, and what the program says to the agent, are left out."""
    for number, message in enumerate(messages, start=1):
        role, at = message.get("role"), message.get("created_at")
        content = message.get("content") or message.get("text") or ""
        if isinstance(content, str):
            words = content.strip()
        else:
            words = "\n".join(str(part.get("text") or "") for part in content if part.get("type") == "text").strip()
        calls = message.get("tool_calls") or ()
        sent_words = list(filter(None, map(_letta_sent, calls)))
        if role == "user" and (packed := _letta_packed(words)):
            yield Message(True, packed, at)
        elif role == "assistant" and (sent_words or (words and not calls)):
            yield Message(False, "\n".join(sent_words) or words, at)
        else:
            yield LeftOut(member.path, LeftOutReason.PROGRAM, number, str(role or ""))


def _letta_sent(call: dict[str, Any]) -> str:
    """The words an older agent sends by a tool."""
    function = call.get("function") or call
    if function.get("name") != "send_message":
        return ""
    try:
        return str(json.loads(function.get("arguments") or "{}").get("message") or "").strip()
    except ValueError:
        return ""


def _letta_packed(words: str) -> str:
    """What a person wrote, out of the JSON an older version packs it in; nothing where the program spoke."""
    if not words.startswith("{"):
        return words
    try:
        packed = json.loads(words)
    except ValueError:
        return words
    if not isinstance(packed, dict) or "type" not in packed:
        return words
    return str(packed.get("message") or "").strip() if packed["type"] == "user_message" else ""
