"""The API described by itself: every method as it is declared, with the headers and errors that all of them share."""

import json
from functools import cache
from typing import Any, cast

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from memories.api.calls import Call, Method
from memories.api.fields import LongText, OpenChoice, Slots, StrictSerializer
from memories.api.idempotency import PRINTABLE
from memories.api.requests import VERSION
from memories.conf import conf


def _header(name: str, kind: Any, description: str, response: list[str] | bool = False) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.HEADER, description=description, response=response)


_KEY = _header(
    "Idempotency-Key",
    {"type": "string", "pattern": f"^{PRINTABLE.pattern}$", "minLength": 1, "maxLength": 200},
    "The same key within 24 hours gets the same answer and changes nothing; 1 to 200 printable characters.",
)
_VERSION = _header(
    "If-Match",
    {"type": "string", "pattern": f"^(?:{VERSION.pattern}|[*])$"},
    "The version (ETag) that was read; when it is no longer the current one: 412. Absent: last write wins.",
)
_WAIT = _header("Retry-After", int, "After so many seconds it may go better.", ["429", "503"])
_TAG = _header("ETag", str, "The version of the row, for If-Match.", ["200", "201"])
ERROR_TYPES = ("validation_error", "client_error", "server_error")
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
    """A call by its methods, with the headers it takes and the errors it may answer with."""

    @property
    def _declared(self) -> Method:
        return cast(Call, self.view).methods[self.method]

    def get_operation_id(self) -> str:
        return self._declared.name

    def get_description(self) -> Any:  # type: ignore[override]
        return self._declared.description or super().get_description()

    def get_request_serializer(self) -> Any:
        body = self._declared.body
        return None if body is StrictSerializer else body

    def get_response_serializers(self) -> Any:
        return self._declared.answers

    def get_override_parameters(self) -> list[Any]:
        method = self._declared
        headers = [
            (_WAIT, True),
            (_KEY, method.is_repeatable),
            (_TAG, method.tagged or method.versioned),
            (_VERSION, method.versioned),
        ]
        query = method.parameters or ([] if method.query is StrictSerializer else [method.query])
        return [*(header for header, is_taken in headers if is_taken), *query]

    def _get_request_body(self, direction: Any = "request") -> Any:
        """A body that needs something of several fields is needed itself."""
        described = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        body = self._declared.body
        return {**described, "required": True} if described and body and body.together else described

    def _insert_field_validators(self, field: Any, schema: dict[str, Any]) -> None:
        """Beside a field's own validators, what reading it strictly asks of it."""
        super()._insert_field_validators(field, schema)  # type: ignore[no-untyped-call]
        if isinstance(field, serializers.CharField) and isinstance(field.root, StrictSerializer):
            # No NUL; something in it, but where it may be empty; where it keeps to a pattern of its own, that pattern
            is_needed = not field.allow_blank
            some = r"^[^\u0000]*[^\u0000\s][^\u0000]*$" if is_needed and field.trim_whitespace else r"^[^\u0000]*$"
            schema["pattern"] = getattr(field, "pattern", some)
            if is_needed:
                schema["minLength"] = 1
            if isinstance(field, LongText):
                schema["maxLength"] = conf.TURN_MAX_BYTES
            if isinstance(field, OpenChoice):  # the open list is one of the two, so that generators try both
                text = {"type": "string"}
                schema["anyOf"] = [text | {"enum": list(field.words)}, text | {"minLength": 1}]
        elif isinstance(field, Slots):
            schema["maxProperties"] = conf.SLOT_LIMIT

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        codes = [*READS, *(WRITES if self.method != "GET" else ()), *(["412"] if self._declared.versioned else [])]
        for code in sorted(codes):
            shape = self._get_response_for_code(ErrorAnswer, code, direction=direction)  # type: ignore[no-untyped-call]
            bodies.setdefault(code, shape)
        return bodies


@cache
def json_schema(answer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The shape of an answer in JSON Schema, complete in itself, for those who read no OpenAPI."""
    described: Any = AutoSchema()
    view: Any = Call()
    described.registry, described.view, described.method = ComponentRegistry(), view, "GET"
    view.request = view.format_kwarg = None
    shape = described._map_serializer(answer(), "response")
    return cast(dict[str, Any], _plain({**shape, "$defs": described.registry.build({}).get("schemas", {})}))


def _plain(part: Any) -> Any:
    """OpenAPI 3.0 has words of its own for null, and another place for what is referred to."""
    if isinstance(part, list):
        return [_plain(item) for item in part]
    if not isinstance(part, dict):
        return part
    plain = {name: _plain(value) for name, value in part.items() if name not in ("nullable", "x-spec-enum-id")}
    if "$ref" in plain:
        plain["$ref"] = plain["$ref"].replace("#/components/schemas/", "#/$defs/")
    return {"anyOf": [plain, {"type": "null"}]} if part.get("nullable") else plain


class BotKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`Authorization: Bearer <key>`."""

    target_class = "memories.api.access.BotKeyAuthentication"
    name = "botKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "The key of a bot."}


class StrictObjects(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """What we read names every field it knows; another one is an error."""

    target_class = "memories.api.fields.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        fields = schema.get("properties", {})
        for field in fields.values():
            # One may leave it out: generators of types make a field that has a default one that has to be sent
            if "default" in field and (default := field.pop("default")) != "":
                words = [field["description"]] if "description" in field else []
                field["description"] = " ".join([*words, f"Default: `{json.dumps(default)}`."])
        # beside a field generators of types would take the conditions for other shapes of the whole
        together = self.target.together and {"allOf": self.target.together.get("allOf", [self.target.together])}
        return {**schema, "properties": fields, "additionalProperties": False, **together}
