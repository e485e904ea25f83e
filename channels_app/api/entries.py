"""POST /entries: a memory saved on purpose, into a scope or from an address (A3)."""

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.response import Response

from channels_app.api.addresses import AddressField
from channels_app.turns import save
from memories.api import fields
from memories.api.calls import Method
from memories.api.entries import EntryListView, NewAttributes, SavedEntry, entry_answer, entry_names
from memories.api.requests import etag
from memories.choices import EntryType, Origin, Permission, ScopeKind, Source
from memories.models import Entry, Policy


class NewEntry(NewAttributes):
    """A memory a bot saves on purpose: into a scope, or from where somebody asked for it."""

    #: Whose memory it becomes is said with an address alone; only facts have a tier.
    together: ClassVar[dict[str, Any]] = {
        "oneOf": [
            {"required": ["address"], "not": {"required": ["scope"]}},
            {
                "properties": {"scope_kind": {"not": {"type": "string"}}},
                "required": ["scope"],
                "not": {"required": ["address"]},
            },
        ],
        "anyOf": [
            {"properties": {"type": {"type": "string", "pattern": f"^{EntryType.FACT}$"}}, "required": ["type"]},
            {"properties": {"tier": {"not": {"type": "integer"}}}},
        ],
    }

    scope = fields.Text(required=False, max_length=255)
    address = AddressField(required=False)
    scope_kind = fields.Word(
        choices=ScopeKind.choices,
        allow_null=True,
        default=None,
        help_text="With `address`: the speaker's memory (`user`, the default) or the group's (`chat`).",
    )
    type = fields.Word(choices=EntryType.choices, default=EntryType.USER_EXPLICIT)
    content = fields.Content(max_length=8_000)
    names = entry_names(default=list)
    slots = fields.Slots(default=dict)
    tier = fields.Whole(
        min_value=1, max_value=2, allow_null=True, default=None, help_text="Of facts: 1, the profile, or 2."
    )
    source = fields.Word(choices=Source.choices, default=Source.TOOL)  # type: ignore[assignment]
    origin = fields.Word(
        choices=Origin.choices,
        required=False,
        help_text="Whose words, but `operator`: no key speaks for one. Left out: `bot`, or as `source` says.",
    )
    subject = fields.Text(
        max_length=100, allow_blank=True, default="", help_text="Whom or what it is about, if not the person."
    )
    pinned = fields.YesNo(default=False)
    expires_at = fields.Moment(allow_null=True, default=None)
    at = fields.Moment(allow_null=True, default=None)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("address" in attrs) == ("scope" in attrs):
            raise serializers.ValidationError({"scope": [_("Either an address or a scope is needed, not both.")]})
        if attrs["scope_kind"] and "scope" in attrs:
            raise serializers.ValidationError(
                {"scope_kind": [_("This goes with an address; a scope says whose it is.")]}
            )
        if attrs.get("origin") == Origin.OPERATOR:
            raise serializers.ValidationError({"origin": [_("No key speaks for an operator.")]})
        return attrs


class EntriesView(EntryListView):
    """Save a memory on purpose; list what is remembered."""

    @Method(
        "save_entry",
        Permission.WRITE,
        {201: SavedEntry},
        body=NewEntry,
        tagged=True,
        description="Save a memory on purpose.",
    )
    def post(self) -> Response:
        data, now = dict(self.body), self.now
        fields.check_past("at", data["at"], now)
        fields.check_ahead("expires_at", data["expires_at"], now)
        to = data.pop("address") if "address" in data else data.pop("scope")
        at, kind = data.pop("at") or now, data.pop("scope_kind")
        if data["source"] == Source.MANUAL:  # no key speaks for an operator
            data.setdefault("origin", Origin.BOT)
        result = save(self.caller, to, kind=kind, now=now, at=at, **data)
        answer = entry_answer(
            result.entry,
            Policy.objects.of(self.caller.workspace_id),
            now,
            SavedEntry,
            outcome=result.outcome,
            reason=result.reason,
            linked=list(Entry.objects.filter(pk__in=result.linked).values_list("uid", flat=True)),
            brought_back=result.brought_back,
        )
        return Response(answer, status=201, headers=etag(result.entry))
