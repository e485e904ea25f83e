"""What a key may do: every call names the permission of each of its methods."""

from typing import Any

from rest_framework.exceptions import MethodNotAllowed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from memories.models import BotKey


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


class StaffOrKey(BasePermission):
    """Admits people who may open the admin, and any valid key."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.auth, BotKey) or bool(
            request.user and request.user.is_active and request.user.is_staff
        )
