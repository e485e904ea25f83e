"""The workspace's model on a conversation that is to be shortened: its summary, and its flush (B3, C7, E4).

Asked outside any transaction. Callers can do without an answer, so None is no error.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel

from memories import llm
from memories.choices import Verification
from memories.conf import conf
from memories.consolidation import reading
from memories.consolidation.statements import Objection
from memories.consolidation.summaries import CheckedSummary, sources_of
from memories.kinds import FLUSHED
from memories.llm import prompts, schemas
from memories.llm.prompts import Prompt
from memories.llm.run import ModelRun
from memories.llm.schemas import CandidateFact
from memories.models import Workspace
from sessions_app.choices import EventKind
from sessions_app.compaction.summary import in_paragraphs
from sessions_app.compaction.transcript import CheckedCandidate, FlushCandidate, Transcript
from sessions_app.models import Session, SessionEvent

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
            left = (
                self._read([], CheckedSummary.of(answer.summary, transcript.conversation()), transcript)[0].text
                if answer
                else ""
            )
            if not left:
                return None
            summary, model = in_paragraphs(left, max_tokens), self._run.model
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
        given = schemas.Given(frozenset(str(event.position) for event in events))
        objection = Objection[CandidateFact](lambda one: _check(transcript, one).objection, "candidates")
        answer = self._ask(
            FLUSH, prompt, schemas.FlushOutput, given, conf.LLM_MAX_TOKENS, judge=objection, in_part="candidates"
        )
        if answer is None:
            return None
        checked = [_check(transcript, one) for one in objection.statements(answer)[:MAX_CANDIDATES]]
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
        sound = [one for one in checked if one.refusal is None]
        asked = [*(one.claim() for one in sound), *summary.claims()]
        sources = sources_of(transcript.all())
        result = reading.read(asked, sources, self._run.workspace, now=self._run.now, seconds=self._seconds)
        for n, one in enumerate(sound):
            one.judge(result.of(n))
        verified = sum(one.verification == Verification.VERIFIED for one in sound)
        fooled = result.counts.get("decoys_passed", 0)
        return summary.read(result, begin=len(sound)), {"verified": verified, "decoys_passed": fooled}

    @property
    def _seconds(self) -> float:
        return max(self._until - time.monotonic(), _LEAST_SECONDS)

    def _ask(
        self, purpose: str, prompt: Prompt, schema: type[T], given: schemas.Given, max_tokens: int, **more: Any
    ) -> T | None:
        if not self.may_ask():
            return None
        most = min(max_tokens, conf.LLM_MAX_TOKENS)
        return self._run.ask(prompt, schema, given, purpose=purpose, max_tokens=most, seconds=self._seconds, **more)


def parts_of(events: Sequence[SessionEvent]) -> Iterator[Sequence[SessionEvent]]:
    """A conversation in parts of at most SESSION_SHOWN_TOKENS, each from the beginning of a turn where possible."""
    begin, used = 0, 0
    for n, event in enumerate(events):
        if used + event.tokens > conf.SESSION_SHOWN_TOKENS and n > begin:
            end = next((m for m in range(n, begin, -1) if events[m].kind == EventKind.USER), n)
            yield events[begin:end]
            begin, used = end, sum(one.tokens for one in events[end:n])
        used += event.tokens
    if events:
        yield events[begin:]


def _check(transcript: Transcript, one: CandidateFact) -> CheckedCandidate:
    """A candidate of a model, which has to quote."""
    columns = one.model_dump() | {"rests_on": tuple(one.rests_on), "quote": tuple(one.quote)}
    return transcript.check(FlushCandidate(**columns), must_quote=True)
