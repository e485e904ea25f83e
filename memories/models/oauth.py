"""Programs that ask people to be let in over MCP (OAuth 2.1), and what somebody of the staff allowed them."""

import secrets
from datetime import datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.choices import Permission
from memories.models.ids import uuid7
from memories.models.table import Chapter, Fate, Table
from memories.models.tenancy import Bot, BotKey, Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy
from memories.tenancy import row_level_security

#: How a client shows at the token endpoint that it is the one that registered; none: by PKCE alone.
AUTH_METHODS = ("none", "client_secret_basic", "client_secret_post")
#: What a client may ask for; it never administers.
SCOPES = (Permission.READ.value, Permission.WRITE.value)


class OAuthClient(models.Model):
    """A program that registered itself (RFC 7591). Nobody has verified what it says of itself.

    Of its secret only the SHA-256 is kept, and of the address it registered from a keyed hash, by which registrations
    are counted. One that nobody has allowed anything for a day may be removed.

    - `oauthclient_auth_method_known`: none, client_secret_basic or client_secret_post.
    - `oauthclient_secret_where_it_has_one`: a public client has none.
    """

    table = Table(chapter=Chapter.TENANTS, fate=Fate.NOTHING)

    client_id = models.CharField(_("client id"), max_length=64, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=100)
    redirect_uris = ArrayField(models.CharField(max_length=2_000), verbose_name=_("redirect addresses"))
    grant_types = ArrayField(models.CharField(max_length=40), default=list)
    auth_method = models.CharField(max_length=20)
    secret_digest = models.CharField(max_length=64, blank=True, default="", editable=False)
    registered_from = models.CharField(max_length=64, editable=False)
    registered_at = models.DateTimeField(_("registered"))
    used_at = models.DateTimeField(_("first allowed"), null=True, blank=True)

    class Meta:
        verbose_name = _("MCP client")
        verbose_name_plural = _("MCP clients")
        constraints = [
            models.CheckConstraint(condition=Q(auth_method__in=AUTH_METHODS), name="oauthclient_auth_method_known"),
            models.CheckConstraint(
                condition=Q(auth_method="none", secret_digest="") | (~Q(auth_method="none") & ~Q(secret_digest="")),
                name="oauthclient_secret_where_it_has_one",
            ),
            models.CheckConstraint(condition=~Q(redirect_uris=[]), name="oauthclient_has_a_redirect_uri"),
        ]
        indexes = [models.Index(fields=["registered_at"], condition=Q(used_at=None), name="oauthclient_unused")]

    def __str__(self) -> str:
        return self.name

    # what Authlib asks a client (authlib.oauth2.rfc6749.ClientMixin)

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str | None:
        """The one it has; of several it must name one."""
        return self.redirect_uris[0] if len(self.redirect_uris) == 1 else None

    def get_allowed_scope(self, scope: str | None) -> str | None:
        """What of a wish is known here; without a wish all there is; None: nothing of it is known."""
        wished = scope.split() if scope else list(SCOPES)
        return " ".join(name for name in SCOPES if name in wished) or None

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        """Whether it registered this address; at this machine whatever port it listens on now (RFC 8252, 7.3)."""
        if redirect_uri in self.redirect_uris:
            return True
        without_port = _without_port(redirect_uri)
        return without_port is not None and without_port in map(_without_port, self.redirect_uris)

    def check_client_secret(self, client_secret: str) -> bool:
        return secrets.compare_digest(self.secret_digest, BotKey.digest_of(client_secret))

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        """Whether it is public, as it said, or shows its secret, in either way."""
        return (method == "none") == (self.auth_method == "none")

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self.grant_types


def is_loopback(host: str | None) -> bool:
    """Whether a name is that of the machine that is asked."""
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def _without_port(uri: str) -> tuple[str, ...] | None:
    """An address of this machine without its port; None: it is elsewhere, or none."""
    try:
        parts = urlsplit(uri)
        _port = parts.port
    except ValueError:
        return None
    if parts.scheme != "http" or not is_loopback(parts.hostname) or "@" in parts.netloc:
        return None
    return (str(parts.hostname), parts.path, parts.query, parts.fragment)


class OAuthGrantQuerySet(models.QuerySet["OAuthGrant"]):
    def of_token(self, token: str) -> "OAuthGrant | None":
        """The grant whose code or refresh token this is or was, locked, inside the wall of its workspace."""
        digest = BotKey.digest_of(token)
        row_level_security.enter_by_grant(digest)
        condition = Q(code_digest=digest) | Q(refresh_digest=digest) | Q(spent_digests__contains=[digest])
        return self.filter(condition).select_for_update(of=("self",)).select_related("client", "bot", "user").first()


class OAuthGrant(models.Model):
    """That somebody of the staff allowed a client to use the memory of one person through a bot, for a while.

    What the client shows is a key of the bot (`memories_botkey.grant`) that lives an hour and is made anew by a refresh
    token, which is used once. Of code and tokens only the SHA-256 is kept. Who shows one that was used before ends the
    grant.

    - `oauthgrant_permissions_known`: read, or read and write.
    - `oauthgrant_in_workspace`: the pair others point to.
    """

    table = Table(chapter=Chapter.TENANTS, fate=Fate.REMOVED)

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="grants")
    bot = models.ForeignKey(Bot, models.CASCADE, related_name="grants", db_constraint=False, verbose_name=_("bot"))
    client = models.ForeignKey(OAuthClient, models.CASCADE, related_name="grants", verbose_name=_("client"))
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", verbose_name=_("allowed by"))
    permissions = ArrayField(models.CharField(max_length=10, choices=Permission), verbose_name=_("permissions"))
    platform = models.CharField(_("platform"), max_length=40)
    account = models.CharField(_("account"), max_length=200, blank=True, default="")
    peer = models.CharField(_("peer"), max_length=200, blank=True, default="")
    resource = models.CharField(_("address of MCP"), max_length=500)
    redirect_uri = models.CharField(_("redirect address"), max_length=2_000, blank=True, default="", editable=False)
    code_challenge = models.CharField(_("code challenge"), max_length=128, editable=False)
    code_digest = models.CharField(_("digest of the code"), max_length=64, null=True, unique=True, editable=False)
    code_expires_at = models.DateTimeField(_("end of the code"), editable=False)
    refresh_digest = models.CharField(
        _("digest of the refresh token"), max_length=64, null=True, unique=True, editable=False
    )
    spent_digests = ArrayField(
        models.CharField(max_length=64), default=list, editable=False, verbose_name=_("digests that were used")
    )
    created_at = models.DateTimeField(_("allowed"))
    expires_at = models.DateTimeField(_("expires"))
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)

    objects = OAuthGrantQuerySet.as_manager()

    class Meta:
        verbose_name = _("connected client")
        verbose_name_plural = _("connected clients")
        constraints = [
            models.CheckConstraint(
                condition=Q(permissions__contained_by=SCOPES) & ~Q(permissions=[]), name="oauthgrant_permissions_known"
            ),
            models.CheckConstraint(condition=~Q(platform=""), name="oauthgrant_has_a_platform"),
            models.UniqueConstraint(fields=["id", "workspace"], name="oauthgrant_in_workspace"),
            InsideWorkspace("bot", name="oauthgrant_bot_in_its_workspace", cascade=True),
            WorkspacePolicy(name="oauthgrant_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.client} · {self.bot}"

    def is_usable(self, now: datetime) -> bool:
        """Whether tokens may still be made of it."""
        return self.revoked_at is None and self.expires_at > now and self.bot.disabled_at is None

    @property
    def whose(self) -> str:
        """The person whose memory it is, as addresses name them."""
        return ":".join(filter(None, (self.platform, self.account, self.peer)))

    # what Authlib asks a code or a token (authlib.oauth2.rfc6749: AuthorizationCodeMixin, TokenMixin)

    def check_client(self, client: OAuthClient) -> bool:
        return self.client_id == client.pk

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return " ".join(self.permissions)
