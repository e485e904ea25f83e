"""The API described by itself: what every call shares is added here, so that no call can forget it."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="The same key within 24 hours gets the same answer and changes nothing; 1 to 200 printable characters.",
)
_VERSION = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="The version (ETag) that was read; when it is no longer the current one: 412. Absent: last write wins.",
)
ERROR_TYPES = ("validation_error", "client_error", "server_error")
_WAIT = OpenApiParameter(
    "Retry-After",
    int,
    OpenApiParameter.HEADER,
    response=["429", "503"],
    description="After so many seconds it may go better.",
)
_TAG = OpenApiParameter(
    "ETag",
    str,
    OpenApiParameter.HEADER,
    response=["200", "201"],
    description="The version of the row, for If-Match.",
)
READS = ("400", "401", "403", "404", "429", "503")
WRITES = ("409", "411", "413", "415")


class ErrorItem(serializers.Serializer[Any]):
    """One thing that is wrong."""

    code = serializers.CharField(help_text="A word a client can act on.")
    detail = serializers.CharField(help_text="A sentence for people.")
    attr = serializers.CharField(allow_null=True, help_text="The field it is about, dotted when inside another.")


class ErrorAnswer(serializers.Serializer[Any]):
    """What every error looks like."""

    type = serializers.ChoiceField(choices=ERROR_TYPES)
    errors = ErrorItem(many=True)  # type: ignore[assignment]


class CallSchema(AutoSchema):
    """A call with the headers it takes and the errors it may answer with."""

    def get_override_parameters(self) -> list[Any]:
        handler = getattr(self.view, self.method.lower(), None)
        shared = [_KEY] if getattr(handler, "is_repeatable", False) else []
        tagged = [_TAG] if self.method in getattr(self.view, "tagged", ()) else []
        return [_WAIT, *shared, *tagged] + ([_VERSION] if self._takes_version() else [])

    def _takes_version(self) -> bool:
        return self.method in getattr(self.view, "versioned", ())

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        codes = [*READS, *(WRITES if self.method != "GET" else ()), *(["412"] if self._takes_version() else [])]
        for code in sorted(codes):
            shape = self._get_response_for_code(ErrorAnswer, code, direction=direction)  # type: ignore[no-untyped-call]
            bodies.setdefault(code, shape)
        return bodies


class BotKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`Authorization: Bearer <key>`."""

    target_class = "memories.api.authentication.BotKeyAuthentication"
    name = "botKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "The key of a bot."}


class StrictObjects(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """What we read names every field it knows; another one is an error."""

    target_class = "memories.api.fields.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**schema, "additionalProperties": False}
