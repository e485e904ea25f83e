"""Facts of models that were not kept: which, why, and on what they were said to rest, for a month (D5)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from memories.choices import Refusal
from memories.llm.schemas import cleaned
from memories.models import RefusedFact, Scope

_TEXT_CHARS = 2_000


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A fact a model offered, and why it is not kept."""

    content: str
    reason: Refusal
    quote: str = ""
    scope: Scope | None = None
    origins: tuple[str, ...] = ()


def record(refused: Iterable[Refused], *, workspace_id: int, model: str, purpose: str, run: str, now: datetime) -> int:
    """Store refused facts; how many these are."""
    rows = [
        RefusedFact(
            workspace_id=workspace_id,
            scope=one.scope,
            model=model,
            purpose=purpose,
            run=run,
            content=cleaned(one.content)[:_TEXT_CHARS],
            quote=cleaned(one.quote)[:_TEXT_CHARS],
            reason=one.reason,
            origins=list(one.origins),
            created_at=now,
        )
        for one in refused
    ]
    return len(RefusedFact.objects.bulk_create(rows))
