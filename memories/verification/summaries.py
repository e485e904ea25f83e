"""Whether a summary is faithful to its turn: rules, no model, and when in doubt it is not (A11).

They are check against two texts. Against the whole turn, that nothing is invented, turned round, or told of somebody
else; against the turn as it is stored, cut, that the place of those words is not taken by words that tell less.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from enum import StrEnum
from itertools import chain

from memories.language import text
from memories.language.scripts import begins_with_han
from memories.verification import rewording
from memories.verification.parsing import Parse, is_among
from memories.verification.sentences import Sentence, StoredTurn, SummaryCheck, marks, touched
from memories.verification.vocabulary import ASKING, DECIDING, OPEN, OPEN_CHARS, REPORTING, TITLED

__all__ = ["SummaryFault", "StoredTurn", "fault"]
#: So much of what the stored words tell of numbers, dates and names the summary tells.
_KEPT = 1 / 2
#: So much of what is denied may be left out.
_LOST_DENIALS = 1 / 3
#: So much of its words stand in the turn.
_KNOWN = 2 / 3
#: So much of its terms stand in the turn at least.
_COVERAGE = 0.15
#: So much of what it tells was not in the question.
_NEW = 0.2
#: A summary may be written in a script that has so large a share of the turn; Latin letters intrude everywhere.
_LATIN_SHARE, _OTHER_SHARE = 0.35, 0.1
#: What a summary may say that the turn did not: that somebody wants, and why.
_SUPPLIED = frozenset({"~want", "~想要", "~because", "~因为"})


#: By so much a clause is nearer to words that hold other numbers than to those that hold its own.
_NEARER = 0.25


class SummaryFault(StrEnum):
    """What is wrong with a summary, as the model that wrote it is told."""

    EMPTY = "the summary says nothing"
    INSTRUCTIONS = "the summary repeats the instructions, and is to tell of the turn"
    LANGUAGE = "the summary is not written in the language of the turn"
    INVENTED = "the summary holds numbers, dates, names or other words that the turn does not"
    ECHO = "the summary repeats what was asked, and leaves out what came of it"
    TURNED = "the summary says the opposite of what was said, says it of somebody or something else, or takes what was"
    " only asked, offered or considered for decided"
    LOST = "the summary leaves out too many numbers, dates or names, or something that was said not to be so"


def fault(turn: StoredTurn, summary: str) -> SummaryFault | None:
    """What speaks against this summary in the place of what is stored; None when nothing does."""
    check = SummaryCheck(turn, summary)
    return next((found for found, is_so in _JUDGES.items() if is_so(check)), None)


def _says_nothing(check: SummaryCheck) -> bool:
    return not check.reading.telling - REPORTING


def _repeats_instructions(check: SummaryCheck) -> bool:
    instructions = check.turn.instructions
    return bool(instructions) and text.coverage(check.summary, [instructions]) > text.coverage(
        check.summary, [check.turn.whole]
    )


def _is_foreign(check: SummaryCheck) -> bool:
    """Whether it is written in a script that is not the turn's."""
    own, there = _scripts(check.summary), _scripts(check.turn.whole)
    if not own:
        return True
    script = max(own, key=lambda name: own[name])
    return there.get(script, 0.0) < (_LATIN_SHARE if script == "LATIN" else _OTHER_SHARE)


def _scripts(content: str) -> dict[str, float]:
    """How much of a text's words is written in which script; a Chinese character weighs as much as half a word."""
    weights: defaultdict[str, float] = defaultdict(float)
    for run in re.findall(r"[^\W\d_]+", content):
        if begins_with_han(run):
            weights["CJK"] += len(run) / 2
        else:
            weights[unicodedata.name(run[0], "OTHER").split()[0]] += 1
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def _invents(check: SummaryCheck) -> bool:
    said, whole = check.reading, check.whole
    if said.amounts - whole.implied or any(not _is_known_name(name, check) for name in said.names - whole.names):
        return True
    if any(called not in check.turn.whole for called in TITLED.findall(check.summary)):
        return True
    if said.careful - whole.careful - _SUPPLIED:
        return True
    own = said.words - REPORTING
    known = whole.telling
    new = {word for word in own if not is_among(word, known)}
    return len(new) > (1 - _KNOWN) * len(own) or text.coverage(check.summary, [check.turn.whole]) < _COVERAGE


def _is_known_name(name: str, check: SummaryCheck) -> bool:
    """Names joined or taken apart stay what they are: «Hungarian-speaking», docs/adr/0012.md and 0012."""
    parts = re.findall(r"[^\W_]+", name)
    said = set(text.words(check.turn.whole))
    return bool(parts) and all(part in said or is_among(text.stem(part), check.whole.telling) for part in parts)


def _echoes(check: SummaryCheck) -> bool:
    """Whether nothing of what came of a question is told."""
    asked = [one for one in check.turn_sentences if one.is_question]
    questions = {term for one in asked for term in one.reading.telling}
    stated = {term for one in check.statements for term in one.reading.telling} - questions
    return bool(asked and stated) and len(check.reading.telling & stated) < max(2, len(check.reading.telling) * _NEW)


def _loses(check: SummaryCheck) -> bool:
    said, stored = check.reading, check.stored
    kept, wanted = marks(said) & marks(check.whole), marks(stored)
    if len(kept) * text.count_tokens(check.turn.stored) < len(wanted) * text.count_tokens(check.summary):
        return True
    return len(kept) < len(wanted) * _KEPT or _loses_denials(check)


def _loses_denials(check: SummaryCheck) -> bool:
    """Whether what somebody said is not so is left out, or too much of it that cannot be read where it is cut either.

    Of an answer, which explains, some may be.
    """
    told = touched(check.summary_sentences)
    for is_answer in (False, True):
        said = [one for one in check.statements if one.is_answer == is_answer]
        lost = [(one, denied) for one in said for denied in one.denials if len(denied & told) * 2 < len(denied)]
        count = sum(len(one.denials) for one in said)
        if len(lost) > count * _LOST_DENIALS or (
            not is_answer and any(one.content in check.turn.stored for one, _d in lost)
        ):
            return True
    return False


def _is_turned(check: SummaryCheck) -> bool:
    return any(judge(check) for judge in _TURNS)


def _denies_otherwise(check: SummaryCheck) -> bool:
    denied = {term for one in check.statements for denial in one.denials for term in denial}
    stated = {term for one in check.statements for term in one.reading.said}
    said = check.reading
    return bool(
        (said.denied & stated) - touched(check.statements) - said.said
        or (said.said & denied) - stated - touched(check.summary_sentences)
    )


def _denies_of_others(check: SummaryCheck) -> bool:
    """Whether it denies something of one, that was denied of another."""
    known = list(chain.from_iterable(_denied_of(one) for one in check.statements))
    for names, denied in chain.from_iterable(_denied_of(one) for one in check.summary_sentences):
        others = [theirs for theirs, what in known if what & denied and theirs]
        if names and others and all(names.isdisjoint(theirs) for theirs in others):
            return True
    return False


def _denied_of(one: Sentence) -> Iterator[tuple[frozenset[str], set[str]]]:
    """What a sentence denies, each with the names before it."""
    names: set[str] = set()
    for clause in one.reading.clauses:
        names.update(part.term for part in clause.parts if part.kind == "name")
        if clause.denied:
            yield frozenset(names), clause.denied


def _exchanges_amounts(check: SummaryCheck) -> bool:
    """Whether a number stands with words that stood with another."""
    for clause in (clause for one in check.summary_sentences for clause in one.reading.clauses):
        for amount in clause.amounts:
            own = max((_nearness(clause, one) for one in check.clauses if amount in one.amounts), default=1.0)
            others = (one for one in check.clauses if one.amounts - clause.amounts and amount not in one.amounts)
            if max((_nearness(clause, one) for one in others), default=0.0) > own + _NEARER:
                return True
    return False


def _nearness(clause: Parse, other: Parse) -> float:
    own, theirs = (one.words | one.names | one.careful for one in (clause, other))
    return len(own & theirs) / len(own) if own else 0.0


def _exchanges_places(check: SummaryCheck) -> bool:
    return rewording.exchanges([one.reading for one in check.turn_sentences], check.reading)


def _takes_for_said(check: SummaryCheck) -> bool:
    """Whether it takes for said what was only offered or asked."""
    stated = {term for one in check.turn_sentences if one.states for term in marks(one.reading) | one.reading.implied}
    offered = {
        term for one in check.turn_sentences if not one.states for term in marks(one.reading) | one.reading.implied
    }
    told = (one for one in check.summary_sentences if not ASKING.search(one.content))
    return any(marks(one.reading) & offered - stated for one in told)


def _decides(check: SummaryCheck) -> bool:
    """Whether it takes for decided what was left open."""
    return any(map(_is_decided, check.summary_sentences)) and not any(map(_is_decided, check.statements))


def _is_decided(one: Sentence) -> bool:
    return any(not OPEN.search(one.content[: found.start()][-OPEN_CHARS:]) for found in DECIDING.finditer(one.content))


_TURNS = (
    _denies_otherwise,
    _denies_of_others,
    _exchanges_amounts,
    _exchanges_places,
    _takes_for_said,
    _decides,
)


_JUDGES = {
    SummaryFault.EMPTY: _says_nothing,
    SummaryFault.INSTRUCTIONS: _repeats_instructions,
    SummaryFault.LANGUAGE: _is_foreign,
    SummaryFault.INVENTED: _invents,
    SummaryFault.ECHO: _echoes,
    SummaryFault.TURNED: _is_turned,
    SummaryFault.LOST: _loses,
}
