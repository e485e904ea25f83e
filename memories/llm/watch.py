"""Whether the model answers: what its last calls came to, whichever process made them."""

from datetime import datetime

from django.db.models import F
from django.db.models.functions import Now

from memories.models import ModelHealth

_ERROR_CHARS = 300


def answered(model: str) -> None:
    """Write down that a call was answered."""
    _write(model, answered_at=Now(), failures=0)


def failed(model: str, error: str) -> None:
    """Write down that a call came to nothing."""
    _write(model, failed_at=Now(), error=error[:_ERROR_CHARS], failures=F("failures") + 1)


def failing(since: datetime) -> ModelHealth | None:
    """The model whose last call failed after that moment; the one that failed last, where there are several."""
    return ModelHealth.objects.filter(failures__gt=0, failed_at__gt=since).order_by("-failed_at").first()


def _write(model: str, **columns: object) -> None:
    name = model[:200]
    if not ModelHealth.objects.filter(model=name).update(**columns):
        ModelHealth.objects.bulk_create([ModelHealth(model=name)], ignore_conflicts=True)
        ModelHealth.objects.filter(model=name).update(**columns)
