"""Who may look behind the doors that are open to all: this machine, and whoever shows a key."""

import ipaddress
import secrets
from datetime import datetime

from django.conf import settings
from django.http import HttpRequest

from memories.choices import Permission
from memories.models import BotKey

#: A proxy on this machine speaks for others.
_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP")


def may_see_details(request: HttpRequest, *, now: datetime) -> bool:
    """On this machine, with the metrics key, or with a bot key that may administer."""
    return _is_local(request) or _has_key(request.headers.get("Authorization", ""), now)


def _is_local(request: HttpRequest) -> bool:
    if any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _has_key(authorization: str, now: datetime) -> bool:
    scheme, _space, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token.isascii():
        return False
    if settings.METRICS_KEY and secrets.compare_digest(token.strip(), settings.METRICS_KEY):
        return True
    key = BotKey.objects.matching(token.strip(), now).first()
    return key is not None and key.permits(Permission.ADMIN)
