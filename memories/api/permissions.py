"""What a key may do: every view names the permission of each of its methods."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from memories.models import BotKey


class KeyPermits(BasePermission):
    """Admits a key that holds the permission the view names for the method; a view that names none admits nobody."""

    def has_permission(self, request: Request, view: Any) -> bool:
        needed = getattr(view, "required", {}).get(request.method)
        return isinstance(request.auth, BotKey) and needed is not None and request.auth.permits(needed)
