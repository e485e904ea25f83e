"""GET /entries, and what a memory is saved with."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.response import Response

from memories.api import fields
from memories.api.calls import Call, Method
from memories.api.entries.answers import EntryPage, entry_answers
from memories.api.pagination import PageQuery, paginated
from memories.choices import Category, Due, EntryType, Permission
from memories.entries.fields import COLUMN_SLOTS
from memories.lifecycle import expiry
from memories.models import Entry, Policy
from memories.models.policy import Policies
from memories.models.state import State, in_state
from memories.visibility import visible_entries

_SLOT = "slot."


class NewAttributes(fields.StrictSerializer):
    """What a new memory is filed under."""

    category = fields.Word(choices=Category.choices, allow_blank=True, default="")
    importance = fields.Number(min_value=0, max_value=1, allow_null=True, default=None)
    project = fields.Text(max_length=100, allow_blank=True, default="")
    topic = fields.Text(max_length=100, allow_blank=True, default="")


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


class EntryListView(Call):
    """What is remembered."""

    @Method(
        "list_entries",
        Permission.READ,
        EntryPage,
        query=EntryFilter,
        parameters=(EntryQuery,),
        description="Entries, newest first. Slots narrow the list as `slot.<name>=<value>`.",
    )
    def get(self) -> Response:
        policies = Policy.objects.of(self.caller.workspace_id)
        entries = _filtered(self, policies)
        return paginated(self, entries, lambda rows: entry_answers(rows, policies, self.now))


def _filtered(call: Call, policies: Policies) -> QuerySet[Entry]:
    query = call.query
    entries = visible_entries(call.caller, query.get("scope"))
    if "type" in query:
        entries = entries.filter(type=query["type"])
    if "state" in query:
        entries = entries.filter(in_state(query["state"], policies.over(call.now)))
    if "due" in query:
        entries = entries.filter(expiry.due(query["due"], call.now, policies.over))
    for word in query.get("q", "").split():
        entries = entries.filter(content__icontains=word)
    for name, value in query["slot"].items():
        entries = entries.filter(**_slot_filter(name, value))
    return entries.select_related("scope").prefetch_related("slots")


def _slot_filter(name: str, value: str) -> dict[str, Any]:
    if name in COLUMN_SLOTS or name in ("type", "source"):
        return {name: value}
    return {"scope__kind": value} if name == "scope" else {"slots__name": name, "slots__value": value}
