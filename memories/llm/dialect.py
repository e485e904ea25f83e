"""What a server that speaks the chat protocol turns out to understand of it: tried once, then remembered.

Servers refuse what they do not know with a 400 and words of their own. What a request may do without is left out,
one thing at a time; what worked holds for this process.
"""

import re
import threading
from dataclasses import dataclass, replace
from typing import Any, Self

FORMS = ("json_schema", "json_object", "text")
_TOO_LONG = re.compile(r"context.?(?:length|size|window)|maximum context|too long|too many tokens")

_known: dict[tuple[str, str], "Dialect"] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class Dialect:
    """How a request is worded for a server."""

    form: str = FORMS[0]
    has_schema: bool = True  # of a JSON object: some servers take its schema beside it, others refuse it
    limit: str = "max_tokens"
    has_temperature: bool = True

    def without(self, complaint: str) -> Self | None:
        """The next poorer wording after a refusal; None when there is nothing to leave out."""
        if _TOO_LONG.search(complaint):
            return None
        if self.limit == "max_tokens" and "max_completion_tokens" in complaint:
            return replace(self, limit="max_completion_tokens")
        if self.has_temperature and "temperature" in complaint:
            return replace(self, has_temperature=False)
        if self.form == "json_object" and self.has_schema:
            return replace(self, has_schema=False)
        poorer = FORMS[FORMS.index(self.form) + 1 :]
        return replace(self, form=poorer[0]) if poorer else None

    def options(self, *, max_tokens: int, temperature: float, name: str, schema: dict[str, Any]) -> dict[str, Any]:
        """What is asked for beside the messages."""
        options: dict[str, Any] = {self.limit: max_tokens}
        if self.has_temperature:
            options["temperature"] = temperature
        if self.form == "json_schema":
            shape = {"name": name, "schema": schema, "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif self.form == "json_object":
            beside = {"schema": schema} if self.has_schema else {}
            options["response_format"] = {"type": "json_object", **beside}
        return options


def of(base_url: str, model: str) -> Dialect:
    return _known.get((base_url, model), Dialect())


def learn(base_url: str, model: str, dialect: Dialect) -> None:
    with _lock:
        _known[base_url, model] = dialect


def forget() -> None:
    """Begin anew (tests, a server that was changed)."""
    with _lock:
        _known.clear()
