"""What a key may do: every call names the permission of each of its methods."""

from typing import Any

from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from memories.models import BotKey

LOOPBACK = frozenset({"127.0.0.1", "::1"})


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
    """Admits whoever sits at this machine, and any valid key; what a proxy brings comes from elsewhere."""

    def has_permission(self, request: Request, view: Any) -> bool:
        here = request.META.get("REMOTE_ADDR") in LOOPBACK and "X-Forwarded-For" not in request.headers
        return here or isinstance(request.auth, BotKey)
