"""A stretch of conversation in few words, taken from the conversation itself: no model is asked (B3).

What stands in where there is no model, or where it gave no answer (sessions_app.compaction.model).
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from memories.consolidation.capture import turn_text
from memories.language import text
from memories.language.sentences import cut_at_sentence, spoken_sentences
from sessions_app.choices import EventKind
from sessions_app.models import SessionEvent

T = TypeVar("T")
PARAGRAPHS = 3
_SENTENCE_CHARS = 240
#: What a conversation goes on from: what was settled, wanted, and in numbers.
_TELLING = re.compile(
    r"\d|\b(?:decid|agree|prefer|must|need|want|will|plan|deadline|error|fix|deploy|name|call|remember|like|use)\w*"
    r"|决定|同意|喜欢|偏好|必须|需要|想要|打算|计划|截止|错误|修复|部署|记住|叫|改成|约定|使用",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class TurnEvents:
    """What one person said, and what came after it."""

    events: list[SessionEvent]

    @property
    def sender(self) -> str:
        return self.events[0].sender_id if self.events[0].kind == EventKind.USER else ""

    def said(self, kind: EventKind) -> str:
        return "\n".join(event.content for event in self.events if event.kind == kind)

    def text(self, name: str = "") -> str:
        """Both sides, each cut to its limit."""
        both = turn_text(self.said(EventKind.USER), self.said(EventKind.ASSISTANT))
        return f"{name or 'User'}{both.removeprefix('User')}"


def turns_of(events: Iterable[SessionEvent]) -> list[TurnEvents]:
    """A conversation by its turns: each begins with what a user says after something else was said."""
    heard = [event for event in events if event.kind in (EventKind.USER, EventKind.ASSISTANT)]
    begins = [n for n, event in enumerate(heard) if n == 0 or _begins(heard[n - 1], event)]
    return [TurnEvents(heard[begin:end]) for begin, end in pairwise([*begins, len(heard)])]


def _begins(before: SessionEvent, event: SessionEvent) -> bool:
    is_another = before.kind != EventKind.USER or before.sender_id != event.sender_id
    return event.kind == EventKind.USER and is_another


@dataclass(frozen=True)
class _Sentence:
    place: int
    speaker: str
    words: str
    weight: float

    @property
    def tokens(self) -> int:
        return text.count_tokens(self.words) + 4


def summarise(turns: Sequence[TurnEvents], max_tokens: int, *, before: str = "", names: bool = False) -> str:
    """At most three paragraphs of the most telling sentences, in their order; `before` is what they go on from."""
    parts = _parts(turns, PARAGRAPHS - bool(before))
    share = max_tokens // (len(parts) + bool(before) or 1)
    told = [text.first_tokens(before, share)] if before else []
    common = Counter(term for turn in turns for event in turn.events for term in set(text.terms(event.content)))
    told += [_paragraph(part, share, common, names) for part in parts]
    return text.first_tokens("\n\n".join(filter(None, told)), max_tokens)


def _parts(whole: Sequence[T], count: int) -> list[Sequence[T]]:
    """The stretch in a few pieces of about the same length."""
    count = max(min(count, len(whole)), 1)
    cuts = [len(whole) * n // count for n in range(count + 1)]
    return [whole[begin:end] for begin, end in pairwise(cuts) if begin < end]


def in_paragraphs(told: str, max_tokens: int) -> str:
    """What a model wrote as a history hands it out: at most three paragraphs."""
    return cut_at_sentence("\n\n".join(" ".join(part) for part in _parts(told.split("\n\n"), PARAGRAPHS)), max_tokens)


def _paragraph(turns: Sequence[TurnEvents], max_tokens: int, common: Counter[int], names: bool) -> str:
    chosen: list[_Sentence] = []
    used = 0
    for sentence in sorted(_sentences(turns, common, names), key=lambda one: (-one.weight, one.place)):
        if used + sentence.tokens <= max_tokens:
            chosen.append(sentence)
            used += sentence.tokens
    lines: list[str] = []
    speaker = None
    for sentence in sorted(chosen, key=lambda one: one.place):
        lines.append(sentence.words if sentence.speaker == speaker else f"{sentence.speaker}: {sentence.words}")
        speaker = sentence.speaker
    return " ".join(lines)


def _sentences(turns: Sequence[TurnEvents], common: Counter[int], names: bool) -> list[_Sentence]:
    found: list[_Sentence] = []
    for turn in turns:
        for event in turn.events:
            is_user = event.kind == EventKind.USER
            speaker = (turn.sender if names and is_user else "") or ("User" if is_user else "Assistant")
            for spoken in spoken_sentences(event.content):
                if words := text.smart_truncate(spoken, _SENTENCE_CHARS):
                    found.append(_Sentence(len(found), speaker, words, _weight(words, is_user, common)))
    return found


def _weight(words: str, is_user: bool, common: Counter[int]) -> float:
    """What recurs in the conversation is what it was about; long sentences are not better for being long."""
    terms = text.terms(words)
    theme = sum(min(common[term], 5) for term in terms) / (len(terms) + 3)
    return theme + 1.5 * bool(_TELLING.search(words)) + 0.5 * is_user
