"""One call to the model: what is asked, what comes back, and how it may fail."""

from dataclasses import dataclass
from typing import Any


class CallFailed(Exception):
    """A call came to nothing; `said` is the server's own complaint and is shown to nobody."""

    def __init__(
        self, what: str, *, may_pass: bool = False, after: float | None = None, is_free: bool = False, said: str = ""
    ) -> None:
        super().__init__(what)
        self.may_pass = may_pass
        self.after = after
        #: Whether nothing was computed for it, so that it costs nothing.
        self.is_free = is_free
        self.said = said


@dataclass(frozen=True)
class Request:
    """What is asked."""

    model: str
    messages: list[dict[str, str]]
    language: str
    name: str
    schema: dict[str, Any]
    max_tokens: int
    temperature: float


@dataclass(frozen=True)
class Reply:
    """What came back; tokens are None when the server did not count them."""

    text: str
    was_cut: bool
    prompt_tokens: int | None
    completion_tokens: int | None
