"""Who may see details of health and metrics: staff who are logged in, and callers with a key.

Where a call comes from proves nothing: a proxy on this machine speaks for everybody.
"""

import secrets
from datetime import datetime

from django.conf import settings
from django.http import HttpRequest

from memories.choices import Permission
from memories.models import BotKey

#: In a session: the factor whose code was given in it.
PASSED = "second_factor"


def may_see_details(request: HttpRequest, *, now: datetime) -> bool:
    """Staff with a login, the metrics key, or a bot key that may administer."""
    return is_staff(request) or _has_key(request.headers.get("Authorization", ""), now)


def is_staff(request: HttpRequest) -> bool:
    """Whether a person who may open the admin is logged in."""
    user = getattr(request, "user", None)
    return bool(user and user.is_authenticated and user.is_active and user.is_staff)


def _has_key(authorization: str, now: datetime) -> bool:
    scheme, _space, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token.isascii():
        return False
    if settings.METRICS_KEY and secrets.compare_digest(token.strip(), settings.METRICS_KEY):
        return True
    key = BotKey.objects.admit(token.strip(), now)
    return key is not None and key.permits(Permission.ADMIN)
