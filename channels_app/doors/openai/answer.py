"""What a model says, read from its answer or from the events of its stream."""

import json
from collections.abc import Iterator
from typing import Any


class Answer:
    """What a model has said so far, of its first choice."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def calls(self) -> list[dict[str, Any]]:
        return list(self._calls.values())

    @property
    def numbered(self) -> list[tuple[int, dict[str, Any]]]:
        """The calls with the numbers the events of a stream give them."""
        return list(self._calls.items())

    @property
    def message(self) -> dict[str, Any]:
        """It as a message of the conversation."""
        return {"role": "assistant", "content": self.text or None, "tool_calls": self.calls}

    def add(self, told: Any) -> None:
        """A whole answer, or an event of a stream; what is neither says nothing."""
        said = said_in(told)
        if isinstance(said.get("content"), str):
            self._texts.append(said["content"])
        for n, call in enumerate(calls_in(said)):
            known = self._calls.setdefault(call.get("index", n), {"type": "function"})
            begun = known.get("function") or {}
            more = call.get("function") or {}
            arguments = (begun.get("arguments") or "") + (more.get("arguments") or "")
            known |= {name: value for name, value in call.items() if name != "index" and value}
            known["function"] = {**begun, **{k: v for k, v in more.items() if v}, "arguments": arguments}


def said_in(told: Any) -> dict[str, Any]:
    """The message of the first choice, or what an event adds to it."""
    choices = told.get("choices") if isinstance(told, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or first.get("index", 0) != 0:
        return {}
    said = first.get("delta") or first.get("message")
    return said if isinstance(said, dict) else {}


def calls_in(said: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls of tools in a message, or in what an event adds to one."""
    calls = said.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def read(content: bytes) -> Any:
    """JSON, or None."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


class Events:
    """Server-sent events, cut out of bytes that come as they like."""

    def __init__(self) -> None:
        self._rest = b""

    @property
    def rest(self) -> bytes:
        """The beginning of one that has not ended."""
        return self._rest

    def cut(self, part: bytes) -> Iterator[bytes]:
        """Those that end in these bytes, each with its blank line."""
        *lines, self._rest = (self._rest + part).splitlines(keepends=True) or [b""]
        if self._rest.endswith(b"\n"):
            lines, self._rest = [*lines, self._rest], b""
        event = b""
        for line in lines:
            event += line
            if not line.strip():
                yield event
                event = b""
        self._rest = event + self._rest


def data_of(event: bytes) -> Any:
    """The data of an event; None where it holds no JSON, as the last one."""
    lines = (line for line in event.splitlines() if line.startswith(b"data:"))
    return read(b"\n".join(line.removeprefix(b"data:").strip() for line in lines))
