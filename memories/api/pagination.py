"""Pages of a list, newest first, that neither shift nor repeat while rows arrive."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from memories.api import fields
from memories.api.calls import Call

PAGE_SIZE = 50
PAGE_SIZE_MAX = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_CURSOR = _("This is not a cursor of this list.")


class LimitQuery(fields.StrictSerializer):
    """How long a page of a list may be."""

    limit = serializers.IntegerField(required=False, min_value=1, max_value=PAGE_SIZE_MAX, default=PAGE_SIZE)


class Cursor(serializers.CharField):
    """Where a page of a list begins, as the page before it says: numbers in hexadecimal.

    `place` is made of them, and raises ValueError where they name none.
    """

    def __init__(self, pattern: str, place: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(required=False, max_length=40, **kwargs)
        self.pattern = f"^{pattern}$"
        self._place = place

    def run_validation(self, data: Any = empty) -> Any:
        cursor = super().run_validation(data)
        try:
            if re.fullmatch(self.pattern, cursor):
                return self._place(*(int(number, 16) for number in cursor.split("-")))
        except ValueError:
            pass
        raise serializers.ValidationError(NO_CURSOR)


class PageQuery(LimitQuery):
    """Which page of a list is wanted; a cursor is the time and id of the row before it."""

    #: Microseconds since 1970 and an id; as many digits as a date and a bigint surely hold.
    cursor = Cursor(
        "([0-9a-f]{1,14})-([0-9a-f]{1,15})", lambda micros, row: (_EPOCH + timedelta(microseconds=micros), row)
    )


class PositionCursor(serializers.IntegerField):
    """A cursor of a numbered list: the number of the row before the page."""

    default_error_messages = {"invalid": NO_CURSOR}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, min_value=0, max_value=2**31 - 1, **kwargs)


def paginated(
    call: Call, rows: QuerySet[Any], answers: Callable[[list[Any]], Iterable[Any]], *, by: str = "created_at"
) -> Response:
    """One page of rows by time and id; rows of a bulk write share their time, so that the id decides between them."""
    if "cursor" in call.query:
        moment, row = call.query["cursor"]
        earlier = Q(**{f"{by}__lt": moment}) | Q(**{by: moment}, pk__lt=row)
        rows = rows.filter(earlier, **{f"{by}__lte": moment})
    page, has_more = first_rows(rows.order_by(f"-{by}", "-id"), call.query["limit"])
    cursor = None
    if has_more:
        micros = (getattr(page[-1], by) - _EPOCH) // timedelta(microseconds=1)
        cursor = f"{micros:x}-{page[-1].pk:x}"
    return Response(page_answer(call, answers(page), cursor))


def first_rows(rows: QuerySet[Any], limit: int) -> tuple[list[Any], bool]:
    """So many rows, and whether there are more."""
    read = list(rows[: limit + 1])
    return read[:limit], len(read) > limit


def page_answer(call: Call, results: Iterable[Any], cursor: str | None) -> dict[str, Any]:
    """A page as every list gives it: `next` is the address of the following page, `cursor` what to ask it with."""
    following = cursor and replace_query_param(call.request.build_absolute_uri(), "cursor", cursor)
    return {"results": list(results), "next": following, "cursor": cursor}
