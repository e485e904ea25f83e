"""Channels: the rules by which a bot account keeps memories and sessions apart."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.db import transaction
from django.db.models import Count, Sum
from django.db.models.functions import TruncDate
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.enums import ActionVariant

from channels_app import cards
from channels_app.addresses import normalized
from channels_app.api.turns import EFFECTS
from channels_app.doors.files import replay
from channels_app.doors.files.comparison import length_of
from channels_app.models import Channel, PathComparison, ReplayedRecord, ReplayOutcome
from channels_app.people import linking
from channels_app.platforms import admin as platform_pages  # noqa: F401 (its pages)
from memories.admin.access import Colors, RestrictedAdmin, in_workspaces
from memories.admin.actions import Action, ActionCall, Question
from memories.admin.files import file_url
from memories.admin.history import RevertibleHistory
from memories.admin.lists import DaysFilter
from memories.admin.pages import column
from memories.models import Entry, FileState, RecallTrace
from memories.staff.rights import CONFIGURE, VIEW, workspaces_of

#: Sums are of at most so many days of channels.
_SUMS_SHOWN = 100


@dataclass(frozen=True)
class FoundLine:
    """Something that only one of the two found, and where it can be read."""

    content: str
    place: str
    url: str


def days_of(workspaces: frozenset[int] | None, since: datetime) -> list[dict[str, Any]]:
    """The sums of each day and channel in these workspaces, the newest first."""
    rows = in_workspaces(PathComparison.objects.filter(created_at__gt=since), workspaces)
    by_day = rows.annotate(day=TruncDate("created_at")).order_by()
    sums = by_day.values("day", "workspace__name", "platform", "account").annotate(
        recalls=Count("pk"),
        found_by_both=Sum("both"),
        database=Sum(length_of("only_database")),
        files=Sum(length_of("only_files")),
    )
    return list(sums.order_by("-day", "workspace__name", "platform", "account")[:_SUMS_SHOWN])


def _line(row: dict[str, Any], entries: dict[str, int], scopes: dict[str, int]) -> FoundLine:
    """A line with the page of its entry, or else of its file, as far as they are still there."""
    path, line = row.get("path") or "", row.get("line")
    place, url = f"{path}:{line}" if path and line else path, ""
    if entry := entries.get(row.get("id") or ""):
        url = reverse("admin:memories_entry_change", args=[entry])
    elif path in scopes:
        url = file_url(scopes[path], path, line)
    return FoundLine(row.get("content", ""), place, url)


_HELP = {
    "label": _("What people call it."),
    "dm_scope": _(
        "How far the memories of direct chats are kept apart. Empty: one per platform and person, or one for all where "
        "a single person sits at the keyboard. A change holds from the next message on and moves nothing."
    ),
    "session_mode": _("«One session a chat» lets a conversation go on; the other forgets it with every message."),
    "session_prefix": _("Begins the keys of this channel's sessions; empty: the platform's name."),
    "max_tokens": _("Budget of a conversation's history; older turns give way to a summary. Empty: as configured."),
    "group_sessions": _("Whether the members of a group share one conversation or each have their own."),
    "group_prefix": _("Begins the scope keys of groups. Changing it begins new, empty memories for them."),
    "capture_group_memory": _("Also keep what is said in a group as the group's own memory. Empty: as configured."),
    "group_user_recall": _(
        "What the bot may bring up in a group from what a person told it elsewhere. Empty: as configured."
    ),
    "secrets": _(
        "Passwords, codes, keys, numbers of cards and identities. Kept apart, they are masked in the conversation, and "
        "given to their owner alone, in a direct chat, who asks for them. Empty: as configured."
    ),
    "need": _("By rules, messages like «ok» or pure code are answered without a search."),
    "serve": _(
        "How likely a memory has to help, where the bot does not say: «likely» for what goes into a prompt, «wide» for "
        "all that may help, or a relevance from 0 to 1. Empty: likely in a prompt, wide for programs that choose."
    ),
    "path_mode": _(
        "«The files»: turns wait in the journal and are applied once the database answers again. «Both store»: what "
        "the files would have found is compared with what the database finds. A change holds from the next message on."
    ),
    "transcripts": _("Write what is said to the files of its scope, too. Empty: as configured."),
}


class ChannelForm(forms.ModelForm[Channel]):
    """A channel as people add it: its platform is written as addresses are read."""

    def clean_platform(self) -> str:
        return normalized(self.cleaned_data["platform"])


@admin.register(Channel)
class ChannelAdmin(RevertibleHistory, RestrictedAdmin):
    """A channel appears by itself when a bot first speaks from it; people set its rules."""

    when_empty = _("A channel appears by itself when a bot first speaks from it.")
    form = ChannelForm
    members_may = CONFIGURE
    change_form_outer_before_template = "admin/channels_app/sharing.html"
    revertible = (
        "label", "dm_scope", "session_mode", "session_prefix", "max_tokens", "group_sessions", "capture_group_memory",
        "group_user_recall", "group_prefix", "secrets", "need", "serve", "path_mode", "transcripts",
    )  # fmt: skip
    list_display = ["name", "platform", "account", "workspace", "dm_scope", "group_sessions", "created_at"]
    list_select_related = ["workspace"]
    search_fields = ["platform", "account", "label"]
    ordering = ["workspace__name", "platform", "account"]
    fieldsets = [
        (None, {"fields": ["label", ("platform", "account", "workspace")]}),
        (_("Direct chats"), {"fields": ["dm_scope", "session_mode", "session_prefix", "max_tokens"]}),
        (_("Groups"), {"fields": ["group_sessions", "capture_group_memory", "group_user_recall", "group_prefix"]}),
        (_("Recall"), {"fields": ["need", "serve", "secrets"]}),
        (_("Files"), {"fields": ["path_mode", "transcripts"]}),
        (_("About"), {"fields": [("uid", "version", "created_at")]}),
    ]
    name = column(_("channel"), str, ordering="platform")

    def get_readonly_fields(self, request: HttpRequest, obj: Channel | None = None) -> list[str]:
        return ["uid", "version", "created_at", *(["platform", "account", "workspace"] if obj else [])]

    def get_form(self, request: HttpRequest, obj: Channel | None = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["help_texts"] = _HELP
        form = super().get_form(request, obj, change=change, **kwargs)
        for name in ("capture_group_memory", "transcripts"):
            if rule := form.base_fields.get(name):
                rule.widget.choices = [("unknown", _("as configured")), ("true", _("yes")), ("false", _("no"))]
        return form

    def save_model(self, request: HttpRequest, obj: Channel, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        transaction.on_commit(partial(cards.forget_channels, obj.workspace_id))

    def page_context(self, request: HttpRequest, row: Channel) -> dict[str, Any]:
        """How many people share its one memory, which is meant for a bot with a single owner."""
        return {"sharing": sum(linking.people_sharing([row], now=timezone.now()).values())}


_ASKED_CHARS = 120
#: Days the sums above the list of comparisons are of.
DAYS_SUMMED = 14
_OUTCOMES = {
    outcome.label: color for outcome, color in zip(ReplayOutcome, ("success", "info", "danger", None), strict=True)
}


def _question(text: Any, *, is_grave: bool = False) -> Callable[[ActionCall], Question]:
    def asks(call: ActionCall) -> Question:
        rows = [f"{call.kind} · {call.platform} · {call.reason}"[:150] for call in call.rows]
        return Question(text=text, rows=rows, is_grave=is_grave)

    return asks


def _retry(call: ActionCall) -> str:
    outcomes = replay.retry(call.rows, EFFECTS, now=call.now)
    failures = outcomes.pop(ReplayOutcome.PARKED, 0)
    summary = ngettext("%(n)d call is applied", "%(n)d calls are applied", outcomes.total())
    remark = ngettext("%(left)d could not be, again.", "%(left)d could not be, again.", failures)
    return (f"{summary}; {remark}" if failures else f"{summary}.") % {"n": outcomes.total(), "left": failures}


def _discard(call: ActionCall) -> str:
    call.admin.log_deletions(call.request, call.rows.filter(outcome=ReplayOutcome.PARKED))
    count = replay.discard(call.rows, now=call.now)
    return ngettext("%(n)d call is given up.", "%(n)d calls are given up.", count) % {"n": count}


def _waits_for_a_decision(record: ReplayedRecord) -> bool:
    return record.outcome == ReplayOutcome.PARKED


RETRY = Action(
    name="retry", label=_("Try again"), icon="replay", right="operate", listed=_("Try the chosen calls again …"),
    fits=_waits_for_a_decision,
    question=_question(
        _("Each is applied as of the time it was accepted, for the bot that sent it, and never twice.")
    ),
    act=_retry,
)  # fmt: skip
DISCARD = Action(
    name="discard", label=_("Give up"), icon="delete_sweep", variant=ActionVariant.DANGER, right="operate",
    listed=_("Give the chosen calls up …"),
    fits=_waits_for_a_decision,
    question=_question(
        _("Their words are removed from here and are nowhere else; this cannot be undone. The lines stay."),
        is_grave=True,
    ),
    act=_discard,
)  # fmt: skip


@admin.register(ReplayedRecord)
class ReplayedRecordAdmin(RestrictedAdmin):
    """Calls that were accepted without the database. What could not be is kept whole until a person decides."""

    members_may = VIEW
    has_history = False
    list_display = ["accepted_at", "kind", "platform", "account", "state", "reason", "replayed_at"]
    list_display_links = ["accepted_at", "kind"]
    list_filter = [("outcome", ChoicesDropdownFilter), ("accepted_at", DaysFilter)]
    ordering = ["-accepted_at", "-id"]
    sortable_by = ["accepted_at"]
    search_fields = ["platform", "account", "reason"]
    fields = [("kind", "state"), ("platform", "account", "workspace"), "reason", "call", ("accepted_at", "replayed_at")]
    readonly_fields = ["state", "call"]
    declared = (RETRY, DISCARD)
    state = column(_("outcome"), lambda record: str(record.get_outcome_display()), label=Colors(_OUTCOMES))
    # The whole call, as it came.
    call = column(
        _("body"),
        lambda record: (
            format_html("<pre>{}</pre>", json.dumps(record.body, ensure_ascii=False, indent=1)) if record.body else ""
        ),
    )


@admin.register(PathComparison)
class PathComparisonAdmin(RestrictedAdmin):
    """What the database found beside what the files would have: sums of days, and each recall with its lines (A4)."""

    members_may = VIEW
    has_history = False
    list_display = ["created_at", "question", "platform", "account", "both", "database_alone", "files_alone"]
    list_display_links = ["created_at", "question"]
    list_filter = [("created_at", DaysFilter)]
    ordering = ["-created_at", "-id"]
    sortable_by = ["created_at"]
    search_fields = ["message", "platform", "account"]
    fields = [("created_at", "both"), ("platform", "account", "workspace")]
    list_before_template = "admin/channels_app/comparison_days.html"
    change_form_outer_before_template = "admin/channels_app/comparison.html"
    question = column(_("message"), lambda comparison: comparison.message[:_ASKED_CHARS] or "—")
    database_alone = column(_("found only by the database"), lambda comparison: len(comparison.only_database))
    files_alone = column(_("found only in the files"), lambda comparison: len(comparison.only_files))

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        since = timezone.now() - timedelta(days=DAYS_SUMMED)
        return {"comparison_days": days_of(workspaces_of(request), since), "days_summed": DAYS_SUMMED}

    def page_context(self, request: HttpRequest, row: PathComparison) -> dict[str, Any]:
        """The lines of a comparison, and the recall it was made of."""
        workspace, alone = row.workspace_id, [*row.only_database, *row.only_files]
        ids = [line["id"] for line in alone if line.get("id")]
        entry_rows = Entry.objects.filter(workspace_id=workspace, uid__in=ids)
        entries = {str(uid): pk for uid, pk in entry_rows.values_list("uid", "pk")}
        paths = [line["path"] for line in alone if line.get("path")]
        states = FileState.objects.filter(workspace_id=workspace, path__in=paths)
        scopes = dict(states.values_list("path", "scope_id"))
        trace = RecallTrace.objects.filter(workspace_id=workspace, uid=row.trace) if row.trace else None
        return {
            "comparison": row,
            "trace": trace.first() if trace else None,
            "database_lines": [_line(line, entries, scopes) for line in row.only_database],
            "file_lines": [_line(line, entries, scopes) for line in row.only_files],
        }
