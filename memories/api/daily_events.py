"""GET /events: what happened on which day, by date and by word (D1)."""

import re
from datetime import date
from typing import Any

from django.db.models import Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api import fields, pagination
from memories.api.answers import Answer, Page
from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.choices import Permission, Source
from memories.entries import daily_events
from memories.models import DailyEvent
from memories.tenancy.access import Caller
from memories.visibility import reached_chats, visible_daily_events

#: The number of a day and an id, in hexadecimal; a day of the year 9999 has six digits.
_CURSOR = re.compile("([0-9a-f]{1,6})-([0-9a-f]{1,15})")


class EventQuery(fields.StrictSerializer):
    """Which days, of which scope, holding which words."""

    scope = serializers.CharField(required=False, max_length=255)
    q = serializers.CharField(required=False, max_length=500)
    cursor = serializers.CharField(required=False, max_length=40)
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=pagination.PAGE_SIZE_MAX, default=pagination.PAGE_SIZE
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`from` is a word of Python's."""
        days: dict[str, Any] = {
            "from": serializers.DateField(required=False, source="first", help_text="The first day, local."),
            "to": serializers.DateField(required=False, source="last", help_text="The last day, included."),
        }
        return {**super().get_fields(), **days}

    def validate_cursor(self, value: str) -> tuple[date, int]:
        read = _CURSOR.fullmatch(value)
        if read is None or not 0 < int(read[1], 16) <= date.max.toordinal():
            raise serializers.ValidationError(pagination.NO_CURSOR)
        return date.fromordinal(int(read[1], 16)), int(read[2], 16)


class EventAnswer(Answer):
    """What happened on one local day, as far as one conversation tells."""

    id = serializers.UUIDField(source="uid")
    scope = serializers.CharField(source="scope.key")
    date = serializers.DateField(source="local_date", help_text="In the workspace's time zone.")
    content = serializers.CharField()
    source = serializers.ChoiceField(choices=Source.choices)  # type: ignore[assignment]
    chats = serializers.ListField(child=serializers.CharField(), help_text="Where it was said; of a user scope.")
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class EventPage(Page):
    """Events, the latest day first."""

    results = EventAnswer(many=True)


class EventsView(Call):
    """What happened, the latest day first."""

    required = {"GET": Permission.READ}
    queried = {"GET": EventQuery}

    @extend_schema(
        operation_id="list_events",
        description="What happened on which local day, the latest first.",
        parameters=[EventQuery],
        responses=EventPage,
    )
    def get(self, request: Request) -> Response:
        limit = self.asked["limit"]
        caller = caller_of(request)
        events = _narrowed(visible_daily_events(caller, self.asked.get("scope")), self.asked)
        found = list(events.order_by("-local_date", "-id")[: limit + 1])
        page = found[:limit]
        return pagination.page_answer(
            request,
            [event_answer(event, caller) for event in daily_events.without_repeats(page)],
            _after(page) if found[limit:] else None,
        )


def _narrowed(events: Any, asked: dict[str, Any]) -> QuerySet[DailyEvent]:
    if "first" in asked:
        events = events.filter(local_date__gte=asked["first"])
    if "last" in asked:
        events = events.filter(local_date__lte=asked["last"])
    if "cursor" in asked:
        day, row = asked["cursor"]
        events = events.filter(Q(local_date__lt=day) | Q(local_date=day, pk__lt=row), local_date__lte=day)
    found: QuerySet[DailyEvent] = events.containing(asked.get("q", ""))
    return found


def _after(page: list[DailyEvent]) -> str:
    return f"{page[-1].local_date.toordinal():x}-{page[-1].pk:x}"


def event_answer(event: DailyEvent, caller: Caller) -> dict[str, Any]:
    """An event as the holder of a key sees it."""
    return EventAnswer.of(event, chats=reached_chats(caller, event.chats))
