"""Who is calling: a bot, by its key."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from memories.models import BotKey
from memories.tenancy.access import Caller


class BotKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <key>`; an unknown, expired or revoked key is turned away in the same words."""

    def authenticate(self, request: Request) -> tuple[Caller, BotKey] | None:
        scheme, _space, token = get_authorization_header(request).partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        now = timezone.now()  # keys run out by the real clock, also in tests of time
        key = self._key(token.strip(), now)
        if key is None:
            raise AuthenticationFailed(_("This key is not known, or no longer valid."))
        key.record_use(now)
        return key.caller(), key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"

    @staticmethod
    def _key(token: bytes, now: Any) -> BotKey | None:
        try:
            text = token.decode("ascii")
        except UnicodeDecodeError:
            return None
        return BotKey.objects.admit(text, now)


def caller_of(request: Request) -> Caller:
    """Who makes an authenticated request. Raises AuthenticationFailed for anybody else."""
    if not isinstance(request.user, Caller):
        raise AuthenticationFailed
    return request.user
