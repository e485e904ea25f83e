"""Which known facts a new one takes the place of, and which it may (D5).

No machine is believed alone: what the model says and what the words say must agree, or the words be plain. The rest
waits for a person, and so does whatever a person wrote, pinned or checked.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from memories.choices import EntryType, Source
from memories.entries.draft import Draft
from memories.kinds import LASTING
from memories.language.conflicts import ConflictVerdict, judge
from memories.language.text import terms
from memories.models import Entry, Scope

#: Facts that share a word with the new ones, the latest; and those one of them is compared with, which share most.
_LOOKED_AT, _COMPARED = 1_000, 50
_OF_MACHINES = (Source.EXTRACTION, Source.COMPRESSION)


@dataclass(frozen=True)
class Contradiction:
    """A known fact, as it was when it was judged, that a new one contradicts."""

    fact: Entry
    is_certain: bool
    is_newer: bool = False  # the known one was said later: the new one is the outdated one


class KnownFacts:
    """Facts of some memories that new ones may contradict, read once for all of them."""

    def __init__(self, drafts: Sequence[Draft], named: Collection[int]) -> None:
        by_scope: defaultdict[int, set[int]] = defaultdict(set)
        for draft in drafts:
            by_scope[draft.scope.pk].update(terms(draft.content))
        scopes = {draft.scope.pk: draft.scope for draft in drafts}
        self._facts = {pk: _facts_of(scopes[pk], own, named) for pk, own in by_scope.items()}

    def contradicted_by(self, draft: Draft, named: Collection[int]) -> list[Contradiction]:
        """The known facts a new one contradicts; `named` are those the model says it replaces."""
        own = set(terms(draft.content))
        shared = {fact.pk: len(own.intersection(fact.terms)) for fact in self._facts[draft.scope.pk]}
        near = [fact for fact in self._facts[draft.scope.pk] if shared[fact.pk] and fact.project == draft.project]
        near.sort(key=lambda fact: -shared[fact.pk])
        beside = [fact for fact in self._facts[draft.scope.pk] if fact.pk in named and fact not in near[:_COMPARED]]
        found = (_judged(draft, fact, fact.pk in named) for fact in [*near[:_COMPARED], *beside])
        return [one for one in found if one is not None]


def _facts_of(scope: Scope, own: Iterable[int], named: Collection[int]) -> list[Entry]:
    facts = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT)
    sharing = facts.filter(category__in=LASTING, terms__overlap=sorted(own)).order_by("-stated_at", "-pk")
    found = {fact.pk: fact for fact in sharing[:_LOOKED_AT]}
    if missing := set(named) - found.keys():
        found |= facts.in_bulk(missing)
    return list(found.values())


def _judged(draft: Draft, fact: Entry, is_named: bool) -> Contradiction | None:
    if fact.content == draft.content:
        return None
    if fact.stated_at > draft.at:
        is_over = judge(draft.content, fact.content) is ConflictVerdict.CERTAIN
        return Contradiction(fact, is_certain=False, is_newer=True) if is_over else None
    verdict = judge(fact.content, draft.content)
    if verdict is ConflictVerdict.NONE and not is_named:
        return None
    agree = verdict is ConflictVerdict.CERTAIN or (verdict is ConflictVerdict.DOUBTFUL and is_named)
    return Contradiction(fact, is_certain=agree and _is_the_machines(fact))


def _is_the_machines(fact: Entry) -> bool:
    return fact.source in _OF_MACHINES and not fact.pinned and fact.verified_at is None


def without_corrected(drafts: Sequence[Draft]) -> list[Draft]:
    """Of what was said and corrected in the same conversation, only the correction."""
    return [
        draft
        for draft in drafts
        if not any(
            other.at > draft.at
            and (other.scope.pk, other.project) == (draft.scope.pk, draft.project)
            and judge(draft.content, other.content) is ConflictVerdict.CERTAIN
            for other in drafts
        )
    ]
