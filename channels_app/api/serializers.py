"""What the calls that start from an address take."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from memories.api import fields
from memories.api.recall_traces.detail import USED_MAX
from memories.choices import EntryType, NeedMode
from memories.conf import conf
from memories.recall import Mode
from memories.tenancy.resolver import Address
from sessions_app.api.serializers import TOKENS

MODES = tuple(mode.value for mode in Mode)


class AddressField(fields.StrictSerializer):
    """Where a message comes from, as the bot's platform names it."""

    platform = fields.Name(max_length=40)
    account = fields.Name(max_length=200, allow_blank=True, allow_null=True, default="")
    peer = fields.Name(max_length=200, allow_blank=True, allow_null=True, default="")
    chat = fields.Name(max_length=200, allow_blank=True, allow_null=True, default="")
    is_group = fields.YesNo(default=False)
    thread = fields.Name(max_length=200, allow_blank=True, allow_null=True, default="")

    def to_internal_value(self, data: Any) -> Address:
        given: dict[str, Any] = {
            name: value for name, value in super().to_internal_value(data).items() if value is not None
        }
        return Address(**given)


class ToolCall(fields.StrictSerializer):
    """A tool the bot used to answer."""

    name = fields.Text(max_length=100)
    arguments = serializers.JSONField(default=dict)
    result = serializers.JSONField(allow_null=True, default=None)


class NewTurn(fields.StrictSerializer):
    """A finished turn."""

    address = AddressField()
    user = fields.LongText(allow_blank=True, default="")
    assistant = fields.LongText(allow_blank=True, default="")
    at = fields.Moment(allow_null=True, default=None)
    tool_calls = serializers.ListField(child=ToolCall(), allow_null=True, default=None)
    outcome = fields.Text(max_length=2_000, allow_null=True, allow_blank=True, default=None)
    recall_id = serializers.UUIDField(allow_null=True, default=None)
    used = serializers.ListField(
        child=serializers.UUIDField(),
        allow_null=True,
        default=None,
        max_length=USED_MAX,
        help_text="Entries of that recall the answer rested on, as in its feedback.",
    )
    sender_name = fields.Text(
        max_length=200, allow_blank=True, allow_null=True, default="", help_text="What people call the peer."
    )
    slots = fields.FreeSlots(default=dict)
    max_tokens = fields.Whole(**TOKENS, allow_null=True, default=None, help_text="Budget of the history.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["used"] is not None and attrs["recall_id"] is None:
            raise serializers.ValidationError({"recall_id": [_("What was used is told of a recall: which one?")]})
        return attrs


class AskedAddress(fields.StrictSerializer):
    """An address to be resolved."""

    address = AddressField()


def _context_tokens() -> int:
    """The budget of the context text when a bot names none."""
    return conf.CONTEXT_TOKENS


def session_events_by_default() -> bool:
    """Whether questions about the past find what was said, when a bot does not say."""
    return conf.INCLUDE_SESSION_EVENTS


class Asked(fields.StrictSerializer):
    """A question to memory: from an address, or about one scope."""

    address = AddressField(required=False)
    scope = fields.Text(required=False, max_length=255)
    message = fields.LongText(allow_blank=True)
    limit = fields.Whole(min_value=1, max_value=50, allow_null=True, default=None)
    mode = fields.Word(choices=MODES, default="hybrid")
    types = serializers.ListField(
        child=fields.Word(choices=EntryType.choices), allow_null=True, default=None, max_length=10
    )
    filters = fields.Slots(allow_null=True, default=dict)
    project = fields.Text(max_length=100, allow_null=True, default=None)
    topic = fields.Text(max_length=100, allow_null=True, default=None)
    since = fields.Moment(allow_null=True, default=None)
    until = fields.Moment(allow_null=True, default=None)
    as_of = fields.Moment(allow_null=True, default=None)
    need = fields.Word(choices=NeedMode.choices, default=NeedMode.AUTO)
    quotas = fields.YesNo(default=True)
    token_budget = fields.Whole(min_value=0, max_value=100_000, default=_context_tokens)
    include_session_events = fields.YesNo(default=session_events_by_default)
    explain = fields.YesNo(default=False)
    cache = fields.YesNo(default=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("address" in attrs) == ("scope" in attrs):
            raise serializers.ValidationError({"address": [_("Either an address or a scope is needed, not both.")]})
        if attrs["since"] and attrs["until"] and attrs["since"] > attrs["until"]:
            raise serializers.ValidationError({"until": [_("This is before `since`.")]})
        if attrs["as_of"] is not None:
            raise serializers.ValidationError({"as_of": [_("Recall as of a past moment is not available yet.")]})
        return attrs
