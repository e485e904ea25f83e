"""The address of a message on the wire; POST /scopes/resolve, what it means; POST /sessions, its session."""

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.response import Response

from channels_app import addresses
from memories.api import fields
from memories.api.answers import Answer
from memories.api.calls import Call, Method
from memories.choices import Permission
from memories.models.change import acting
from memories.tenancy.resolver import LOCAL_PLATFORMS, PLATFORMS, Address
from sessions_app.api.answers import SessionAnswer, session_answer
from sessions_app.api.sessions import SessionListView

_IS_GROUP = {"not": {"type": "boolean", "enum": [False]}}
_IS_DIRECT = {"not": {"type": "boolean", "enum": [True]}}
_NAMED = {"type": "string", "minLength": 1}
_LOCAL = {"type": "string", "pattern": f"^(?:{'|'.join(sorted(LOCAL_PLATFORMS))})$"}


class AddressField(fields.StrictSerializer):
    """Where a message comes from, as the bot's platform names it."""

    #: A group says by its chat which it is; a direct chat with whom it is: by its peer, by its chat where that is known
    #: from before, or by being a place where one person sits. Where all direct chats are one memory (`dm_scope` main),
    #: an address without them is taken as well: which rules a channel has, no schema says.
    together: ClassVar[dict[str, Any]] = {
        "anyOf": [
            {"properties": {"is_group": _IS_GROUP, "chat": _NAMED}, "required": ["is_group", "chat"]},
            {"properties": {"is_group": _IS_DIRECT, "peer": _NAMED}, "required": ["peer"]},
            {"properties": {"is_group": _IS_DIRECT, "chat": _NAMED}, "required": ["chat"]},
            {"properties": {"is_group": _IS_DIRECT, "platform": _LOCAL}},
        ]
    }

    platform = fields.OpenChoice(
        PLATFORMS,
        max_length=40,
        help_text=f"One of {', '.join(PLATFORMS)}; or another that has a channel of its own.",
    )
    account = fields.Name(max_length=200, allow_blank=True, allow_null=True, default="")
    peer = fields.Name(
        max_length=200,
        allow_blank=True,
        allow_null=True,
        default="",
        help_text="Who speaks, by an id. Without it a direct chat is with whom it was before, else it is refused.",
    )
    chat = fields.Name(max_length=200, allow_blank=True, allow_null=True, default="")
    is_group = fields.YesNo(default=False)
    thread = fields.Name(max_length=200, allow_blank=True, allow_null=True, default="")

    def to_internal_value(self, data: Any) -> Address:
        values: dict[str, Any] = {
            name: value for name, value in super().to_internal_value(data).items() if value is not None
        }
        return Address(**values)


class PlaceRequest(fields.StrictSerializer):
    """Whose memory it is about: of an address, or one scope."""

    together: ClassVar[dict[str, Any]] = fields.one_of("address", "scope")

    address = AddressField(required=False)
    scope = fields.Text(required=False, max_length=255)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("address" in attrs) == ("scope" in attrs):
            raise serializers.ValidationError({"address": [_("Either an address or a scope is needed, not both.")]})
        return attrs


class AddressRequest(fields.StrictSerializer):
    """An address to be resolved."""

    address = AddressField()


class ResolvedAnswer(Answer):
    """What an address means."""

    session_key = serializers.CharField()
    user_scope = serializers.CharField(allow_null=True)
    chat_scope = serializers.CharField(allow_null=True)
    recall = serializers.ListField(child=serializers.CharField(), help_text="Scopes, in the order they are asked.")


class ResolveView(Call):
    """What an address means: its session, its scopes, and what is recalled there."""

    @Method("resolve_address", Permission.READ, ResolvedAnswer, body=AddressRequest)
    def post(self) -> Response:
        resolution = addresses.resolve_address(self.caller, self.body["address"])
        recall = addresses.keys_to_recall(self.caller, resolution)
        own, chat = (
            scope if scope and self.caller.may_reach(scope) else None
            for scope in (resolution.user_scope, resolution.chat_scope)
        )
        return Response(ResolvedAnswer.of(resolution, user_scope=own, chat_scope=chat, recall=recall))


class SessionsView(SessionListView):
    """The conversations a key may see; and the one an address means, begun if need be."""

    @Method(
        "meet_session",
        Permission.WRITE,
        SessionAnswer,
        body=AddressRequest,
        description="The session an address means, begun if need be.",
    )
    def post(self) -> Response:
        with acting(self.caller.actor):
            session, _resolution, _scopes = addresses.open_session(self.caller, self.body["address"], now=self.now)
        return Response(session_answer(session))
