"""Logins: what the audit log has of them, and how many wrong passwords are borne in a quarter of an hour.

Counted are those of a name from an address, of an address, and of a name. Who guesses one name from many addresses must
not lock its owner out. So the count of a name alone, and that of an address alone, hold for browsers in which the
account was never logged in; and the count of a name not at all where a second factor is asked for as well, since there
a password alone opens nothing and codes are counted for the account.
"""

from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import signing
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from memories.audit.models import AuditEvent, AuditRecord
from memories.staff.models import Factor


def note_login(request: HttpRequest, response: HttpResponse) -> None:
    """Note the outcome of a form of login. A name nobody has is not kept: it may be a password in the wrong field."""
    name = request.POST.get("username", "")
    user = get_user_model().objects.filter(username=name[:150].replace("\0", "")).first()
    is_in = response.status_code == HTTPStatus.FOUND and request.user.is_authenticated
    event = AuditEvent.LOGIN if is_in else AuditEvent.LOGIN_FAILED
    if getattr(request, "axes_locked_out", False):
        event = AuditEvent.LOGIN_LOCKED
    note_account(request, event, user)


def note_account(
    request: HttpRequest, event: AuditEvent, user: object, *, details: Mapping[str, str] | None = None
) -> None:
    """Note what somebody did with their own account, or with that of somebody whose name they gave."""
    name = str(user) if user else ""
    AuditRecord.note(
        event,
        actor=f"user:{name}" if name else "unknown",
        at=timezone.now(),
        user_id=getattr(user, "pk", None),
        about=name,
        details=details,
        ip=request.META.get("REMOTE_ADDR") or None,
    )


#: Wrong passwords for any names from one address, and for one name from any addresses.
ADDRESS_MOST, NAME_MOST = 30, 30
DEVICE_COOKIE = "memplatform_device"
DEVICE_SECONDS = 180 * 24 * 3600
_SALT = "memplatform.site.login_limits"


class LoginLimits(AxesDatabaseHandler):  # type: ignore[misc]
    """The counts of django-axes, of name and address together, and beside them those of each alone."""

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        if super().is_locked(request, credentials):
            return True
        name = str((credentials or {}).get("username") or "")[:150].replace("\0", "")
        user = get_user_model().objects.select_related("factor").filter(username=name).first()
        if user is not None:
            with suppress(signing.BadSignature):
                cookie = request.COOKIES.get(DEVICE_COOKIE, "")
                if signing.loads(cookie, salt=_SALT, max_age=DEVICE_SECONDS) == user.pk:
                    return False
        is_locked = _wrong(request, ip_address=request.axes_ip_address) >= ADDRESS_MOST or (  # type: ignore[attr-defined]
            Factor.of(user) is None and _wrong(request, username=name) >= NAME_MOST
        )
        if is_locked:
            request.axes_locked_out = True  # type: ignore[attr-defined] # the middleware answers with the page of it
        return is_locked


def remember_device(response: HttpResponse, user: Any) -> HttpResponse:
    """From now on this browser is one in which the account was logged in; it opens nothing by itself."""
    response.set_cookie(
        DEVICE_COOKIE,
        signing.dumps(user.pk, salt=_SALT),
        max_age=DEVICE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def _wrong(request: HttpRequest, **of: str) -> int:
    lately = AccessAttempt.objects.filter(attempt_time__gt=get_cool_off_threshold(request), **of)
    return int(lately.aggregate(n=Sum("failures_since_start"))["n"] or 0)
