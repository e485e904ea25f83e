"""POST /entries with an address: a memory saved on purpose, with the place it was said at (A3)."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request

from channels_app import addresses
from channels_app.api.fields import AddressField
from channels_app.channels import check_scope_key, ensure_channel
from memories.api import fields
from memories.api.authentication import caller_of
from memories.api.entries import answers
from memories.api.entries import list as listing
from memories.choices import Permission, ScopeKind
from memories.consolidation.capture import source_slots
from memories.exceptions import InvalidAddress
from memories.models import Scope
from memories.tenancy.resolver import Resolved


class NewEntry(listing.NewEntry):
    """A memory a bot saves on purpose: into a scope, or from where somebody asked for it."""

    scope = fields.Text(required=False, max_length=255)
    address = AddressField(required=False)
    scope_kind = fields.Word(
        choices=ScopeKind.choices,
        allow_null=True,
        default=None,
        help_text="With `address`: the speaker's memory (`user`, the default) or the group's (`chat`).",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("address" in attrs) == ("scope" in attrs):
            raise serializers.ValidationError({"scope": [_("Either an address or a scope is needed, not both.")]})
        if attrs["scope_kind"] and "scope" in attrs:
            raise serializers.ValidationError(
                {"scope_kind": [_("This goes with an address; a scope says whose it is.")]}
            )
        return attrs


@extend_schema_view(
    post=extend_schema(operation_id="save_entry", request=NewEntry, responses={201: answers.SavedEntry})
)
class EntriesView(listing.EntriesView):
    """Save a memory on purpose; list what is remembered."""

    required = {"GET": Permission.READ, "POST": Permission.WRITE}
    new_entry = NewEntry

    def where(self, request: Request, data: dict[str, Any]) -> Scope:
        """As a turn from there would be kept: with its place in the slots, and of a person's memory with the chat."""
        kind = data.pop("scope_kind")
        if "address" not in data:
            check_scope_key(caller_of(request).workspace_id, data["scope"])
            return super().where(request, data)
        caller = caller_of(request)
        resolved = addresses.resolve_address(caller, data.pop("address"))
        wanted = _scope_key(resolved, kind)
        scope = addresses.scope_to_write(caller, resolved, wanted)
        ensure_channel(caller.workspace_id, resolved.address)
        place = source_slots(resolved)
        data["slots"] = data["slots"] | {name: value for name, value in place.items() if value}
        data["chats"] = (resolved.chat,) if scope.kind == ScopeKind.USER else ()
        return scope


def _scope_key(resolved: Resolved, kind: str | None) -> str:
    """Whose memory it becomes; of a group in which nobody is named the group's. Raises InvalidAddress."""
    kind = kind or (ScopeKind.USER if resolved.user_scope else ScopeKind.CHAT)
    key = resolved.user_scope if kind == ScopeKind.USER else resolved.chat_scope
    if key is None and kind == ScopeKind.USER:
        raise InvalidAddress("Nobody is named here whose memory it could become: the address needs a peer.")
    if key is None:
        raise InvalidAddress("A direct chat has no memory of its own: it is its peer's.", field="scope_kind")
    return key
