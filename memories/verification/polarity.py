"""Whether a summary turns round what was said: denies it, says it of another, or takes for decided what was open."""

from collections.abc import Iterator
from itertools import chain

from memories.verification import rewording
from memories.verification.clauses import Clause, Sentence, SummaryCheck, marks, touched
from memories.verification.vocabulary import ASKING, DECIDING, OPEN, OPEN_CHARS

#: By so much a clause is nearer to words that hold other numbers than to those that hold its own.
_NEARER = 0.25


def is_turned(held: SummaryCheck) -> bool:
    return any(judge(held) for judge in _JUDGES)


def _denies_otherwise(held: SummaryCheck) -> bool:
    denied = {term for one in held.statements for denial in one.denials for term in denial}
    stated = {term for one in held.statements for term in one.reading.said}
    said = held.reading
    return bool(
        (said.denied & stated) - touched(held.statements) - said.said
        or (said.said & denied) - stated - touched(held.told)
    )


def _denies_of_others(held: SummaryCheck) -> bool:
    """Whether it denies something of one, that was denied of another."""
    known = list(chain.from_iterable(_denied_of(one) for one in held.statements))
    for names, denied in chain.from_iterable(_denied_of(one) for one in held.told):
        others = [theirs for theirs, what in known if what & denied and theirs]
        if names and others and all(names.isdisjoint(theirs) for theirs in others):
            return True
    return False


def _denied_of(one: Sentence) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """What a sentence denies, each with the names before it."""
    names: set[str] = set()
    for clause in one.clauses:
        names.update(part.term for part in clause.parts if part.kind == "name")
        if clause.denied:
            yield frozenset(names), clause.denied


def _exchanges_amounts(held: SummaryCheck) -> bool:
    """Whether a number stands with words that stood with another."""
    for clause in (clause for one in held.told for clause in one.clauses):
        for amount in clause.amounts:
            own = max((_nearness(clause, one) for one in held.clauses if amount in one.amounts), default=1.0)
            others = (one for one in held.clauses if one.amounts - clause.amounts and amount not in one.amounts)
            if max((_nearness(clause, one) for one in others), default=0.0) > own + _NEARER:
                return True
    return False


def _nearness(clause: Clause, other: Clause) -> float:
    return len(clause.words & other.words) / len(clause.words) if clause.words else 0.0


def _exchanges_places(held: SummaryCheck) -> bool:
    return rewording.exchanges([one.reading for one in held.said], held.reading)


def _takes_for_said(held: SummaryCheck) -> bool:
    """Whether it takes for said what was only offered or asked."""
    stated = {term for one in held.said if one.states for term in marks(one.reading) | one.reading.implied}
    offered = {term for one in held.said if not one.states for term in marks(one.reading) | one.reading.implied}
    told = (one for one in held.told if not ASKING.search(one.content))
    return any(marks(one.reading) & offered - stated for one in told)


def _decides(held: SummaryCheck) -> bool:
    """Whether it takes for decided what was left open."""
    return any(map(_is_decided, held.told)) and not any(map(_is_decided, held.statements))


def _is_decided(one: Sentence) -> bool:
    return any(not OPEN.search(one.content[: found.start()][-OPEN_CHARS:]) for found in DECIDING.finditer(one.content))


_JUDGES = (
    _denies_otherwise,
    _denies_of_others,
    _exchanges_amounts,
    _exchanges_places,
    _takes_for_said,
    _decides,
)
