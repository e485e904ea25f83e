"""Sessions as conversations to read, and what an operator may do to the open one."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.formats import localize
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import BooleanRadioFilter
from unfold.decorators import display

from memories.admin.access import VIEW, RestrictedAdmin
from memories.admin.filters import DaysFilter
from memories.admin.history import RecordedHistory
from memories.choices import DmScope, GroupSessions, GroupUserRecall, NeedMode, SecretsRule, SessionMode
from memories.staff.rights import holds, workspaces_of
from memories.staff.roles import Right
from sessions_app.admin.actions import CLOSE, FLUSH, RESET
from sessions_app.admin.conversation import conversation_of
from sessions_app.admin.speakers import with_speakers
from sessions_app.admin.take_out import QUARANTINE, TAKE_OUT
from sessions_app.models import Session, SessionEvent

#: The rules of a channel by their names, each with its label and those of its values.
_RULES: Mapping[str, tuple[Any, Mapping[Any, Any]]] = {
    "dm_scope": (_("memory of direct chats"), dict(DmScope.choices)),
    "session_mode": (_("sessions"), dict(SessionMode.choices)),
    "session_prefix": (_("session prefix"), {}),
    "group_sessions": (_("group sessions"), dict(GroupSessions.choices)),
    "group_prefix": (_("group prefix"), {}),
    "capture_group_memory": (_("remember for the group"), {True: _("yes"), False: _("no")}),
    "group_user_recall": (_("what a group may hear of a person"), dict(GroupUserRecall.choices)),
    "secrets": (_("secrets that are told"), dict(SecretsRule.choices)),
    "need": (_("ask whether memory is needed"), dict(NeedMode.choices)),
    "max_tokens": (_("tokens of a history"), {}),
}


def _rule_label(value: Any, words: Mapping[Any, Any]) -> str:
    return "" if value in (None, "") else str(words.get(value, value))


class SaidBetween(DaysFilter):
    """By the days its newest message was said on, as the list shows them."""

    column = "newest_at"


@admin.register(Session)
class SessionAdmin(RecordedHistory, RestrictedAdmin):
    """What was said cannot be changed; the open conversation can be flushed, closed and reset."""

    members_may = VIEW
    has_page_context = True
    declared = (FLUSH, CLOSE, RESET, TAKE_OUT, QUARANTINE)
    list_display = ["who", "platform", "account", "conversation", "budget", "said_at", "workspace"]
    list_display_links = ["who"]
    list_filter = [("is_group", BooleanRadioFilter), ("last_at", SaidBetween)]
    list_select_related = ["workspace"]
    search_fields = ["key", "chat_id", "peer"]
    search_help_text = _("Part of a key, of a chat's id, of a peer's or of a name people go by")
    ordering = ["-last_at", "-id"]
    fieldsets = [
        (None, {"fields": [("key", "conversation"), ("platform", "account", "chat_id"), ("started_at", "said_at")]}),
        (
            _("More"),
            {
                "classes": ["tab"],
                "fields": [
                    ("user_scope", "chat_scope"),
                    ("peer", "is_group"),
                    "tokens",
                    "rules_in_words",
                    "metadata",
                    "uid",
                ],
            },
        ),
    ]  # fmt: skip
    readonly_fields = ["uid", "rules_in_words", "said_at"]
    change_form_outer_before_template = "admin/sessions_app/conversation.html"

    @display(description=_("chat"), ordering="chat_id")
    def who(self, session: Session) -> str:
        return session.peer or session.chat_id or session.key

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        """With when the newest message was said, as a turn may be told long after; without messages, its last use."""
        newest = SessionEvent.objects.filter(session=OuterRef("pk")).order_by("-conversation", "-position")
        rows: QuerySet[Session] = (
            super().get_queryset(request).annotate(newest_at=Coalesce(Subquery(newest.values("at")[:1]), F("last_at")))
        )
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Session], search_term: str
    ) -> tuple[QuerySet[Session], bool]:
        """Also by the names of the people who speak there."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if name := " ".join(search_term.replace("\0", "").split()):
            found |= with_speakers(queryset, name, workspaces_of(request))
        return found, may_repeat

    @display(description=_("last message"), ordering="newest_at")
    def said_at(self, session: Session) -> str:
        """When it was said, on the reader's clock."""
        return str(localize(localtime(getattr(session, "newest_at", session.last_at))))

    @display(description=_("tokens"), ordering="tokens")
    def budget(self, session: Session) -> str:
        return f"{session.tokens:,} / {session.max_tokens():,}"

    @display(description=_("rules"))
    def rules_in_words(self, session: Session) -> str:
        """The channel's rules when it was last used, in words; what leaves it to the platform is left out."""
        told = session.channel_rules()
        shown = [(label, _rule_label(getattr(told, name), words)) for name, (label, words) in _RULES.items()]
        return " · ".join(f"{label}: {value}" for label, value in shown if value)

    def page_context(self, request: HttpRequest, row: Session) -> dict[str, Any]:
        return {
            "talk": conversation_of(row, request.GET),
            "session": row,
            "may_take_out": holds(request, Right.CURATE, row.workspace_id),
        }
