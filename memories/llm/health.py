"""The health of the model: the results of its last calls, of all processes."""

from datetime import datetime

from django.conf import settings
from django.db.models import F

from memories.conf import conf
from memories.models import ModelHealth

_ERROR_CHARS = 300


def record_answer(model: str, *, now: datetime) -> None:
    """Record an answered call."""
    _write(model, answered_at=now, failures=0)


def record_failure(model: str, error: str, *, now: datetime) -> None:
    """Record a failed call."""
    _write(model, failed_at=now, error=error[:_ERROR_CHARS], failures=F("failures") + 1)


def failing() -> ModelHealth | None:
    """The model in use whose last call failed; of several the one that failed last."""
    used = {settings.MEMORY_LLM_MODEL, conf.LLM_SUMMARY_MODEL, conf.VERIFY_MODEL}
    return ModelHealth.objects.filter(model__in=used, failures__gt=0).order_by("-failed_at").first()


def _write(model: str, **columns: object) -> None:
    name = model[:200]
    if not ModelHealth.objects.filter(model=name).update(**columns):
        ModelHealth.objects.bulk_create([ModelHealth(model=name)], ignore_conflicts=True)
        ModelHealth.objects.filter(model=name).update(**columns)
