"""GET and PUT /channels/{platform}/{account}: the rules of a channel, also before its first message."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from channels_app.addresses import find_channel, set_rules
from channels_app.api.recall import ServeField
from channels_app.models import Channel
from memories.api import fields
from memories.api.access import method_of
from memories.api.answers import Answer
from memories.api.calls import Call, Method
from memories.api.requests import etag, expected_version
from memories.choices import (
    DmScope,
    GroupSessions,
    GroupUserRecall,
    NeedMode,
    PathMode,
    Permission,
    ScopeKind,
    SecretsRule,
    SessionMode,
)
from memories.exceptions import ChannelNotFound, InvalidAddress
from memories.recall.query import rule_of, serve_of
from memories.tenancy.resolver import escape, kind_of_key

_NAME = {"type": "string", "minLength": 1, "pattern": fields.Name().pattern}
PLATFORM = OpenApiParameter("platform", {**_NAME, "maxLength": 40}, OpenApiParameter.PATH)
ACCOUNT = OpenApiParameter("account", {**_NAME, "maxLength": 200}, OpenApiParameter.PATH)


class ChannelPlace(fields.StrictSerializer):
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
    secrets = fields.Word(required=False, choices=SecretsRule.choices, allow_blank=True, allow_null=True)
    need = fields.Word(required=False, choices=NeedMode.choices)
    serve = ServeField(required=False, allow_null=True, help_text="Where a call says none; null: as the call has it.")
    path_mode = fields.Word(required=False, choices=PathMode.choices)
    transcripts = fields.YesNo(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        words: dict[str, Any] = {
            name: attrs[name] or "" for name in ("dm_scope", "group_user_recall", "secrets") if name in attrs
        }
        if "serve" in attrs:  # kept as text: a word, or a number of four digits
            words["serve"] = rule_of(attrs["serve"])
        return attrs | words

    def validate_group_prefix(self, prefix: str) -> str:
        if kind_of_key(f"platform:account:{escape(prefix)}x") == ScopeKind.USER:
            raise serializers.ValidationError(_("So begin the keys of direct chats."))
        return prefix


class ChannelAnswer(Answer):
    """A channel with its rules."""

    id = serializers.UUIDField(source="uid")
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
    secrets = serializers.ChoiceField(choices=SecretsRule.choices, allow_blank=True)
    need = serializers.ChoiceField(choices=NeedMode.choices)
    serve = ServeField(allow_null=True)
    path_mode = serializers.ChoiceField(choices=PathMode.choices)
    transcripts = serializers.BooleanField(allow_null=True)
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()


def _answer(channel: Channel) -> dict[str, Any]:
    return ChannelAnswer.of(channel, serve=serve_of(channel.serve))


class ChannelCall(Call):
    """What calls about a channel have in common; no channel exists for a key bound to scopes."""

    place: tuple[str, str]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if method_of(request) not in self.methods:
            return
        if not self.caller.reaches_everything:
            raise ChannelNotFound
        place = ChannelPlace(data={"account": "", **kwargs})
        place.is_valid(raise_exception=True)
        self.place = place.validated_data["platform"], place.validated_data["account"]

    def read(self, **_place: str) -> Response:
        try:
            _name, channel = find_channel(self.caller.workspace_id, *self.place, may_be_new=True, inside="")
        except InvalidAddress as error:
            raise ChannelNotFound(str(error), field=error.field) from error
        if channel is None:
            raise ChannelNotFound
        return Response(_answer(channel), headers=etag(channel))

    def write(self, **_place: str) -> Response:
        version = expected_version(self.request)
        channel, is_new = set_rules(
            self.caller.workspace_id, self.place, self.body, actor=self.caller.actor, expected_version=version
        )
        return Response(_answer(channel), status=201 if is_new else 200, headers=etag(channel))


class ChannelView(ChannelCall):
    """The rules of one account of a platform."""

    get = Method("read_channel", Permission.READ, ChannelAnswer, parameters=(PLATFORM, ACCOUNT), tagged=True)(
        ChannelCall.read
    )
    put = Method(
        "set_channel_rules",
        Permission.ADMIN,
        {200: ChannelAnswer, 201: ChannelAnswer},
        body=NewRules,
        parameters=(PLATFORM, ACCOUNT),
        description="Set rules of a channel; it begins here if nobody has spoken from it yet.",
        versioned=True,
    )(ChannelCall.write)


class PlatformView(ChannelCall):
    """The rules of a platform's messages that name no account."""

    get = Method("read_channel_without_account", Permission.READ, ChannelAnswer, parameters=(PLATFORM,), tagged=True)(
        ChannelCall.read
    )
    put = Method(
        "set_rules_without_account",
        Permission.ADMIN,
        {200: ChannelAnswer, 201: ChannelAnswer},
        body=NewRules,
        parameters=(PLATFORM,),
        versioned=True,
        description="Set the rules of a platform's messages that name no account.",
    )(ChannelCall.write)
