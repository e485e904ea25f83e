"""Who is calling: a bot, by its key."""

from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from memories.models import Bot, BotKey, Workspace


@dataclass(frozen=True)
class Caller:
    """The bot behind a request; what a user is to a session."""

    bot: Bot
    is_authenticated: bool = True
    is_active: bool = True

    @property
    def pk(self) -> int:
        return self.bot.pk


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
        return Caller(key.bot), key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"

    @staticmethod
    def _key(token: bytes, now: Any) -> BotKey | None:
        try:
            text = token.decode("ascii")
        except UnicodeDecodeError:
            return None
        return BotKey.objects.admit(text, now)


def key_of(request: Request) -> BotKey:
    """The key of an authenticated request."""
    if not isinstance(request.auth, BotKey):
        raise AuthenticationFailed
    return request.auth


def workspace_of(request: Request) -> Workspace:
    """The workspace everything in this request is limited to."""
    return key_of(request).workspace


def actor_of(request: Request) -> str:
    """Who the history names for what this request changes."""
    return f"bot:{key_of(request).bot.name}"
