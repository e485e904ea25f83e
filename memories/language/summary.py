"""Extractive summaries: the most informative sentences of a conversation, word for word (D5, B3).

One greedy selection and one writer, for notes of days (`summarise`) and for the histories of sessions_app.compaction.
They differ in the score: a note prefers what is rare in its scope, a history what recurs in its conversation. Pure and
deterministic.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from memories.language import text
from memories.language.names import NAME_TAGS
from memories.language.text import begins_with_han, has_han, is_pleasantry, is_question, parts_of_speech, sentences

_ASSISTANT_SHARE = 0.5
_QUESTION_SHARE = 0.5
_SUBSTANCE = 0.2  # added for each number or name in a sentence, up to _SUBSTANCE_MOST of them
_SUBSTANCE_MOST = 4
_SENTENCE_CHARS = 120  # of a longer sentence, head and tail
_MESSAGE_CHARS = 4_000  # read of one message
_NUMBER = re.compile(r"\d+(?:[.:/-]\d+)*|[一二三四五六七八九十百千万两]{2,}")
_CAPITAL = re.compile(r"(?<=[a-z,:;\d] )[A-Z][\w-]+|\b[A-Z]{2,}\b|\b\w+[A-Z]\w*\b")
_NOTHING_NEW = -1.0


@dataclass(frozen=True, kw_only=True)
class Utterance:
    """One message, its id and the label of its speaker; no label for the person the summary is about."""

    content: str
    origin: str
    label: str = ""
    is_answer: bool = False


@dataclass(frozen=True)
class ExtractiveSummary:
    """A summary and the ids of the messages its sentences come from."""

    content: str = ""
    origins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sentence:
    """A candidate for a summary; `position` is its index among the candidates."""

    position: int
    content: str
    utterance: Utterance
    terms: frozenset[int]


def summarise(utterances: Sequence[Utterance], weigh: Callable[[int], float], *, limit: int) -> ExtractiveSummary:
    """The most informative sentences in their order, at most `limit` characters; `weigh` gives the weight of a term."""
    # All sentences but pleasantries and questions of the assistant, which are offers and state nothing
    candidates: list[Sentence] = []
    for utterance in utterances:
        for part in sentences(utterance.content[:_MESSAGE_CHARS]):
            content = text.smart_truncate(" ".join(part.split()), _SENTENCE_CHARS)
            if not is_pleasantry(content) and not (utterance.is_answer and is_question(content)):
                candidates.append(Sentence(len(candidates), content, utterance, frozenset(text.terms(content))))
    # The factor of each by its speaker, its form, and the numbers and names in it
    shares: list[float] = []
    for sentence in candidates:
        content = sentence.content
        share = _ASSISTANT_SHARE if sentence.utterance.is_answer else 1.0
        if is_question(content):
            share *= _QUESTION_SHARE
        substance = len(_NUMBER.findall(content)) + len(_CAPITAL.findall(content))
        if has_han(content):
            substance += sum(tag in NAME_TAGS for _word, tag in parts_of_speech(content))
        shares.append(share * (1 + _SUBSTANCE * min(substance, _SUBSTANCE_MOST)))

    def score(sentence: Sentence, covered: AbstractSet[int]) -> float:
        """The weight of its new terms for the room it takes; a long sentence is not better for being long."""
        gain = sum(weigh(term) for term in sentence.terms if term not in covered)
        return shares[sentence.position] * gain / math.sqrt(len(sentence.terms) + 3) if gain > 0 else _NOTHING_NEW

    extract = choose(candidates, score, lambda some: len(write(some)) <= limit)
    return ExtractiveSummary(write(extract), tuple(dict.fromkeys(sentence.utterance.origin for sentence in extract)))


def choose(
    candidates: Sequence[Sentence],
    score: Callable[[Sentence, AbstractSet[int]], float],
    fits: Callable[[Sequence[Sentence]], bool],
) -> list[Sentence]:
    """Sentences by descending score as long as they fit together, in their order; none of a negative score.

    `score` gets the terms that are covered so far, and must not rise as they grow: an old score is then an upper bound,
    and only the best candidate is scored again (lazy greedy selection, Minoux 1978).
    """
    selection: list[Sentence] = []
    covered: set[int] = set()
    waiting = [(-score(sentence, covered), sentence.position) for sentence in candidates]
    heapify(waiting)
    while waiting:
        position = heappop(waiting)[1]
        best = candidates[position]
        current = (-score(best, covered), position)
        if waiting and current > waiting[0]:
            heappush(waiting, current)
        elif current[0] > 0:
            break
        elif fits([*selection, best]):
            selection.append(best)
            covered.update(best.terms)
    return sorted(selection, key=lambda sentence: sentence.position)


def write(selection: Iterable[Sentence], *, separator: str = "") -> str:
    """Sentences in their order, each run of one speaker after the speaker's label.

    `separator` stands between all of them; without one, speakers have a line each and sentences what suits their end.
    """
    summary, speaker = "", None
    for sentence in sorted(selection, key=lambda sentence: sentence.position):
        label = sentence.utterance.label
        is_new = label != speaker
        if summary:
            # items of a list have no mark of their own at the end
            joint = " " if summary[-1] in ".!?;,:" else "；" if begins_with_han(summary[-1]) else "; "
            summary += separator or ("\n" if is_new else "" if summary[-1] in "。！？；…" else joint)
        summary += f"{label}: {sentence.content}" if label and is_new else sentence.content
        speaker = label
    return summary
