"""The limits of calls: tokens a workspace may spend on a day, and calls of all processes at the same time (D7).

Tokens are reserved before a call and settled after it. A reservation that is never settled, as its process was killed,
counts as spent until the day ends: the question was sent, and its server has most likely counted it too.

A permit is a session-level advisory lock, which PostgreSQL releases the moment a connection ends: a count in each
process would let processes add up, and a row with a lease would keep the permit of a process that was killed.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import structlog
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _

from memories.conf import conf
from memories.exceptions import BudgetSpent, ModelFailed
from memories.models import Spend, Workspace

log = structlog.get_logger(__name__)
#: Advisory locks are told apart by their highest byte.
PERMIT_LOCK, SPEND_LOCK = 5 << 56, 6 << 56
_LOOK_AGAIN = (0.05, 0.25)  # seconds, at random in between
#: The most tokens a server is believed to have counted.
_BELIEVED = 10_000_000

#: Purposes and models have rows of their own; the sum over them is right as nobody else reserves meanwhile.
_RESERVE = """
WITH verdict AS MATERIALIZED (
  SELECT coalesce(sum(prompt_tokens + completion_tokens + reserved_tokens), 0) + %(tokens)s <= %(budget)s AS granted
  FROM memories_spend WHERE workspace_id = %(workspace)s AND local_date = %(date)s
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
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        "date": local_date(workspace, now),
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
        spent = {"workspace": workspace.pk, "purpose": purpose, "date": str(values["date"]), "asked": values["tokens"]}
        log.warning("llm.budget_spent", **spent)
        raise BudgetSpent
    return Reservation(spend_id, prompt_tokens, completion_tokens)


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
    number = _acquire(until)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [PERMIT_LOCK + number])


def _acquire(until: float) -> int:
    while True:
        with connection.cursor() as cursor:
            for number in range(conf.LLM_CALLS):
                cursor.execute("SELECT pg_try_advisory_lock(%s)", [PERMIT_LOCK + number])
                if cursor.fetchone()[0]:
                    return number
        pause = random.uniform(*_LOOK_AGAIN)  # noqa: S311 (chance, not a secret)
        if time.monotonic() + pause >= until:
            raise ModelFailed(_("The model is busy with other questions."))
        time.sleep(pause)
