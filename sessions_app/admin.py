"""Sessions as conversations to read."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import BooleanRadioFilter

from memories.admin.filters import DaysFilter
from memories.admin.row_history import RecordedHistory
from memories.admin.wall import LOOK, WalledAdmin
from sessions_app.models import Session, SessionEvent

#: Of a conversation, the last so many messages; older ones are read through the API.
EVENTS_SHOWN = 200


@admin.register(Session)
class SessionAdmin(RecordedHistory, WalledAdmin):
    """Read only: sessions are what was said."""

    members_may = LOOK
    list_display = ["key", "platform", "account", "chat_id", "is_group", "conversation", "last_at", "workspace"]
    list_filter = [("is_group", BooleanRadioFilter), ("last_at", DaysFilter)]
    list_select_related = ["workspace"]
    search_fields = ["key", "chat_id"]
    search_help_text = _("Part of a key or of a chat's id")
    ordering = ["-last_at", "-id"]
    fieldsets = [
        (None, {"fields": [("key", "conversation"), ("platform", "account", "chat_id"), ("started_at", "last_at")]}),
        (
            _("More"),
            {
                "classes": ["tab"],
                "fields": ["user_scope", "chat_scope", "is_group", "tokens", "rules", "metadata", "uid"],
            },
        ),
    ]
    readonly_fields = ["uid"]
    change_form_outer_before_template = "admin/sessions_app/conversation.html"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """A NUL can stand in no key."""
        return super().get_search_results(request, queryset, search_term.replace("\0", ""))

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        session = self.get_object(request, object_id) if object_id else None
        events = SessionEvent.objects.filter(session=session, workspace_id=session.workspace_id) if session else None
        newest = list(events.order_by("-conversation", "-position")[:EVENTS_SHOWN])[::-1] if events is not None else []
        more = {"events": newest, "events_shown": EVENTS_SHOWN, **(extra_context or {})}
        answer: HttpResponse = super().changeform_view(request, object_id, form_url, more)
        return answer
