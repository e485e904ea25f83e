"""What a model's judgement may do without a person: rules it cannot talk its way around (D6).

It may say that facts are one only where its text is what they say, of the same place; in words of its own it may
propose so. That a fact is over it may say where something newer corrects it, or time itself does.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from memories.choices import Rewordings
from memories.conf import conf
from memories.consolidation.compression.facts import relevance
from memories.entries.fields import COLUMN_SLOTS
from memories.kinds import category_rule
from memories.language import conflicts
from memories.models import Entry
from memories.verification import rewording, verbatim
from memories.verification.rewording import MergeFault

#: Sources of one text; more than these no sentence holds.
_MOST = 12
#: What is worth less was passing, and is over.
_FADED = 0.1
#: Where it was said is of no matter to what it says; who said it is.
_OF_ITS_OWN = ("speaker",)
__all__ = ["MergeFault", "is_certain", "is_over", "merge_fault", "outdates", "slots_of"]


def merge_fault(sources: Sequence[Entry], said: str) -> MergeFault | None:
    """What speaks against making these one text; None when nothing does."""
    if len(sources) > _MOST:
        return MergeFault.LOST
    if _are_apart(sources):
        return MergeFault.PLACES
    return rewording.merge_fault([source.content for source in sources], said)


def is_certain(sources: Sequence[Entry], said: str) -> bool:
    """Whether a text may take the place of these without a person: it is what they say, or the owner allows it."""
    if conf.REWORDINGS == Rewordings.APPLY:
        return True
    return verbatim.is_made_of(said, [source.content for source in sources])


def _are_apart(sources: Iterable[Entry]) -> bool:
    """Whether the same slot says different things: what holds in one environment says nothing of another."""
    values: dict[str, set[str]] = {}
    for source in sources:
        for name, value in slots_of(source).items():
            values.setdefault(name, set()).add(value)
    named = {name for name in values if name not in COLUMN_SLOTS or name in _OF_ITS_OWN}
    return any(len(values[name]) > 1 for name in named)


def slots_of(entry: Entry) -> dict[str, str]:
    """What is said of a fact beside its words."""
    found = {name: getattr(entry, name) for name in COLUMN_SLOTS if getattr(entry, name)}
    return found | {slot.name: slot.value for slot in entry.slots.all()}


def is_over(fact: Entry, kept: Iterable[Entry], now: datetime) -> bool:
    """Whether something besides the model says that a fact may go: time, or a newer fact about the same."""
    if category_rule(fact.category).passes == 1 or relevance(fact, now) < _FADED:
        return True
    return any(_tells_anew(other, fact) for other in kept)


def _tells_anew(newer: Entry, fact: Entry) -> bool:
    return newer.pk != fact.pk and (outdates(newer, fact) or _repeats(newer, fact))


def outdates(newer: Entry, fact: Entry) -> bool:
    """Whether what was stated later certainly takes the place of what was stated before."""
    if newer.stated_at < fact.stated_at or _are_apart([newer, fact]):
        return False
    return conflicts.judge(fact.content, newer.content) is conflicts.ConflictVerdict.CERTAIN


def _repeats(newer: Entry, fact: Entry) -> bool:
    is_newer = newer.stated_at >= fact.stated_at and not _are_apart([newer, fact])
    return is_newer and verbatim.are_equivalent(newer.content, fact.content)
