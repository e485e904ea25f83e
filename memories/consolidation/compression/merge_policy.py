"""The merge policy: what of a model's judgement may be applied, before and without a second reading (D6).

Rules see to amounts, dates, codes, names, persons and slots, whatever the language. Whether a text says what its
sources say, the second reading knows; without it facts are made one only where one of them says it all.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import combinations

from memories.choices import ScopeKind, Verification
from memories.conf import conf
from memories.consolidation.compression.facts import relevance
from memories.entries.fields import COLUMN_SLOTS
from memories.kinds import category_rule
from memories.language import conflicts, similarity, text
from memories.language.conflicts import ConflictVerdict
from memories.language.similarity import Likeness
from memories.models import Entry, Scope
from memories.verification import claims
from memories.verification.claims import Conversation, Message
from memories.verification.persons import People

#: The most sources of one sentence.
_MOST = 12
#: The relevance below which a fact is over.
_FADED = 0.1
#: Slots of where a fact comes from do not matter to what it says, except the speaker.
_MEANINGFUL = ("speaker",)


class MergeFault(StrEnum):
    """Why facts are not made one."""

    DIFFER = "differ"  # one contradicts another
    PLACES = "places"  # a slot, or who said it, tells them apart
    LOST = "lost"  # the text leaves out an amount, a date, a code, a name or a person
    INVENTED = "invented"  # the text names something or somebody that none of them names
    UNVERIFIED = "unverified"  # nobody read it twice, or whoever did does not agree


def merge_fault(sources: Sequence[Entry], content: str) -> MergeFault | None:
    """Why these facts must not become this one; None where a reader may be asked."""
    if len(sources) > _MOST:
        return MergeFault.LOST
    if _are_apart(sources):
        return MergeFault.PLACES
    if any(_conflict(*pair) is not ConflictVerdict.NONE for pair in combinations(sources, 2)):
        return MergeFault.DIFFER
    if invents(sources, content):
        return MergeFault.INVENTED
    return MergeFault.LOST if any(loses(source, content, sources) for source in sources) else None


def invents(sources: Sequence[Entry], content: str) -> bool:
    """Whether a text names an amount, a date, a code, a name or a person that no source names."""
    # The sources as what was said, each on the day it was stated
    scope = sources[0].scope
    messages = [Message(f"f{n}", one.content, "", one.stated_at.date()) for n, one in enumerate(sources, start=1)]
    said = Conversation(messages, people_of(scope), scope.speakers)
    return claims.invention(content, said) is not None or not _persons([content], said.people) <= _persons(
        [source.content for source in sources], said.people
    )


def loses(source: Entry, content: str, sources: Sequence[Entry]) -> bool:
    """Whether a text leaves out an amount, a date, a code, a name or a person of a source."""
    people = people_of(source.scope)
    becomes = Message("", content, "", max(one.stated_at for one in sources).date())
    return claims.invention(source.content, Conversation([becomes])) is not None or not _persons(
        [source.content], people
    ) <= _persons([content], people)


def people_of(scope: Scope) -> People:
    """Those who may be spoken of in a scope: whose memory it is, and whom it knows."""
    is_personal = scope.kind != ScopeKind.CHAT
    own, others = (scope.speakers, []) if is_personal else ([], scope.speakers)
    return People.of(own, others, scope.nicknames)


def _persons(contents: Iterable[str], people: People) -> set[str]:
    return {key for content in contents for key in people.named(content, writes_of_user=True)}


def spokesman(sources: Sequence[Entry]) -> Entry | None:
    """The source that says all the others say, in nearly their words: it may stand for them though nobody read it."""
    longest = sorted(sources, key=lambda one: (-len(one.content), -one.stated_at.timestamp()))
    return next((one for one in longest if all(_covers(one, other) for other in sources if other is not one)), None)


def _covers(one: Entry, other: Entry) -> bool:
    return is_repeat(one, other) or (
        similarity.contains(one.content, other.content)
        and one.content.casefold().startswith(other.content.casefold().rstrip(" .。!！"))
        and not any(map(similarity.is_telling, one.content.casefold()[len(other.content) - 1 :].split()))
    )


def says(content: str, fact: Entry) -> bool:
    """Whether a text says what a fact says, in its words."""
    return similarity.contains(content, fact.content.rstrip(" .。!！"))


def shared_words(fact: Entry, content: str) -> int:
    """How many words a fact and a text share."""
    return len(set(fact.terms).intersection(text.terms(content)))


def is_repeat(one: Entry, other: Entry) -> bool:
    """Whether two facts are one memory, by the rule for what is written."""
    likeness, _share = similarity.compare(other.content, one.content, threshold=conf.DEDUPE_THRESHOLD)
    return likeness in (Likeness.SAME, Likeness.ALIKE)


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


def has_faded(fact: Entry, now: datetime) -> bool:
    """Whether time itself speaks for dropping a fact."""
    return category_rule(fact.category).passes == 1 or relevance(fact, now) < _FADED


def may_act(fact: Entry) -> bool:
    """Whether a fact may take the place of others, or be made one with them: a quoted one waits for a reader."""
    return fact.verification != Verification.QUOTED


def rivals_of(fact: Entry, kept: Iterable[Entry], most: int = 2) -> list[Entry]:
    """The facts that may take the place of another: stated later, of the same place, nearest in words first."""
    own = set(fact.terms)
    newer = [
        other
        for other in kept
        if other.pk != fact.pk
        and may_act(other)
        and other.stated_at >= fact.stated_at
        and own.intersection(other.terms)
        and not _are_apart([other, fact])
    ]
    certain = [other for other in newer if outdates(other, fact)]
    return certain or sorted(newer, key=lambda other: -len(own.intersection(other.terms)))[:most]


def outdates(newer: Entry, fact: Entry) -> bool:
    """Whether the words of a fact alone show that it corrects, or repeats, another that was stated before it."""
    return conflicts.judge(fact.content, newer.content) is not ConflictVerdict.NONE or is_repeat(newer, fact)


def _conflict(one: Entry, other: Entry) -> ConflictVerdict:
    older, newer = sorted((one, other), key=lambda entry: (entry.stated_at, entry.pk))
    return conflicts.judge(older.content, newer.content)
