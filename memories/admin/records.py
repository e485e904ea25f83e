"""The audit log: searched, filtered, and taken out as a file."""

import json
from datetime import datetime
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from memories.admin.access import Colors, RestrictedAdmin
from memories.admin.auditing import note
from memories.admin.lists import DaysFilter, ReachableFilter, csv_text, saved_file, text_filter
from memories.admin.pages import column
from memories.audit.models import AuditEvent, AuditRecord
from memories.staff.models import Member
from memories.staff.rights import Needs, needs, workspaces_of
from memories.staff.roles import Right

#: Rows of one file: it is made while a person waits.
ROWS_MOST = 50_000
_GRAVE = (
    AuditEvent.LOGIN_FAILED, AuditEvent.LOGIN_LOCKED, AuditEvent.CODE_FAILED, AuditEvent.ERASED, AuditEvent.LEAKED,
)  # fmt: skip
_SECRET = (AuditEvent.REVEALED, AuditEvent.KEY_ISSUED, AuditEvent.SECRET_MADE, AuditEvent.EXPORTED)
_COLORS = Colors({event.label: "danger" for event in _GRAVE} | {event.label: "warning" for event in _SECRET})
_COLUMNS = ("at", "by", "event", "about", "workspace", "from", "details", "page")


@admin.register(AuditRecord)
class AuditLog(RestrictedAdmin):
    """Read only, for auditors and owners: of their workspaces, and of the logins of whoever works there."""

    members_may: Needs = {"view": Right.AUDIT}
    rows_are_called = _("lines of the audit log")  # below the list, which is itself called the log
    audit_event = None
    has_history = False
    list_display = ["at", "who", "what", "thing", "workspace", "ip", "more"]
    list_display_links = ["at"]
    list_filter = [
        ("event", ChoicesDropdownFilter),
        text_filter(_("by"), "actor"),  # as history names them: user:ann
        ("workspace", ReachableFilter),
        ("at", DaysFilter),
    ]
    list_select_related = ["workspace"]
    list_before_template = "admin/memories/audit_log.html"
    search_fields = ["about", "actor", "details__text"]
    search_help_text = _("Part of a name, of what it is about, or of what was written down")
    ordering = ["-at", "-id"]
    sortable_by: list[str] = []
    fields = [("at", "who", "ip"), ("what", "workspace"), "thing", "more"]
    readonly_fields = ["who", "what", "thing", "more"]
    who = column(_("by"), lambda record: record.actor.removeprefix("user:"))
    what = column(_("event"), lambda record: AuditEvent(record.event).label, label=_COLORS)

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(self.export)
        return [path("export/<slug:kind>/", page, name="memories_auditrecord_export"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Logins are in no workspace: they are shown where the person works."""
        every = AuditRecord.objects.all()
        where = workspaces_of(request, Right.AUDIT)
        if where is None:
            return every
        colleagues = Member.objects.filter(workspace_id__in=where).values("user_id")
        return every.filter(Q(workspace_id__in=where) | Q(workspace_id=None, user_id__in=colleagues))

    @needs(Right.AUDIT)
    def export(self, request: HttpRequest, kind: str) -> HttpResponse:
        """The list as it is narrowed, the newest ROWS_MOST rows; noted like anything else that leaves."""
        if kind not in _FORMATS:
            raise Http404
        try:
            rows = self.get_changelist_instance(request).queryset[:ROWS_MOST]
        except IncorrectLookupParameters:
            return HttpResponseRedirect(reverse("admin:memories_auditrecord_changelist"))
        content_type, write = _FORMATS[kind]
        # The events by their codes, times in UTC
        records = [
            {
                "at": row.at.isoformat(timespec="seconds") if isinstance(row.at, datetime) else "",
                "by": row.actor,
                "event": row.event,
                "about": row.about,
                "workspace": row.workspace.name if row.workspace_id and row.workspace else "",
                "from": row.ip or "",
                "details": row.details,
                "page": row.address,
            }
            for row in rows
        ]
        text = write(records)
        where = workspaces_of(request, Right.AUDIT)
        for workspace in [None] if where is None else [*sorted(where)]:
            note(request, AuditEvent.EXPORTED, about=gettext("audit log"), workspace_id=workspace, details={"as": kind})
        return saved_file(text, f"audit-log.{kind}", f"{content_type}; charset=utf-8")

    @display(description=_("about"))
    def thing(self, record: AuditRecord) -> str:
        """What it is about, as a link to the page where its own history stands."""
        try:
            kind = str(apps.get_model(record.details["kind"])._meta.verbose_name)
        except (KeyError, LookupError, ValueError):
            kind = ""
        name = " ".join(part for part in (kind, record.about) if part) or "—"
        if not record.address:
            return name
        return format_html('<a class="mp-link" href="{}">{}</a>', record.address, name)

    @display(description=_("details"))
    def more(self, record: AuditRecord) -> str:
        if changes := record.details.get("changes"):
            return LogEntry(change_message=json.dumps(changes)).get_change_message() or "—"
        if text := record.details.get("text"):
            return str(text)
        rest = {name: value for name, value in record.details.items() if name not in ("kind", "what", "run", "report")}
        return ", ".join(f"{name}: {value}" for name, value in rest.items()) or "—"


def _as_csv(records: list[dict[str, Any]]) -> str:
    rows = ({**record, "details": json.dumps(record["details"], ensure_ascii=False)} for record in records)
    return csv_text(_COLUMNS, ([record[name] for name in _COLUMNS] for record in rows))


#: By the ending of the file: its type, and what writes it.
_FORMATS = {
    "csv": ("text/csv", _as_csv),
    "jsonl": (
        "application/jsonl",
        lambda records: "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records),
    ),
}
