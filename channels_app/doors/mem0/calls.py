"""What calls of mem0's client have in common: its way to show a key, its words for errors, its options."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

import structlog
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from channels_app.doors.mem0.answers import IDS, snake_case
from channels_app.doors.mem0.filters import filtered, live_entries
from memories.api import fields
from memories.api.access import BotKeyAuthentication, caller_of
from memories.api.calls import Call, Method
from memories.api.offline import is_switched_off
from memories.api.requests import DatabaseAway, check_length
from memories.batches import bulk_actions
from memories.batches.bulk_actions import BulkAction
from memories.conf import conf
from memories.exceptions import EntryNotFound, ScopeFrozen
from memories.models import Entry
from memories.offline import LeaveToFiles
from memories.visibility import entry_for

log = structlog.get_logger(__name__)

#: Names the fields of a request that were left out; at most so many, of so many characters.
IGNORED_HEADER = "X-Memplatform-Ignored"
NAMED_MOST, NAME_CHARS = 20, 40
#: Where a request that was read holds their names: no field can have this name.
_IGNORED = "(ignored)"


class TokenAuthentication(BotKeyAuthentication):
    """`Authorization: Token <key>`."""

    scheme = "Token"


class HeaderAuthentication(BotKeyAuthentication):
    """`X-API-Key: <key>`, as clients of mem0's own server show it."""

    def token_of(self, request: Request) -> bytes | None:
        token = request.META.get("HTTP_X_API_KEY")
        return token.encode("latin-1", "replace") if isinstance(token, str) else None


class Tolerant(fields.StrictSerializer):
    """Takes what clients of any version send: a field that is not known is left out, and named in the answer.

    A field that would change what is stored or answered is declared, and refused (`Unsupported`). Where one that is not
    known might have narrowed what is deleted, `harmless` names those that may be left out.
    """

    harmless: ClassVar[frozenset[str] | None] = None

    def get_fields(self) -> dict[str, Any]:
        """`data` and `fields` are names of every serializer's own: their fields are declared with `_` behind."""
        return {name.rstrip("_"): field for name, field in super().get_fields().items()}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            return super().to_internal_value(data)
        values = {name: data[name] for name in data if name in self.fields}
        for name in data.keys() - values.keys():
            if isinstance(name, str) and snake_case(name) in self.fields:
                values.setdefault(snake_case(name), data[name])
        idle = [name for name in values if isinstance(self.fields[name], Ignored)]
        unknown = [name for name in map(str, data) if name not in values and snake_case(name) not in values]
        if self.harmless is not None and not self.harmless.issuperset(unknown):
            refused_values = {name: data[name] for name in data if str(name) not in self.harmless}
            return super().to_internal_value(refused_values)  # names each of them
        return {**super().to_internal_value(values), _IGNORED: [*unknown, *idle]}


#: A method of a call of that client: its query string, too, may hold anything.
Mem0Method = partial(Method, query=Tolerant)


class NotSupported(APIException):
    status_code = status.HTTP_501_NOT_IMPLEMENTED
    default_detail = _("This platform has no such call.")
    default_code = "not_supported"


class Mem0Call(Call):
    """A call of mem0's client. It is described in docs/howto/use-mem0s-client.md, not in the API's description."""

    schema = None
    authentication_classes = [TokenAuthentication, BotKeyAuthentication, HeaderAuthentication]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if not conf.MEM0_API:
            raise NotFound
        super().initial(request, *args, **kwargs)
        if is_switched_off(self.caller):
            raise DatabaseAway

    def handle_exception(self, exc: Exception) -> Response:
        """The errors of the API, and in `detail` what that client shows of them."""
        response = super().handle_exception(DatabaseAway() if isinstance(exc, LeaveToFiles) else exc)
        sentences = [
            f"{error['attr']}: {error['detail']}" if error["attr"] else error["detail"]
            for error in list(response.data["errors"])
        ]
        response.data["detail"] = " ".join(map(str, sentences))
        response._has_been_logged = True  # type: ignore[attr-defined]  # by its route; paths here name people
        return response

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """The answer, with the names of what was left out of the request."""
        final = super().finalize_response(request, response, *args, **kwargs)
        read = (getattr(self, "query", {}), getattr(self, "body", {}))
        names = [str(name) for part in read for name in part.get(_IGNORED, ())]
        if names:
            plain = [re.sub(r"[^\w.-]", "?", name, flags=re.ASCII)[:NAME_CHARS] for name in dict.fromkeys(names)]
            final[IGNORED_HEADER] = ", ".join(plain[:NAMED_MOST])
            log.info("mem0_fields_ignored", call=type(self).__name__, fields=plain[:NAMED_MOST])
        return final

    def entry(self, memory_id: str) -> Entry:
        """A memory in use. Raises EntryNotFound, for deleted, unknown and out of reach alike."""
        entry = entry_for(self.caller, parsed_id(memory_id))
        if not live_entries(self.caller, self.now).filter(pk=entry.pk).exists():
            raise EntryNotFound
        return entry

    def clear(self, filters: Mapping[str, Any]) -> Response:
        """Take what a filter names out of use; said again, it is remembered again.

        To clear a memory is no wish never to be told. Raises ScopeFrozen, before anything is changed.
        """
        self.retire(filtered(self.caller, filters, self.now), bulk_actions.CLEAR)
        return Response({"message": _("The memories are out of use.")})

    def retire(self, rows: QuerySet[Entry], action: BulkAction) -> None:
        """Take entries out of use, in batches that can be undone. Raises ScopeFrozen, before anything is changed."""
        if rows.filter(scope__frozen=True).exists():
            raise ScopeFrozen
        reason = str(_("Deleted by mem0's client."))
        while chunk := list(rows.select_related("scope")[: bulk_actions.MOST]):
            actor = self.caller.actor
            if not bulk_actions.apply_action(chunk, action, now=self.now, actor=actor, reason=reason).changed:
                break


def parsed_id(memory_id: str) -> UUID:
    """A memory's id. Raises ValidationError for what is none."""
    try:
        return UUID(memory_id)
    except ValueError:
        raise ValidationError({"memory_id": [_("This is no id of a memory.")]}) from None


class UnsupportedView(Mem0Call):
    """Every call of that client that has nothing here to answer it: 501."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if not conf.MEM0_API:
            raise NotFound
        caller_of(request)
        check_length(request)
        raise NotSupported


class Ignored(serializers.JSONField):
    """An option that changes nothing here."""

    def __init__(self) -> None:
        super().__init__(required=False, allow_null=True)


class Unsupported(serializers.Field[Any, Any, Any, Any]):
    """An option that would change what is answered or stored, and cannot: 501 where it is set."""

    def __init__(self) -> None:
        super().__init__(required=False, allow_null=True)

    def to_internal_value(self, data: Any) -> Any:
        if data:
            raise NotSupported(_("This platform has no option “%(name)s”.") % {"name": self.field_name})
        return data


class Ids(Tolerant):
    """Whose memory: by ids beside the filter, or in it."""

    user_id = fields.Name(required=False, max_length=200, allow_null=True)
    agent_id = fields.Name(required=False, max_length=200, allow_null=True)
    app_id = fields.Name(required=False, max_length=200, allow_null=True)
    run_id = fields.Name(required=False, max_length=200, allow_null=True)
    filters = serializers.JSONField(required=False, allow_null=True)


def plain_ids(body: dict[str, Any]) -> dict[str, str]:
    """The ids a memory is added with. Raises ValidationError unless they are plain names."""
    inner = body.get("filters") or {}
    inner = {snake_case(name): value for name, value in inner.items()} if isinstance(inner, dict) else inner
    raw_ids = {**inner, **{name: body[name] for name in IDS if body.get(name)}} if isinstance(inner, dict) else {}
    ids = {name: value for name, value in raw_ids.items() if value is not None}
    if not ids or not ids.keys() <= set(IDS) or not all(isinstance(value, str) and value for value in ids.values()):
        text = _("A memory is added for a user_id, agent_id, app_id or run_id, each a plain name.")
        raise serializers.ValidationError({"filters": [text]})
    return ids
