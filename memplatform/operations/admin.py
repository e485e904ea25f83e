"""Hosts, and heartbeats of their processes."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import admin
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from memories.admin.access import Colors, RestrictedAdmin
from memories.admin.pages import column
from memories.staff.rights import VIEW
from memplatform.operations import health, hosts
from memplatform.operations.models import Heartbeat, Host


def log_link(host: str, process: str = "") -> str:
    """To the log of a process on the host that answers; the files of others are there alone."""
    if host != settings.HOST_NAME:
        return gettext("on that host")
    query = f"?{urlencode({'process': process})}" if process else ""
    return format_html('<a href="{}">{}</a>', reverse("log") + query, gettext("Log"))


@admin.register(Heartbeat)
class HeartbeatAdmin(RestrictedAdmin):
    """The processes of the platform, for superusers: they belong to no workspace."""

    workspace_field = None
    superusers_may = VIEW
    has_history = False
    list_display = ["host", "name", "pid", "colored_state", "beat_at", "started_at", "log"]
    ordering = ["-beat_at"]
    log = column(_("log"), lambda heartbeat: log_link(heartbeat.host, heartbeat.name))
    colored_state = column(
        _("state"),
        lambda heartbeat: _("silent") if timezone.now() - heartbeat.beat_at > health.SILENCE else _("alive"),
        label=Colors({_("alive"): "success", _("silent"): "danger"}),
    )


@admin.register(Host)
class HostAdmin(RestrictedAdmin):
    """The hosts that work with this database, for superusers: they belong to no workspace."""

    workspace_field = None
    superusers_may = VIEW
    has_history = False
    list_display = ["name", "parts_label", "colored_state", "version", "seen_at", "started_at", "folder_path", "log"]
    ordering = ["name"]
    fields = [
        ("name", "colored_state"), ("parts_label", "version", "pid"), ("started_at", "seen_at", "stopped_at"),
        ("folder_path", "folder"),
    ]  # fmt: skip
    readonly_fields = ["colored_state", "parts_label"]
    log = column(_("log"), lambda host: log_link(host.name))
    parts_label = column(_("parts"), lambda host: ", ".join(host.parts))

    @display(description=_("state"), label=Colors({_("runs"): "success", _("stopped"): None, _("silent"): "danger"}))
    def colored_state(self, host: Host) -> Any:
        if host.stopped_at is not None:
            return _("stopped")
        return _("silent") if timezone.now() - host.seen_at > hosts.SILENCE else _("runs")
