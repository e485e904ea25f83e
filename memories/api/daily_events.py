"""GET /events: what happened on which day, by date and by word (D1)."""

from datetime import date
from typing import Any

from django.db.models import Q
from rest_framework import serializers
from rest_framework.response import Response

from memories.api.answers import Answer, page_of
from memories.api.calls import Call, Method
from memories.api.pagination import Cursor, LimitQuery, first_rows, page_answer
from memories.choices import Origin, Permission, Source
from memories.entries import daily_events
from memories.visibility import reached_chats, visible_daily_events


class DailyEventQuery(LimitQuery):
    """Which days, of which scope, holding which words."""

    scope = serializers.CharField(required=False, max_length=255)
    q = serializers.CharField(required=False, max_length=500)
    #: The number of a day and an id; a day of the year 9999 has six digits.
    cursor = Cursor("([0-9a-f]{1,6})-([0-9a-f]{1,15})", lambda day, row: (date.fromordinal(day), row))

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`from` is a word of Python's."""
        days: dict[str, Any] = {
            "from": serializers.DateField(required=False, source="first", help_text="The first day, local."),
            "to": serializers.DateField(required=False, source="last", help_text="The last day, included."),
        }
        return {**super().get_fields(), **days}


class DailyEventAnswer(Answer):
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
    trust = serializers.ChoiceField(
        choices=Origin.choices,
        allow_null=True,
        help_text="The least trusted of the memories that rest on its messages; null: none of them is kept.",
    )


DailyEventPage = page_of(DailyEventAnswer, "Events, the latest day first.")


class DailyEventsView(Call):
    """What happened, the latest day first."""

    @Method(
        "list_events",
        Permission.READ,
        DailyEventPage,
        query=DailyEventQuery,
        description="What happened on which local day, the latest first.",
    )
    def get(self) -> Response:
        events = visible_daily_events(self.caller, self.query.get("scope")).containing(self.query.get("q", ""))
        if "first" in self.query:
            events = events.filter(local_date__gte=self.query["first"])
        if "last" in self.query:
            events = events.filter(local_date__lte=self.query["last"])
        if "cursor" in self.query:
            day, row = self.query["cursor"]
            events = events.filter(Q(local_date__lt=day) | Q(local_date=day, pk__lt=row), local_date__lte=day)
        page, has_more = first_rows(events.order_by("-local_date", "-id"), self.query["limit"])
        days = list(daily_events.without_repeats(page))
        trusts = daily_events.trust_of(days)
        answers = [
            DailyEventAnswer.of(day, chats=reached_chats(self.caller, day.chats), trust=trusts.get(day.pk))
            for day in days
        ]
        following = f"{page[-1].local_date.toordinal():x}-{page[-1].pk:x}" if has_more else None
        return Response(page_answer(self, answers, following))
