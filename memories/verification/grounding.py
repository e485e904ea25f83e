"""Whether a generated text is supported by the messages it names: rules, and when in doubt it is not (D5).

A statement is taken apart where it may be, and each part has to stand in one sentence, or in those that refer to one
another: nearly all its words, all its numbers, dates and names. It speaks of the same person, of what was denied denies
it, and what was wished, planned or doubted stays that.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum

from memories.language import similarity, text
from memories.language.sentences import sentences
from memories.verification import meaning, statements, subject
from memories.verification.parsing import Parse, is_among, names_in, parse
from memories.verification.speakers import Speakers, expand_contractions
from memories.verification.statements import OWNED, Clause, SourceMessage, Statement, Support
from memories.verification.vocabulary import LIGHT, REPORTING

__all__ = ["SourceMessage", "GroundingFault", "fault", "fault_of_summary"]
#: So much of the telling words of a text stands in the messages it rests on.
_SHARE = 0.9
#: Of a summary so much less of the words needs to stand there.
_MILDER = 0.15


class GroundingFault(StrEnum):
    """Why a text is not believed."""

    EMPTY = "empty"  # it says nothing
    INVENTED = "invented"  # a number, a date, a name or a word nobody said
    MIXED = "mixed"  # halves of two statements
    NEGATED = "negated"  # yes for no, or no for yes
    TURNED = "turned"  # a wish became a deed, or two things changed places
    OTHERS = "others"  # said of somebody else


def fault(
    said: str,
    messages: Sequence[SourceMessage],
    *,
    known: Collection[str] = (),
    others: Collection[str] = (),
    also_called: Mapping[str, Collection[str]] | None = None,
) -> GroundingFault | None:
    """What speaks against believing a text that rests on these messages; None when nothing does.

    `known` names may stand in it, those of `others` where somebody is addressed.
    """
    if _repeats(said, messages):
        return None
    return _GroundedText(messages, said, known, others, also_called).fault(_SHARE)


def fault_of_summary(
    said: str,
    messages: Sequence[SourceMessage],
    *,
    known: Collection[str] = (),
    also_called: Mapping[str, Collection[str]] | None = None,
) -> GroundingFault | None:
    """The same of a text that tells of all of them, each of its sentences."""
    for sentence in sentences(said):
        if sentence.strip() and not _repeats(sentence, messages, answers_too=True):
            grounded = _GroundedText(messages, sentence.strip(), known, (), also_called, is_summary=True)
            if wrong := grounded.fault(_SHARE - _MILDER):
                return wrong
    return None


def _repeats(said: str, messages: Sequence[SourceMessage], *, answers_too: bool = False) -> bool:
    """Whether it is the message itself, or one of its sentences."""
    own = text.normalise(said)
    return bool(own) and any(
        own in (text.normalise(part) for part in [one.content, *sentences(one.content)])
        for one in messages
        if answers_too or not one.is_answer
    )


class _GroundedText:
    """A text and the messages it has to rest on, both taken apart."""

    def __init__(
        self,
        messages: Sequence[SourceMessage],
        said: str,
        known: Collection[str],
        others: Collection[str],
        also_called: Mapping[str, Collection[str]] | None,
        *,
        is_summary: bool = False,
    ) -> None:
        speakers = Speakers([one.speaker for one in messages if not one.is_answer], also_called)
        names = statements.names_of(speakers, [said, *(one.content for one in messages)])
        self.is_summary = is_summary
        self.statements = statements.statements_of(messages, speakers, names, tells_all=is_summary)
        told = expand_contractions(said)
        is_alone = len(speakers.people) == 1
        told = speakers.first(told, speakers.people[0]) if is_alone else speakers.named(told)
        self.parts = _whole(statements.clauses_of(told, names), names)
        is_addressed = any(re.search(r"\byou|你|您|@", one.content) for one in messages)
        self.known = {text.stem(w) for name in known for w in text.words(name)} | {n.casefold() for n in known}
        if is_addressed:
            self.known |= {name.casefold() for name in others}
        self.light = LIGHT | (REPORTING if is_summary else frozenset())

    def fault(self, share: float) -> GroundingFault | None:
        if not any(self._terms(part) for part in self.parts):
            return GroundingFault.EMPTY
        before: Clause | None = None
        for part in self.parts:
            if self._terms(part):
                found = [self._fault_in(part, before, statement, share) for statement in self.statements]
                if None not in found:
                    return found[0] if len(found) == 1 else GroundingFault.INVENTED if not found else _telling(found)
            before = part if part.speaks_first_of or part.subject[:1] == (OWNED,) or before is None else before
        return None

    def _terms(self, part: Clause) -> set[str]:
        return part.terms - self.light - self.known

    def _fault_in(
        self, part: Clause, before: Clause | None, statement: Statement, share: float
    ) -> GroundingFault | None:
        """What speaks against this part of the text, if it rests on this sentence."""
        terms = self._terms(part)
        new = {term for term in terms if not is_among(term, statement.terms)}
        if self._is_invented(part, new, statement) or 1 - len(new) / len(terms) < share:
            return GroundingFault.INVENTED
        elsewhere = {term for other in self.statements if other is not statement for term in other.terms}
        if any(is_among(term, elsewhere) for term in new):
            return GroundingFault.MIXED
        resting = list(_resting(terms, statement))
        if not resting:
            return GroundingFault.INVENTED
        if not self.is_summary and meaning.is_mixed(part, resting):
            return GroundingFault.MIXED
        support = Support(part, before, resting, statement, self.is_summary)
        return next((wrong for judge, wrong in _JUDGES if judge(support)), None)

    def _is_invented(self, part: Clause, new: set[str], statement: Statement) -> bool:
        """Whether a number, a name, or a word that tells is new."""
        marks = (part.reading.amounts | part.reading.names) & new
        if any(term not in self.known and not _is_part_of(term, statement) for term in marks):
            return True
        return any(similarity.is_telling(term) for term in new - self.known)


def _telling(found: Sequence[GroundingFault | None]) -> GroundingFault:
    """The nearest miss."""
    order = [GroundingFault.NEGATED, GroundingFault.TURNED, GroundingFault.OTHERS, GroundingFault.MIXED]
    return next((wrong for wrong in order if wrong in found), GroundingFault.INVENTED)


def _is_part_of(name: str, statement: Statement) -> bool:
    """Names joined or taken apart stay what they are."""
    parts = re.findall(r"[^\W_]+", name)
    there = {word for clause in statement.clauses for word in text.words(clause.content)} | statement.terms
    return bool(parts) and all(part in there or text.stem(part) in statement.terms for part in parts)


def _whole(clauses: Sequence[Clause], names: Collection[str]) -> list[Clause]:
    """Parts that say something by themselves; what is only listed belongs to what is before it."""
    found: list[Clause] = []
    for clause in clauses:
        if found and (len(clause.terms) < 2 or not found[-1].terms) and not clause.speaks_first_of:
            joined = f"{found[-1].content} + {clause.content}"
            found[-1] = Clause(joined, statements.parse_marked(joined, names), found[-1].is_joined)
        else:
            found.append(clause)
    return found


def _resting(terms: set[str], statement: Statement) -> Iterator[Clause]:
    """The clauses it rests on, the one that says most of it first."""
    left = set(terms)
    waiting = list(statement.clauses)
    while left and waiting:
        best = max(waiting, key=lambda clause: len(_in(left, clause)))
        if not (there := _in(left, best)):
            break
        yield best
        left -= there
        waiting.remove(best)


def _in(terms: set[str], clause: Clause) -> set[str]:
    known = clause.terms | clause.reading.implied
    return {term for term in terms if is_among(term, known)}


_JUDGES = (
    (meaning.is_denied_otherwise, GroundingFault.NEGATED),
    (meaning.leaves_out_deed, GroundingFault.MIXED),
    (meaning.is_hedged_otherwise, GroundingFault.TURNED),
    (meaning.changes_places, GroundingFault.TURNED),
    (meaning.is_of_another_time, GroundingFault.TURNED),
    (subject.is_another_identity, GroundingFault.OTHERS),
    (subject.is_of_others, GroundingFault.OTHERS),
)


#: Of the words of a sentence so many are spoken of, somewhere.
_LEAST = 0.5


def drop_off_topic(said: str, sources: Sequence[str]) -> str:
    """The sentences of a text that its sources speak of; empty when most of them do not."""
    names = names_in([*sources, said])
    spoken_of = _Spoken([parse(source, names) for source in sources])
    paragraphs = [[one.strip() for one in sentences(part) if one.strip()] for part in said.split("\n\n")]
    kept = [[one for one in part if spoken_of.holds(parse(one, names))] for part in paragraphs]
    if 2 * sum(map(len, kept)) < sum(map(len, paragraphs)):
        return ""
    return "\n\n".join(_joined(part) for part in kept if part)


class _Spoken:
    """What is spoken of in several texts, taken together."""

    def __init__(self, readings: Sequence[Parse]) -> None:
        self.amounts = {amount for one in readings for amount in one.implied}
        self.terms = {term for one in readings for term in one.telling}

    def holds(self, reading: Parse) -> bool:
        if reading.amounts - self.amounts or any(not is_among(name, self.terms) for name in reading.names):
            return False
        telling = reading.telling
        known = sum(1 for term in telling if is_among(term, self.terms))
        return not telling or known >= _LEAST * len(telling)


def _joined(parts: Sequence[str]) -> str:
    return "".join(f" {one}" if one[:1].isascii() else one for one in parts).strip()
