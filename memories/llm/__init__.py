"""The machine's own model: one OpenAI-compatible endpoint of the owner's, off until it is named (D7).

`ask` puts a prompt to it and gives back an answer of the schema, or one of four errors. Every call is paid from the
workspace's budget of the day, waits for one of a few places, and happens outside any transaction.
"""

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from django.conf import settings
from django.utils.translation import gettext as _
from pydantic import BaseModel

from memories.conf import conf
from memories.exceptions import AnswerInvalid, ModelFailed, ModelOff
from memories.language import text
from memories.llm import budget, concurrency, health, parsing, prompts
from memories.llm.client import CallFailed, Completion, Request, complete
from memories.llm.prompts import Prompt
from memories.llm.schemas import Given
from memories.models import Workspace

log = logging.getLogger(__name__)
T = TypeVar("T", bound=BaseModel)
#: Says what is wrong with an answer, or nothing.
Judge = Callable[[T], str | None]
#: The estimate of tokens is right on average; a single text may have half as many again.
_MARGIN, _OVERHEAD = 1.5, 50
_BACKOFF, _LONGEST_BACKOFF = 0.5, 20.0  # seconds


@dataclass(frozen=True)
class ModelAnswer(Generic[T]):
    """What a model answered, validated, and what all calls for it cost."""

    value: T
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    refused: int = 0  # items of its list that could not be used, and are left out

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass
class _Question:
    """One question on its way: whose it is, what it may cost, and how long it may take."""

    workspace: Workspace
    purpose: str
    request: Request
    now: datetime
    until: float
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class _Terms(Generic[T]):
    """What makes an answer one."""

    schema: type[T]
    given: Given
    judge: Judge[T] | None
    in_part: str

    def read(self, said: str) -> T:
        """Raises AnswerInvalid."""
        value = parsing.parse(said, self.schema, self.given)
        if self.judge and (wrong := self.judge(value)):
            raise AnswerInvalid(wrong)
        return value

    def read_in_part(self, said: str) -> tuple[T, int] | None:
        found = parsing.parse_in_part(said, self.schema, self.given, self.in_part) if self.in_part else None
        return None if found and self.judge and self.judge(found[0]) else found


def is_on() -> bool:
    """Whether an owner has named an endpoint and a model."""
    return bool(settings.MEMORY_LLM_BASE_URL and settings.MEMORY_LLM_MODEL)


def ask(
    workspace: Workspace,
    purpose: str,
    prompt: Prompt,
    schema: type[T],
    *,
    now: datetime,
    given: Given | None = None,
    judge: Judge[T] | None = None,
    in_part: str = "",
    model: str = "",
    max_tokens: int | None = None,
    seconds: float | None = None,
) -> ModelAnswer[T]:
    """Ask until an answer fits the schema and names nothing but what was given.

    `judge` says what is wrong with an answer that does: it is corrected and counted as any other that cannot be used.
    `in_part` names a list: where no try was right, the latest is taken that was but for items of it, without those.
    `seconds` is for all of it, waiting and corrections included. Raises ModelOff, ModelFailed, BudgetSpent,
    AnswerInvalid.
    """
    if not is_on():
        raise ModelOff
    request = Request(
        model=model or settings.MEMORY_LLM_MODEL,
        messages=prompt.messages(),
        language=prompt.language,
        name=schema.__name__.removesuffix("Output").lower(),
        schema=parsing.wire_schema(schema, given or Given()),
        max_tokens=max_tokens or conf.LLM_MAX_TOKENS,
        temperature=conf.LLM_TEMPERATURE,
    )
    until = time.monotonic() + (seconds or conf.LLM_TOTAL_SECONDS)
    return _answer(_Question(workspace, purpose, request, now, until), _Terms(schema, given or Given(), judge, in_part))


def _answer(question: _Question, terms: _Terms[T]) -> ModelAnswer[T]:
    spare: tuple[T, int] | None = None
    for correction in range(conf.LLM_CORRECTIONS + 1):
        reply, reservation = _patiently(question)
        try:
            return _answered(question, terms.read(reply.text))
        except AnswerInvalid as error:
            budget.count_failure(reservation)
            problem = f"it was cut off: be shorter; {error}" if reply.was_cut else str(error)
            log.warning("llm.answer_invalid purpose=%s try=%d", question.purpose, correction + 1)
            spare = terms.read_in_part(reply.text) or spare
            question.request = _corrected(question.request, reply.text, problem)
    if spare:
        return _answered(question, *spare)
    raise AnswerInvalid(_("The model's answer cannot be used: %(problem)s") % {"problem": problem})


def _answered(question: _Question, value: T, refused: int = 0) -> ModelAnswer[T]:
    cost = question.calls, question.prompt_tokens, question.completion_tokens
    return ModelAnswer(value, question.request.model, *cost, refused)


def _corrected(request: Request, said: str, problem: str) -> Request:
    """The first question again, the last answer and what is wrong with it: earlier failures are left out."""
    wrong = f"{prompts.fill('correction', request.language, {})}\n{prompts.as_data({'problem': problem})}"
    back = [{"role": "assistant", "content": said[:8_000] or "…"}, {"role": "user", "content": wrong}]
    return replace(request, messages=[*request.messages[:2], *back])


def _patiently(question: _Question) -> tuple[Completion, budget.Reservation]:
    """A reply, after failures that passed. Raises ModelFailed, BudgetSpent."""
    for attempt in range(conf.LLM_RETRIES + 1):
        try:
            return _call(question)
        except CallFailed as failure:
            pause = pause_after(failure, attempt)
            log.warning("llm.call_failed purpose=%s try=%d: %s", question.purpose, attempt + 1, failure)
            if not failure.is_temporary or attempt == conf.LLM_RETRIES or time.monotonic() + pause >= question.until:
                raise ModelFailed(_("The model gave no answer: %(what)s") % {"what": failure}) from None
        time.sleep(pause)
    raise ModelFailed


def pause_after(failure: CallFailed, attempt: int) -> float:
    """As long as the server asks for, else ever longer; by chance, so that many callers do not come back at once."""
    doubled: float = min(_BACKOFF * 2**attempt, _LONGEST_BACKOFF)
    chance = random.uniform(0.5, 1.0)  # noqa: S311 (chance, not a secret)
    return doubled * chance if failure.retry_after is None else failure.retry_after + doubled * (1 - chance)


def _call(question: _Question) -> tuple[Completion, budget.Reservation]:
    """One call in a place, paid for. Raises CallFailed, ModelFailed, BudgetSpent."""
    request = question.request
    with concurrency.place(question.until):
        reservation = _reserved(question)
        seconds = min(conf.LLM_SECONDS, max(question.until - time.monotonic(), 0.001))
        try:
            reply = complete(request, seconds=seconds)
        except CallFailed as failure:
            costs = (0, 0) if failure.is_free else (reservation.prompt_tokens, reservation.completion_tokens)
            _settle(question, reservation, *costs, failed=True)
            health.record_failure(request.model, str(failure), now=question.now)
            raise
        health.record_answer(request.model, now=question.now)
        prompt_tokens = reply.prompt_tokens or _estimated(request)
        _settle(question, reservation, prompt_tokens, reply.completion_tokens or text.count_tokens(reply.text), False)
        return reply, reservation


def _reserved(question: _Question) -> budget.Reservation:
    return budget.reserve(
        question.workspace,
        question.purpose,
        question.request.model,
        prompt_tokens=round(_estimated(question.request) * _MARGIN) + _OVERHEAD,
        completion_tokens=question.request.max_tokens,
        now=question.now,
    )


def _settle(
    question: _Question, reservation: budget.Reservation, prompt_tokens: int, completion_tokens: int, failed: bool
) -> None:
    budget.settle(reservation, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, failed=failed)
    question.calls += 1
    question.prompt_tokens += prompt_tokens
    question.completion_tokens += completion_tokens


def _estimated(request: Request) -> int:
    """Roughly what the server will count, the schema included: some servers put it into the prompt."""
    said = sum(text.count_tokens(message["content"]) for message in request.messages)
    return said + text.count_tokens(str(request.schema))
