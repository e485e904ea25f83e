"""The page that asks somebody of the staff whether a client is let in: which client, whose memory, what it may do."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from authlib.oauth2.rfc6749 import OAuth2Error
from django import forms
from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from channels_app.addresses import resolve_address
from channels_app.doors.oauth.server import SERVER, Consent, with_issuer
from memories.admin.access import in_workspaces
from memories.admin.auditing import note
from memories.admin.bots import grantable_permissions
from memories.admin.forms import LineField, SelectField
from memories.admin.pages import own_page
from memories.audit.models import AuditEvent
from memories.choices import Permission
from memories.exceptions import PlatformError
from memories.models import Bot
from memories.staff.rights import needs, workspaces_of
from memories.staff.roles import Right
from memories.tenancy.resolver import LOCAL_PLATFORMS, PLATFORMS, Address

READ, WRITE = "read", "write"
_TERMS = [("7", _("7 days")), ("30", _("30 days")), ("90", _("90 days")), ("365", _("a year"))]


class ConsentForm(forms.Form):
    """Which bot the client is, whose memory it uses, what it may do, and for how long."""

    bot = SelectField(label=_("As which bot"), help_text=_("Its workspace is the one whose memory is used."))
    platform = SelectField(
        label=_("Whose memory: platform"),
        help_text=_("Where this person is known. «cli» is the one person at this machine."),
    )
    peer = LineField(
        label=_("Whose memory: person"),
        max_length=200,
        required=False,
        help_text=_("Their id on that platform, such as a Telegram user's number. Not needed for cli and web."),
    )
    account = LineField(
        label=_("Account"),
        max_length=200,
        required=False,
        help_text=_("Of the bot on that platform, if its channel has one."),
    )
    may = SelectField(label=_("What it may do"))
    term = SelectField(label=_("For how long"), choices=_TERMS, initial="90")

    def __init__(self, request: HttpRequest, wished: list[str]) -> None:
        super().__init__(request.POST or None, prefix="consent")
        self.request = request
        workspaces = workspaces_of(request, Right.KEYS)
        bots: Any = in_workspaces(Bot.objects.filter(disabled_at=None), workspaces).select_related("workspace")
        self.bots = {str(bot.pk): bot for bot in bots.order_by("workspace__name", "name")}
        self._choices("bot", [(pk, f"{bot.workspace} · {bot}") for pk, bot in self.bots.items()])
        self._choices("platform", [(name, name) for name in PLATFORMS])
        both = [(WRITE, _("Search and read this memory, save, correct and forget"))] if WRITE in wished else []
        self._choices("may", [*both, (READ, _("Search and read this memory"))])

    def _choices(self, name: str, choices: list[tuple[str, Any]]) -> None:
        field: Any = self.fields[name]
        field.choices = choices

    def clean(self) -> dict[str, Any]:
        """The person has to be there to be meant, and nobody gives what they do not hold."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        bot = self.bots.get(data.get("bot", ""))
        if bot is None or "platform" not in data or "may" not in data:
            return data
        grantable = grantable_permissions(self.request, bot)
        if not set(self.permissions()) <= set(grantable):
            self.add_error("may", gettext("You may not give this to a bot of this workspace."))
        if not data.get("peer") and data["platform"] not in LOCAL_PLATFORMS:
            self.add_error("peer", gettext("Say whose memory it is: the id of the person on this platform."))
            return data
        try:
            resolve_address(bot.workspace.caller("oauth"), self.address())
        except PlatformError as problem:
            self.add_error("peer", str(problem))
        return data

    def permissions(self) -> list[str]:
        write = [Permission.WRITE.value] if self.cleaned_data["may"] == WRITE else []
        return [Permission.READ.value, *write]

    def address(self) -> Address:
        data = self.cleaned_data
        return Address(platform=data["platform"], account=data.get("account", ""), peer=data.get("peer", ""))

    def consent(self, now: datetime) -> Consent:
        return Consent(
            user=self.request.user,
            bot=self.bots[self.cleaned_data["bot"]],
            permissions=self.permissions(),
            address=self.address(),
            expires_at=now + timedelta(days=int(self.cleaned_data["term"])),
        )


@needs(Right.KEYS)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """GET asks; POST allows or refuses, and leads back to the client."""
    if not settings.OAUTH_ISSUER:
        raise Http404
    now = request.now = timezone.now()  # type: ignore[attr-defined]
    try:
        grant = SERVER.get_consent_grant(request, end_user=request.user)
    except OAuth2Error as error:
        if error.redirect_uri:
            return with_issuer(SERVER.handle_response(*error()))
        context = {"title": gettext("This client cannot be let in"), "problem": error.description or error.error}
        return own_page(request, "admin/channels_app/consent_problem.html", context, status=400)
    client, redirect_uri = grant.request.client, str(grant.redirect_uri)
    form = ConsentForm(request, (grant.request.scope or "").split())
    response: HttpResponse
    if request.method == "POST" and "refuse" in request.POST:
        response = with_issuer(SERVER.create_authorization_response(request, grant_user=None, grant=grant))
    elif request.method == "POST" and form.is_valid():
        # The way back to the client with a code, noted in the audit log
        consent = form.consent(now)
        with transaction.atomic():
            response = SERVER.create_authorization_response(request, grant_user=consent, grant=grant)
            permissions = ", ".join(consent.permissions)
            text = gettext("Let %(client)s in over MCP (%(permissions)s).")
            text %= {"client": client, "permissions": permissions}
            note(request, AuditEvent.KEY_ISSUED, consent.bot, details={"text": text})
        response = with_issuer(response)
    else:
        context = {
            "title": gettext("Let %(client)s use memory?") % {"client": client},
            "client": client,
            "form": form,
            "back_to": urlsplit(redirect_uri),
        }
        response = own_page(request, "admin/channels_app/consent.html", context)
    # Where the browser may go when the form was sent: to the client that asked, and no other place
    parts = urlsplit(redirect_uri)
    target = f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") else f"{parts.scheme}:"
    response._csp_update = {"form-action": target}  # type: ignore[attr-defined]
    return response
