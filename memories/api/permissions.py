"""What a key may do: every call names the permission of each of its methods."""

import ipaddress
from typing import Any

from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from memories.models import BotKey

#: A proxy on this machine speaks for others.
_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP")


class KeyPermits(BasePermission):
    """Admits a key that holds the permission the call names for the method; a call that names none admits nobody."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not isinstance(request.auth, BotKey):
            return False
        if request.method == "OPTIONS":
            return True
        needed = view.required.get("GET" if request.method == "HEAD" else request.method)
        if needed is None:
            raise MethodNotAllowed(str(request.method))
        return request.auth.permits(needed)


class LoopbackOrKey(BasePermission):
    """Admits whoever sits at this machine, and any valid key."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return _is_local(request) or isinstance(request.auth, BotKey)


def _is_local(request: Request) -> bool:
    if any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
