"""Pages of a list, newest first, that neither shift nor repeat while rows arrive."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from memories.api import fields

PAGE_SIZE = 50
PAGE_SIZE_MAX = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Microseconds since 1970 and an id, in hexadecimal; as many digits as a date and a bigint surely hold.
_CURSOR = re.compile("([0-9a-f]{1,14})-([0-9a-f]{1,15})")
NO_CURSOR = _("This is not a cursor of this list.")


class PageQuery(fields.StrictSerializer):
    """Which page of a list is wanted; a cursor is the time and id of the row before it."""

    cursor = serializers.CharField(required=False, max_length=40)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=PAGE_SIZE_MAX, default=PAGE_SIZE)

    def validate_cursor(self, value: str) -> tuple[datetime, int]:
        read = _CURSOR.fullmatch(value)
        if read is None:
            raise serializers.ValidationError(NO_CURSOR)
        return _EPOCH + timedelta(microseconds=int(read[1], 16)), int(read[2], 16)


def paginated(
    rows: QuerySet[Any],
    request: Request,
    asked: dict[str, Any],
    shown: Callable[[Any], dict[str, Any]],
    *,
    by: str = "created_at",
) -> Response:
    """One page of rows by time and id; `next` is the address of the following page, `cursor` what to ask it with.

    Rows of a bulk write share their time, so that the id decides between them.
    """
    if "cursor" in asked:
        moment, row = asked["cursor"]
        earlier = Q(**{f"{by}__lt": moment}) | Q(**{by: moment}, pk__lt=row)
        rows = rows.filter(earlier, **{f"{by}__lte": moment})
    found = list(rows.order_by(f"-{by}", "-id")[: asked["limit"] + 1])
    page = found[: asked["limit"]]
    return page_answer(request, [shown(row) for row in page], _after(page[-1], by) if len(found) > len(page) else None)


def page_answer(request: Request, results: list[dict[str, Any]], cursor: str | None) -> Response:
    """A page as every list gives it."""
    following = cursor and replace_query_param(request.build_absolute_uri(), "cursor", cursor)
    return Response({"results": results, "next": following, "cursor": cursor})


def _after(row: Model, by: str) -> str:
    micros = (getattr(row, by) - _EPOCH) // timedelta(microseconds=1)
    return f"{micros:x}-{row.pk:x}"
