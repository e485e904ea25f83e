"""The first day of somebody who is new here: five steps on the home page, from «is it alive» to «why did it say that».

What can be seen is ticked by itself; what only a person can look at is ticked when they go there. It is gone when all
is done, when somebody says so, and for accounts that are no longer new.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Exists, Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from channels_app.models import Connection
from memories.admin.access import in_workspaces
from memories.models import BotKey, Entry, RecallTrace
from memories.staff.rights import needs, workspaces_of
from memories.staff.roles import Right
from memplatform.operations import health
from memplatform.operations.models import Snooze
from memplatform.setup.first_run import BOT, DEMO_PLATFORM
from memplatform.site.attention import Viewer
from sessions_app.models import Session

#: How long an account is new.
NEW_FOR = timedelta(days=14)
#: By these a person's snoozes remember what they have seen; the first hides all of it.
KEY = "first-day"
DISMISS, REMEMBERED, WHY = "dismiss", "remembered", "why"
_DEMO = Q(platform=DEMO_PLATFORM, account="")


@dataclass(frozen=True)
class Step:
    """One thing to do, or to look at."""

    title: str
    text: str
    is_done: bool
    address: str = ""  # where it is done
    do: str = ""  # what is sent to be taken there, and ticked
    button: str = ""


def steps(viewer: Viewer) -> list[Step]:
    """What is left of the first day; none when it is over."""
    user: Any = viewer.request.user
    if viewer.now - user.date_joined > NEW_FOR:
        return []
    seen_keys = set(Snooze.objects.filter(user=user, key__startswith=KEY).values_list("key", flat=True))
    if KEY in seen_keys:
        return []
    # Whether a key was used, a chat platform wrote, something was said, is remembered, and was asked: in one query
    row = (
        get_user_model()
        .objects.filter(pk=viewer.request.user.pk or 0)
        .values(
            used=Exists(viewer.rows(BotKey.objects.exclude(bot__name=BOT).exclude(last_used_at=None))),
            connected=Exists(viewer.rows(Connection.objects.exclude(received_at=None))),
            spoken=Exists(viewer.rows(Session.objects.exclude(_DEMO))),
            remembered=Exists(viewer.rows(Entry.objects.all())),
            asked=Exists(viewer.rows(RecallTrace.objects.all())),
        )
    )
    there = {name: bool(there) for name, there in row.get().items()}
    all_steps = _all_steps(viewer, there, seen_keys)
    return [] if all(step.is_done for step in all_steps) else all_steps


def _all_steps(viewer: Viewer, there: Mapping[str, bool], seen_keys: Collection[str]) -> list[Step]:
    silence = viewer.measures.silence
    lives = all(name in silence and silence[name] < health.SILENCE.total_seconds() for name in health.NEEDED)
    text = _("Web, worker, embedder and database answer.") if lives else _("What is silent stands below.")
    page = reverse("admin:operations_heartbeat_changelist") if viewer.is_superuser else ""
    # Whoever may give no keys sees what others connected
    connect = reverse("connect_bot") if viewer.may(Right.KEYS) else ""
    how = _("A name is enough: the page has its key and its code.") if connect else _("Ask an owner to connect one.")
    is_connected = there["used"] or there["connected"]
    return [
        Step(_("Is it alive?"), text, lives, page, button=_("Show the processes")),
        Step(_("Connect a bot"), how, is_connected, connect, button=_("Connect a bot")),
        Step(
            _("Say something"),
            _("Run the first command of that page, or write to your bot."),
            there["spoken"],
            "" if there["spoken"] or not there["used"] else reverse("admin:memories_bot_changelist"),
            button=_("Your bots"),
        ),
        Step(
            _("See it remembered"),
            _("The newest memory: its words, where they come from, how long it stays."),
            f"{KEY}-{REMEMBERED}" in seen_keys,
            do=REMEMBERED if there["remembered"] else "",
            button=_("Show me"),
        ),
        Step(
            _("See why"),
            _("The newest question: what was served, what was left out, and for which reason."),
            f"{KEY}-{WHY}" in seen_keys,
            do=WHY if there["asked"] else "",
            button=_("Show me"),
        ),
    ]


@needs("read")
@require_POST
def act(request: HttpRequest) -> HttpResponse:
    """Take somebody to what they want to see, and tick it; or put all of it away."""
    what, user_id = request.POST.get("do", ""), int(request.user.pk or 0)
    if what not in (DISMISS, REMEMBERED, WHY):
        return HttpResponseRedirect(_home())
    key = KEY if what == DISMISS else f"{KEY}-{what}"
    Snooze.objects.update_or_create(user_id=user_id, key=key, defaults={"until": None, "mark": what})
    model: Any = Entry if what == REMEMBERED else RecallTrace
    newest = in_workspaces(model.objects.all(), workspaces_of(request)).order_by("-pk")
    pk, name = newest.values_list("pk", flat=True).first(), f"admin:memories_{model._meta.model_name}_change"
    return HttpResponseRedirect(reverse(name, args=[pk]) if pk and what != DISMISS else _home())


def _home() -> str:
    return f"{reverse('admin:index')}#first-day"
