"""The tokens a workspace may spend on one of its days: reserved before a call, settled after it (D7).

A reservation nobody settles, because its process was killed, lapses with the day. Until then it counts as spent: the
question was sent, and whoever serves the model will most likely count it too.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import structlog
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Greatest

from memories.conf import conf
from memories.exceptions import BudgetSpent
from memories.models import Spend, Workspace

log = structlog.get_logger(__name__)
#: Advisory locks are told apart by their highest byte.
SPEND_LOCK = 6 << 56
#: What a server says it counted is believed up to here.
_BELIEVED = 10_000_000

#: Purposes and models have rows of their own: the sum over them is true because nobody else reserves meanwhile.
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
    """The day of the workspace a moment belongs to."""
    return now.astimezone(workspace.zone()).date()


def reserve(
    workspace: Workspace, purpose: str, model: str, *, prompt_tokens: int, completion_tokens: int, now: datetime
) -> Reservation:
    """Set tokens aside, or count a refusal. Raises BudgetSpent.

    Committed before anything is sent, so it opens a transaction of its own and refuses, with a RuntimeError, to do so
    inside another: that is how no call to a model ever happens in a transaction.
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
        log.warning(
            "llm.budget_spent",
            workspace=workspace.pk,
            purpose=purpose,
            date=str(values["date"]),
            asked=values["tokens"],
        )
        raise BudgetSpent
    return Reservation(spend_id, prompt_tokens, completion_tokens)


def settle(reservation: Reservation, *, prompt_tokens: int, completion_tokens: int, failed: bool) -> None:
    """What a call did cost, in place of what was set aside for it."""
    Spend.objects.filter(pk=reservation.spend_id).update(
        calls=F("calls") + 1,
        failures=F("failures") + int(failed),
        prompt_tokens=F("prompt_tokens") + min(prompt_tokens, _BELIEVED),
        completion_tokens=F("completion_tokens") + min(completion_tokens, _BELIEVED),
        reserved_tokens=Greatest(F("reserved_tokens") - reservation.tokens, 0),
    )


def count_failure(reservation: Reservation) -> None:
    """A settled call whose answer could not be used."""
    Spend.objects.filter(pk=reservation.spend_id).update(failures=F("failures") + 1)
