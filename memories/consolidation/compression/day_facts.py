"""The facts of days as they are checked: whose, by which words of the note of a day, and why not (D6)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from memories.choices import ScopeKind
from memories.consolidation.people import conversation_of
from memories.consolidation.reading import Sources
from memories.consolidation.refusals import Refused
from memories.consolidation.statements import Statement
from memories.entries.daily_events import ASSISTANT
from memories.entries.draft import QuotedWords
from memories.entries.evidence import of_day
from memories.language import names, relations
from memories.llm.schemas import DayFact, QuotedDay
from memories.models import DailyEvent, Scope
from memories.verification import claims
from memories.verification.claims import Conversation, Message


@dataclass(frozen=True)
class _Line:
    """A line of a day's note as a message, and where it begins in the note."""

    message: Message
    begins: int


@dataclass(kw_only=True)
class DayCandidate(Statement):
    """A fact a model draws from days, on its way to a memory or to the list of what was refused."""

    fact: DayFact
    events: Sequence[DailyEvent]  # it rests on
    places: Sequence[tuple[DailyEvent, int]]  # of each quote: its day, and where its line begins there

    def evidence(self) -> Iterator[QuotedWords]:
        """Its quotes as they are stored, with the note of the day they stand in."""
        for (event, begins), quote in zip(self.places, self.quotes, strict=True):
            yield QuotedWords(
                origin=of_day(event),
                start=begins + quote.span.start,
                end=begins + quote.span.end,
                quote=quote.text,
                at=event.created_at,
                speaker=quote.message.speaker,
            )

    def refused(self, scope: Scope) -> Refused | None:
        """As it is told of where it was refused."""
        if self.refusal is None:
            return None
        return Refused(
            scope=scope,
            content=self.fact.content,
            reason=self.refusal,
            quote=" … ".join(quoted.text for quoted in self.fact.quote),
            origins=tuple(dict.fromkeys(origin for event in self.events for origin in event.origins)),
        )


@dataclass(frozen=True)
class DayChecker:
    """Checks facts against the notes of the days a model was shown, by the ids it names them by."""

    scope: Scope
    shown: Mapping[str, DailyEvent]

    def candidate(self, fact: DayFact) -> DayCandidate:
        """The fact with its quotes where they stand, and the first thing that is wrong with it."""
        lines = [(self.shown[one.day], line, one.text) for one in fact.quote for line in self._of(one)]
        found = [
            ((event, line.begins), quote)
            for event, line, words in lines
            for quote in claims.locate([(line.message, words)])
        ]
        if len(lines) < len(fact.quote):
            found = []  # one of them stands in no day
        candidate = DayCandidate(
            fact.content,
            [quote for _place, quote in found],
            fact=fact,
            events=[self.shown[pk] for pk in dict.fromkeys(one.day for one in fact.quote)],
            places=[place for place, _quote in found],
        )
        candidate.take_fault(claims.fault(fact.content, fact.subject, candidate.quotes, self.conversation))
        return candidate

    @cached_property
    def conversation(self) -> Conversation:
        """The notes as they were said; a person's own memory is about the person, by any of their names."""
        learnt = relations.without_relations(self.scope.nicknames)
        own = {names.fold(speaker) for speaker in self.scope.speakers}
        also = {a for a, name in learnt.items() if names.fold(name) in own or name.startswith(names.UNNAMED)}
        authors = dict.fromkeys([*self.scope.speakers, *sorted(also)], "") if self._is_personal else {}
        return conversation_of([line.message for lines in self._lines.values() for line in lines], authors, self.scope)

    def sources(self) -> Sources:
        """The days as a second reader is shown them."""
        shown = {pk: {"on": event.local_date.isoformat(), "text": event.content} for pk, event in self.shown.items()}
        return Sources(shown, self.scope.speakers)

    @property
    def _is_personal(self) -> bool:
        return self.scope.kind != ScopeKind.CHAT

    def _of(self, quoted: QuotedDay) -> Iterator[_Line]:
        """The line that holds a quote, and nothing where none does; else the note as a whole."""
        lines = self._lines[quoted.day]
        event = self.shown[quoted.day]
        whole = _Line(Message(quoted.day, event.content, lines[0].message.speaker, event.local_date), 0)
        found = (line for line in (*lines, whole) if claims.locate([(line.message, quoted.text)]))
        if (first := next(found, None)) is not None:
            yield first

    @cached_property
    def _lines(self) -> dict[str, list[_Line]]:
        return {pk: list(self._lines_of(pk, event)) for pk, event in self.shown.items()}

    def _lines_of(self, pk: str, event: DailyEvent) -> Iterator[_Line]:
        """The lines of a day's note as messages with their speakers; a line without one is the owner's."""
        owner = self.scope.speakers[0] if self._is_personal and self.scope.speakers else ""
        begins = 0
        for line in event.content.splitlines(keepends=True):
            label, _, content = line.partition(": ")
            is_labelled = label in (ASSISTANT, *self.scope.speakers) and bool(content)
            is_answer = is_labelled and label == ASSISTANT
            said = content if is_labelled else line
            speaker = label if is_labelled and not is_answer else owner
            message = Message(pk, said.rstrip("\r\n"), speaker, event.local_date, is_answer)
            yield _Line(message, begins + len(line) - len(said))
            begins += len(line)
