"""The most telling sentences of a conversation, as they were said: a summary that invents nothing (D5).

What tells most is in words that are rare in the scope, in numbers and in names; a person's statements come before
questions, and those before what the assistant said. Greetings and thanks tell nothing. Pure and deterministic.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import rjieba

from memories.language import text
from memories.language.scripts import begins_with_han, has_han
from memories.language.sentences import is_pleasantry, is_question, sentences

Weigh = Callable[[int], float]
_ASSISTANT_SHARE = 0.5
_QUESTION_SHARE = 0.5
_SUBSTANCE = 0.2  # added for each number or name in a sentence, up to SUBSTANCE_MOST of them
_SUBSTANCE_MOST = 4
_SENTENCE_CHARS = 120  # of a longer one head and tail are told
_LOOK_CHARS = 4_000  # of one message
_NUMBER = re.compile(r"\d+(?:[.:/-]\d+)*|[一二三四五六七八九十百千万两]{2,}")
_CAPITAL = re.compile(r"(?<=[a-z,:;\d] )[A-Z][\w-]+|\b[A-Z]{2,}\b|\b\w+[A-Z]\w*\b")
_NAME_TAGS = frozenset({"nr", "nrt", "nrfg", "ns", "nt", "nz"})


@dataclass(frozen=True, kw_only=True)
class Utterance:
    """One message: whose words it holds as the summary calls them (empty: the person it is about), and its id."""

    content: str
    origin: str
    label: str = ""
    is_answer: bool = False


@dataclass(frozen=True)
class ExtractiveSummary:
    """What was told, and the messages it was taken from."""

    content: str = ""
    origins: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Sentence:
    place: int
    content: str
    line: Utterance
    terms: frozenset[int]
    share: float


def summarise(lines: Sequence[Utterance], weigh: Weigh, *, limit: int) -> ExtractiveSummary:
    """The sentences that tell most, in the order they were said, in at most `limit` characters.

    `weigh` says how much a term tells. Each sentence counts for what those chosen before it have not said yet.
    """
    waiting = _sentences(lines)
    chosen: list[_Sentence] = []
    told: set[int] = set()
    while waiting:
        worth, best = max(
            ((_worth(sentence, told, weigh), sentence) for sentence in waiting),
            key=lambda pair: (pair[0], -pair[1].place),
        )
        if worth <= 0:
            break
        waiting.remove(best)
        if len(_written([*chosen, best])) <= limit:
            chosen.append(best)
            told |= best.terms
    chosen.sort(key=lambda sentence: sentence.place)
    return ExtractiveSummary(_written(chosen), tuple(dict.fromkeys(sentence.line.origin for sentence in chosen)))


def _sentences(lines: Sequence[Utterance]) -> list[_Sentence]:
    """What may be told; neither pleasantries nor the questions of an assistant, which offer and state nothing."""
    found: list[_Sentence] = []
    for line in lines:
        for part in sentences(line.content[:_LOOK_CHARS]):
            said = text.smart_truncate(" ".join(part.split()), _SENTENCE_CHARS)
            is_offer = line.is_answer and is_question(said)
            if not is_offer and not is_pleasantry(said):
                found.append(_Sentence(len(found), said, line, frozenset(text.terms(said)), _share(said, line)))
    return found


def _share(said: str, line: Utterance) -> float:
    """How much of what its words weigh a sentence is worth, by who says it, how, and about what."""
    share = _ASSISTANT_SHARE if line.is_answer else 1.0
    if is_question(said):
        share *= _QUESTION_SHARE
    return share * (1 + _SUBSTANCE * min(_substance(said), _SUBSTANCE_MOST))


def _substance(said: str) -> int:
    """Numbers and names in a sentence."""
    count = len(_NUMBER.findall(said)) + len(_CAPITAL.findall(said))
    if has_han(said):
        count += sum(tag in _NAME_TAGS for _word, tag in rjieba.tag(said))
    return count


def _worth(sentence: _Sentence, told: set[int], weigh: Weigh) -> float:
    """What it adds, for the room it takes; a long sentence is not better for being long."""
    added = sum(weigh(term) for term in sentence.terms if term not in told)
    return sentence.share * added / math.sqrt(len(sentence.terms) + 3)


def _written(sentences: Sequence[_Sentence]) -> str:
    """One line for whatever one speaker says in a row, with the name of the speaker where one is needed."""
    lines: list[str] = []
    before: str | None = None
    for sentence in sorted(sentences, key=lambda sentence: sentence.place):
        label = sentence.line.label
        if label == before:
            lines[-1] += _joint(lines[-1]) + sentence.content
        else:
            lines.append(f"{label}: {sentence.content}" if label else sentence.content)
        before = label
    return "\n".join(lines)


def _joint(before: str) -> str:
    """What stands between two sentences; the items of a list end in nothing of their own."""
    if before[-1] in "。！？；…":
        return ""
    return " " if before[-1] in ".!?;,:" else "；" if begins_with_han(before[-1]) else "; "
