"""`If-Match`: change a row only if it still is in the version the caller has read."""

import re

from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request

from memories.models import Recorded

_VERSION = re.compile(r'"(?P<quoted>[0-9]{1,18})"|(?P<bare>[0-9]{1,18})')


def expected_version(request: Request) -> int | None:
    """The version named in If-Match, quoted or bare; None when any will do."""
    told = request.headers.get("If-Match", "*").strip()
    if told == "*":
        return None
    read = _VERSION.fullmatch(told)
    if read is None:
        detail = ErrorDetail(str(_('If-Match names one version, such as "3".')), code="invalid")
        raise ValidationError({"If-Match": [detail]})
    return int(read["quoted"] or read["bare"])


def etag(row: Recorded) -> dict[str, str]:
    """The header that names the version of a row."""
    return {"ETag": f'"{row.version}"'}
