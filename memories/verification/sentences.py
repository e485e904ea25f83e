"""A turn and its summary, sentence by sentence: what is stated, what is only asked, and what is denied."""

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from memories.language import sentences as split
from memories.language import text
from memories.language.scripts import HAN
from memories.verification.parsing import Parse, is_among, names_in, parse
from memories.verification.vocabulary import NO_NAMES, REPORTING

#: «Will» says no more than the present does, in the words of a summary; what is done instead of a thing, denies it.
_PLAIN = (
    (re.compile(r"\b(?:will|shall)\b|(?<=\w)['’]ll\b", re.IGNORECASE), ""),
    (re.compile(r"\b(?:rather than|instead of)\b", re.IGNORECASE), "not"),
    (re.compile(r"(?:,\s*+|(?<![\s,])\s*+)\b(?:since|because)\b", re.IGNORECASE), ", because"),
    (re.compile(f"([{HAN}])[不没沒]\\1"), r"是否\1"),
    (re.compile("(?<=[不没沒未])([^，。；,;就]{0,40}+)就"), r"\1，"),
)
#: A question that takes something for granted: why it failed says that it failed.
_SUPPOSING = re.compile(
    r"\b(?:why|when|where|who|whom|whose|what|which|how)\b|为什么|為什麼|怎么|怎麼|几|哪|谁|誰|什么|什麼|何时|多少|觉得呢|你看呢",
    re.IGNORECASE,
)
_OPENING = re.compile(r"(?:^|[.!?:;。！？：；][^\S\n]*+|\n[^\S\n]*+|[\"“(]\s*+)([A-Z][a-z]++)")
#: What an answer wishes, or says of what may come, denies nothing.
_OF_CASES = re.compile(r"\b(?:if|please|hesitate|worry)\b|如果|如有|请|祝", re.IGNORECASE)
#: That somebody had not spoken of it says nothing of it.
_OF_SPEAKING = re.compile(
    r"\bI (?:did not|didn't|have not|haven't|never) (?:write|written|wrote|tell|told|say|said|mention|mentioned|note)"
    r"|[没沒未](?:有)?(?:跟|和|对|對|向)你?(?:说|說|提|讲|講)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class StoredTurn:
    """A turn in full and as it is stored, its two sides cut; `instructions` are what a model was told to do with it."""

    user: str
    assistant: str
    stored: str
    instructions: str = ""

    @property
    def whole(self) -> str:
        return f"{self.user}\n{self.assistant}"


@dataclass(frozen=True)
class Sentence:
    """One sentence of a turn, as it was said and read."""

    content: str
    reading: Parse
    is_answer: bool = False

    @cached_property
    def is_question(self) -> bool:
        return split.is_question(self.content)

    @cached_property
    def states(self) -> bool:
        """Whether it says that something is so, if only by asking why; an offer does not."""
        return not self.is_question or (not self.is_answer and _SUPPOSING.search(self.content) is not None)

    @cached_property
    def denials(self) -> list[set[str]]:
        """What it says is not so, clause by clause."""
        is_of_cases = self.is_answer and _OF_CASES.search(self.content)
        is_idle = is_of_cases or split.is_pleasantry(self.content) or _OF_SPEAKING.search(self.content)
        if self.is_question or is_idle:
            return []
        return [clause.denied for clause in self.reading.clauses if clause.denied]


def in_plain_words(content: str) -> str:
    """A text as both sides of the comparison are read."""
    for pattern, rewrite in _PLAIN:
        content = pattern.sub(rewrite, content)
    return content


def sentences(content: str, names: Collection[str], *, is_answer: bool = False) -> list[Sentence]:
    return [
        Sentence(said, parse(in_plain_words(said), names), is_answer)
        for part in split.sentences(content)
        if (said := part.strip())
    ]


class SummaryCheck:
    """A summary and its turn, both parsed once, with the same names."""

    def __init__(self, turn: StoredTurn, summary: str) -> None:
        self.turn = turn
        self.summary = _with_plain_openings(unicodedata.normalize("NFKC", summary), turn.whole)
        self.names = names_in([turn.whole, self.summary]) - NO_NAMES
        self.whole, self.reading, self.stored = (
            parse(in_plain_words(one), self.names) for one in (turn.whole, self.summary, turn.stored)
        )
        self.summary_sentences = sentences(self.summary, self.names)
        answered = sentences(turn.assistant, self.names, is_answer=True)
        self.turn_sentences = [*sentences(turn.user, self.names), *answered]

    @cached_property
    def statements(self) -> list[Sentence]:
        return [one for one in self.turn_sentences if not one.is_question]

    @cached_property
    def clauses(self) -> list[Parse]:
        return [clause for one in self.turn_sentences for clause in one.reading.clauses]


def _with_plain_openings(summary: str, whole: str) -> str:
    """A capital at the beginning of a sentence makes no name of a word the turn holds, or that tells of turns."""
    known = {text.stem(word) for word in re.findall(r"[a-z]+", whole)} | REPORTING

    def plain(match: re.Match[str]) -> str:
        is_word = is_among(text.stem(match[1].lower()), known) and match[1] not in whole
        return match[0].replace(match[1], match[1].lower()) if is_word else match[0]

    return _OPENING.sub(plain, summary)


def marks(reading: Parse) -> set[str]:
    """What tells most: numbers, dates, names."""
    return reading.amounts | reading.names


def touched(said: Iterable[Sentence]) -> set[str]:
    """What these sentences deny, and what they deny it of."""
    return {term for one in said for clause in one.reading.clauses for term in clause.touched}
