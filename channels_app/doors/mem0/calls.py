"""What calls of mem0's client have in common: its way to show a key, its words for errors, its options."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from channels_app.doors.mem0.answers import IDS
from channels_app.doors.mem0.filters import live_entries
from memories.api import fields
from memories.api.access import BotKeyAuthentication, caller_of
from memories.api.calls import Call
from memories.api.offline import is_switched_off
from memories.api.requests import DatabaseAway, check_length
from memories.batches import bulk_actions
from memories.conf import conf
from memories.exceptions import EntryNotFound, ScopeFrozen
from memories.models import Entry
from memories.offline.modes import LeaveToFiles
from memories.visibility import entry_for


class TokenAuthentication(BotKeyAuthentication):
    """`Authorization: Token <key>`."""

    scheme = "Token"


class NotSupported(APIException):
    status_code = status.HTTP_501_NOT_IMPLEMENTED
    default_detail = _("This platform has no such call.")
    default_code = "not_supported"


class Mem0Call(Call):
    """A call of mem0's client. It is described in docs/howto/use-mem0s-client.md, not in the API's description."""

    schema = None
    authentication_classes = [TokenAuthentication]

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

    def entry(self, memory_id: str) -> Entry:
        """A memory in use. Raises EntryNotFound, for deleted, unknown and out of reach alike."""
        entry = entry_for(self.caller, parsed_id(memory_id))
        if not live_entries(self.caller, self.now).filter(pk=entry.pk).exists():
            raise EntryNotFound
        return entry

    def expire(self, rows: QuerySet[Entry]) -> None:
        """Take entries out of use, in batches that can be undone. Raises ScopeFrozen, before anything is changed."""
        if rows.filter(scope__frozen=True).exists():
            raise ScopeFrozen
        reason = str(_("Deleted by mem0's client."))
        while chosen := list(rows.select_related("scope")[: bulk_actions.MOST]):
            act, actor = bulk_actions.expire(), self.caller.actor
            if not bulk_actions.apply_action(chosen, act, now=self.now, actor=actor, reason=reason).changed:
                break


def parsed_id(memory_id: str) -> UUID:
    """A memory's id. Raises EntryNotFound for what can be nobody's."""
    try:
        return UUID(memory_id)
    except ValueError:
        raise EntryNotFound from None


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


class Ids(fields.StrictSerializer):
    """Whose memory: by ids beside the filter, or in it."""

    user_id = fields.Name(required=False, max_length=200, allow_null=True)
    agent_id = fields.Name(required=False, max_length=200, allow_null=True)
    app_id = fields.Name(required=False, max_length=200, allow_null=True)
    run_id = fields.Name(required=False, max_length=200, allow_null=True)
    filters = serializers.JSONField(required=False, allow_null=True)


def plain_ids(given: dict[str, Any]) -> dict[str, str]:
    """The ids a memory is added with. Raises ValidationError unless they are plain names."""
    inner = given.get("filters") or {}
    named = {**inner, **{name: given[name] for name in IDS if given.get(name)}} if isinstance(inner, dict) else {}
    ids = {name: value for name, value in named.items() if value is not None}
    if not ids or not ids.keys() <= set(IDS) or not all(isinstance(value, str) and value for value in ids.values()):
        text = _("A memory is added for a user_id, agent_id, app_id or run_id, each a plain name.")
        raise serializers.ValidationError({"filters": [text]})
    return ids
