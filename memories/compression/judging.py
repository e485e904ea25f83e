"""What a model's judgement may do without a person: rules it cannot talk its way around (D6).

It may say that facts are one only where no number, date, name, negation or place is lost or made up; and that a fact is
over only where something newer says so, or time itself does.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import combinations

from memories import substance, text
from memories.choices import Category
from memories.compression.facts import relevance
from memories.conf import conf
from memories.drafts import COLUMN_SLOTS
from memories.likeness import Likeness, compare, tells
from memories.models import Entry

#: Sources of one text; more than these no sentence holds.
_MOST = 12
#: What is worth less was passing, and is over.
_FADED = 0.1
_PASSING = frozenset({Category.TEMP, Category.DEBUG})
#: Where it was said is of no matter to what it says; who said it is.
_OF_ITS_OWN = ("speaker",)


class Objection(StrEnum):
    """Why facts are not made one."""

    DIFFER = "differ"  # nearly the same words, and what differs matters
    NEGATED = "negated"  # one says yes, the other no
    PLACES = "places"  # a slot, or who said it, tells them apart
    LOST = "lost"  # the text leaves out a number, a date, a name, or most of what was said
    INVENTED = "invented"  # the text says a number, a date or a name nobody said


def objection(sources: Sequence[Entry], said: str) -> Objection | None:
    """What speaks against making these one text; None when nothing does."""
    contents = [source.content for source in sources]
    if len(contents) > _MOST or any(substance.coverage(one, said) < conf.COMPRESS_COVERAGE for one in contents):
        return Objection.LOST
    if substance.lost(contents, said):
        return Objection.LOST
    if substance.invented(contents, said):
        return Objection.INVENTED
    if len({substance.is_negated(one) for one in [*contents, said]}) > 1:
        return Objection.NEGATED
    if _are_apart(sources):
        return Objection.PLACES
    if any(_differ(*pair) for pair in combinations(contents, 2)) or any(_turned(one, said) for one in contents):
        return Objection.DIFFER
    return None


def _differ(one: str, other: str) -> bool:
    """Whether they are nearly the same words, and what differs counts, dates, names, or turns a statement round."""
    return substance.are_about_others(one, other) or _turned(one, other)


def _turned(one: str, other: str) -> bool:
    """Whether they are nearly the same words, and one that differs counts, dates, or turns a statement round."""
    if compare(one, other, threshold=conf.DEDUPE_THRESHOLD)[0] is not Likeness.APART:
        return False
    return any(tells(word) for word in set(text.words(one)) ^ set(text.words(other)))


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
    if fact.category in _PASSING or relevance(fact, now) < _FADED:
        return True
    return any(_tells_anew(other, fact) for other in kept)


def _tells_anew(newer: Entry, fact: Entry) -> bool:
    if newer.pk == fact.pk or newer.stated_at < fact.stated_at:
        return False
    about = substance.names(fact.content) - substance.numbers(fact.content)  # a weekday is a name by its capital only
    if about and about.isdisjoint(substance.names(newer.content)):
        return False
    return substance.coverage(fact.content, newer.content) >= conf.COMPRESS_COVERAGE
