"""Whether a few words tell what a turn told: rules, no model, and when in doubt they do not (A11).

They are held against two texts. Against the whole turn, that nothing is invented, turned round, or told of somebody
else; against the turn as it is stored, cut, that the place of those words is not taken by words that tell less.
"""

import re
import unicodedata
from collections import defaultdict
from enum import StrEnum

from memories.language import text
from memories.language.scripts import begins_with_han
from memories.verification.clauses import StoredTurn, SummaryCheck, marks, touched
from memories.verification.parsing import is_among
from memories.verification.polarity import is_turned
from memories.verification.vocabulary import REPORTING, TITLED

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
    held = SummaryCheck(turn, summary)
    return next((found for found, is_so in _JUDGES.items() if is_so(held)), None)


def _says_nothing(held: SummaryCheck) -> bool:
    return not held.reading.telling - REPORTING


def _repeats_instructions(held: SummaryCheck) -> bool:
    instructions = held.turn.instructions
    return bool(instructions) and text.coverage(held.summary, [instructions]) > text.coverage(
        held.summary, [held.turn.whole]
    )


def _is_foreign(held: SummaryCheck) -> bool:
    """Whether it is written in a script that is not the turn's."""
    own, there = _scripts(held.summary), _scripts(held.turn.whole)
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


def _invents(held: SummaryCheck) -> bool:
    said, whole = held.reading, held.whole
    if said.amounts - whole.implied or any(not _is_known_name(name, held) for name in said.names - whole.names):
        return True
    if any(called not in held.turn.whole for called in TITLED.findall(held.summary)):
        return True
    if said.careful - whole.careful - _SUPPLIED:
        return True
    own = said.words - REPORTING
    known = whole.telling
    new = {word for word in own if not is_among(word, known)}
    return len(new) > (1 - _KNOWN) * len(own) or text.coverage(held.summary, [held.turn.whole]) < _COVERAGE


def _is_known_name(name: str, held: SummaryCheck) -> bool:
    """Names joined or taken apart stay what they are: «Hungarian-speaking», docs/adr/0012.md and 0012."""
    parts = re.findall(r"[^\W_]+", name)
    said = set(text.words(held.turn.whole))
    return bool(parts) and all(part in said or is_among(text.stem(part), held.whole.telling) for part in parts)


def _echoes(held: SummaryCheck) -> bool:
    """Whether nothing of what came of a question is told."""
    asked = [one for one in held.said if one.is_question]
    questions = {term for one in asked for term in one.reading.telling}
    stated = {term for one in held.statements for term in one.reading.telling} - questions
    return bool(asked and stated) and len(held.reading.telling & stated) < max(2, len(held.reading.telling) * _NEW)


def _loses(held: SummaryCheck) -> bool:
    said, stored = held.reading, held.stored
    kept, wanted = marks(said) & marks(held.whole), marks(stored)
    if len(kept) * text.count_tokens(held.turn.stored) < len(wanted) * text.count_tokens(held.summary):
        return True
    return len(kept) < len(wanted) * _KEPT or _loses_denials(held)


def _loses_denials(held: SummaryCheck) -> bool:
    """Whether what somebody said is not so is left out, or too much of it that cannot be read where it is cut either.

    Of an answer, which explains, some may be.
    """
    told = touched(held.told)
    for is_answer in (False, True):
        said = [one for one in held.statements if one.is_answer == is_answer]
        lost = [(one, denied) for one in said for denied in one.denials if len(denied & told) * 2 < len(denied)]
        count = sum(len(one.denials) for one in said)
        if len(lost) > count * _LOST_DENIALS or (
            not is_answer and any(one.content in held.turn.stored for one, _d in lost)
        ):
            return True
    return False


_JUDGES = {
    SummaryFault.EMPTY: _says_nothing,
    SummaryFault.INSTRUCTIONS: _repeats_instructions,
    SummaryFault.LANGUAGE: _is_foreign,
    SummaryFault.INVENTED: _invents,
    SummaryFault.ECHO: _echoes,
    SummaryFault.TURNED: is_turned,
    SummaryFault.LOST: _loses,
}
