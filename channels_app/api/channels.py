"""GET and PUT /channels/{platform}/{account}: the rules of a channel, also before its first message."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from channels_app.channels import find_channel, set_rules
from channels_app.models import Channel
from memories.api import fields
from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.api.idempotency import repeatable
from memories.api.preconditions import etag, expected_version
from memories.choices import DmScope, GroupSessions, GroupUserRecall, NeedMode, Permission, ScopeKind, SessionMode
from memories.exceptions import ChannelNotFound, InvalidAddress
from memories.tenancy.resolver import escape, kind_of_key

RULES = (
    "label",
    "dm_scope",
    "session_mode",
    "session_prefix",
    "max_tokens",
    "group_sessions",
    "group_prefix",
    "capture_group_memory",
    "group_user_recall",
    "need",
)

PLATFORM = OpenApiParameter("platform", {"type": "string", "minLength": 1, "maxLength": 40}, OpenApiParameter.PATH)
ACCOUNT = OpenApiParameter("account", {"type": "string", "minLength": 1, "maxLength": 200}, OpenApiParameter.PATH)


class Place(fields.StrictSerializer):
    """Which channel, as its address says."""

    platform = fields.Name(max_length=40)
    account = fields.Name(max_length=200, allow_blank=True)


class NewRules(fields.StrictSerializer):
    """The rules that are to hold; what is not named stays. Empty or null: the platform's default."""

    label = fields.Text(required=False, max_length=200, allow_blank=True)  # type: ignore[assignment]
    dm_scope = fields.Word(required=False, choices=DmScope.choices, allow_blank=True, allow_null=True)
    session_mode = fields.Word(required=False, choices=SessionMode.choices)
    session_prefix = fields.Name(required=False, max_length=30, allow_blank=True)
    max_tokens = fields.Whole(required=False, min_value=100, max_value=10_000_000, allow_null=True)
    group_sessions = fields.Word(required=False, choices=GroupSessions.choices)
    group_prefix = fields.Name(required=False, max_length=30)
    capture_group_memory = fields.YesNo(required=False, allow_null=True)
    group_user_recall = fields.Word(required=False, choices=GroupUserRecall.choices, allow_blank=True, allow_null=True)
    need = fields.Word(required=False, choices=NeedMode.choices)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        words = {name: attrs[name] or "" for name in ("dm_scope", "group_user_recall") if name in attrs}
        return attrs | words

    def validate_group_prefix(self, prefix: str) -> str:
        if kind_of_key(f"platform:account:{escape(prefix)}x") == ScopeKind.USER:
            raise serializers.ValidationError(_("So begin the keys of direct chats."))
        return prefix


class ChannelAnswer(serializers.Serializer[Any]):
    """A channel with its rules."""

    id = serializers.UUIDField()
    platform = serializers.CharField()
    account = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    dm_scope = serializers.ChoiceField(choices=DmScope.choices, allow_blank=True)
    session_mode = serializers.ChoiceField(choices=SessionMode.choices)
    session_prefix = serializers.CharField()
    max_tokens = serializers.IntegerField(allow_null=True)
    group_sessions = serializers.ChoiceField(choices=GroupSessions.choices)
    group_prefix = serializers.CharField()
    capture_group_memory = serializers.BooleanField(allow_null=True)
    group_user_recall = serializers.ChoiceField(choices=GroupUserRecall.choices, allow_blank=True)
    need = serializers.ChoiceField(choices=NeedMode.choices)
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class ChannelView(Call):
    """The rules of one account of a platform."""

    required = {"GET": Permission.READ, "PUT": Permission.ADMIN}
    versioned = ("PUT",)
    tagged = ("GET", "PUT")

    @extend_schema(operation_id="read_channel", parameters=[PLATFORM, ACCOUNT], responses=ChannelAnswer)
    def get(self, request: Request, platform: str, account: str) -> Response:
        return _shown(_channel(request, platform, account))

    @extend_schema(
        operation_id="set_channel_rules",
        parameters=[PLATFORM, ACCOUNT],
        description="Set rules of a channel; it begins here if nobody has spoken from it yet.",
        request=NewRules,
        responses={200: ChannelAnswer, 201: ChannelAnswer},
    )
    @repeatable
    def put(self, request: Request, platform: str, account: str) -> Response:
        return _set_rules(request, platform, account)


class PlatformView(Call):
    """The rules of a platform's messages that name no account."""

    required = ChannelView.required
    versioned = ChannelView.versioned
    tagged = ChannelView.tagged

    @extend_schema(operation_id="read_channel_without_account", parameters=[PLATFORM], responses=ChannelAnswer)
    def get(self, request: Request, platform: str) -> Response:
        return _shown(_channel(request, platform))

    @extend_schema(
        operation_id="set_rules_without_account",
        parameters=[PLATFORM],
        request=NewRules,
        responses={200: ChannelAnswer, 201: ChannelAnswer},
    )
    @repeatable
    def put(self, request: Request, platform: str) -> Response:
        return _set_rules(request, platform)


def _set_rules(request: Request, platform: str, account: str = "") -> Response:
    caller, place = caller_of(request), _place(request, platform, account)
    asked = NewRules(data=request.data)
    asked.is_valid(raise_exception=True)
    channel, is_new = set_rules(
        caller.workspace_id,
        place,
        asked.validated_data,
        actor=caller.actor,
        expected_version=expected_version(request),
    )
    return _shown(channel, status=201 if is_new else 200)


def _place(request: Request, platform: str, account: str) -> tuple[str, str]:
    """Platform and account, in order. Raises ChannelNotFound: no channel is known to a key bound to scopes."""
    if caller_of(request).scope_patterns:
        raise ChannelNotFound
    named = Place(data={"platform": platform, "account": account})
    named.is_valid(raise_exception=True)
    return named.validated_data["platform"], named.validated_data["account"]


def _channel(request: Request, platform: str, account: str = "") -> Channel:
    place = _place(request, platform, account)
    try:
        _name, channel = find_channel(caller_of(request).workspace_id, *place, may_be_new=True, inside="")
    except InvalidAddress as error:
        raise ChannelNotFound(str(error), field=error.field) from error
    if channel is None:
        raise ChannelNotFound
    return channel


def _shown(channel: Channel, *, status: int = 200) -> Response:
    told = {"id": str(channel.uid), "platform": channel.platform, "account": channel.account}
    told |= {name: getattr(channel, name) for name in RULES}
    body = told | {"version": channel.version, "created_at": channel.created_at}
    return Response(body, status=status, headers=etag(channel))
