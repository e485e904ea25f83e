"""The machine's own model: one OpenAI-compatible endpoint of the owner's, off until it is configured (D7).

`ask` sends a prompt and returns an answer of a schema, or raises one of four errors. Every call is paid from the
workspace's budgets of day and month, needs one of a few permits, and happens outside any transaction.
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
from memories.llm import parsing, prompts, run
from memories.llm.client import CallFailed, Completion, Request, complete
from memories.llm.prompts import Prompt
from memories.llm.schemas import Given
from memories.models import Workspace

log = logging.getLogger(__name__)
T = TypeVar("T", bound=BaseModel)
#: Says what is wrong with an answer; None: nothing.
Judge = Callable[[T], str | None]
#: The estimate of tokens is right on average; a single text may have half as many again.
_MARGIN, _OVERHEAD = 1.5, 50
_BACKOFF, _LONGEST_BACKOFF = 0.5, 20.0  # seconds


@dataclass(frozen=True)
class ModelAnswer(Generic[T]):
    """A validated answer, and the cost of all calls for it."""

    value: T
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    refused: int = 0  # items of its list that were left out as unusable

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def is_on() -> bool:
    """Whether the owner has configured an endpoint and a model."""
    return bool(settings.MEMORY_LLM_BASE_URL and settings.MEMORY_LLM_MODEL)


def model_name() -> str:
    """The model that is asked where no other is named."""
    return str(settings.MEMORY_LLM_MODEL)


def is_available() -> bool:
    """Whether a model is configured and has a budget."""
    return is_on() and conf.LLM_DAILY_TOKENS > 0


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

    An answer to which `judge` objects is corrected and counted like any other that cannot be used. `in_part` names a
    list: where no answer is valid, the latest is taken that is valid but for items of it, without those. `seconds`
    include waiting and corrections. Raises ModelOff, ModelFailed, BudgetSpent, AnswerInvalid.
    """
    if not is_on():
        raise ModelOff
    given = given or Given()
    request = Request(
        model=model or settings.MEMORY_LLM_MODEL,
        messages=prompt.messages(),
        language=prompt.language,
        name=schema.__name__.removesuffix("Output").lower(),
        schema=parsing.wire_schema(schema, given),
        max_tokens=max_tokens or conf.LLM_MAX_TOKENS,
        temperature=conf.LLM_TEMPERATURE,
    )
    until = time.monotonic() + (seconds or conf.LLM_TOTAL_SECONDS)
    return _Question(workspace, purpose, request, now, until, schema, given, judge, in_part).answer()


def converse(workspace: Workspace, purpose: str, messages: list[dict[str, str]], *, now: datetime) -> str:
    """The model's next message in a conversation, as plain text. Raises ModelOff, ModelFailed, BudgetSpent."""
    if not is_on():
        raise ModelOff
    request = Request(
        model=settings.MEMORY_LLM_MODEL,
        messages=messages,
        language=workspace.language,
        name=purpose,
        schema=None,
        max_tokens=conf.LLM_MAX_TOKENS,
        temperature=conf.LLM_TEMPERATURE,
    )
    until = time.monotonic() + conf.LLM_TOTAL_SECONDS
    question = _Question(workspace, purpose, request, now, until, BaseModel, Given(), None, "")
    reply, _reservation = question.call_patiently()
    return reply.text.strip()


@dataclass
class _Question(Generic[T]):
    """One question: who pays, how long it may take, what a valid answer is, and what it has cost so far."""

    workspace: Workspace
    purpose: str
    request: Request
    now: datetime
    until: float  # of the monotonic clock
    schema: type[T]
    given: Given
    judge: Judge[T] | None
    in_part: str
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def answer(self) -> ModelAnswer[T]:
        """A valid answer, after corrections. Raises ModelFailed, BudgetSpent, AnswerInvalid."""
        partial: tuple[T, int] | None = None
        for attempt in range(conf.LLM_CORRECTIONS + 1):
            reply, reservation = self.call_patiently()
            try:
                return self._paid(parsing.parse(reply.text, self.schema, self.given, self.judge))
            except AnswerInvalid as error:
                run.count_failure(reservation)
                problem = f"it was cut off: be shorter; {error}" if reply.was_cut else str(error)
            log.warning("llm.answer_invalid purpose=%s try=%d", self.purpose, attempt + 1)
            if self.in_part:
                partial = (
                    parsing.parse_in_part(reply.text, self.schema, self.given, self.in_part, self.judge) or partial
                )
            # asked again with the last answer and what is wrong with it; earlier answers are left out
            complaint = (
                f"{prompts.fill('correction', self.request.language, {})}\n{prompts.as_data({'problem': problem})}"
            )
            exchange = [("assistant", reply.text[:8_000] or "…"), ("user", complaint)]
            correction = [{"role": role, "content": content} for role, content in exchange]
            self.request = replace(self.request, messages=[*self.request.messages[:2], *correction])
        if partial:
            return self._paid(*partial)
        raise AnswerInvalid(_("The model's answer cannot be used: %(problem)s") % {"problem": problem})

    def _paid(self, value: T, refused: int = 0) -> ModelAnswer[T]:
        return ModelAnswer(value, self.request.model, self.calls, self.prompt_tokens, self.completion_tokens, refused)

    def call_patiently(self) -> tuple[Completion, run.Reservation]:
        """A reply to a call with a permit, paid for, after temporary failures. Raises ModelFailed, BudgetSpent."""
        request = self.request
        # roughly what the server will count, the schema included: some servers put it into the prompt
        parts = [message["content"] for message in request.messages] + [str(request.schema)]
        estimate = sum(text.count_tokens(part) for part in parts)
        for attempt in range(conf.LLM_RETRIES + 1):
            try:
                with run.permit(self.until):
                    reservation = run.reserve(
                        self.workspace,
                        self.purpose,
                        request.model,
                        prompt_tokens=round(estimate * _MARGIN) + _OVERHEAD,
                        completion_tokens=request.max_tokens,
                        now=self.now,
                    )
                    seconds = min(conf.LLM_SECONDS, max(self.until - time.monotonic(), 0.001))
                    try:
                        reply = complete(request, seconds=seconds)
                    except CallFailed as failure:
                        cost = (0, 0) if failure.is_free else (reservation.prompt_tokens, reservation.completion_tokens)
                        self._settle(reservation, *cost, failed=True)
                        run.record_failure(request.model, str(failure), now=self.now)
                        raise
                    run.record_answer(request.model, now=self.now)
                    completion_tokens = reply.completion_tokens or text.count_tokens(reply.text)
                    self._settle(reservation, reply.prompt_tokens or estimate, completion_tokens, failed=False)
                    return reply, reservation
            except CallFailed as failure:
                pause = pause_after(failure, attempt)
                log.warning("llm.call_failed purpose=%s try=%d: %s", self.purpose, attempt + 1, failure)
                if not failure.is_temporary or attempt == conf.LLM_RETRIES or time.monotonic() + pause >= self.until:
                    raise ModelFailed(_("The model gave no answer: %(what)s") % {"what": failure}) from None
            time.sleep(pause)
        raise ModelFailed

    def _settle(
        self, reservation: run.Reservation, prompt_tokens: int, completion_tokens: int, *, failed: bool
    ) -> None:
        run.settle(reservation, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, failed=failed)
        self.calls += 1
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens


def pause_after(failure: CallFailed, attempt: int) -> float:
    """Seconds until the next try: what the server asks for, else doubling; random, so that callers spread out."""
    doubled: float = min(_BACKOFF * 2**attempt, _LONGEST_BACKOFF)
    chance = random.uniform(0.5, 1.0)  # noqa: S311 (chance, not a secret)
    return doubled * chance if failure.retry_after is None else failure.retry_after + doubled * (1 - chance)
