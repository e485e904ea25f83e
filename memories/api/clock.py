"""The clock of a request: only faces read it, and tests may set it."""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request

from memories.api.fields import Moment

#: How far the clock of a bot may be ahead of ours.
SKEW = timedelta(minutes=5)


def check_past(name: str, moment: datetime | None, now: datetime) -> None:
    """What was said was said before now, but for a clock that is a little fast. Raises ValidationError."""
    if moment is not None and moment > now + SKEW:
        raise ValidationError({name: [ErrorDetail(str(_("This lies in the future.")), code="future")]})


def check_ahead(name: str, moment: datetime | None, now: datetime) -> None:
    """What ends, ends after now. Raises ValidationError."""
    if moment is not None and moment <= now:
        raise ValidationError({name: [ErrorDetail(str(_("This is past already.")), code="past")]})


def now_of(request: Request) -> datetime:
    """The present; with MEMPLATFORM_TEST_CLOCK=1 the time in X-Memplatform-Now, when it is given."""
    told = request.headers.get("X-Memplatform-Now")
    if not (told and settings.TEST_CLOCK):
        return timezone.now()
    try:
        return Moment().to_internal_value(told)
    except ValidationError as error:
        raise ValidationError({"X-Memplatform-Now": error.detail}) from error
