"""The merge policy: what of a model's judgement is applied without a person (D6).

It may merge facts of the same slots where its text is made of theirs; a merge in its own words is a proposal. It may
drop a fact that has decayed, or that a newer fact corrects or repeats.
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

#: The most sources of one sentence.
_MOST = 12
#: The relevance below which a fact is over.
_FADED = 0.1
#: Slots of where a fact comes from do not matter to what it says, except the speaker.
_MEANINGFUL = ("speaker",)
__all__ = ["MergeFault", "is_certain", "is_over", "merge_fault", "outdates", "slots_of"]


def merge_fault(sources: Sequence[Entry], content: str) -> MergeFault | None:
    """Why these facts must not become this one; None when they may."""
    if len(sources) > _MOST:
        return MergeFault.LOST
    if _are_apart(sources):
        return MergeFault.PLACES
    return rewording.merge_fault([source.content for source in sources], content)


def is_certain(sources: Sequence[Entry], content: str) -> bool:
    """Whether a merge needs no person: its text is made of its sources, or the owner allows rewordings."""
    if conf.REWORDINGS == Rewordings.APPLY:
        return True
    return verbatim.is_made_of(content, [source.content for source in sources])


def _are_apart(sources: Iterable[Entry]) -> bool:
    """Whether a slot has different values: a fact about one environment says nothing about another."""
    values: dict[str, set[str]] = {}
    for source in sources:
        for name, value in slots_of(source).items():
            values.setdefault(name, set()).add(value)
    named = {name for name in values if name not in COLUMN_SLOTS or name in _MEANINGFUL}
    return any(len(values[name]) > 1 for name in named)


def slots_of(entry: Entry) -> dict[str, str]:
    """All slots of a fact by name, those in columns included."""
    found = {name: getattr(entry, name) for name in COLUMN_SLOTS if getattr(entry, name)}
    return found | {slot.name: slot.value for slot in entry.slots.all()}


def is_over(fact: Entry, kept: Iterable[Entry], now: datetime) -> bool:
    """Whether a rule supports dropping a fact: it has decayed, or a newer fact corrects or repeats it."""
    if category_rule(fact.category).passes == 1 or relevance(fact, now) < _FADED:
        return True
    newer = (other for other in kept if other.pk != fact.pk and _may_outdate(other, fact))
    return any(_corrects(other, fact) or verbatim.are_equivalent(other.content, fact.content) for other in newer)


def outdates(newer: Entry, fact: Entry) -> bool:
    """Whether a fact certainly corrects another that was stated before it."""
    return _may_outdate(newer, fact) and _corrects(newer, fact)


def _may_outdate(newer: Entry, fact: Entry) -> bool:
    return newer.stated_at >= fact.stated_at and not _are_apart([newer, fact])


def _corrects(newer: Entry, fact: Entry) -> bool:
    return conflicts.judge(fact.content, newer.content) is conflicts.ConflictVerdict.CERTAIN
