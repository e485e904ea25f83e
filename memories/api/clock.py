"""The clock of a request: only faces read it, and tests may set it."""

from datetime import datetime

from django.conf import settings
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from memories.api.fields import Moment


def now_of(request: Request) -> datetime:
    """The present; with MEMPLATFORM_TEST_CLOCK=1 the time in X-Memplatform-Now, when it is given."""
    told = request.headers.get("X-Memplatform-Now")
    if not (told and settings.TEST_CLOCK):
        return timezone.now()
    try:
        return Moment().to_internal_value(told)
    except ValidationError as error:
        raise ValidationError({"X-Memplatform-Now": error.detail}) from error
