"""The authorization server: Authlib's grants over our tables. Every token is a key of a bot, or makes one."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from authlib.common.urls import add_params_to_uri
from authlib.integrations.django_oauth2 import AuthorizationServer
from authlib.integrations.django_oauth2.requests import DjangoOAuth2Request
from authlib.oauth2.rfc6749 import InvalidGrantError, InvalidRequestError, OAuth2Error
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from channels_app import addresses
from channels_app.doors.oauth.registration import Registration, RegistrationRequest
from memories.audit.models import AuditEvent, AuditRecord
from memories.exceptions import PlatformError
from memories.models import Bot, BotKey, OAuthClient, OAuthGrant
from memories.models.oauth import AUTH_METHODS
from memories.offline import store
from memories.staff.models import Member
from memories.staff.roles import KEY_NEEDS, Right, rights_of
from memories.tenancy.resolver import Address

log = structlog.get_logger(__name__)
CODE_LIVES = timedelta(minutes=1)
TOKEN_LIVES = timedelta(hours=1)
#: Used codes and refresh tokens of a grant that are still recognised: those of the last days.
SPENT_MOST = 500
ACCESS, REFRESH = "mpo_", "mpr_"


@dataclass(frozen=True)
class Consent:
    """What somebody of the staff allowed on the consent page."""

    user: Any
    bot: Bot
    permissions: list[str]
    address: Address
    expires_at: datetime


class InvalidTargetError(OAuth2Error):  # type: ignore[misc]
    """The resource is none of ours, or not the one that was allowed (RFC 8707)."""

    error = "invalid_target"
    description = "The resource is not an address of MCP that this grant is for."


class Request(DjangoOAuth2Request):  # type: ignore[misc]
    """A request, the time it came, and the address of MCP it asks for."""

    resource = ""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.now: datetime = request.now  # type: ignore[attr-defined]


class Server(AuthorizationServer):  # type: ignore[misc]
    """Answers at the addresses of channels_app.doors.oauth.urls."""

    def query_client(self, client_id: str) -> OAuthClient | None:
        return OAuthClient.objects.filter(client_id=client_id).first()

    def create_oauth2_request(self, request: HttpRequest) -> Request:
        return Request(request)

    def create_json_request(self, request: HttpRequest) -> RegistrationRequest:
        return RegistrationRequest(request)

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Nobody listens."""

    def create_bearer_token_generator(self) -> BearerTokenGenerator:
        return BearerTokenGenerator(
            lambda **_about: ACCESS + secrets.token_urlsafe(32),
            lambda **_about: REFRESH + secrets.token_urlsafe(32),
            int(TOKEN_LIVES.total_seconds()),
        )

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        """Make the bot's key of this grant anew, and its refresh token; those of before are spent."""
        grant: OAuthGrant = request.authorization_code or request.refresh_token
        now = request.now
        ends = min(now + TOKEN_LIVES, grant.expires_at)
        token["expires_in"] = int((ends - now).total_seconds())
        try:
            patterns = reached_scopes(grant)
        except PlatformError as problem:
            raise InvalidGrantError("The memory that was allowed is not there any more.") from problem
        spent_digests = [digest for digest in (grant.code_digest, grant.refresh_digest) if digest]
        grant.spent_digests = [*grant.spent_digests, *spent_digests][-SPENT_MOST:]
        grant.code_digest = None
        grant.refresh_digest = BotKey.digest_of(token["refresh_token"]) if "refresh_token" in token else None
        grant.save(update_fields=["spent_digests", "code_digest", "refresh_digest"])
        before = BotKey.objects.filter(grant=grant).values_list("digest", flat=True).first()
        if before:
            transaction.on_commit(partial(store.forget_key, before))
        key = {
            "workspace_id": grant.workspace_id,
            "bot": grant.bot,
            "label": str(grant.client)[:100],
            "prefix": token["access_token"][:10],
            "digest": BotKey.digest_of(token["access_token"]),
            "permissions": token["scope"].split(),
            "scope_patterns": patterns,
            "expires_at": ends,
        }
        BotKey.objects.update_or_create(grant=grant, defaults=key)


def reached_scopes(grant: OAuthGrant) -> list[str]:
    """The keys of the scopes of the person whose memory was allowed, as they are now. Raises InvalidAddress."""
    address = Address(platform=grant.platform, account=grant.account, peer=grant.peer)
    resolution = addresses.resolve_address(grant.workspace.caller("oauth"), address)
    keys = {ref.key for ref in resolution.recall} | {resolution.user_scope, resolution.chat_scope}
    return sorted(filter(None, keys))


def revoke(grant: OAuthGrant, *, actor: str, text: str, now: datetime) -> None:
    """End a grant and its key for good."""
    OAuthGrant.objects.filter(pk=grant.pk, revoked_at=None).update(revoked_at=now)
    keys = BotKey.objects.filter(grant=grant)
    digests = list(keys.values_list("digest", flat=True))
    keys.filter(revoked_at=None).update(revoked_at=now)
    transaction.on_commit(partial(store.forget_keys, digests))
    AuditRecord.note(
        AuditEvent.KEY_REVOKED, actor=actor, at=now, workspace_id=grant.workspace_id,
        about=str(grant), details={"text": text},
    )  # fmt: skip


def _grant_of(token: str, *, current: str, now: datetime) -> OAuthGrant | None:
    """The grant of a code or refresh token, if it holds; a token that was used before ends it."""
    grant = OAuthGrant.objects.of_token(token)
    if grant is None:
        return None
    digest = BotKey.digest_of(token)
    if digest in grant.spent_digests:
        log.warning("oauth.token_used_twice", grant=str(grant.uid), workspace=grant.workspace_id)
        if grant.revoked_at is None:
            revoke(grant, actor="platform", text="A code or refresh token was used twice.", now=now)
        return None
    # It holds as long as whoever allowed it still might
    if getattr(grant, current) != digest or not grant.is_usable(now):
        return None
    if not (grant.user.is_active and grant.user.is_staff):
        return None
    if BotKey.objects.filter(grant=grant, revoked_at__isnull=False).exists():
        return None
    if grant.user.is_superuser:
        return grant
    role = Member.objects.filter(workspace=grant.workspace_id, user=grant.user).values_list("role", flat=True).first()
    rights = {Right.KEYS, *(KEY_NEEDS[permission] for permission in KEY_NEEDS if permission in grant.permissions)}
    return grant if rights <= rights_of(role or "") else None


def _check_resource(request: Any, grant: OAuthGrant) -> None:
    resources = request.payload.datalist.get("resource", [])
    if any(uri.rstrip("/") != grant.resource for uri in resources):
        raise InvalidTargetError


class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    """A code, once, within a minute."""

    TOKEN_ENDPOINT_AUTH_METHODS = list(AUTH_METHODS)

    def validate_authorization_request(self) -> str:
        redirect_uri: str = super().validate_authorization_request()
        resources = [uri.rstrip("/") for uri in self.request.payload.datalist.get("resource", [])]
        if len(set(resources)) > 1 or not set(resources) <= set(settings.MCP_URLS):
            raise InvalidTargetError(redirect_uri=redirect_uri)
        self.request.resource = resources[0] if resources else settings.MCP_URLS[0]
        return redirect_uri

    def save_authorization_code(self, code: str, request: Any) -> None:
        consent: Consent = request.user
        now = request.now
        OAuthGrant.objects.filter(
            workspace_id=consent.bot.workspace_id, key=None, code_digest__isnull=False, code_expires_at__lt=now
        ).delete()
        OAuthGrant.objects.create(
            workspace_id=consent.bot.workspace_id,
            bot=consent.bot,
            client=request.client,
            user=consent.user,
            permissions=consent.permissions,
            platform=consent.address.platform,
            account=consent.address.account,
            peer=consent.address.peer,
            resource=request.resource,
            redirect_uri=request.payload.redirect_uri or "",
            code_challenge=request.payload.data["code_challenge"],
            code_digest=BotKey.digest_of(code),
            code_expires_at=now + CODE_LIVES,
            created_at=now,
            expires_at=consent.expires_at,
        )
        OAuthClient.objects.filter(pk=request.client.pk, used_at=None).update(used_at=now)

    def query_authorization_code(self, code: str, client: OAuthClient) -> OAuthGrant | None:
        grant = _grant_of(code, current="code_digest", now=self.request.now)
        if grant is None or not grant.check_client(client) or grant.code_expires_at < self.request.now:
            return None
        _check_resource(self.request, grant)
        return grant

    def delete_authorization_code(self, authorization_code: OAuthGrant) -> None:
        """It is spent when its token is saved."""

    def authenticate_user(self, authorization_code: OAuthGrant) -> Any:
        return authorization_code.user


class RotatedRefreshGrant(RefreshTokenGrant):  # type: ignore[misc]
    """A refresh token, once; the next one comes with the token."""

    TOKEN_ENDPOINT_AUTH_METHODS = list(AUTH_METHODS)
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> OAuthGrant | None:
        grant = _grant_of(refresh_token, current="refresh_digest", now=self.request.now)
        if grant is not None:
            _check_resource(self.request, grant)
        return grant

    def authenticate_user(self, refresh_token: OAuthGrant) -> Any:
        return refresh_token.user

    def revoke_old_credential(self, refresh_token: OAuthGrant) -> None:
        """It is spent when the next one is saved."""


class HashedChallenge(CodeChallenge):  # type: ignore[misc]
    """PKCE with S256, of every client (RFC 7636)."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]
    DEFAULT_CODE_CHALLENGE_METHOD = "S256"

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        if grant.request.payload.data.get("code_challenge_method") != "S256":
            raise InvalidRequestError("PKCE is required: code_challenge with code_challenge_method S256.")
        super().validate_code_challenge(grant, redirect_uri)

    def get_authorization_code_challenge_method(self, authorization_code: OAuthGrant) -> str:
        return "S256"


class Revocation(RevocationEndpoint):  # type: ignore[misc]
    """Either token ends the whole grant (RFC 7009)."""

    CLIENT_AUTH_METHODS = list(AUTH_METHODS)

    def authenticate_token(self, request: Request, client: OAuthClient) -> OAuthGrant | None:
        self.check_params(request, client)
        token: str = request.form["token"]
        if token.startswith(ACCESS):
            key = BotKey.objects.admit(token, request.now)
            grants = OAuthGrant.objects.filter(key=key.pk) if key else OAuthGrant.objects.none()
            grant = grants.select_for_update(of=("self",)).select_related("client", "bot").first()
        else:
            grant = _grant_of(token, current="refresh_digest", now=request.now)
        if grant and not grant.check_client(client):
            raise InvalidGrantError
        return grant

    def revoke_token(self, token: OAuthGrant, request: Any) -> None:
        revoke(token, actor=f"client:{request.client}", text="The client gave it up.", now=request.now)


#: The one server, with all it can do.
SERVER = Server(OAuthClient, OAuthGrant)
SERVER.register_grant(CodeGrant, [HashedChallenge(required=True)])
SERVER.register_grant(RotatedRefreshGrant)
SERVER.register_endpoint(Revocation)
SERVER.register_endpoint(Registration)


def with_issuer(response: HttpResponse) -> HttpResponse:
    """An answer that leads back to a client says whose it is (RFC 9207)."""
    if location := response.headers.get("Location"):
        response["Location"] = add_params_to_uri(location, {"iss": settings.OAUTH_ISSUER})
    return response
