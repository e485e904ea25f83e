"""What an import leaves out, and why."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db.models import TextChoices
from django.utils.translation import pgettext_lazy


class LeftOutReason(TextChoices):
    """Why something is not imported."""

    LINK = "link", pgettext_lazy("left out", "it is a link, and links are not followed")
    NO_FILE = "no_file", pgettext_lazy("left out", "it is no file")
    NAME = "name", pgettext_lazy("left out", "it is neither MEMORY.md nor named by its day, as 2026-01-31.md is")
    NO_DAY = "no_day", pgettext_lazy("left out", "there is no such day")
    TOO_LARGE = "too_large", pgettext_lazy("left out", "it is too large to be read as a whole")
    NO_TEXT = "no_text", pgettext_lazy("left out", "it is no text in UTF-8")
    UNREADABLE = "unreadable", pgettext_lazy("left out", "it cannot be read")
    EMPTY = "empty", pgettext_lazy("left out", "nothing stands in it")
    SUPPRESSED = "suppressed", pgettext_lazy("left out", "people took these words out of use before")
    ERASED = "erased", pgettext_lazy("left out", "it belongs to a person who was erased")
    NO_ENTRY = "no_entry", pgettext_lazy("left out", "what it refers to is not there")
    UNSTORABLE = "unstorable", pgettext_lazy("left out", "it cannot be stored")


#: What is named of what an import leaves out; of the rest there is the number.
MOST_NAMED = 1_000


@dataclass(frozen=True)
class LeftOut:
    """A file, or a line or row of one, that is not imported."""

    path: str
    reason: LeftOutReason
    line: int | None = None
    detail: str = ""


@dataclass
class AllLeftOut:
    """What an import leaves out: how much, and the first of it. A file of millions of such rows takes no more room."""

    count: int = 0
    first: list[LeftOut] = field(default_factory=list)

    def add(self, one: LeftOut, times: int = 1) -> None:
        """Count this, so many times."""
        self.first += [one] * min(times, MOST_NAMED - len(self.first))
        self.count += times

    def __iter__(self) -> Iterator[LeftOut]:
        return iter(self.first)
