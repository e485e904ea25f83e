"""OAuth for clients of MCP: what they read and call. People are asked by a page of the admin (doors.oauth.admin).

All of it is there only while OAuth is on.
"""

from collections.abc import Callable
from functools import wraps

from authlib.oauth2.rfc6749 import OAuth2Error
from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from channels_app.doors.mcp import PATH, WELL_KNOWN, description
from channels_app.doors.oauth.registration import GRANT_TYPES, Registration
from channels_app.doors.oauth.server import SERVER, Revocation
from memories.models.oauth import AUTH_METHODS, SCOPES

View = Callable[..., HttpResponse]


def where_on(method: str) -> Callable[[View], View]:
    """Only while OAuth is on is there this view, and it answers this method alone."""

    def mark(view: View) -> View:
        @wraps(view)
        @csrf_exempt
        @require_http_methods([method])
        def inner(request: HttpRequest) -> HttpResponse:
            if not settings.OAUTH_ISSUER:
                raise Http404
            request.now = timezone.now()  # type: ignore[attr-defined] # read once a request, as everywhere
            try:
                return view(request)
            except OAuth2Error as error:  # of a request that came where somebody can listen in
                refusal: HttpResponse = SERVER.handle_response(*error())
                return refusal

        inner.methods = (method,)  # type: ignore[attr-defined]
        return inner

    return mark


@where_on("GET")
def protected_resource(request: HttpRequest) -> HttpResponse:
    """What MCP is, and who lets in to it; its own process says the same."""
    return JsonResponse(description(settings.MCP_URLS[0], settings.OAUTH_ISSUER))


@where_on("GET")
def authorization_server(request: HttpRequest) -> HttpResponse:
    """What lets in says of itself where it is called, and what it knows (RFC 8414)."""
    issuer = settings.OAUTH_ISSUER
    metadata = {
        "issuer": issuer,
        "authorization_endpoint": issuer + reverse("oauth_authorize"),
        "token_endpoint": issuer + reverse("oauth_token"),
        "registration_endpoint": issuer + reverse("oauth_register"),
        "revocation_endpoint": issuer + reverse("oauth_revoke"),
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANT_TYPES),
        "token_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "revocation_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "ui_locales_supported": ["en", "zh-Hans"],
    }
    return JsonResponse(metadata)


@where_on("POST")
@transaction.atomic
def register(request: HttpRequest) -> HttpResponse:
    """A client registers itself."""
    response: HttpResponse = SERVER.create_endpoint_response(Registration.ENDPOINT_NAME, request)
    return response


@where_on("POST")
@sensitive_post_parameters()
@transaction.atomic
def token(request: HttpRequest) -> HttpResponse:
    """A code, or a refresh token, becomes a token."""
    response: HttpResponse = SERVER.create_token_response(request)
    return response


@where_on("POST")
@sensitive_post_parameters()
@transaction.atomic
def revoke(request: HttpRequest) -> HttpResponse:
    """A client gives up what it was allowed."""
    response: HttpResponse = SERVER.create_endpoint_response(Revocation.ENDPOINT_NAME, request)
    return response


urlpatterns = [
    path(WELL_KNOWN.lstrip("/"), protected_resource),
    path(f"{WELL_KNOWN.lstrip('/')}{PATH}", protected_resource),
    path(".well-known/oauth-authorization-server", authorization_server),
    path("oauth/register", register, name="oauth_register"),
    path("oauth/token", token, name="oauth_token"),
    path("oauth/revoke", revoke, name="oauth_revoke"),
]
