"""The workspace's model on a conversation to be shortened: what it is shown, its summary, its flush (B3, C7, E4).

Asked outside any transaction. Callers can do without an answer, so None is no error. What it states is checked against
the messages it was shown (D5).
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel

from memories import llm, verification
from memories.choices import FLUSHED, EntryType, Verification
from memories.conf import conf
from memories.consolidation import reading
from memories.consolidation.statements import Objection, Statement, conversation_of
from memories.consolidation.summaries import CheckedSummary, sources_of
from memories.language import text
from memories.llm import prompts, schemas
from memories.llm.prompts import Prompt
from memories.llm.run import ModelRun
from memories.llm.schemas import CandidateFact
from memories.models import Entry, Scope, Workspace
from memories.verification import Conversation, Message, Quote, Span
from sessions_app.models import EventKind, Session, SessionEvent
from sessions_app.summaries import in_paragraphs

#: Characters shown of a tool's message: results fill pages, and what matters of them is in the answers.
_TOOL_CHARS = 2_000
#: The id of what a conversation goes on from, beside the positions of its messages.
_BEFORE = "before"


@dataclass(frozen=True, kw_only=True)
class FlushCandidate:
    """A proposed memory, the positions of the messages it rests on, and their words; without any, all of them."""

    content: str
    type: str = EntryType.FACT
    category: str = ""
    importance: float | None = None
    project: str = ""
    topic: str = ""
    rests_on: tuple[int, ...] = ()
    quote: tuple[str, ...] = ()
    subject: str = "speaker"
    slots: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class CheckedCandidate(Statement):
    """A candidate on its way to a memory or to the list of what was refused."""

    candidate: FlushCandidate
    subject: str = ""  # whom or what it is about, where that is not the one who said it


@dataclass(frozen=True)
class Transcript:
    """Messages of a session; `before` is what the conversation goes on from."""

    session: Session
    events: Sequence[SessionEvent]
    before: str = ""

    @cached_property
    def messages(self) -> dict[int, Message]:
        """The messages by position."""
        zone = self.session.workspace.zone()
        return {
            event.position: Message(
                str(event.position),
                event.content,
                self.speaker(event),
                event.at.astimezone(zone).date(),
                event.kind != EventKind.USER,
            )
            for event in self.events
        }

    def speaker(self, event: SessionEvent) -> str:
        return event.sender_name or self._names.get(event.sender_id, event.sender_id) or str(event.kind)

    def all(self) -> list[Message]:
        """The messages, and before them what they go on from."""
        messages = list(self.messages.values())
        if not (self.before and messages):
            return messages
        return [Message(_BEFORE, self.before, str(EventKind.SUMMARY), messages[0].on, is_answer=True), *messages]

    def as_data(self) -> list[dict[str, Any]]:
        """The messages as a model is shown them."""
        zone = self.session.workspace.zone()
        return [
            {
                "position": event.position,
                "role": event.kind,
                "speaker": self.speaker(event),
                "content": text.smart_truncate(
                    event.content, _TOOL_CHARS if event.kind == EventKind.TOOL else conf.SESSION_SHOWN_TOKENS
                ),
                "at": event.at.astimezone(zone).isoformat(timespec="minutes"),
            }
            for event in self.events
        ]

    def conversation(self, positions: Collection[int] = ()) -> Conversation:
        """All of it, read as the authors of the messages at these positions would."""
        authors = {
            self.speaker(event): event.sender_id
            for event in self.events
            if event.kind == EventKind.USER and event.position in positions
        }
        return conversation_of(self.all(), authors, self._scope)

    def check(self, candidate: FlushCandidate, *, must_quote: bool) -> CheckedCandidate:
        """A candidate with its words where they stand, and the first thing that is wrong with it.

        One without words rests on all of its messages, unless it `must_quote`; without any, on the whole conversation.
        """
        resting = [self.messages[position] for position in candidate.rests_on if position in self.messages]
        conversation = self.conversation(candidate.rests_on)
        if candidate.quote or must_quote:
            # The words where they stand, each in the first message that holds them; none where one is in none
            quotes: list[Quote] = []
            for words in candidate.quote:
                here = next((spans for message in resting if (spans := verification.locate([(message, words)]))), [])
                quotes = [*quotes, *here] if here else []
                if not here:
                    break
        else:
            quotes = [Quote(message, Span(0, len(message.content))) for message in resting if message.content.strip()]
        subject = conversation.people.other_than_speaker(candidate.subject)
        checked = CheckedCandidate(candidate.content, quotes, candidate=candidate, subject=subject)
        if candidate.type != EntryType.FACT or not (quotes or candidate.quote or must_quote):
            checked.take_fault(verification.invention(candidate.content, conversation))
        else:
            checked.take_fault(verification.fault(candidate.content, candidate.subject, quotes, conversation))
        return checked

    @cached_property
    def _scope(self) -> Scope | None:
        return self.session.chat_scope if self.session.is_group else self.session.user_scope

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of the speakers by id, as the newest memory of this session has them: for messages without one."""
        senders = {event.sender_id for event in self.events if event.sender_id}
        if self._scope is None or not senders:
            return {}
        entries = Entry.objects.in_scope(self._scope).live()
        named_entries = entries.filter(session_id=self.session.key, sender_id__in=senders).exclude(speaker="")
        return dict(named_entries.order_by("pk").values_list("sender_id", "speaker"))


T = TypeVar("T", bound=BaseModel)
#: Purposes under which the cost is counted.
FLUSH, SUMMARY = "flush", "session_summary"
MAX_CANDIDATES = 30
#: With less time left the model is not asked.
_LEAST_SECONDS = 2.0
#: Tokens of an answer for each token kept of it: models think aloud, and JSON takes room.
_TOKENS_PER_KEPT = 4


@dataclass(frozen=True)
class ModelSummary:
    """A summary, and the model that wrote it."""

    text: str
    model: str


@dataclass(frozen=True)
class FlushExtraction:
    """What a model extracted from a conversation, checked; `is_refused`: nothing is left of what it goes on with."""

    goes_on_with: str
    no_reply: bool
    candidates: tuple[CheckedCandidate, ...]
    model: str
    is_refused: bool = False
    counts: Mapping[str, int] = field(default_factory=dict)


#: Of messages none of which may be shown.
EMPTY_EXTRACTION = FlushExtraction(goes_on_with="", no_reply=False, candidates=(), model="")


class ConversationModel:
    """The workspace's model for one conversation, until it fails or LLM_TOTAL_SECONDS are over."""

    def __init__(self, workspace: Workspace, *, now: datetime) -> None:
        self._language = workspace.language
        self._until = time.monotonic() + conf.LLM_TOTAL_SECONDS
        self._run = ModelRun(workspace, "", clock=lambda: now, patience=1, is_strict=True)

    def may_ask(self) -> bool:
        return llm.is_available() and self._run.may_ask() and self._until - time.monotonic() > _LEAST_SECONDS

    def summarise(
        self, session: Session, events: Sequence[SessionEvent], max_tokens: int, *, before: str
    ) -> ModelSummary | None:
        """Two or three paragraphs in place of these messages; `before` is the summary they go on from."""
        summary, model = before, ""
        for part in parts_of(events):
            transcript = Transcript(session, part, summary)
            first = [{"role": EventKind.SUMMARY, "content": summary}] if summary else []
            data = {"messages": [*first, *transcript.as_data()]}
            prompt = prompts.prompt("summary", self._language, data, max_tokens=max_tokens)
            answer = self._ask(SUMMARY, prompt, schemas.SummaryOutput, schemas.Given(), max_tokens * _TOKENS_PER_KEPT)
            # What is left of a summary by the checks and a second reading
            checked_text = (
                self._read([], CheckedSummary.of(answer.summary, transcript.conversation()), transcript)[0].text
                if answer
                else ""
            )
            if not checked_text:
                return None
            summary, model = in_paragraphs(checked_text, max_tokens), self._run.model
        return ModelSummary(summary, model) if model else None

    def extract(self, session: Session, events: Sequence[SessionEvent], *, before: str) -> FlushExtraction | None:
        """A continuation, and candidates that rest on these messages: as a bot would report them."""
        limit = conf.HISTORY_SUMMARY_MAX_TOKENS
        transcript = Transcript(session, events, before)
        prompt = prompts.prompt(
            "flush",
            self._language,
            {"before": before, "messages": transcript.as_data()},
            max_tokens=limit,
            categories=", ".join(FLUSHED),
            max_candidates=MAX_CANDIDATES,
        )
        sources = schemas.Given(frozenset(str(event.position) for event in events))
        objection = Objection[CandidateFact](lambda fact: _check(transcript, fact).objection, "candidates")
        answer = self._ask(
            FLUSH, prompt, schemas.FlushOutput, sources, conf.LLM_MAX_TOKENS, judge=objection, in_part="candidates"
        )
        if answer is None:
            return None
        checked = [_check(transcript, fact) for fact in objection.statements(answer)[:MAX_CANDIDATES]]
        summary = CheckedSummary.of(answer.goes_on_with, transcript.conversation())
        summary, counts = self._read(checked, summary, transcript)
        return FlushExtraction(
            goes_on_with=in_paragraphs(summary.text, limit),
            no_reply=bool(answer.reply),
            candidates=tuple(checked),
            model=self._run.model,
            is_refused=bool(answer.goes_on_with) and not summary.text,
            counts={**counts, "left_out": summary.left_out, "unreadable": self._run.left_out},
        )

    def _read(
        self, checked: Sequence[CheckedCandidate], summary: CheckedSummary, transcript: Transcript
    ) -> tuple[CheckedSummary, dict[str, int]]:
        """Have candidates and a summary read a second time, in one question: what is left of the summary."""
        sound = [candidate for candidate in checked if candidate.refusal is None]
        claims = [*(candidate.claim() for candidate in sound), *summary.claims()]
        sources = sources_of(transcript.all())
        result = reading.read(claims, sources, self._run.workspace, now=self._run.now, seconds=self._seconds)
        for n, candidate in enumerate(sound):
            candidate.judge(result.of(n))
        verified = sum(candidate.verification == Verification.VERIFIED for candidate in sound)
        fooled = result.counts.get("decoys_passed", 0)
        return summary.read(result, begin=len(sound)), {"verified": verified, "decoys_passed": fooled}

    @property
    def _seconds(self) -> float:
        return max(self._until - time.monotonic(), _LEAST_SECONDS)

    def _ask(
        self, purpose: str, prompt: Prompt, schema: type[T], sources: schemas.Given, max_tokens: int, **more: Any
    ) -> T | None:
        if not self.may_ask():
            return None
        most = min(max_tokens, conf.LLM_MAX_TOKENS)
        return self._run.ask(prompt, schema, sources, purpose=purpose, max_tokens=most, seconds=self._seconds, **more)


def parts_of(events: Sequence[SessionEvent]) -> Iterator[Sequence[SessionEvent]]:
    """A conversation in parts of at most SESSION_SHOWN_TOKENS, each from the beginning of a turn where possible."""
    begin, tokens = 0, 0
    for n, event in enumerate(events):
        if tokens + event.tokens > conf.SESSION_SHOWN_TOKENS and n > begin:
            end = next((m for m in range(n, begin, -1) if events[m].kind == EventKind.USER), n)
            yield events[begin:end]
            begin, tokens = end, sum(message.tokens for message in events[end:n])
        tokens += event.tokens
    if events:
        yield events[begin:]


def _check(transcript: Transcript, fact: CandidateFact) -> CheckedCandidate:
    """A candidate of a model, which has to quote."""
    columns = fact.model_dump() | {"rests_on": tuple(fact.rests_on), "quote": tuple(fact.quote)}
    return transcript.check(FlushCandidate(**columns), must_quote=True)
