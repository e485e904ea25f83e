"""Exports of chat programs, read into turns and what the program kept of its user.

ChatGPT: `conversations.json`, or `conversations-000.json` and so on, each conversation a tree of messages; what is
shown is the branch from `current_node` to its root. Claude: `conversations.json`, each conversation a list of
messages with their parents; `memories.json`, what was kept of the user and of each project; `projects.json`.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from memories.conf import conf
from memories.files.parsing import saved_lines
from memories.imports.batch import LeftOut, LeftOutReason
from memories.imports.bundle import Bundle, FileItem, Member, Reader, fact, items, profile, time_of
from memories.imports.folder import lines_with_context
from memories.language.quoting import turn_of
from memories.language.text import smart_truncate


@dataclass(frozen=True)
class Message:
    """The messages of one side of a conversation."""

    is_users: bool
    words: str
    at: Any = None


def turns_of(
    messages: Iterable[Message | FileItem | LeftOut],
    *,
    number: int,
    path: str,
    name: str,
    title: str = "",
    at: Any = None,
) -> Reader:
    """The messages of a conversation as turns, each a question with its answer; what else is among them stays."""
    questions: list[Message] = []
    answers: list[Message] = []
    place = 0

    def turn() -> FileItem | LeftOut:
        content = turn_of(
            smart_truncate("\n".join(message.words for message in questions), conf.TURN_USER_CHARS),
            smart_truncate("\n".join(message.words for message in answers), conf.TURN_ASSISTANT_CHARS),
        )
        try:
            when = time_of(next((message.at for message in [*questions, *answers] if message.at), at))
        except ValueError as problem:
            return LeftOut(path, LeftOutReason.UNSTORABLE, number, str(problem))
        return FileItem(
            number=number, path=path, content=content, at=when, is_turn=True, title=title, message=(name, place)
        )

    for message in messages:
        if not isinstance(message, Message):
            yield message
            continue
        if message.is_users and answers:
            place += 1
            yield turn()
            questions, answers = [], []
        (questions if message.is_users else answers).append(message)
    if questions or answers:
        place += 1
        yield turn()


def read_chatgpt(bundle: Bundle) -> Reader:
    """The turns of every conversation as it was left, under its title, and what was kept of its user.

    Raises FileRefused.
    """
    for member in bundle.named("conversations*.json"):
        for number, conversation in items(bundle, member, "conversations"):
            title = str(conversation.get("title") or "").strip()
            begun = conversation.get("create_time")
            if conversation.get("is_do_not_remember"):
                yield LeftOut(member.path, LeftOutReason.NOT_WANTED, number, title)
                continue
            name = str(conversation.get("id") or conversation.get("conversation_id") or f"{title} {begun}")
            messages = _chatgpt_messages(conversation, number, member)
            yield from turns_of(messages, number=number, path=member.path, name=name, title=title, at=begun)


def _chatgpt_messages(
    conversation: dict[str, Any], number: int, member: Member
) -> Iterator[Message | FileItem | LeftOut]:
    """The messages of the branch that was shown last, in order; those of others are left out."""
    nodes = conversation.get("mapping") or {}
    leaf = next((name for name in reversed(nodes) if not nodes[name].get("children")), None)
    branch, node, met = [], conversation.get("current_node") or leaf, set()
    while node in nodes and node not in met:
        met.add(node)
        branch.append(nodes[node].get("message") or {})
        node = nodes[node].get("parent")
    for message in reversed(branch):
        yield from _chatgpt_message(message, number, member)
    for name, other in nodes.items():
        if name not in met and other.get("message"):
            yield LeftOut(member.path, LeftOutReason.OTHER_BRANCH, number)


def _chatgpt_message(message: dict[str, Any], number: int, member: Member) -> Iterator[Message | FileItem | LeftOut]:
    content, metadata = message.get("content") or {}, message.get("metadata") or {}
    kind, role = content.get("content_type"), (message.get("author") or {}).get("role")
    where: dict[str, Any] = {"number": number, "path": member.path}
    if not message:
        return  # the root, which says nothing
    if kind == "user_editable_context":
        yield from _kept_by_user(content, metadata, where)
    elif kind == "model_editable_context":
        # The memories that were saved, each with its day: `1. [2024-05-12]. The user …`
        context = str(content.get("model_set_context") or "")
        begins = list(_DATED.finditer(context))
        if context[: begins[0].start() if begins else None].strip():
            yield LeftOut(where["path"], LeftOutReason.PROGRAM, where["number"])
        for begin, end in zip(begins, [*(match.start() for match in begins[1:]), len(context)], strict=True):
            yield FileItem(
                content=context[begin.end() : end].strip(), at=time_of(f"{begin[1]}T12:00"), fields=fact(), **where
            )
    elif message.get("recipient") == "bio":  # the tool that saves a memory
        for line in _saved_texts(_words_of(content)[0]):
            at = time_of(message.get("create_time"))
            yield FileItem(content=line, at=at, fields=fact(), **where)
    elif (
        role not in ("user", "assistant")
        or message.get("recipient", "all") != "all"  # to a tool
        or metadata.get("is_visually_hidden_from_conversation")
        or kind in ("code", "thoughts", "reasoning_recap")
    ):
        yield LeftOut(member.path, LeftOutReason.PROGRAM, number)
    else:
        words, has_others = _words_of(content)
        if words:
            yield Message(role == "user", words, message.get("create_time"))
        if has_others or not words:
            yield LeftOut(member.path, LeftOutReason.NO_WORDS if has_others else LeftOutReason.EMPTY, number)


def _words_of(content: dict[str, Any]) -> tuple[str, bool]:
    """The words of a message, what was spoken among them, and whether it holds something of no words."""
    parts = content.get("parts") or ()
    texts = [part for part in parts if isinstance(part, str)]
    others = [part for part in parts if isinstance(part, dict)]
    speech = [str(part.get("text") or "") for part in others if part.get("content_type") == "audio_transcription"]
    is_audio = [str(part.get("content_type") or "audio").count("audio") > 0 for part in others]
    words = "\n".join(filter(str.strip, [*texts, *speech])) or str(content.get("text") or "")
    return words.strip(), not all(is_audio) or (bool(others) and not "".join(speech).strip())


_FENCED = re.compile(r"```(.*?)```", re.DOTALL)
_DATED = re.compile(r"^\d+\.\s*\[(\d{4}-\d{2}-\d{2})\]\.?\s*", re.MULTILINE)


def _kept_by_user(content: dict[str, Any], metadata: dict[str, Any], where: dict[str, Any]) -> Reader:
    """What a user wrote about themselves, and how they want to be answered: the program's words around it left out."""
    plain = metadata.get("user_context_message_data") or {}
    for name, bare in (("user_profile", "about_user_message"), ("user_instructions", "about_model_message")):
        around = str(content.get(name) or "")
        within = _FENCED.search(around)
        words = str(plain.get(bare) or "") or (within[1] if within else "")
        for line in profile_lines(words):
            yield FileItem(content=line, fields=profile(), **where)
        if around.strip() and not words.strip():
            yield LeftOut(where["path"], LeftOutReason.PROGRAM, where["number"])


def profile_lines(words: str) -> Iterator[str]:
    """What somebody wrote of themselves into a form: a line a memory, without the signs of lists."""
    for line in words.splitlines():
        yield from saved_lines(line) if line.strip() else ()


def _saved_texts(words: str) -> list[str]:
    """What was given to the tool that saves: plain words, or JSON with its `content`."""
    try:
        value = json.loads(words)
    except ValueError:
        return [words] if words else []
    content = value.get("content") if isinstance(value, dict) else None
    return [str(content)] if content else []


def read_claude(bundle: Bundle) -> Reader:
    """What Claude kept of its user and of projects, and the turns of every conversation. Raises FileRefused."""
    projects: dict[str, str] = {}
    # A file that stands alone is read by what it holds
    for member in bundle.named("projects.json", "projects/*.json", "*/projects/*.json"):
        if bundle.is_single and '"docs"' not in member.beginning:
            break
        for number, project in items(bundle, member):
            projects[str(project.get("uuid"))] = str(project.get("name") or "")
            name, description = str(project.get("name") or ""), str(project.get("description") or "").strip()
            if description:
                at = time_of(project.get("updated_at") or project.get("created_at"))
                words = f"{name}: {description}"
                yield FileItem(number=number, path=member.path, content=words, at=at, fields=fact([name]))
            if project.get("prompt_template"):
                yield LeftOut(member.path, LeftOutReason.INSTRUCTIONS, number, name)
            for document in project.get("docs") or ():
                detail = f"{name}: {document.get('filename') or ''}"
                yield LeftOut(member.path, LeftOutReason.NO_MEMORY, number, detail)
    for member in bundle.named("memories.json", "memories/*.json", "*/memories/*.json"):
        if bundle.is_single and '"conversations_memory"' not in member.beginning:
            break
        for number, memory in items(bundle, member):
            yield from _claude_memory(member, number, str(memory.get("conversations_memory") or ""), "")
            for uuid, words in (memory.get("project_memories") or {}).items():
                yield from _claude_memory(member, number, str(words or ""), projects.get(uuid, uuid))
    for member in bundle.named("conversations*.json"):
        if bundle.is_single and '"chat_messages"' not in member.beginning:
            break
        for number, conversation in items(bundle, member, "conversations"):
            title = str(conversation.get("name") or "").strip()
            name, begun = str(conversation.get("uuid") or title), conversation.get("created_at")
            messages = _claude_messages(conversation, number, member)
            yield from turns_of(messages, number=number, path=member.path, name=name, title=title, at=begun)


_BOLD_LINE = re.compile(r"^\*\*([^*]+)\*\*:?\s*$", re.MULTILINE)


def _claude_memory(member: Member, number: int, words: str, project: str) -> Reader:
    """The paragraphs of a summary, each under the bold line above it."""
    for line in lines_with_context(_BOLD_LINE.sub(r"## \1", words), project):
        fields = fact([project]) | {"heading": line.heading[:300]}
        yield FileItem(number=number, path=member.path, content=line.words, fields=fields)


def _claude_messages(conversation: dict[str, Any], number: int, member: Member) -> Iterator[Message | LeftOut]:
    """The messages of the branch that was shown last, in order."""
    messages = conversation.get("chat_messages") or []
    by_id = {message.get("uuid"): message for message in messages}
    branch: set[Any] = set()
    node = messages[-1].get("uuid") if messages and "parent_message_uuid" in messages[-1] else None
    while node in by_id and node not in branch:
        branch.add(node)
        node = by_id[node].get("parent_message_uuid")
    for message in messages:
        if branch and message.get("uuid") not in branch:
            yield LeftOut(member.path, LeftOutReason.OTHER_BRANCH, number)
            continue
        parts = message.get("content") or ()
        texts = [str(part.get("text") or "") for part in parts if part.get("type") in ("text", "voice_note")]
        words = "\n".join(filter(str.strip, texts)) or str(message.get("text") or "" if not parts else "")
        if words.strip():
            yield Message(message.get("sender") == "human", words.strip(), message.get("created_at"))
        if any(part.get("type") not in ("text", "voice_note") for part in parts):
            yield LeftOut(member.path, LeftOutReason.PROGRAM, number)
        for file in [*(message.get("attachments") or ()), *(message.get("files") or ())]:
            yield LeftOut(member.path, LeftOutReason.NO_WORDS, number, str(file.get("file_name") or ""))
