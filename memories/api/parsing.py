"""Reading a body strictly: what cannot be stored or means two things is refused before any code sees it."""

import json
import re
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser

DEEPEST = 20
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class BodyTooLarge(APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


class StrictJSONParser(BaseParser):
    """JSON objects of at most 1 MB, in UTF-8, without NUL, lone surrogates, NaN or a name given twice."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLarge(_("The body is larger than %(limit)d bytes.") % {"limit": limit})
        try:
            data = json.loads(body.decode("utf-8"), object_pairs_hook=_no_twins, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise ParseError(_("This is not JSON: %(error)s") % {"error": error}) from error
        if not isinstance(data, dict):
            raise ParseError(_("The body is a JSON object."))
        check_texts(data)
        return data


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError(_("a name is given twice"))
    return data


def _no_constant(name: str) -> None:
    raise ValueError(_("%(name)s is not a number") % {"name": name})


def check_texts(value: Any, path: str = "", depth: int = 0) -> None:
    """Refuse texts PostgreSQL cannot store, naming where they stand."""
    if depth > DEEPEST:
        raise ParseError(_("The body is nested too deeply."))
    if isinstance(value, str):
        if "\0" in value or _LONE_SURROGATE.search(value):
            raise ParseError(_("%(path)s holds NUL or a lone surrogate.") % {"path": path or "The body"})
    elif isinstance(value, dict):
        for name, inner in value.items():
            check_texts(name, f"{path}.{name[:40]!r}".strip("."), depth + 1)
            check_texts(inner, f"{path}.{name}".strip("."), depth + 1)
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            check_texts(inner, f"{path}.{n}", depth + 1)
