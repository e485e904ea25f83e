"""Clients register themselves (RFC 7591): anybody may, so many an hour; who is never allowed anything goes again."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from authlib.integrations.django_oauth2.requests import DjangoJsonRequest
from authlib.oauth2.rfc6749 import OAuth2Error
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint, InvalidClientMetadataError
from authlib.oauth2.rfc7591.errors import InvalidRedirectURIError
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from memories.language.quoting import on_one_line
from memories.models import BotKey, OAuthClient
from memories.models.oauth import AUTH_METHODS, is_loopback

GRANT_TYPES = ("authorization_code", "refresh_token")
#: Of one address, in an hour; and in all, of clients nobody has allowed anything yet.
PER_HOUR, UNUSED_MOST = 20, 1_000
UNUSED_LIVES = timedelta(days=1)
REDIRECTS_MOST, NAME_CHARS, URI_CHARS = 10, 100, 2_000
#: Schemes behind which a browser does not hand an answer to a program; http is for this machine alone.
_NO_PROGRAM = frozenset(
    ["about", "blob", "data", "file", "filesystem", "ftp", "javascript", "vbscript", "view-source", "ws", "wss"]
)


class RegistrationRequest(DjangoJsonRequest):  # type: ignore[misc]
    """A registration, and the address it comes from."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.address, self.now = request.META.get("REMOTE_ADDR", ""), request.now  # type: ignore[attr-defined]


class TooManyError(OAuth2Error):  # type: ignore[misc]
    """There were too many registrations."""

    error = "temporarily_unavailable"
    description = "Too many clients have registered lately. Try again in an hour."
    status_code = 429

    def get_headers(self) -> list[tuple[str, str]]:
        headers: list[tuple[str, str]] = super().get_headers()
        return [*headers, ("Retry-After", "3600")]


class Registration(ClientRegistrationEndpoint):  # type: ignore[misc]
    """Keeps a client as far as it means anything here; what it did not say has the value the standard gives it."""

    def get_server_metadata(self) -> dict[str, Any]:
        """Scopes and grants that do not exist here are no fault: the client learns what it has."""
        return {
            "response_types_supported": ["code"],
            "token_endpoint_auth_methods_supported": list(AUTH_METHODS),
        }

    def authenticate_token(self, request: RegistrationRequest) -> bool:
        """Anybody may register, if not too many do. Raises TooManyError."""
        now = request.now
        clients = OAuthClient.objects.filter(used_at=None)
        clients.filter(registered_at__lt=now - UNUSED_LIVES)._raw_delete(clients.db)  # nothing points at them
        lately = OAuthClient.objects.filter(
            registered_from=_origin(request), registered_at__gt=now - timedelta(hours=1)
        )
        if lately.count() >= PER_HOUR or clients.count() >= UNUSED_MOST:
            raise TooManyError
        return True

    def extract_client_metadata(self, request: RegistrationRequest) -> dict[str, Any]:
        """Raises InvalidClientMetadataError, InvalidRedirectURIError."""
        try:
            data = request.payload.data
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise InvalidClientMetadataError("A JSON object is needed.")
        uris = data.get("redirect_uris")
        if not isinstance(uris, list) or not 0 < len(uris) <= REDIRECTS_MOST or not all(map(_is_program, uris)):
            raise InvalidRedirectURIError(
                f"One to {REDIRECTS_MOST} redirect_uris are needed: https, http of this machine, or an own scheme."
            )
        lists = [data.get(name) for name in ("grant_types", "response_types")]
        texts = [data.get(name) for name in ("client_name", "scope", "token_endpoint_auth_method", "client_uri")]
        if not all(
            name is None or (isinstance(name, list) and all(isinstance(x, str) for x in name)) for name in lists
        ):
            raise InvalidClientMetadataError("grant_types and response_types are lists of texts.")
        if not all(name is None or isinstance(name, str) for name in texts):
            raise InvalidClientMetadataError("client_name, scope and token_endpoint_auth_method are texts.")
        metadata: dict[str, Any] = super().extract_client_metadata(request)
        grant_types = [name for name in GRANT_TYPES if name in metadata.get("grant_types", GRANT_TYPES)]
        if "authorization_code" not in grant_types:
            raise InvalidClientMetadataError("The grant_type authorization_code is the one there is.")
        name = on_one_line(metadata.get("client_name", ""))[:NAME_CHARS].strip()
        return {**metadata, "grant_types": grant_types, "response_types": ["code"], "client_name": name or "MCP client"}

    def generate_client_secret(self, request: RegistrationRequest) -> str:
        """None for a public client."""
        if request.payload.data.get("token_endpoint_auth_method") == "none":
            return ""
        secret: str = super().generate_client_secret(request)
        return secret

    def save_client(self, client_info: dict[str, Any], client_metadata: dict[str, Any], request: Any) -> OAuthClient:
        secret = client_info["client_secret"]
        return OAuthClient.objects.create(
            client_id=client_info["client_id"],
            name=client_metadata["client_name"],
            redirect_uris=client_metadata["redirect_uris"],
            grant_types=client_metadata["grant_types"],
            auth_method=client_metadata["token_endpoint_auth_method"],
            secret_digest=BotKey.digest_of(secret) if secret else "",
            registered_from=_origin(request),
            registered_at=request.now,
        )

    def create_registration_response(self, request: RegistrationRequest) -> tuple[int, dict[str, Any], Any]:
        status, body, headers = super().create_registration_response(request)
        if not body["client_secret"]:
            del body["client_secret"], body["client_secret_expires_at"]
        return status, body, headers


def _origin(request: RegistrationRequest) -> str:
    """The address a request comes from, so that it can be counted and not read."""
    return salted_hmac("memplatform.oauth", request.address).hexdigest()


def _is_program(uri: Any) -> bool:
    """Whether an answer sent there reaches a program, and nobody on the way."""
    if not isinstance(uri, str) or len(uri) > URI_CHARS or not uri.isascii() or not uri.isprintable():
        return False
    try:
        parts = urlsplit(uri)
        _port = parts.port
    except ValueError:
        return False
    if parts.scheme == "http":
        return is_loopback(parts.hostname)
    return bool(parts.scheme) and parts.scheme not in _NO_PROGRAM
