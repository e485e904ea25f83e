"""What a model makes of a conversation that is to be shortened: a summary, and what must not be lost (B3, C7, E4).

Asked with nothing held. Whoever asks can do without: that there is no answer is no error here, only None.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeVar

import structlog
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
from sessions_app.compaction import summary
from sessions_app.models import Session, SessionEvent

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=BaseModel)
#: Under these names the model's cost is counted.
FLUSH, SUMMARY = "flush", "session_summary"
MAX_CANDIDATES = 30
#: Characters of what a tool said: its results fill pages, and what came of them is in the answers.
_TOOL_CHARS = 2_000
#: A question for which less is left is not asked.
_LEAST_SECONDS = 2.0
#: An answer may take so many times the tokens of what is kept of it: models think aloud, and JSON is not free.
_ROOM = 4


@dataclass(frozen=True)
class ModelSummary:
    """A summary, and the model that wrote it."""

    text: str
    model: str


@dataclass(frozen=True)
class FlushExtraction:
    """What a model took out of a conversation; candidates nobody had said are only counted."""

    goes_on_with: str
    no_reply: bool
    candidates: tuple[schemas.CandidateFact, ...]
    unfounded: int
    model: str


#: Of a stretch of which nothing is shown.
EMPTY_EXTRACTION = FlushExtraction(goes_on_with="", no_reply=False, candidates=(), unfounded=0, model="")


def is_on() -> bool:
    """Whether a model may be asked at all."""
    return llm.is_on() and conf.LLM_DAILY_TOKENS > 0


class ConversationModel:
    """The workspace's model, for one piece of work: asked until it fails, or the time of one question is up."""

    def __init__(self, workspace: Workspace, *, now: datetime) -> None:
        self._workspace = workspace
        self._until = time.monotonic() + conf.LLM_TOTAL_SECONDS
        self._run = ModelRun(workspace, "", clock=lambda: now, patience=1, is_strict=True)

    def may_ask(self) -> bool:
        return is_on() and self._run.may_ask() and self._until - time.monotonic() > _LEAST_SECONDS

    def summarise(
        self, session: Session, events: Sequence[SessionEvent], max_tokens: int, *, before: str
    ) -> ModelSummary | None:
        """Two or three paragraphs in place of these messages; `before` is what they go on from."""
        told, model = before, ""
        for part in parts_of(events):
            shown = _messages(session, part)
            first = [{"role": EventKind.SUMMARY, "content": told}] if told else []
            prompt = self._prompt("summary", {"messages": [*first, *shown]}, max_tokens=max_tokens)
            answer = self._ask(SUMMARY, prompt, schemas.SummaryOutput, schemas.Given(), max_tokens * _ROOM)
            if answer is None or not (said := _standing(answer.summary, shown, told)):
                return None
            told, model = summary.in_paragraphs(said, max_tokens), self._run.model
        return ModelSummary(told, model) if model else None

    def extract(self, session: Session, events: Sequence[SessionEvent], *, before: str) -> FlushExtraction | None:
        """What the session goes on with, and candidates that rest on these messages: as a bot would report them."""
        limit = conf.HISTORY_SUMMARY_MAX_TOKENS
        shown = _messages(session, events)
        values: dict[str, int | str] = {"categories": ", ".join(FLUSHED), "max_candidates": MAX_CANDIDATES}
        prompt = self._prompt("flush", {"before": before, "messages": shown}, max_tokens=limit, **values)
        given = schemas.Given(frozenset(str(event.position) for event in events))
        answer = self._ask(FLUSH, prompt, schemas.FlushOutput, given, conf.LLM_MAX_TOKENS)
        if answer is None:
            return None
        goes_on_with = _standing(answer.goes_on_with, shown, before)
        if answer.goes_on_with and not goes_on_with:
            return None
        by_position = {message["position"]: message for message in shown}
        said = answer.candidates[:MAX_CANDIDATES]
        kept = [one for one in said if _is_said(one.content, [by_position[n] for n in one.rests_on])]
        return FlushExtraction(
            goes_on_with=summary.in_paragraphs(goes_on_with, limit),
            no_reply=bool(answer.reply),
            candidates=tuple(kept),
            unfounded=len(said) - len(kept),
            model=self._run.model,
        )

    def _prompt(self, name: str, data: Any, **values: int | str) -> Prompt:
        return prompts.prompt(name, self._workspace.language, data, **values)

    def _ask(self, purpose: str, prompt: Prompt, schema: type[T], given: schemas.Given, max_tokens: int) -> T | None:
        if not self.may_ask():
            return None
        most, seconds = min(max_tokens, conf.LLM_MAX_TOKENS), self._until - time.monotonic()
        return self._run.ask(prompt, schema, given, purpose=purpose, max_tokens=most, seconds=seconds)


def parts_of(events: Sequence[SessionEvent]) -> Iterator[Sequence[SessionEvent]]:
    """A conversation in as many pieces as it takes to show it, where it can be from the beginning of a turn on."""
    begin, used = 0, 0
    for n, event in enumerate(events):
        if used + event.tokens > conf.SESSION_SHOWN_TOKENS and n > begin:
            end = next((m for m in range(n, begin, -1) if events[m].kind == EventKind.USER), n)
            yield events[begin:end]
            begin, used = end, sum(one.tokens for one in events[end:n])
        used += event.tokens
    if events:
        yield events[begin:]


def _standing(said: str, shown: Sequence[dict[str, Any]], before: str) -> str:
    """What of it was spoken of: models invent, and repeat what is in no message."""
    sources = [part for message in shown for part in (message["content"], message["speaker"])]
    return grounding.drop_off_topic(said, [before, *sources] if before else sources)


def _is_said(content: str, shown: Sequence[dict[str, Any]]) -> bool:
    """Whether a candidate stands in the messages it rests on."""
    messages = [_as_message(one) for one in sorted(shown, key=lambda one: one["position"])]
    return grounding.fault(content, messages) is None


def _as_message(one: dict[str, Any]) -> grounding.SourceMessage:
    return grounding.SourceMessage(one["content"], one["speaker"], _date(one), one["role"] != EventKind.USER)


def _date(one: dict[str, Any]) -> date:
    return datetime.fromisoformat(one["at"]).date()


def _messages(session: Session, events: Sequence[SessionEvent]) -> list[dict[str, Any]]:
    """Messages as the model is shown them."""
    zone, names = session.workspace.zone(), _names(session, events)
    return [
        {
            "position": event.position,
            "role": event.kind,
            "speaker": names.get(event.sender_id, event.sender_id) or event.kind,
            "content": text.smart_truncate(event.content, _shown_chars(event)),
            "at": event.at.astimezone(zone).isoformat(timespec="minutes"),
        }
        for event in events
    ]


def _shown_chars(event: SessionEvent) -> int:
    return _TOOL_CHARS if event.kind == EventKind.TOOL else conf.SESSION_SHOWN_TOKENS


def _names(session: Session, events: Sequence[SessionEvent]) -> dict[str, str]:
    """What the speakers are called, as far as a bot told with a turn the conversation's own memory kept; the latest."""
    scope = session.chat_scope if session.is_group else session.user_scope
    senders = {event.sender_id for event in events if event.sender_id}
    if scope is None or not senders:
        return {}
    said = Entry.objects.in_scope(scope).live().filter(session_id=session.key, sender_id__in=senders)
    return dict(said.exclude(speaker="").order_by("pk").values_list("sender_id", "speaker"))
