"""The admin site: takes only what stands behind the wall, and finds its way to everything from one side bar."""

import time
from collections.abc import Iterable
from typing import Any

from django.contrib.admin import ModelAdmin
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, reverse
from django.utils.translation import gettext_lazy as _
from unfold.sites import UnfoldAdminSite

from memplatform.site import palette

#: Packages whose own admin pages are replaced by ours.
_REPLACED = ("django.contrib.auth.", "django_q.")

#: The side bar: sections of (model, icon).
SECTIONS: list[tuple[Any, list[tuple[str, str]]]] = [
    (
        _("Memory"),
        [
            ("memories.entry", "psychology"),
            ("memories.scope", "folder_shared"),
            ("sessions_app.session", "forum"),
            ("memories.dailyevent", "calendar_month"),
            ("memories.recalltrace", "trace_long"),
            ("memories.batch", "stacks"),
        ],
    ),
    (
        _("Settings"),
        [
            ("memories.workspace", "apartment"),
            ("memories.member", "group"),
            ("memories.bot", "smart_toy"),
            ("channels_app.channel", "hub"),
            ("memories.policy", "tune"),
        ],
    ),
    (
        _("Machine room"),
        [
            ("memories.extractionbatch", "inbox"),
            ("memories.jobrun", "event_repeat"),
            ("memories.spend", "payments"),
            ("django_q.schedule", "schedule"),
            ("django_q.failure", "error"),
            ("memories.heartbeat", "ecg_heart"),
            ("auth.user", "person"),
        ],
    ),
]


class Site(UnfoldAdminSite):
    """The one admin site of the platform."""

    index_title = _("Home")

    def register(self, model_or_iterable: Any, admin_class: type[ModelAdmin] | None = None, **options: Any) -> None:  # type: ignore[type-arg]
        """Refuses whatever would show rows without asking whose they are."""
        if getattr(admin_class, "is_restricted", False):
            super().register(model_or_iterable, admin_class, **options)
        elif admin_class is None or not admin_class.__module__.startswith(_REPLACED):
            raise ImproperlyConfigured(f"{admin_class} does not stand behind the wall (memories.admin.access).")

    def get_urls(self) -> list[URLPattern]:
        """Without «view on site»: nothing has a page elsewhere, and it would tell which ids exist."""
        return [pattern for pattern in super().get_urls() if getattr(pattern, "name", None) != "view_on_site"]

    def get_sidebar_list(self, request: HttpRequest) -> list[dict[str, Any]]:
        first = {"title": _("Home"), "icon": "home", "link": reverse("admin:index"), "has_permission": True}
        sections = [{"items": [first | {"active": request.path == first["link"]}]}]
        return sections + [
            {"title": title, "separator": True, "items": items}
            for title, models in SECTIONS
            if (items := [item for item in self._items(models, request) if item["has_permission"]])
        ]

    def _items(self, models: Iterable[tuple[str, str]], request: HttpRequest) -> Iterable[dict[str, Any]]:
        registered = {model._meta.label_lower: entry for model, entry in self._registry.items()}
        for label, icon in models:
            model_admin = registered[label]
            link = reverse(f"admin:{label.replace('.', '_')}_changelist")
            yield {
                "title": str(model_admin.opts.verbose_name_plural).capitalize(),
                "icon": icon,
                "link": link,
                "active": request.path.startswith(link),
                "has_permission": model_admin.has_view_permission(request),
            }

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The palette (Ctrl-K): pages by name, entries by their words. Nothing is cached: access may have ended."""
        asked = request.GET.get("s", "").strip()
        if not asked:
            return HttpResponse()
        begun = time.perf_counter()
        pages = self._search_apps(self.get_app_list(request), asked.lower())
        return palette.answer(request, [*pages, *palette.find(self, request, asked)], begun=begun)
