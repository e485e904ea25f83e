"""What the headers of a request say: the version it expects, and in tests the time."""

import re
from datetime import datetime

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request

from memories.api.fields import Moment
from memories.models import Recorded

VERSION = re.compile(r'"([0-9]{1,18})"|([0-9]{1,18})')


def now_of(request: Request) -> datetime:
    """The present; with MEMPLATFORM_TEST_CLOCK=1 the time in X-Memplatform-Now, when it is given."""
    clock = request.headers.get("X-Memplatform-Now")
    if not (clock and settings.TEST_CLOCK):
        return timezone.now()
    try:
        return Moment().to_internal_value(clock)
    except ValidationError as error:
        raise ValidationError({"X-Memplatform-Now": error.detail}) from error


def expected_version(request: Request) -> int | None:
    """The version named in If-Match, quoted or bare; None when any will do. Raises ValidationError."""
    version = request.headers.get("If-Match", "*").strip()
    if version == "*":
        return None
    read = VERSION.fullmatch(version)
    if read is None:
        detail = ErrorDetail(str(_('If-Match names one version, such as "3".')), code="invalid")
        raise ValidationError({"If-Match": [detail]})
    return int(read[1] or read[2])


def etag(row: Recorded) -> dict[str, str]:
    """The header that names the version of a row."""
    return {"ETag": f'"{row.version}"'}
