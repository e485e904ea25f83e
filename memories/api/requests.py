"""What a request says, read strictly: what cannot be stored or means two things is refused before any code sees it.

Beside the body the headers: the version a change expects, and in tests the time. And the errors of a call that needs
the database, which is away, or room on a disk.
"""

import json
import math
import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException, ErrorDetail, ParseError, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from memories.api.fields import Moment
from memories.models import Recorded

DEEPEST = 20
UNSTORABLE = re.compile("[\\0\ud800-\udfff]")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class BodyTooLarge(APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


class LengthRequired(APIException):
    status_code = status.HTTP_411_LENGTH_REQUIRED
    default_detail = _("A body needs its Content-Length; in chunks it is not read.")
    default_code = "length_required"


class StrictJSONParser(BaseParser):
    """JSON objects of at most 1 MB, in UTF-8, without NUL, lone surrogates, NaN or a name given twice."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLarge(gettext("The body is larger than %(limit)d bytes.") % {"limit": limit})
        try:
            data = json.loads(body.decode("utf-8"), object_pairs_hook=_no_twins)
        except RecursionError as error:
            raise too_deep() from error
        except ValueError as error:
            raise not_json(error) from error
        if not isinstance(data, dict):
            raise ParseError(gettext("The body is a JSON object."))
        check_values(data)
        return data


#: What Python finds wrong with JSON, to translate.
_FLAWS = (
    gettext_noop("Expecting value"),
    gettext_noop("Expecting property name enclosed in double quotes"),
    gettext_noop("Expecting ':' delimiter"),
    gettext_noop("Expecting ',' delimiter"),
    gettext_noop("Illegal trailing comma before end of object"),
    gettext_noop("Illegal trailing comma before end of array"),
    gettext_noop("Extra data"),
    gettext_noop("Unterminated string starting at"),
    gettext_noop("Invalid control character at"),
    gettext_noop("Invalid \\escape"),
    gettext_noop("Invalid \\uXXXX escape"),
    gettext_noop("Unexpected UTF-8 BOM (decode using utf-8-sig)"),
)


def not_json(problem: ValueError) -> ParseError:
    """That a body is no JSON, with what is wrong and where, in the caller's language."""
    flaw = str(problem)
    if isinstance(problem, json.JSONDecodeError):
        reason = gettext(problem.msg) if problem.msg in _FLAWS else problem.msg
        place = {"line": problem.lineno, "column": problem.colno, "position": problem.pos}
        flaw = gettext("%(reason)s: line %(line)d column %(column)d (char %(position)d)") % {"reason": reason, **place}
    elif isinstance(problem, UnicodeDecodeError):
        flaw = gettext("it is not UTF-8 at byte %(position)d") % {"position": problem.start}
    return ParseError(gettext("This is not JSON: %(error)s") % {"error": flaw})


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError(gettext("a name is given twice"))
    return data


def check_values(
    value: Any, place: tuple[str, ...] = (), *, deepest: int = DEEPEST, refused: re.Pattern[str] = UNSTORABLE
) -> None:
    """Refuse what PostgreSQL cannot store, under the name of its field: such texts, and what is no number or too large.

    `1e999`, `NaN` and `Infinity` are numbers to Python.
    """
    if len(place) > deepest:
        raise too_deep(place)
    if isinstance(value, str):
        if refused.search(value):
            raise _error_at(place, gettext("This holds NUL or a lone surrogate."))
    elif isinstance(value, dict):
        for name, inner in value.items():
            check_values(name, (*place, name[:40]), deepest=deepest, refused=refused)
            check_values(inner, (*place, name), deepest=deepest, refused=refused)
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            check_values(inner, (*place, str(n)), deepest=deepest, refused=refused)
    elif isinstance(value, int | float):
        is_readable_everywhere = abs(value) <= sys.float_info.max if isinstance(value, int) else math.isfinite(value)
        if not is_readable_everywhere:
            raise _error_at(place, gettext("This is no number, or one that is too large."))


def too_deep(place: tuple[str, ...] = ()) -> APIException:
    """An error about the field in which the nesting begins; about the body where nobody read that far."""
    return _error_at(
        place[:1], gettext("This is nested too deeply.") if place else gettext("The body is nested too deeply.")
    )


def _error_at(place: tuple[str, ...], detail: str) -> APIException:
    """An error at this place of a body, whose names may hold what no answer can."""
    errors: Any = [ErrorDetail(detail, code="invalid")]
    for name in reversed(place):
        errors = {LONE_SURROGATE.sub("\ufffd", name.replace("\0", "\ufffd")): errors}
    return ValidationError(errors) if place else ParseError(detail)


def check_length(request: HttpRequest, limit: int | None = None) -> None:
    """Refuse a body by the length it says it has, whether anybody would read it or not.

    Raises BodyTooLarge, and LengthRequired of one in chunks, which would be taken for an empty one.
    """
    if "Transfer-Encoding" in request.headers:
        raise LengthRequired
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0 if limit is None else limit
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal() or int(length) > limit:
        raise BodyTooLarge(gettext("The body is larger than %(limit)d bytes.") % {"limit": limit})


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


class Unavailable(APIException):
    """A call that may be sent again, in so many seconds: nothing is wrong with it."""

    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    wait = 5


class DatabaseAway(Unavailable):
    default_detail = _("The database does not answer; try again shortly.")
    default_code = "database_unavailable"


class DiskIsFull(Unavailable):
    default_detail = _("The disk is full: nothing can be stored until there is room. Memories are read as before.")
    default_code = "disk_full"
    wait = 30
