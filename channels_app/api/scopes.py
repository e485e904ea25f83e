"""POST /scopes/resolve: what an address means."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from channels_app import addresses
from channels_app.api.fields import AddressRequest
from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.choices import Permission


class ResolvedAnswer(serializers.Serializer[Any]):
    """What an address means."""

    session_key = serializers.CharField()
    user_scope = serializers.CharField(allow_null=True)
    chat_scope = serializers.CharField(allow_null=True)
    recall = serializers.ListField(child=serializers.CharField(), help_text="Scopes, in the order they are asked.")


class ResolveView(Call):
    """What an address means: its session, its scopes, and what is recalled there."""

    required = {"POST": Permission.READ}

    @extend_schema(operation_id="resolve_address", request=AddressRequest, responses=ResolvedAnswer)
    def post(self, request: Request) -> Response:
        asked = AddressRequest(data=request.data)
        asked.is_valid(raise_exception=True)
        caller = caller_of(request)
        resolved = addresses.resolve_address(caller, asked.validated_data["address"])
        recall = addresses.keys_to_recall(caller, resolved)
        own, chat = (
            scope if scope and caller.may_reach(scope) else None for scope in (resolved.user_scope, resolved.chat_scope)
        )
        return Response({"session_key": resolved.session_key, "user_scope": own, "chat_scope": chat, "recall": recall})
