"""Messages and answers in OpenAI's form."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from channels_app.api.context import CLIENT_MESSAGES
from memories.conf import conf
from memories.language.confidential import ToolCall
from memories.language.text import is_blank


class Answer:
    """What a model has said so far, of its first choice."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self.by_number: dict[int, dict[str, Any]] = {}  # its calls by the numbers the events of a stream give them

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def calls(self) -> list[dict[str, Any]]:
        return list(self.by_number.values())

    def add(self, data: Any) -> None:
        """A whole answer, or an event of a stream; what is neither says nothing."""
        message = message_in(data)
        if isinstance(message.get("content"), str):
            self._texts.append(message["content"])
        for n, call in enumerate(calls_in(message)):
            whole = self.by_number.setdefault(call.get("index", n), {"type": "function"})
            function = whole.get("function") or {}
            more = call.get("function") or {}
            arguments = (function.get("arguments") or "") + (more.get("arguments") or "")
            whole |= {name: value for name, value in call.items() if name != "index" and value}
            whole["function"] = {**function, **{k: v for k, v in more.items() if v}, "arguments": arguments}


def message_in(data: Any) -> dict[str, Any]:
    """The message of the first choice, or what an event adds to it."""
    choices = data.get("choices") if isinstance(data, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or first.get("index", 0) != 0:
        return {}
    message = first.get("delta") or first.get("message")
    return message if isinstance(message, dict) else {}


def calls_in(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls of tools in a message, or in what an event adds to one."""
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def read_answer(content: bytes) -> Any:
    """JSON, or None."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


class Events:
    """Server-sent events, cut out of bytes that come as they like."""

    def __init__(self) -> None:
        self.rest = b""  # the beginning of one that has not ended

    def cut(self, part: bytes) -> Iterator[bytes]:
        """Those that end in these bytes, each with its blank line."""
        *lines, self.rest = (self.rest + part).splitlines(keepends=True) or [b""]
        if self.rest.endswith(b"\n"):
            lines, self.rest = [*lines, self.rest], b""
        event = b""
        for line in lines:
            event += line
            if not line.strip():
                yield event
                event = b""
        self.rest = event + self.rest


def data_of(event: bytes) -> Any:
    """The data of an event; None where it holds no JSON, as the last one."""
    lines = (line for line in event.splitlines() if line.startswith(b"data:"))
    return read_answer(b"\n".join(line.removeprefix(b"data:").strip() for line in lines))


#: What is said before the bot's own words begin; memory is put at the end of it.
INSTRUCTIONS = ("system", "developer")
#: Bytes of the messages before the question of which memory is told, the newest.
BEFORE_BYTES = 300_000
#: Of the tools a bot used for one answer the newest so many are told, with so much of arguments and results.
CALLS_MOST, CALL_CHARS, NAME_CHARS = 20, 2_000, 100


@dataclass(frozen=True)
class Asked:
    """The last message of the user, and what user and model said before it."""

    question: str
    before: list[dict[str, str]]
    calls: list[dict[str, Any]] = field(default_factory=list)  # of the bot's own tools since then, as a turn has them


def read_messages(messages: Any) -> Asked | None:
    """What a chat asks; None where its last message of a user has no words, or it has no messages at all."""
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return None
    words = [(message.get("role"), cut(_words(message.get("content")))) for message in messages]
    last = max((n for n, (role, _text) in enumerate(words) if role == "user"), default=None)
    if last is None or is_blank(words[last][1]):
        return None
    # Of what was said before, the newest that memory is given, oldest first
    before: list[dict[str, str]] = []
    bytes_left = BEFORE_BYTES
    for role, text in reversed(words[:last]):
        bytes_left -= len(text.encode())
        if bytes_left < 0 or len(before) == CLIENT_MESSAGES:
            break
        if role in ("user", "assistant") and not is_blank(text):
            before.append({"role": role, "content": text})
    return Asked(words[last][1], before[::-1], _calls(messages[last + 1 :]))


def cut(text: str) -> str:
    """As much of a text as memory takes, without what no text can hold there: NUL and lone surrogates."""
    return text.replace("\0", "").encode(errors="surrogatepass")[: conf.TURN_MAX_BYTES].decode(errors="ignore")


def with_memory(messages: Sequence[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """The messages with a text of memory at the end of the bot's own instructions.

    It is no message of its own where there are any: some models refuse instructions that are not the first message.
    """
    count = next((n for n, message in enumerate(messages) if message.get("role") not in INSTRUCTIONS), len(messages))
    if not count:
        return [{"role": INSTRUCTIONS[0], "content": text}, *messages]
    last = messages[count - 1]
    own = last.get("content") or ""
    told: list[dict[str, Any]]
    if isinstance(own, str):
        told = [{**last, "content": f"{own}\n\n{text}" if own else text}]
    elif isinstance(own, list):
        told = [{**last, "content": [*own, {"type": "text", "text": text}]}]
    else:  # no form there is
        told = [last, {"role": last["role"], "content": text}]
    return [*messages[: count - 1], *told, *messages[count:]]


def _words(content: Any) -> str:
    """The words of a message, which may also come in parts; pictures have none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _calls(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools a bot used, with what they answered, without what looks secret."""
    answers = {message.get("tool_call_id"): message for message in messages if message.get("role") == "tool"}
    tool_calls = []
    for call in (call for message in messages for call in calls_in(message)):
        function: Any = call.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        if not (isinstance(name, str) and cut(name).strip()):
            continue
        # Arguments come as a text; one that is no JSON, or long, is told as it begins
        text = function.get("arguments")
        arguments: Any = text[:CALL_CHARS] if isinstance(text, str) else None
        if isinstance(text, str) and len(text) <= CALL_CHARS:
            with suppress(ValueError, RecursionError):
                arguments = json.loads(text, parse_constant=str)
        result = cut(_words(answers.get(call.get("id"), {}).get("content")))[:CALL_CHARS]
        tool_calls.append(ToolCall(cut(name)[:NAME_CHARS], arguments, result or None).cleaned())
    return tool_calls[-CALLS_MOST:]
