"""Where a message comes from: the address, and what else several calls take."""

from typing import Any

from memories.api import fields
from memories.conf import conf
from memories.tenancy.resolver import Address


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


class AddressRequest(fields.StrictSerializer):
    """An address to be resolved."""

    address = AddressField()


def session_events_by_default() -> bool:
    """Whether questions about the past find what was said, when a bot does not say."""
    return conf.INCLUDE_SESSION_EVENTS
