"""Whether the model answers: what its last calls came to, whichever process made them."""

from datetime import datetime

from django.conf import settings
from django.db.models import F

from memories.conf import conf
from memories.models import ModelHealth

_ERROR_CHARS = 300


def record_answer(model: str, *, now: datetime) -> None:
    """Write down that a call was answered."""
    _write(model, answered_at=now, failures=0)


def record_failure(model: str, error: str, *, now: datetime) -> None:
    """Write down that a call came to nothing."""
    _write(model, failed_at=now, error=error[:_ERROR_CHARS], failures=F("failures") + 1)


def failing() -> ModelHealth | None:
    """The model in use whose last call came to nothing; of several the one that failed last."""
    used = {settings.MEMORY_LLM_MODEL, conf.LLM_SUMMARY_MODEL}
    return ModelHealth.objects.filter(model__in=used, failures__gt=0).order_by("-failed_at").first()


def _write(model: str, **columns: object) -> None:
    name = model[:200]
    if not ModelHealth.objects.filter(model=name).update(**columns):
        ModelHealth.objects.bulk_create([ModelHealth(model=name)], ignore_conflicts=True)
        ModelHealth.objects.filter(model=name).update(**columns)
