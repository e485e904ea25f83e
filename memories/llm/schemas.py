"""What the machine's own model may answer, and nothing else: bounded texts, known categories, ids it was given.

This is what makes a text that gives orders harmless. Whatever talked the model into an answer, the answer can name
only rows the job laid before it, and holds only texts a person could have said. What becomes of it is the job's matter,
through a batch with its safety limit.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from memories.choices import Category
from memories.language import text
from memories.llm.references import KNOWN
from memories.llm.references import Given as Given
from memories.llm.references import given_of as given_of

MAX_FACTS = 50
MAX_REPLACED = 5  # facts one new fact may replace
MAX_LINES = 100  # of a profile (D1)
FACT_CJK, FACT_WORDS, FACT_CHARS = 100, 60, 600
SUMMARY_CHARS = 200
HISTORY_CHARS = 6_000
TURN_TOKENS = 200
NAME_CHARS = 100  # as Entry.project and Entry.topic
NO_PROJECT, NO_TOPIC = "_global", "_general"

_CONTROL = re.compile("[\\0-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def _known(value: Any, info: ValidationInfo) -> str:
    """An id from the data; models like to write m3 as 3 where ids are numbers."""
    said = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(said, str) or said not in given_of(info).ids:
        raise ValueError(f"the id {str(said)[:40]!r} is not in the data")
    return said


def _position(value: Any, info: ValidationInfo) -> int:
    """Of a message that was shown; ids are texts, positions numbers."""
    if isinstance(value, float) or not (known := _known(value, info)).isdecimal():
        raise ValueError("it is no position")
    return int(known)


def _cleaned(value: str) -> str:
    """On one line, without what is no text."""
    return " ".join(_CONTROL.sub("", value).split())


def _tells(said: str) -> None:
    """Whether there is a word in it: small models answer with «…», as the instructions show it. Raises ValueError."""
    if not said:
        raise ValueError("it is empty")
    if not (_WORD.search(said) or _CJK.search(said)):
        raise ValueError("it says nothing")


def _sentence(value: str) -> str:
    said = _cleaned(value)
    _tells(said)
    if not is_one_sentence(said):
        raise ValueError(f"it is longer than {FACT_WORDS} words or {FACT_CJK} Chinese characters")
    return said


def is_one_sentence(said: str) -> bool:
    """Whether a text is as short as what a fact or a line of a profile says."""
    chinese = len(_CJK.findall(said))
    words = len(_WORD.findall(_CJK.sub(" ", said)))
    return chinese * FACT_WORDS + words * FACT_CJK <= FACT_CJK * FACT_WORDS and len(said) <= FACT_CHARS


def _summary(value: str) -> str:
    said = _cleaned(value)
    if said:
        _tells(said)
    if len(said) > SUMMARY_CHARS:
        raise ValueError(f"it has {len(said)} characters, at most {SUMMARY_CHARS} are allowed")
    return said


def _paragraphs(value: str) -> str:
    said = _paragraphs_if_any(value)
    _tells(said)
    return said


def _paragraphs_if_any(value: str) -> str:
    """Paragraphs stay apart."""
    said = "\n\n".join(part for line in value.splitlines() if (part := _cleaned(line)))
    if len(said) > HISTORY_CHARS:
        raise ValueError(f"it has {len(said)} characters, at most {HISTORY_CHARS} are allowed")
    return said


def _turn(value: str) -> str:
    said = _cleaned(value)
    _tells(said)
    if text.count_tokens(said) > TURN_TOKENS:
        raise ValueError("it is longer than 100 words or 200 Chinese characters")
    return said


def _name(fallback: str) -> BeforeValidator:
    def named(value: Any) -> Any:
        said = _cleaned(value) if isinstance(value, str) else value
        if isinstance(said, str) and len(said) > NAME_CHARS:
            raise ValueError(f"it has {len(said)} characters, at most {NAME_CHARS} are allowed")
        return said or fallback

    return BeforeValidator(named)


KnownId = Annotated[str, BeforeValidator(_known), Field(json_schema_extra={KNOWN: "ids"})]
SourceId = Annotated[str, BeforeValidator(_known), Field(json_schema_extra={KNOWN: "sources"})]
GoingId = Annotated[str, BeforeValidator(_known), Field(json_schema_extra={KNOWN: "may_go"})]
KnownPosition = Annotated[int, BeforeValidator(_position), Field(json_schema_extra={KNOWN: "ids"})]
Sentence = Annotated[str, AfterValidator(_sentence)]


class _Output(BaseModel):
    """Fields nobody asked for are passed over: nothing reads them."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Fact(_Output):
    """One sentence somebody stated, and the messages it rests on."""

    content: Sentence
    project: Annotated[str, _name(NO_PROJECT)] = NO_PROJECT
    topic: Annotated[str, _name(NO_TOPIC)] = NO_TOPIC
    category: Category
    importance: float = Field(ge=0, le=1, allow_inf_nan=False)
    messages: list[SourceId] = Field(min_length=1)
    replaces: list[GoingId] = Field(default=[], max_length=MAX_REPLACED)

    @model_validator(mode="after")
    def _rests_on_messages(self, info: ValidationInfo) -> Self:
        """Where facts are shown beside messages, a fact rests on messages and replaces facts, never the other way."""
        facts = given_of(info).droppable
        if facts is not None and (wrong := sorted(facts.intersection(self.messages))):
            raise ValueError(f"these are no messages: {', '.join(wrong[:10])}")
        _may_go(self.replaces, given_of(info))
        return self


class ExtractionOutput(_Output):
    """What a conversation leaves behind (D5)."""

    facts: list[Fact] = Field(max_length=MAX_FACTS)
    summary: Annotated[str, AfterValidator(_summary)]


class DayFact(_Output):
    """One sentence that some days leave behind."""

    content: Sentence
    project: Annotated[str, _name(NO_PROJECT)] = NO_PROJECT
    topic: Annotated[str, _name(NO_TOPIC)] = NO_TOPIC
    category: Category
    importance: float = Field(ge=0, le=1, allow_inf_nan=False)
    days: list[SourceId] = Field(min_length=1)


class DayFactsOutput(_Output):
    """What days leave behind (D6)."""

    facts: list[DayFact] = Field(max_length=MAX_FACTS)


class Merge(_Output):
    """Several facts that become one text."""

    ids: list[KnownId] = Field(min_length=2)
    content: Sentence

    @model_validator(mode="after")
    def _are_several(self) -> Self:
        if len(set(self.ids)) < 2:
            raise ValueError("a merge takes two different ids or more")
        return self


class CompressionOutput(_Output):
    """What becomes of the facts of a partition (D6); what it does not name is kept."""

    keep: list[KnownId]
    merge: list[Merge]
    drop: list[GoingId]

    @model_validator(mode="after")
    def _has_one_word_for_each(self, info: ValidationInfo) -> Self:
        merged = [pk for one in self.merge for pk in set(one.ids)]
        _once([*set(self.keep), *merged, *set(self.drop)])
        _may_go([*merged, *self.drop], given_of(info))
        return self


class ProfileLine(_Output):
    """A line of the profile and the facts and lines it rests on; lines named here are replaced by it."""

    ids: list[KnownId] = Field(min_length=1)
    content: Sentence
    category: Category


class ProfileOutput(_Output):
    """What becomes of the lines of a profile (D6), as a difference; facts are named, and never dropped."""

    keep: list[KnownId]
    write: list[ProfileLine] = Field(max_length=MAX_LINES)
    drop: list[GoingId]

    @model_validator(mode="after")
    def _has_one_word_for_each_line(self, info: ValidationInfo) -> Self:
        lines = given_of(info).may_go
        replaced = [pk for line in self.write for pk in set(line.ids) if pk in lines]
        _once([*set(self.keep) & lines, *replaced, *set(self.drop)])
        _may_go(self.drop, given_of(info))
        return self


class SummaryOutput(_Output):
    """What an over-long conversation goes on with (B3)."""

    summary: Annotated[str, AfterValidator(_paragraphs)]


class CandidateFact(_Output):
    """One sentence that was stated in a conversation, and the positions of the messages it rests on."""

    content: Sentence
    category: Category
    importance: float = Field(ge=0, le=1, allow_inf_nan=False)
    project: Annotated[str, _name(NO_PROJECT)] = NO_PROJECT
    topic: Annotated[str, _name(NO_TOPIC)] = NO_TOPIC
    rests_on: list[KnownPosition] = Field(min_length=1)


class FlushOutput(_Output):
    """What must not be lost when a conversation is shortened, in the form in which bots report it (C7, E4)."""

    version: Literal[1]
    reply: Literal["", "NO_REPLY"] = ""
    goes_on_with: Annotated[str, AfterValidator(_paragraphs_if_any)] = Field(default="", alias="continue")
    candidates: list[CandidateFact] = Field(default=[], max_length=MAX_FACTS)

    @model_validator(mode="after")
    def _is_something_or_nothing(self) -> Self:
        if self.reply and (self.goes_on_with or self.candidates):
            raise ValueError("NO_REPLY says that there is nothing to keep; here is something")
        if not (self.reply or self.goes_on_with):
            raise ValueError('"continue" is empty')
        return self


class TurnSummaryOutput(_Output):
    """What is kept of a long turn (A11)."""

    summary: Annotated[str, AfterValidator(_turn)]


def _once(ids: Sequence[str]) -> None:
    """A row has one fate. Raises ValueError."""
    twice = sorted({pk for pk in ids if ids.count(pk) > 1}) if len(set(ids)) < len(ids) else []
    if twice:
        raise ValueError(f"in more than one place: {', '.join(twice[:10])}")


def _may_go(ids: Sequence[str], given: Given) -> None:
    fixed = sorted(set(ids) - given.may_go)
    if fixed:
        raise ValueError(f"these cannot be dropped or replaced: {', '.join(fixed[:10])}")
