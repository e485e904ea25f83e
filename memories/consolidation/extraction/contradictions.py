"""Which known facts a new one takes the place of, and which it may (D5).

Only a fact whose words were read twice replaces anything: at once where two of model, reader and words agree. Words
that conflict wait for a person where nobody else sees it, and so does what a model names, unless the reader saw that
both may be true; and whatever a person wrote, pinned or checked.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from memories.choices import EntryType, Reading, Source
from memories.entries.draft import Draft
from memories.kinds import LASTING
from memories.language.conflicts import ConflictVerdict, judge
from memories.language.text import terms
from memories.models import Entry, Scope

#: Facts that share a word with the new ones, the latest; and those one of them is compared with, which share most.
_LOOKED_AT, _COMPARED = 1_000, 50
#: Lines of the profile a reader is asked about though neither model nor rules see a contradiction.
_LINES_READ = 3
_OF_MACHINES = (Source.EXTRACTION, Source.COMPRESSION)


@dataclass
class Contradiction:
    """A known fact, as it was when it was compared, that a new one may contradict, and what speaks for it."""

    fact: Entry
    conflict: ConflictVerdict
    is_named: bool = False  # the model says that the new one replaces it
    is_newer: bool = False  # the known one was stated later: the new one is the outdated one
    reading: Reading = Reading.UNSURE  # of the known fact, by the words of the new one

    @property
    def is_likely(self) -> bool:
        """Whether it is worth asking a person, once it was read; of a line of the profile the reading is enough.

        What the model alone names is not, where the new words leave the known fact true.
        """
        if self.conflict is not ConflictVerdict.NONE or self.outdates_line:
            return True
        return self.is_named and self.reading in (Reading.CONTRADICTED, Reading.UNSURE)

    @property
    def is_to_be_read(self) -> bool:
        """Whether model or words speak for it, so that a reader is asked whether the new words make it untrue."""
        return self.is_named or self.conflict is not ConflictVerdict.NONE

    @property
    def outdates_line(self) -> bool:
        """Whether a reader says that it makes a line of the profile untrue: that is handed out no more."""
        return self.fact.tier == 1 and not self.is_newer and self.reading is Reading.CONTRADICTED

    @property
    def is_certain(self) -> bool:
        """Whether a verified fact may replace it without a person."""
        if self.is_newer or not (
            self.fact.source in _OF_MACHINES and not self.fact.pinned and self.fact.verified_at is None
        ):
            return False
        signals = [self.is_named, self.reading is Reading.CONTRADICTED, self.conflict is not ConflictVerdict.NONE]
        return sum(signals) > 1


class KnownFacts:
    """Facts of some memories that new ones may contradict, read once for all of them."""

    def __init__(self, drafts: Sequence[Draft], named: Collection[int]) -> None:
        by_scope: defaultdict[int, set[int]] = defaultdict(set)
        for draft in drafts:
            by_scope[draft.scope.pk].update(terms(draft.content))
        scopes = {draft.scope.pk: draft.scope for draft in drafts}
        self._facts = {pk: _facts_of(scopes[pk], own, named) for pk, own in by_scope.items()}

    def contradicted_by(self, draft: Draft, named: Collection[int]) -> list[Contradiction]:
        """The known facts a new one may contradict; `named` are those the model says it replaces.

        Lines of the profile are read with it in any case: they are in every prompt.
        """
        own = set(terms(draft.content))
        shared = {fact.pk: len(own.intersection(fact.terms)) for fact in self._facts[draft.scope.pk]}
        near = [
            fact
            for fact in self._facts[draft.scope.pk]
            if shared[fact.pk] and (fact.tier == 1 or fact.project == draft.project)
        ]
        near.sort(key=lambda fact: -shared[fact.pk])
        beside = [fact for fact in self._facts[draft.scope.pk] if fact.pk in named and fact not in near[:_COMPARED]]
        found = (_compared(draft, fact, fact.pk in named) for fact in [*near[:_COMPARED], *beside])
        differing = [one for one in found if one.fact.content != draft.content]
        lines = [one for one in differing if one.fact.tier == 1 and not (one.is_to_be_read or one.is_newer)]
        return [one for one in differing if one.is_to_be_read] + lines[:_LINES_READ]


def _facts_of(scope: Scope, own: Iterable[int], named: Collection[int]) -> list[Entry]:
    facts = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT)
    sharing = facts.filter(category__in=LASTING, terms__overlap=sorted(own)).order_by("-stated_at", "-pk")
    found = {fact.pk: fact for fact in sharing[:_LOOKED_AT]}
    if missing := set(named) - found.keys():
        found |= facts.in_bulk(missing)
    return list(found.values())


def _compared(draft: Draft, fact: Entry, is_named: bool) -> Contradiction:
    if fact.stated_at > draft.at:
        is_over = judge(draft.content, fact.content) is ConflictVerdict.CERTAIN
        return Contradiction(fact, ConflictVerdict.CERTAIN if is_over else ConflictVerdict.NONE, is_newer=True)
    return Contradiction(fact, judge(fact.content, draft.content), is_named)


def may_correct(draft: Draft, earlier: Draft) -> bool:
    """Whether a fact seems to correct an earlier one of the same conversation, by its words."""
    is_later = (draft.scope.pk, draft.project) == (earlier.scope.pk, earlier.project) and draft.at > earlier.at
    return is_later and judge(earlier.content, draft.content) is ConflictVerdict.CERTAIN
