"""What becomes of a draft that is written."""

from dataclasses import dataclass

from memories.choices import EntryType, Outcome
from memories.models import Entry

TAKEN_OUT = "taken_out"  #: reason of a suppressed draft: only saving it on purpose brings it back (A15)
QUARANTINED = "quarantined"  #: reason of a draft that rests on what is in quarantine
ERASED = "erased"  #: reason of a draft that repeats what was erased with a person: nothing brings it back (F7)


@dataclass(frozen=True)
class WriteResult:
    """What became of one draft."""

    entry: Entry
    outcome: Outcome
    linked: tuple[int, ...] = ()  # entries it resembles but was not merged with
    brought_back: bool = False  # saving it on purpose ended a suppression of its words
    is_quarantined: bool = False  # it rests on what is in quarantine

    @property
    def is_kept(self) -> bool:
        """Whether the draft is, or strengthens, an entry."""
        return self.outcome != Outcome.SUPPRESSED

    @property
    def is_kept_for_good(self) -> bool:
        """Whether it is stored as what somebody had remembered on purpose, which has no end of its own."""
        return self.is_kept and self.entry.type == EntryType.USER_EXPLICIT

    @property
    def reason(self) -> str | None:
        """Why nothing was written, as a code; None when something was."""
        if self.outcome != Outcome.SUPPRESSED:
            return None
        if self.is_quarantined:
            return QUARANTINED
        return ERASED if self.entry.pk is None else TAKEN_OUT
