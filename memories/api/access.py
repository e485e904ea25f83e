"""Who is calling, what their key permits, and how often it may call."""

import math
from datetime import datetime, timedelta
from typing import Any

from django.db import OperationalError
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, MethodNotAllowed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memories.api.requests import DatabaseAway
from memories.conf import conf
from memories.models import BotKey
from memories.offline import database, replicas, store
from memories.tenancy.access import Caller

MINUTE = timedelta(minutes=1)
#: Where a request says whose key it came with, once that is known.
WORKSPACE = "memplatform.workspace"


class BotKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <key>`; an unknown, expired or revoked key is turned away in the same words."""

    scheme = "Bearer"

    def authenticate(self, request: Request) -> tuple[Caller, BotKey] | None:
        token = self.token_of(request)
        if token is None:
            return None
        now = timezone.now()  # keys run out by the real clock, also in tests of time
        text = token.strip()
        key = admit(text.decode(), now) if text.isascii() else None
        if key is None:
            raise AuthenticationFailed(_("This key is not known, or no longer valid."))
        request.META[WORKSPACE] = key.workspace_id
        return key.caller(), key

    def token_of(self, request: Request) -> bytes | None:
        """The key a request shows; None where it shows none in this way."""
        scheme, _space, token = get_authorization_header(request).partition(b" ")
        return token if scheme.lower() == self.scheme.lower().encode() else None

    def authenticate_header(self, request: Request) -> str:
        return self.scheme


def admit(token: str, now: datetime) -> BotKey | None:
    """The usable key with this token; while the database is away, one it admitted in the last day (C11).

    A key the database refuses leaves the cache. Raises DatabaseAway for a key nobody knows without it.
    """
    if not database.is_away():
        try:
            return _admit_by_database(token, now)
        except database.ERRORS as error:
            if not database.is_lost(error):
                raise
            database.let_go()
    if key := store.admit_key(token, now):
        return key
    if not replicas.are_there():
        raise DatabaseAway
    # A key this host has not seen, as a replica knows it
    digest = BotKey.digest_of(token)
    try:
        workspace_id = replicas.workspace_of_key(digest)
        if workspace_id is None:
            return None
        with replicas.stale(workspace_id):
            key = BotKey.objects.usable(now).select_related("workspace", "bot").filter(digest=digest).first()
    except replicas.NeedsPrimary as error:
        raise DatabaseAway from error
    if key is not None:
        key.is_from_cache = True
    return key


def _admit_by_database(token: str, now: datetime) -> BotKey | None:
    try:
        key = BotKey.objects.admit(token, now, counted=now.replace(second=0, microsecond=0))
    except OperationalError as error:
        if not database.is_disk_full(error):
            raise
        key = BotKey.objects.admit(token, now)  # counted by this process alone: reading takes no room
    if key is None:
        store.forget_key(BotKey.digest_of(token))
        return None
    store.remember_key(key, now)
    return key


def caller_of(request: Request) -> Caller:
    """Who makes an authenticated request. Raises AuthenticationFailed for anybody else."""
    if not isinstance(request.user, Caller):
        raise AuthenticationFailed
    return request.user


def method_of(request: Request) -> str:
    """The method a request stands for: HEAD asks for what GET would answer."""
    return "GET" if request.method == "HEAD" else str(request.method)


class KeyPermits(BasePermission):
    """Admits a key with the permission that the method needs; a method that is not declared admits nobody."""

    message: str | None = None  # what is missing, for whoever is refused

    def has_permission(self, request: Request, view: Any) -> bool:
        if not isinstance(request.auth, BotKey):
            return False
        if request.method == "OPTIONS":
            return True
        method = view.methods.get(method_of(request))
        if method is None:
            raise MethodNotAllowed(str(request.method))
        self.message = gettext("This key lacks the permission “%(name)s”.") % {"name": method.needs.value}
        return request.auth.permits(method.needs)


class StaffOrKey(BasePermission):
    """Admits people who may open the admin, and any valid key."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.auth, BotKey) or bool(
            request.user and request.user.is_active and request.user.is_staff
        )


class KeyThrottle(BaseThrottle):
    """At most CALLS_PER_MINUTE calls of a key in a minute of the clock; then 429 until the next one begins.

    A call is counted as its key is admitted; while the database is away, those of this process are.
    """

    _wait: float

    def allow_request(self, request: Request, view: Any) -> bool:
        if not isinstance(request.auth, BotKey):
            return True
        now = timezone.now()  # calls are counted by the real clock, also in tests of time
        minute = now.replace(second=0, microsecond=0)
        self._wait = math.ceil((minute + MINUTE - now).total_seconds())
        calls = request.auth.calls
        if calls is None:
            calls = store.count_call(request.auth.digest, minute)
        return calls <= conf.CALLS_PER_MINUTE

    def wait(self) -> float:
        return self._wait
