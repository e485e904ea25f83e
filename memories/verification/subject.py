"""Whether a clause and the clauses that support it are about the same person or thing (D5)."""

import re

from memories.verification.meaning import has_own, is_place_of, is_wish
from memories.verification.parsing import is_among
from memories.verification.speakers import MARKS, OTHER, is_mark, is_person
from memories.verification.statements import OWNED, Clause, Statement, Support, parse_marked
from memories.verification.vocabulary import COLLECTIVE, LIGHT

_IS = re.compile(r"\b(?:is|was|are|were|am|be|been|as|become|became)\b|是|当|做|为|任")
_IS_A = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the)\b|(?<!不)是")
_REPORTS = re.compile(r"\b(?:ask|said|say|mention|request|tell|told|state|report)\w*|说|提|问|要求|聊", re.IGNORECASE)


def is_another_identity(support: Support) -> bool:
    """Whether somebody is said to be what is only spoken of."""
    said = _IS_A.search(support.part.content) if is_person(support.part.speaks_first_of) else None
    if said is None:
        return False
    what = _terms(support.part.content[said.end() :])
    rests_on = [(clause.content, found.end()) for clause in support.resting for found in _IS.finditer(clause.content)]
    return not any(what & _terms(content[end:]) for content, end in rests_on)


def _terms(content: str) -> set[str]:
    return {part.term for part in parse_marked(content, MARKS).parts if part.kind in ("word", "name")}


def is_of_others(support: Support) -> bool:
    """Whether it speaks of one, and what it rests on of another."""
    part, clause = support.part, support.resting[0]
    if support.statement.is_request and is_person(part.speaks_first_of) and is_wish(part):
        return False
    own, theirs = _subject_of(part, support.before), _subject_in(clause, support.statement)
    if not own or not theirs:
        return theirs[:1] == (OWNED,) and len(theirs) > 1 and not set(theirs[1:]) & part.terms - LIGHT
    if support.persons - support.statement.persons and not support.is_summary:
        return True
    if (
        support.is_summary
        and (support.statement.is_request or clause.owned & part.terms)
        and _REPORTS.search(part.content)
    ):
        return False
    if not is_mark(theirs[0]) and theirs[0] != OWNED:
        if support.statement.asked:
            return False
        if len(support.resting) > 1 and theirs[0].isascii():
            return not is_among(theirs[0], part.terms)
    return _is_another(own, theirs, support)


def _is_another(own: tuple[str, ...], theirs: tuple[str, ...], support: Support) -> bool:
    part, clause = support.part, support.resting[0]
    if is_person(own[0]):
        return _is_not_theirs(own[0], theirs, clause, part)
    if own[0] == OWNED:
        return _is_not_of_them(own, theirs, support)
    if own[0] in part.reading.names and is_person(theirs[0]):
        return not is_place_of(own[0], clause)
    if theirs[0] == OWNED:
        return not set(theirs[1:]) & (part.terms | set(support.before.subject if support.before else ()))
    return theirs[0] in clause.reading.names and not is_mark(theirs[0]) and theirs[0] not in part.terms


def _is_not_theirs(own: str, theirs: tuple[str, ...], clause: Clause, part: Clause) -> bool:
    """Whether what is said of a speaker was said of another, or of what is theirs."""
    if is_mark(theirs[0]):
        return theirs[0] != own
    if theirs[0] == OWNED:
        return not has_own(part, clause) and not set(theirs[1:2]) <= LIGHT
    if theirs[0] in clause.reading.names:
        return True
    return any(one.term == own for one in clause.reading.parts[1:])


def _is_not_of_them(own: tuple[str, ...], theirs: tuple[str, ...], support: Support) -> bool:
    """Whether what is said of somebody's was said of themselves, or of something else of theirs."""
    clause = support.resting[0]
    if is_mark(theirs[0]):
        known = clause.owned | (COLLECTIVE if support.statement.is_plural else frozenset())
        return is_person(theirs[0]) and not set(own[1:]) & known
    return theirs[0] == OWNED and not set(theirs[1:]) & (support.part.terms | set(own))


def _subject_of(part: Clause, before: Clause | None) -> tuple[str, ...]:
    own = part.subject
    if own[:1] == (OTHER,):
        return before.subject if before is not None else ()
    if own and (is_person(own[0]) or own[0] == OWNED or own[0] in part.reading.names):
        return own
    return before.subject if before is not None and part.is_joined else own


def _subject_in(clause: Clause, statement: Statement) -> tuple[str, ...]:
    """Its subject, or that of the clause before it that has one, where it has none of its own."""
    own = clause.subject
    if own and (is_mark(own[0]) or own[0] == OWNED or own[0] in clause.reading.names):
        return own
    at = statement.clauses.index(clause)
    speaks_later = any(is_mark(part.term) for part in clause.reading.parts[1:])
    return own if at == 0 or speaks_later else _subject_in(statement.clauses[at - 1], statement)
