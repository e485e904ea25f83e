"""Connect a bot: one page that leads from a name to the first turn that arrived."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from unfold.widgets import UnfoldAdminSelectWidget

from channels_app.addresses import ensure_channel, find_channel
from channels_app.bots.code import LANGUAGES, Connected, channel_choices
from channels_app.models import Channel
from memories.admin.access import visible_workspaces
from memories.admin.auditing import note
from memories.admin.bots import grantable_permissions
from memories.admin.forms import LineField, SelectField
from memories.admin.masking import is_secret
from memories.admin.pages import own_page
from memories.audit.models import AuditEvent
from memories.choices import Permission
from memories.exceptions import InvalidAddress
from memories.models import Bot, BotKey, Entry, RecallTrace, Workspace
from memories.staff.rights import needs
from memories.staff.roles import Right
from memories.tenancy.resolver import Address
from sessions_app.models import EventKind, Session, SessionEvent

#: htmx asks no more after an answer with this status.
STOP_ASKING = 286
_SHOWN = 120  # characters of what arrived


class ConnectForm(forms.Form):
    """A name, and where and in what the bot is written."""

    name = LineField(
        label=gettext_lazy("Name of the bot"),
        max_length=100,
        help_text=gettext_lazy("It is also the account its channel has here."),
        attrs={"autofocus": True, "autocomplete": "off", "placeholder": "mybot"},
    )
    workspace: Any = forms.ModelChoiceField(
        label=gettext_lazy("workspace"), queryset=None, widget=UnfoldAdminSelectWidget, empty_label=None
    )
    channel = SelectField(label=gettext_lazy("Where it talks to people"), choices=channel_choices)
    language = SelectField(
        label=gettext_lazy("What it is written in"),
        choices=[(name, label) for name, (label, _code) in LANGUAGES.items()],
    )

    def __init__(self, data: Any = None, *, request: HttpRequest) -> None:
        super().__init__(data)
        mine = visible_workspaces(request, Right.KEYS)
        where: Any = self.fields["workspace"]
        where.queryset = mine
        first_two = list(mine[:2])
        where.initial = first_two[0] if first_two else None
        if len(first_two) == 1:
            where.widget = forms.HiddenInput()

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())

    def clean(self) -> dict[str, Any]:
        """The channel may be new; a bot of this name that is switched off gets no key."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        workspace, name, platform = (data.get(field) for field in ("workspace", "name", "channel"))
        if workspace and name and platform:
            try:
                find_channel(workspace.pk, platform, name, may_be_new=True, inside="")
            except InvalidAddress as refusal:
                self.add_error("name", str(refusal))
            if Bot.objects.filter(workspace=workspace, name=name).exclude(disabled_at=None).exists():
                self.add_error("name", _("A bot of this name is disabled: enable it on its page, or choose another."))
        return data


@never_cache
@needs(Right.KEYS)
def page(request: HttpRequest) -> HttpResponse:
    """Ask for a name; the answer has the key, which is shown this once, the code, and what arrives by itself."""
    form = ConnectForm(request.POST if request.method == "POST" else None, request=request)
    title = _("Connect a bot")
    if not (form.is_bound and form.is_valid()):
        return own_page(request, "admin/channels_app/connect_bot.html", {"title": title, "form": form})
    after = SessionEvent.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    workspace: Workspace = form.cleaned_data["workspace"]
    place = {"platform": form.cleaned_data["channel"], "account": form.cleaned_data["name"]}
    with transaction.atomic():  # a bot that is there already gets one more key
        bot, is_new = Bot.objects.get_or_create(workspace=workspace, name=form.cleaned_data["name"])
        if is_new:
            note(request, AuditEvent.SETTING, bot, details={"what": "added"})
        ensure_channel(workspace.pk, Address(**place))
        allowed = set(grantable_permissions(request, bot))
        permissions = [each.value for each in (Permission.READ, Permission.WRITE) if each in allowed]
        key, token = BotKey.issue(bot, label=str(_("its first page")), permissions=permissions)
        note(request, AuditEvent.KEY_ISSUED, bot, details={"text": _("Issued the key %(key)s.") % {"key": key}})
        channel = Channel.objects.get(workspace=workspace, **place)
    url = settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/")
    code = Connected(url=url, token=token, platform=channel.platform, account=channel.account)
    language, (curl, question) = form.cleaned_data["language"], code.commands()
    context = {
        "title": _("Connect %(bot)s") % {"bot": key.bot},
        "bot_key": key,
        "token": token,
        "curl": curl,
        "question": question,
        "programs": [(name, label, code.program(name), name == language) for name, (label, _text) in LANGUAGES.items()],
        **progress_of(key, channel, after),
    }
    return own_page(request, "admin/channels_app/connected_bot.html", context)


@dataclass(frozen=True)
class Step:
    """One step from the key to what is remembered."""

    label: str
    text: str
    is_done: bool
    address: str = ""


@never_cache
@needs(Right.KEYS)
def status(request: HttpRequest, key: int, channel: int, after: int) -> HttpResponse:
    """What arrived of a bot since its key was made, asked for again and again while its page is open."""
    mine = visible_workspaces(request, Right.KEYS)
    bot_key = BotKey.objects.select_related("bot").filter(pk=key, workspace__in=mine).first()
    row = Channel.objects.filter(pk=channel, workspace__in=mine).first()
    if bot_key is None or row is None or bot_key.workspace_id != row.workspace_id:
        raise Http404
    progress = progress_of(bot_key, row, after)
    code = STOP_ASKING if progress["is_whole"] else 200
    return TemplateResponse(request, "admin/channels_app/connected_status.html", progress, status=code)


def progress_of(key: BotKey, channel: Channel, after: int) -> dict[str, Any]:
    """How far a bot has come with a key, in four steps: of its channel, what was told after the message `after`."""
    workspace = channel.workspace_id
    sessions = Session.objects.filter(workspace=workspace, platform=channel.platform, account=channel.account)
    user_messages = SessionEvent.objects.filter(
        workspace=workspace, session__in=sessions, kind=EventKind.USER, pk__gt=after
    )
    event = user_messages.select_related("session").order_by("pk").first()
    entry = None
    if event is not None:
        scopes = [pk for pk in (event.session.user_scope_id, event.session.chat_scope_id) if pk]
        # It may be one of before: the same words told by another bot are one memory
        entries = Entry.objects.filter(workspace=workspace, scope__in=scopes)
        entry = entries.filter(origins__contains=[event.session.origin_of(event)]).order_by("pk").first()
    memory_text = _("What was kept of it appears here.")
    if entry is not None:
        memory_text = _("A credential") if is_secret(entry) else str(entry)[:_SHOWN]
    trace = RecallTrace.objects.filter(bot=key.bot_id, created_at__gte=key.created_at).order_by("pk").first()
    steps = [
        Step(
            _("The key was used"),
            _("Its calls are let in.") if key.last_used_at else _("No call with this key yet."),
            key.last_used_at is not None,
        ),
        Step(
            _("First turn received"),
            event.handed_out().content[:_SHOWN] if event else _("Run the first command, or the program."),
            event is not None,
            reverse("admin:sessions_app_session_change", args=[event.session_id]) if event else "",
        ),
        Step(
            _("It is remembered"),
            memory_text,
            entry is not None,
            reverse("admin:memories_entry_change", args=[entry.pk]) if entry else "",
        ),
        Step(
            _("A question was answered"),
            trace.message[:_SHOWN] if trace else _("Run the second command; its page says why it was answered so."),
            trace is not None,
            reverse("admin:memories_recalltrace_change", args=[trace.pk]) if trace else "",
        ),
    ]
    is_whole = all(step.is_done for step in steps)
    return {"steps": steps, "is_whole": is_whole, "bot_key": key, "channel": channel, "after": after}
