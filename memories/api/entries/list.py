"""POST and GET /entries."""

from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories import entries
from memories.api import fields
from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.api.clock import check_ahead, check_past, now_of
from memories.api.entries import answers
from memories.api.idempotency import repeatable
from memories.api.pagination import PageQuery, paginated
from memories.api.preconditions import etag
from memories.choices import Category, Due, EntryType, Outcome, Permission, Source
from memories.entries.draft import Draft
from memories.entries.fields import COLUMN_SLOTS
from memories.lifecycle import expiry
from memories.models import Entry, Policy, Scope
from memories.models.policy import Policies
from memories.models.state import State, in_state
from memories.visibility import scope_to_write, visible_entries

#: The tier of a fact nobody says belongs into the profile.
KNOWLEDGE = 2
_SLOT = "slot."


class NewEntry(fields.StrictSerializer):
    """A memory a bot saves on purpose."""

    scope = fields.Text(max_length=255)
    type = fields.Word(choices=EntryType.choices, default=EntryType.USER_EXPLICIT)
    content = fields.Text(max_length=8_000)
    slots = fields.Slots(default=dict)
    importance = fields.Number(min_value=0, max_value=1, allow_null=True, default=None)
    category = fields.Word(choices=Category.choices, allow_blank=True, default="")
    tier = fields.Whole(
        min_value=1, max_value=2, allow_null=True, default=None, help_text="Of facts: 1, the profile, or 2."
    )
    project = fields.Text(max_length=100, allow_blank=True, default="")
    topic = fields.Text(max_length=100, allow_blank=True, default="")
    source = fields.Word(choices=Source.choices, default=Source.TOOL)  # type: ignore[assignment]
    pinned = fields.YesNo(default=False)
    expires_at = fields.Moment(allow_null=True, default=None)
    at = fields.Moment(allow_null=True, default=None)


class EntryQuery(PageQuery):
    """What a list of entries may be narrowed by, beside slots."""

    scope = serializers.CharField(required=False, max_length=255)
    type = serializers.ChoiceField(required=False, choices=EntryType.choices)
    state = serializers.ChoiceField(required=False, choices=State.choices)
    due = serializers.ChoiceField(required=False, choices=Due.choices)
    q = serializers.CharField(required=False, max_length=500)


class EntryFilter(EntryQuery):
    """What a list of entries may be narrowed by; slots are written `slot.<name>=<value>`."""

    slot = fields.Slots()

    def to_internal_value(self, data: dict[str, str]) -> Any:
        slots = {name.removeprefix(_SLOT): value for name, value in data.items() if name.startswith(_SLOT)}
        rest = {name: value for name, value in data.items() if not name.startswith(_SLOT)}
        return super().to_internal_value({"slot": slots, **rest})


class EntriesView(Call):
    """Save a memory on purpose; list what is remembered."""

    required = {"GET": Permission.READ, "POST": Permission.WRITE}
    tagged = ("POST",)
    queried = {"GET": EntryFilter}
    new_entry: type[NewEntry] = NewEntry

    @extend_schema(operation_id="save_entry", request=NewEntry, responses={201: answers.SavedEntry})
    @repeatable
    def post(self, request: Request) -> Response:
        asked = self.new_entry(data=request.data)
        asked.is_valid(raise_exception=True)
        data = asked.validated_data
        if data["type"] == EntryType.FACT:
            data["tier"] = data["tier"] or KNOWLEDGE
        now = now_of(request)
        check_past("at", data["at"], now)
        check_ahead("expires_at", data["expires_at"], now)
        scope = self.where(request, data)
        draft = Draft(scope=scope, at=data.pop("at") or now, **data)
        result = entries.remember(draft, now=now, actor=caller_of(request).actor)
        if result.outcome != Outcome.CREATED:
            result.entry.refresh_from_db(fields=["version"])  # it rose when the entry was said again
        linked = Entry.objects.filter(pk__in=result.linked).values_list("uid", flat=True)
        body = answers.entry_answer(
            result.entry,
            Policy.objects.of(scope.workspace_id),
            now,
            answers.SavedEntry,
            outcome=result.outcome,
            reason=result.reason,
            linked=list(linked),
            brought_back=result.brought_back,
        )
        return Response(body, status=201, headers=etag(result.entry))

    def where(self, request: Request, data: dict[str, Any]) -> Scope:
        """The scope it is saved to, taken out of what was sent; what is said of the place besides is added to it."""
        return scope_to_write(caller_of(request), data.pop("scope"))

    @extend_schema(
        operation_id="list_entries",
        description="Entries, newest first. Slots narrow the list as `slot.<name>=<value>`.",
        parameters=[EntryQuery],
        responses=answers.EntryPage,
    )
    def get(self, request: Request) -> Response:
        now = now_of(request)
        policies = Policy.objects.of(caller_of(request).workspace_id)
        entries = _listed(request, self.asked, policies, now)
        return paginated(entries, request, self.asked, lambda entry: answers.entry_answer(entry, policies, now))


def _listed(request: Request, asked: dict[str, Any], policies: Policies, now: datetime) -> QuerySet[Entry]:
    entries = visible_entries(caller_of(request), asked.get("scope"))
    if "type" in asked:
        entries = entries.filter(type=asked["type"])
    if "state" in asked:
        entries = entries.filter(in_state(asked["state"], policies.over(now)))
    if "due" in asked:
        entries = entries.filter(expiry.due(asked["due"], now, policies.over))
    for word in asked.get("q", "").split():
        entries = entries.filter(content__icontains=word)
    for name, value in asked["slot"].items():
        entries = entries.filter(**({name: value} if name in COLUMN_SLOTS else _slot(name, value)))
    return entries.select_related("scope").prefetch_related("slots")


def _slot(name: str, value: str) -> dict[str, Any]:
    if name in ("type", "source"):
        return {name: value}
    return {"scope__kind": value} if name == "scope" else {"slots__name": name, "slots__value": value}
