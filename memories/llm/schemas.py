"""The schemas of the model's answers: bounded texts, categories there are, ids it was given, and nothing else.

Their texts are on one line, without control characters, with words in them, and not too long.

They make prompt injection harmless: an answer can name only rows the job showed the model, and holds only texts a
person could have written. The job decides what becomes of it, through a batch with its safety limit.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from memories.choices import Category, Reading
from memories.language import text

FACT_CJK, FACT_WORDS, FACT_CHARS = 100, 60, 600
SUMMARY_CHARS = 200
HISTORY_CHARS = 6_000
TURN_TOKENS = 200
NAME_CHARS = 100  # as Entry.project and Entry.topic

_CONTROL = re.compile("[\\0-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_CJK = re.compile(f"[{text.CJK_LETTERS}]")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def cleaned(value: str) -> str:
    """A text on one line, without control characters."""
    return " ".join(_CONTROL.sub("", value).split())


def with_words(value: str) -> str:
    """A text with a word in it: small models answer with «…», as the instructions show it. Raises ValueError."""
    if not value:
        raise ValueError("it is empty")
    if not (_WORD.search(value) or _CJK.search(value)):
        raise ValueError("it says nothing")
    return value


def _at_most(value: str, limit: int) -> str:
    if len(value) > limit:
        raise ValueError(f"it has {len(value)} characters, at most {limit} are allowed")
    return value


def _sentence(value: str) -> str:
    sentence = with_words(cleaned(value))
    if not is_one_sentence(sentence):
        raise ValueError(f"it is longer than {FACT_WORDS} words or {FACT_CJK} Chinese characters")
    return sentence


def is_one_sentence(content: str) -> bool:
    """Whether a text is short enough for a fact or a line of a profile."""
    chinese = len(_CJK.findall(content))
    words = len(_WORD.findall(_CJK.sub(" ", content)))
    return chinese * FACT_WORDS + words * FACT_CJK <= FACT_CJK * FACT_WORDS and len(content) <= FACT_CHARS


def _summary(value: str) -> str:
    summary = cleaned(value)
    return _at_most(with_words(summary), SUMMARY_CHARS) if summary else ""


def _paragraphs(value: str) -> str:
    return _at_most("\n\n".join(part for line in value.splitlines() if (part := cleaned(line))), HISTORY_CHARS)


def _turn(value: str) -> str:
    summary = with_words(cleaned(value))
    if text.count_tokens(summary) > TURN_TOKENS:
        raise ValueError("it is longer than 100 words or 200 Chinese characters")
    return summary


def name(fallback: str) -> BeforeValidator:
    """A short name, or the fallback where there is none."""
    return BeforeValidator(
        lambda value: (_at_most(cleaned(value), NAME_CHARS) if isinstance(value, str) else value) or fallback
    )


Words = Annotated[str, AfterValidator(with_words)]
Sentence = Annotated[str, AfterValidator(_sentence)]
Summary = Annotated[str, AfterValidator(_summary)]
Paragraphs = Annotated[str, AfterValidator(_paragraphs)]
TurnText = Annotated[str, AfterValidator(_turn)]


#: In the schema of an id: which of the given ids it may be.
WHICH_IDS = "which_ids"
MAX_FACTS = 50
MAX_REPLACED = 5  # facts one new fact may replace
MAX_QUOTES = 5  # of one fact
#: The subject of a fact about whoever wrote the message.
SPEAKER = "speaker"
MAX_LINES = 100  # of a profile (D1)
NO_PROJECT, NO_TOPIC = "_global", "_general"


@dataclass(frozen=True)
class Given:
    """The ids a model was shown and may name, and those it may drop or replace (None: all of them)."""

    ids: frozenset[str] = frozenset()
    droppable: frozenset[str] | None = None

    @property
    def may_go(self) -> frozenset[str]:
        return self.ids if self.droppable is None else self.ids & self.droppable

    @property
    def sources(self) -> frozenset[str]:
        """What new facts may rest on: not on what they may replace."""
        return self.ids - (self.droppable or frozenset())


def _given(info: ValidationInfo) -> Given:
    return info.context if isinstance(info.context, Given) else Given()


def _given_id(value: Any, info: ValidationInfo) -> str:
    """A given id; models like to write m3 as 3 where ids are numbers."""
    identifier = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(identifier, str) or identifier not in _given(info).ids:
        raise ValueError(f"the id {str(identifier)[:40]!r} is not in the data")
    return identifier


def _position(value: Any, info: ValidationInfo) -> int:
    """The position of a shown message; ids are strings, positions numbers."""
    if isinstance(value, float) or not (identifier := _given_id(value, info)).isdecimal():
        raise ValueError("it is no position")
    return int(identifier)


def _as_list(value: Any) -> Any:
    """Small models write one of a list by itself."""
    return [value] if isinstance(value, str) else value


GivenId = Annotated[str, BeforeValidator(_given_id), Field(json_schema_extra={WHICH_IDS: "ids"})]
SourceId = Annotated[str, BeforeValidator(_given_id), Field(json_schema_extra={WHICH_IDS: "sources"})]
GoingId = Annotated[str, BeforeValidator(_given_id), Field(json_schema_extra={WHICH_IDS: "may_go"})]
GivenPosition = Annotated[int, BeforeValidator(_position), Field(json_schema_extra={WHICH_IDS: "ids"})]


class _Output(BaseModel):
    """Fields that were not asked for are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Stated(_Output):
    """One sentence, and where it belongs."""

    content: Sentence
    project: Annotated[str, name(NO_PROJECT)] = NO_PROJECT
    topic: Annotated[str, name(NO_TOPIC)] = NO_TOPIC
    category: Category
    importance: float = Field(ge=0, le=1, allow_inf_nan=False)


class _Quoting(_Stated):
    """A statement with the words it rests on, each from a `place`: a message, or a day."""

    place: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _with_places(cls, values: Any) -> Any:
        """A fact with the place beside each quote: small models write a quote as a text, and its message or day beside
        it, under the place's name in the singular or plural.
        """
        if not isinstance(values, dict) or "quote" not in values:
            return values
        beside = values.get(f"{cls.place}s", values.get(cls.place, []))
        places = beside if isinstance(beside, list) else [beside]
        quotes = values["quote"] if isinstance(values["quote"], list) else [values["quote"]]
        if not places:
            return {**values, "quote": quotes}
        paired: list[Any] = []
        for n, quote in enumerate(quotes):
            where = places[min(n, len(places) - 1)]
            words = {"text": quote} if isinstance(quote, str) else quote
            paired.append({cls.place: where, **words} if isinstance(words, dict) else quote)
        return {**values, "quote": paired}


class Quoted(_Output):
    """Words of a message as they stand there."""

    message: SourceId
    text: Words


class Fact(_Quoting):
    """A statement in a conversation, whom or what it is about, and the words of messages it rests on."""

    place: ClassVar[str] = "message"
    quote: list[Quoted] = Field(min_length=1, max_length=MAX_QUOTES)
    subject: Annotated[str, name(SPEAKER)] = SPEAKER
    replaces: list[GoingId] = Field(default=[], max_length=MAX_REPLACED)

    @model_validator(mode="after")
    def _rests_on_messages(self, info: ValidationInfo) -> Self:
        """Where facts are shown beside messages, a fact rests on messages and replaces facts, never the other way."""
        facts = _given(info).droppable
        if facts is not None and (wrong := sorted(facts.intersection(quoted.message for quoted in self.quote))):
            raise ValueError(f"these are no messages: {', '.join(wrong[:10])}")
        _may_go(self.replaces, _given(info))
        return self


class ExtractionOutput(_Output):
    """The facts and the summary of a conversation (D5)."""

    facts: list[Fact] = Field(max_length=MAX_FACTS)
    summary: Summary


class ReadClaim(_Output):
    """What a reader says of one claim."""

    id: GivenId
    verdict: Reading


class ReadingOutput(_Output):
    """What a reader says of claims (D5); of those it does not name it says nothing."""

    verdicts: list[ReadClaim]


class QuotedDay(_Output):
    """Words of what is noted of a day, as they stand there."""

    day: SourceId
    text: Annotated[str, AfterValidator(with_words)]


class DayFact(_Quoting):
    """A statement, whom or what it is about, and the words of days it rests on."""

    place: ClassVar[str] = "day"
    quote: list[QuotedDay] = Field(min_length=1, max_length=MAX_QUOTES)
    subject: Annotated[str, name(SPEAKER)] = SPEAKER


class DayFactsOutput(_Output):
    """The facts of some days (D6)."""

    facts: list[DayFact] = Field(max_length=MAX_FACTS)


class Merge(_Output):
    """Several facts that become one text."""

    ids: list[GivenId] = Field(min_length=2)
    content: Sentence

    @model_validator(mode="after")
    def _are_several(self) -> Self:
        if len(set(self.ids)) < 2:
            raise ValueError("a merge takes two different ids or more")
        return self


class CompressionOutput(_Output):
    """Which facts of a partition to keep, merge and drop (D6); others are kept."""

    keep: list[GivenId]
    merge: list[Merge]
    drop: list[GoingId]

    @model_validator(mode="after")
    def _names_each_once(self, info: ValidationInfo) -> Self:
        merged = [pk for merge in self.merge for pk in set(merge.ids)]
        _once([*set(self.keep), *merged, *set(self.drop)])
        _may_go([*merged, *self.drop], _given(info))
        return self


class ProfileLine(_Output):
    """A new line of the profile, and the facts and lines it rests on; it replaces these lines."""

    ids: list[GivenId] = Field(min_length=1)
    content: Sentence
    category: Category


class ProfileOutput(_Output):
    """A diff of the lines of a profile (D6); facts are named, and never dropped."""

    keep: list[GivenId]
    write: list[ProfileLine] = Field(max_length=MAX_LINES)
    drop: list[GoingId]

    @model_validator(mode="after")
    def _names_each_line_once(self, info: ValidationInfo) -> Self:
        lines = _given(info).may_go
        replaced = [pk for line in self.write for pk in set(line.ids) if pk in lines]
        _once([*set(self.keep) & lines, *replaced, *set(self.drop)])
        _may_go(self.drop, _given(info))
        return self


class SummaryOutput(_Output):
    """The summary of a long conversation, or of a day (B3, C10)."""

    summary: Annotated[Paragraphs, AfterValidator(with_words)]


class CandidateFact(_Output):
    """A proposed memory of a conversation: whom or what it is about, and the words of which messages it rests on."""

    content: Sentence
    category: Category
    importance: float = Field(ge=0, le=1, allow_inf_nan=False)
    project: Annotated[str, name(NO_PROJECT)] = NO_PROJECT
    topic: Annotated[str, name(NO_TOPIC)] = NO_TOPIC
    rests_on: list[GivenPosition] = Field(min_length=1)
    quote: Annotated[list[str], BeforeValidator(_as_list)] = Field(default=[], max_length=MAX_QUOTES)
    subject: Annotated[str, name(SPEAKER)] = SPEAKER


class FlushOutput(_Output):
    """A flush, in the form in which bots report it (C7, E4)."""

    version: Literal[1]
    reply: Literal["", "NO_REPLY"] = ""
    goes_on_with: Paragraphs = Field(default="", alias="continue")
    candidates: list[CandidateFact] = Field(default=[], max_length=MAX_FACTS)

    @model_validator(mode="after")
    def _is_something_or_nothing(self) -> Self:
        if self.reply and (self.goes_on_with or self.candidates):
            raise ValueError("NO_REPLY says that there is nothing to keep; here is something")
        if not (self.reply or self.goes_on_with):
            raise ValueError('"continue" is empty')
        return self


class TurnSummaryOutput(_Output):
    """The summary of a long turn (A11)."""

    summary: TurnText


def _once(ids: Sequence[str]) -> None:
    """Raises ValueError for an id that is named twice."""
    twice = sorted({pk for pk in ids if ids.count(pk) > 1}) if len(set(ids)) < len(ids) else []
    if twice:
        raise ValueError(f"in more than one place: {', '.join(twice[:10])}")


def _may_go(ids: Sequence[str], given: Given) -> None:
    fixed = sorted(set(ids) - given.may_go)
    if fixed:
        raise ValueError(f"these cannot be dropped or replaced: {', '.join(fixed[:10])}")
