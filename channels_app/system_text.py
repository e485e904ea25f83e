"""The system text of a prompt: parts under headings, together never over a budget of tokens."""

from collections.abc import Sequence

from channels_app.messages import HEADINGS, in_language
from memories.language import text
from memories.recall.answer import fit


class SystemText:
    """A text that is being put together; its parts stand in the order of HEADINGS, whatever comes first."""

    def __init__(self, budget: int, language: str) -> None:
        self._budget, self._language = budget, language
        self._parts: dict[str, list[str]] = {}
        self.used = 0

    @property
    def left(self) -> int:
        return self._budget - self.used

    def share(self, share: float) -> int:
        """The tokens of a share of the whole budget, as far as there are so many left."""
        return max(min(int(self._budget * share), self.left), 0)

    def room(self, part: str, limit: int) -> int:
        """What of so many tokens is left for the lines of a part, below its heading."""
        return max(limit - self._heading_tokens(part), 0)

    def fitting(self, part: str, lines: Sequence[str], limit: int) -> int:
        """How many of these lines, from the first on, fit under the heading of a part."""
        return len(fit(lines, self.room(part, min(limit, self.left)))[0])

    def put(self, part: str, lines: Sequence[str]) -> None:
        """Add a part, or put it in the place of what it was; without lines it has no heading either."""
        if before := self._parts.pop(part, None):
            self.used -= self._heading_tokens(part) + sum(tokens_of(line) for line in before)
        if lines:
            self._parts[part] = list(lines)
            self.used += self._heading_tokens(part) + sum(tokens_of(line) for line in lines)

    def _heading_tokens(self, part: str) -> int:
        return tokens_of(in_language(HEADINGS[part], self._language)) + 1

    def __str__(self) -> str:
        parts = [(part, self._parts[part]) for part in HEADINGS if part in self._parts]
        return "\n\n".join("\n".join([in_language(HEADINGS[part], self._language), *lines]) for part, lines in parts)


def tokens_of(line: str) -> int:
    """What a line costs with its end."""
    return text.count_tokens(line) + 1
