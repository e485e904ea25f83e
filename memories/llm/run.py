"""One question to a model, asked within its budget and its health."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as datetime_time
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Sum
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _
from pydantic import BaseModel

from memories import llm, postgresql
from memories.conf import conf
from memories.exceptions import AnswerInvalid, BudgetSpent, ModelFailed, ModelOff
from memories.llm.prompts import Prompt
from memories.llm.schemas import Given
from memories.models import ModelHealth, Spend, Workspace

log = structlog.get_logger(__name__)


T = TypeVar("T", bound=BaseModel)
Clock = Callable[[], datetime]
#: Receives the counts of a run so far.
Report = Callable[[dict[str, int]], None]


class ModelRun:
    """The model, until its budget is spent, the run's time is over, or it fails `patience` times in a row.

    With `is_strict` every problem is a failure; else a spent budget ends the run at once, and an answer that cannot be
    used is only counted, as the next question may fare better. `model_name` is asked in place of the configured model.
    """

    def __init__(
        self,
        workspace: Workspace,
        purpose: str,
        *,
        clock: Clock,
        until: datetime | None = None,
        patience: int = 2,
        is_strict: bool = False,
        model_name: str = "",
    ) -> None:
        self.workspace = workspace
        self.stopped = "" if llm.is_on() else "no_model"
        self.counts: Counter[str] = Counter()
        self.model = ""  # that answered last
        self.left_out = 0  # items of its last answer that stayed unusable
        self._purpose, self._clock, self._until = purpose, clock, until
        self._patience, self._is_strict, self._model_name = patience, is_strict, model_name
        self._failures = 0
        self._spent: Counter[str] = Counter()

    @property
    def now(self) -> datetime:
        return self._clock()

    def may_ask(self) -> bool:
        if not self.stopped and self._until is not None and self._clock() >= self._until:
            self.stopped = "time"
        return not self.stopped

    def ask(
        self, prompt: Prompt, schema: type[T], given: Given | None = None, *, purpose: str = "", **limits: Any
    ) -> T | None:
        """An answer, or None; `stopped` says why when there will be no others."""
        if not self.may_ask():
            return None
        purpose = purpose or self._purpose
        try:
            limits = {"model": self._model_name} | limits
            answer = llm.ask(self.workspace, purpose, prompt, schema, now=self._clock(), given=given, **limits)
        except (ModelOff, ModelFailed, BudgetSpent, AnswerInvalid) as problem:
            if isinstance(problem, BudgetSpent) and not self._is_strict:
                self.stopped = "budget"
            elif isinstance(problem, ModelOff):
                self.stopped = "no_model"
            else:
                is_unreadable = isinstance(problem, AnswerInvalid)
                self.counts["unreadable" if is_unreadable else "failed"] += 1
                self._failures += not is_unreadable or self._is_strict
                self.stopped = "model_failed" if self._failures >= self._patience else ""
            kind, why = type(problem).__name__, str(problem)
            log.warning("model.no_answer", workspace=self.workspace.pk, purpose=purpose, problem=kind, why=why)
            return None
        self._failures = 0
        self.model = answer.model
        self.left_out = answer.refused
        self._spent.update(
            calls=answer.calls, prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens
        )
        return answer.value

    def why(self) -> dict[str, int]:
        """What stopped the run, as a count; empty when nothing did."""
        return {f"stopped_{self.stopped}": 1} if self.stopped else {}

    def take_cost(self) -> dict[str, Any]:
        """What was spent since the last call of this, for the batch it was spent on."""
        usage, self._spent = self._spent, Counter()
        return {"model": self.model, **usage} if usage else {}


_ERROR_CHARS = 300


def record_answer(model: str, *, now: datetime) -> None:
    """Record an answered call."""
    _write(model, answered_at=now, failures=0)


def record_failure(model: str, error: str, *, now: datetime) -> None:
    """Record a failed call."""
    _write(model, failed_at=now, error=error[:_ERROR_CHARS], failures=F("failures") + 1)


def record_check(model: str, result: Mapping[str, Any]) -> None:
    """Keep what a check of a model found."""
    _write(model, check_result=dict(result))


def last_check(model: str) -> dict[str, Any] | None:
    """What the last check of a model found; None: it was never checked."""
    result = ModelHealth.objects.filter(model=model[:200]).values_list("check_result", flat=True).first()
    return result or None


def failing() -> ModelHealth | None:
    """The model in use whose last call failed; of several the one that failed last."""
    model_names = {settings.MEMORY_LLM_MODEL, conf.LLM_SUMMARY_MODEL, conf.VERIFY_MODEL}
    return ModelHealth.objects.filter(model__in=model_names, failures__gt=0).order_by("-failed_at").first()


def _write(model: str, **columns: object) -> None:
    name = model[:200]
    if not ModelHealth.objects.filter(model=name).update(**columns):
        ModelHealth.objects.bulk_create([ModelHealth(model=name)], ignore_conflicts=True)
        ModelHealth.objects.filter(model=name).update(**columns)


#: Advisory locks differ by their highest byte.
PERMIT_LOCK, SPEND_LOCK = 5 << 56, 6 << 56
_LOOK_AGAIN = (0.05, 0.25)  # seconds, at random in between
#: The most tokens a server is believed to have counted.
_BELIEVED = 10_000_000

#: Purposes and models have rows of their own; the sum over them is right as nobody else reserves meanwhile.
_RESERVE = """
WITH verdict AS MATERIALIZED (
  SELECT coalesce(sum(spent) FILTER (WHERE local_date = %(date)s), 0) + %(tokens)s <= %(budget)s
    AND (%(monthly)s = 0 OR coalesce(sum(spent), 0) + %(tokens)s <= %(monthly)s) AS granted
  FROM (SELECT local_date, prompt_tokens + completion_tokens + reserved_tokens AS spent FROM memories_spend
    WHERE workspace_id = %(workspace)s AND local_date BETWEEN %(from)s AND %(date)s) days
)
INSERT INTO memories_spend AS spend (workspace_id, local_date, purpose, model, calls, failures, prompt_tokens,
  completion_tokens, reserved_tokens, refused)
SELECT %(workspace)s, %(date)s, %(purpose)s, %(model)s, 0, 0, 0, 0,
  CASE WHEN granted THEN %(tokens)s ELSE 0 END, CASE WHEN granted THEN 0 ELSE 1 END FROM verdict
ON CONFLICT (workspace_id, local_date, purpose, model) DO UPDATE
SET reserved_tokens = spend.reserved_tokens + excluded.reserved_tokens, refused = spend.refused + excluded.refused
RETURNING spend.id, (SELECT granted FROM verdict)
"""


@dataclass(frozen=True)
class Reservation:
    """Tokens set aside in a row of Spend for one call."""

    spend_id: int
    prompt_tokens: int
    completion_tokens: int

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def local_date(workspace: Workspace, now: datetime) -> date:
    """The day of a time in the workspace's zone."""
    return now.astimezone(workspace.zone()).date()


def reserve(
    workspace: Workspace, purpose: str, model: str, *, prompt_tokens: int, completion_tokens: int, now: datetime
) -> Reservation:
    """Reserve tokens, or count a refusal. Raises BudgetSpent.

    Committed before anything is sent, in a transaction of its own. Raises RuntimeError inside another, so that no call
    to a model ever happens in a transaction.
    """
    today = local_date(workspace, now)
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "date": today,
        "from": today.replace(day=1) if conf.LLM_MONTHLY_TOKENS else today,
        "monthly": conf.LLM_MONTHLY_TOKENS,
        "purpose": purpose,
        "model": model[:200],
        "tokens": prompt_tokens + completion_tokens,
        "budget": conf.LLM_DAILY_TOKENS,
    }
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SPEND_LOCK + workspace.pk])
        cursor.execute(_RESERVE, values)
        spend_id, is_granted = cursor.fetchone()
    if not is_granted:
        fields = {"workspace": workspace.pk, "purpose": purpose, "date": str(values["date"]), "asked": values["tokens"]}
        log.warning("llm.budget_spent", **fields)
        raise BudgetSpent
    return Reservation(spend_id, prompt_tokens, completion_tokens)


def next_budget(workspace: Workspace, *, now: datetime) -> datetime:
    """When a workspace may spend again: at its midnight, or when its month begins where that of the month is spent."""
    today, zone = local_date(workspace, now), workspace.zone()
    begins = today + timedelta(days=1)
    if conf.LLM_MONTHLY_TOKENS:
        rows = Spend.objects.filter(workspace=workspace, local_date__range=(today.replace(day=1), today))
        tokens = rows.aggregate(n=Sum(F("prompt_tokens") + F("completion_tokens") + F("reserved_tokens")))["n"] or 0
        if tokens + conf.LLM_MAX_TOKENS > conf.LLM_MONTHLY_TOKENS:
            begins = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    return datetime.combine(begins, datetime_time.min, zone)


def settle(reservation: Reservation, *, prompt_tokens: int, completion_tokens: int, failed: bool) -> None:
    """Replace a reservation by what the call cost."""
    Spend.objects.filter(pk=reservation.spend_id).update(
        calls=F("calls") + 1,
        failures=F("failures") + int(failed),
        prompt_tokens=F("prompt_tokens") + min(prompt_tokens, _BELIEVED),
        completion_tokens=F("completion_tokens") + min(completion_tokens, _BELIEVED),
        reserved_tokens=Greatest(F("reserved_tokens") - reservation.tokens, 0),
    )


def count_failure(reservation: Reservation) -> None:
    """Count a settled call whose answer cannot be used."""
    Spend.objects.filter(pk=reservation.spend_id).update(failures=F("failures") + 1)


@contextmanager
def permit(until: float) -> Iterator[None]:
    """One of MEMORY_LLM_CALLS permits, waited for until then on the monotonic clock. Raises ModelFailed."""
    with postgresql.session() as session:
        number: int | None = None
        while number is None:
            with session.cursor() as cursor:
                for candidate in range(conf.LLM_CALLS):
                    cursor.execute("SELECT pg_try_advisory_lock(%s)", [PERMIT_LOCK + candidate])
                    if cursor.fetchone()[0]:
                        number = candidate
                        break
            if number is None:
                pause = random.uniform(*_LOOK_AGAIN)  # noqa: S311 (chance, not a secret)
                if time.monotonic() + pause >= until:
                    raise ModelFailed(_("The model is busy with other questions."))
                time.sleep(pause)
        try:
            yield
        finally:
            with session.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [PERMIT_LOCK + number])
