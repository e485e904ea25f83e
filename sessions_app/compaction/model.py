"""The workspace's model on a conversation that is to be shortened: its summary, and its flush (B3, C7, E4).

Asked outside any transaction. Callers can do without an answer, so None is no error.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel

from memories import llm
from memories.conf import conf
from memories.kinds import FLUSHED
from memories.language import text
from memories.llm import prompts, schemas
from memories.llm.prompts import Prompt
from memories.llm.run import ModelRun
from memories.models import Entry, Workspace
from memories.verification import grounding
from sessions_app.choices import EventKind
from sessions_app.compaction.summary import in_paragraphs
from sessions_app.models import Session, SessionEvent

T = TypeVar("T", bound=BaseModel)
#: Purposes under which the cost is counted.
FLUSH, SUMMARY = "flush", "session_summary"
MAX_CANDIDATES = 30
#: Characters shown of a tool's message: results fill pages, and what matters of them is in the answers.
_TOOL_CHARS = 2_000
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
    """What a model extracted from a conversation; `unfounded` counts candidates that no message supports."""

    goes_on_with: str
    no_reply: bool
    candidates: tuple[schemas.CandidateFact, ...]
    unfounded: int
    model: str


#: Of messages none of which may be shown.
EMPTY_EXTRACTION = FlushExtraction(goes_on_with="", no_reply=False, candidates=(), unfounded=0, model="")


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
            shown = _as_data(session, part)
            first = [{"role": EventKind.SUMMARY, "content": summary}] if summary else []
            data = {"messages": [*first, *shown]}
            prompt = prompts.prompt("summary", self._language, data, max_tokens=max_tokens)
            answer = self._ask(SUMMARY, prompt, schemas.SummaryOutput, schemas.Given(), max_tokens * _TOKENS_PER_KEPT)
            if answer is None or not (supported := _supported(answer.summary, shown, summary)):
                return None
            summary, model = in_paragraphs(supported, max_tokens), self._run.model
        return ModelSummary(summary, model) if model else None

    def extract(self, session: Session, events: Sequence[SessionEvent], *, before: str) -> FlushExtraction | None:
        """A continuation, and candidates that rest on these messages: as a bot would report them."""
        limit = conf.HISTORY_SUMMARY_MAX_TOKENS
        shown = _as_data(session, events)
        prompt = prompts.prompt(
            "flush",
            self._language,
            {"before": before, "messages": shown},
            max_tokens=limit,
            categories=", ".join(FLUSHED),
            max_candidates=MAX_CANDIDATES,
        )
        given = schemas.Given(frozenset(str(event.position) for event in events))
        answer = self._ask(FLUSH, prompt, schemas.FlushOutput, given, conf.LLM_MAX_TOKENS)
        if answer is None:
            return None
        goes_on_with = _supported(answer.goes_on_with, shown, before)
        if answer.goes_on_with and not goes_on_with:
            return None
        proposed = answer.candidates[:MAX_CANDIDATES]
        by_position = {message["position"]: message for message in shown}
        grounded = [one for one in proposed if _is_grounded(one.content, [by_position[n] for n in one.rests_on])]
        return FlushExtraction(
            goes_on_with=in_paragraphs(goes_on_with, limit),
            no_reply=bool(answer.reply),
            candidates=tuple(grounded),
            unfounded=len(proposed) - len(grounded),
            model=self._run.model,
        )

    def _ask(self, purpose: str, prompt: Prompt, schema: type[T], given: schemas.Given, max_tokens: int) -> T | None:
        if not self.may_ask():
            return None
        most, seconds = min(max_tokens, conf.LLM_MAX_TOKENS), self._until - time.monotonic()
        return self._run.ask(prompt, schema, given, purpose=purpose, max_tokens=most, seconds=seconds)


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


def _supported(written: str, shown: Sequence[dict[str, Any]], before: str) -> str:
    """A model's text without sentences about what no message mentions: models invent and repeat."""
    sources = [part for message in shown for part in (message["content"], message["speaker"])]
    return grounding.drop_off_topic(written, [before, *sources] if before else sources)


def _is_grounded(content: str, resting: Sequence[dict[str, Any]]) -> bool:
    """Whether the messages a candidate rests on support it."""
    messages = [
        grounding.SourceMessage(
            one["content"], one["speaker"], datetime.fromisoformat(one["at"]).date(), one["role"] != EventKind.USER
        )
        for one in sorted(resting, key=lambda one: one["position"])
    ]
    return grounding.fault(content, messages) is None


def _as_data(session: Session, events: Sequence[SessionEvent]) -> list[dict[str, Any]]:
    """Messages as the model is shown them."""
    zone, names = session.workspace.zone(), _names(session, events)
    return [
        {
            "position": event.position,
            "role": event.kind,
            "speaker": names.get(event.sender_id, event.sender_id) or event.kind,
            "content": text.smart_truncate(
                event.content, _TOOL_CHARS if event.kind == EventKind.TOOL else conf.SESSION_SHOWN_TOKENS
            ),
            "at": event.at.astimezone(zone).isoformat(timespec="minutes"),
        }
        for event in events
    ]


def _names(session: Session, events: Sequence[SessionEvent]) -> dict[str, str]:
    """The names of the speakers by id, as the newest memory of this session has them."""
    scope = session.chat_scope if session.is_group else session.user_scope
    senders = {event.sender_id for event in events if event.sender_id}
    if scope is None or not senders:
        return {}
    named = Entry.objects.in_scope(scope).live().filter(session_id=session.key, sender_id__in=senders)
    return dict(named.exclude(speaker="").order_by("pk").values_list("sender_id", "speaker"))
