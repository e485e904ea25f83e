"""The admin site: it takes restricted admins only, and leads everywhere from one side bar."""

import time
from collections.abc import Iterable, Iterator
from functools import partial
from http import HTTPStatus
from typing import Any

from django.contrib.admin import ModelAdmin
from django.contrib.auth import authenticate
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _
from unfold.dataclasses import SearchResult
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.sites import UnfoldAdminSite

from memories.audit.models import AuditEvent
from memories.models import Entry, Scope
from memories.staff.models import Factor
from memories.staff.rights import guarded, holds, may_anywhere
from memories.staff.roles import Right
from memplatform.site import second_factor
from memplatform.site.logins import note_account, note_login, remember_device
from sessions_app.models import Session

#: Packages whose own admin pages are replaced by ours.
_REPLACED = ("django.contrib.auth.", "django_q.")

#: The side bar: sections of (model, icon).
SECTIONS: list[tuple[Any, list[tuple[str, str]]]] = [
    (
        _("Memory"),
        [
            ("memories.entry", "psychology"),
            ("channels_app.person", "face"),
            ("memories.scope", "folder_shared"),
            ("memories.filestate", "folder_open"),
            ("sessions_app.session", "forum"),
            ("memories.dailyevent", "calendar_month"),
            ("memories.recalltrace", "receipt_long"),
            ("memories.pinnedtest", "push_pin"),
            ("memories.batch", "stacks"),
        ],
    ),
    (
        _("Settings"),
        [
            ("memories.workspace", "apartment"),
            ("memories.member", "group"),
            ("memories.invitation", "person_add"),
            ("memories.bot", "smart_toy"),
            ("memories.oauthgrant", "handshake"),
            ("channels_app.connection", "cable"),
            ("channels_app.channel", "hub"),
            ("memories.webhook", "webhook"),
            ("memories.policy", "tune"),
            ("memories.erasure", "person_remove"),
            ("memories.auditrecord", "policy"),
        ],
    ),
    (
        _("Machine room"),
        [
            ("memories.extractionbatch", "inbox"),
            ("memories.refusedfact", "block"),
            ("channels_app.pathcomparison", "compare_arrows"),
            ("channels_app.replayedrecord", "cloud_sync"),
            ("channels_app.incomingmessage", "call_received"),
            ("channels_app.outgoingmessage", "call_made"),
            ("memories.jobrun", "event_repeat"),
            ("memories.webhookdelivery", "outbox"),
            ("memories.spend", "payments"),
            ("django_q.schedule", "schedule"),
            ("django_q.failure", "error"),
            ("operations.heartbeat", "ecg_heart"),
            ("auth.user", "person"),
        ],
    ),
]


#: Rows of each kind the palette (Ctrl-K) lists.
EACH = 8
_ICONS = {Entry: "psychology", Scope: "folder_shared", Session: "forum"}


class Site(UnfoldAdminSite):
    """The one admin site of the platform."""

    index_title = _("Home")
    logout_template = "admin/logged_out.html"

    def register(self, model_or_iterable: Any, admin_class: type[ModelAdmin] | None = None, **options: Any) -> None:  # type: ignore[type-arg]
        """Register an admin; refuses one that would show the rows of every workspace."""
        if getattr(admin_class, "is_restricted", False):
            super().register(model_or_iterable, admin_class, **options)
        elif admin_class is None or not admin_class.__module__.startswith(_REPLACED):
            raise ImproperlyConfigured(f"{admin_class} does not stand behind the wall (memories.admin.access).")

    def get_urls(self) -> list[URLPattern]:
        """Without «view on site»: nothing has a page elsewhere, and it would tell which ids exist."""
        own = [
            path("login/code/", partial(second_factor.ask, site=self), name="login_code"),
            path("second-factor/", self.admin_view(self.second_factor), name="second_factor"),
        ]
        return own + [pattern for pattern in super().get_urls() if getattr(pattern, "name", None) != "view_on_site"]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """A page of the staff; refuses to be built of a view that names no right."""
        return super().admin_view(guarded(self, view), cacheable)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().each_context(request), "may": may_anywhere(request)}

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Made when it is read: every page has it in its context, and hardly one shows it."""
        return SimpleLazyObject(partial(super().get_app_list, request, app_label))

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response: HttpResponse = super().login(request, extra_context)
        if request.method == "POST":
            if isinstance(response, HttpResponseRedirect) and Factor.of(request.user):
                return second_factor.lead_on(request, response.url)
            note_login(request, response)
            if isinstance(response, HttpResponseRedirect) and request.user.is_authenticated:
                remember_device(response, request.user)
        return response

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """End the login; an address that was typed or kept asks first, since a link must not log anybody out."""
        if request.method != "GET":
            account = request.user
            response: HttpResponse = super().logout(request, extra_context)
            if account.is_authenticated:
                note_account(request, AuditEvent.LOGOUT, account)
            return response
        return TemplateResponse(request, "admin/logout.html", {**self.each_context(request), "title": _("Log out")})

    def second_factor(self, request: HttpRequest) -> HttpResponse:
        """The page on which somebody sets up their second factor, or removes it."""
        return second_factor.own(request, self)

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The page of one's own password; the old one is asked for as a login asks for it."""
        context = {**self.each_context(request), **(extra_context or {})}
        request.current_app = self.name
        form_class = type("_RequestForm", (_PasswordForm,), {"request": request})
        done = reverse("admin:password_change_done")
        view = PasswordChangeView.as_view(form_class=form_class, success_url=done, extra_context=context)
        response: Any = view(request)
        # what became of the form is noted
        if request.method == "POST" and response.status_code == HTTPStatus.FOUND:
            note_account(request, AuditEvent.PASSWORD, request.user)
        elif getattr(request, "axes_locked_out", False):
            note_account(request, AuditEvent.LOGIN_LOCKED, request.user)
        return response

    def get_sidebar_list(self, request: HttpRequest) -> list[dict[str, Any]]:
        may_review = holds(request, Right.CURATE)
        may_read = holds(request, Right.READ)
        first = [
            {"title": _("Home"), "icon": "home", "link": reverse("admin:index"), "has_permission": True},
            {"title": _("Review"), "icon": "fact_check", "link": reverse("review"), "has_permission": may_review},
            {
                "title": _("Quarantine"),
                "icon": "coronavirus",
                "link": reverse("quarantine"),
                "has_permission": may_review,
            },
            {"title": _("Recall lab"), "icon": "science", "link": reverse("lab"), "has_permission": may_read},
        ]
        sections: list[dict[str, Any]] = [
            {"items": [item | {"active": request.path == item["link"]} for item in first if item["has_permission"]]}
        ]
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
        query = request.GET.get("s", "").strip()
        if not query:
            return HttpResponse()
        begun = time.perf_counter()
        pages = self._search_apps(self.get_app_list(request), query.lower())
        results = [*pages, *_rows(self, request, query)]
        # As the page's script expects it
        listed = Paginator(results, max(len(results), 1))
        context = {
            "page_obj": listed,
            "results": listed.page(1),
            "page_counter": 0,
            "execution_time": time.perf_counter() - begun,
            "command_show_history": False,
        }
        is_palette = "extended" in request.GET
        template = f"unfold/helpers/{'command' if is_palette else 'search'}_results.html"
        return TemplateResponse(request, template, context, headers={"HX-Trigger": "search"})


def _rows(site: Any, request: HttpRequest, query: str) -> Iterator[SearchResult]:
    """The first rows of each kind that this person may see."""
    for model, icon in _ICONS.items():
        model_admin = site.get_model_admin(model)
        if not model_admin.has_view_permission(request):
            continue
        rows, _is_ambiguous = model_admin.get_search_results(request, model_admin.get_queryset(request), query)
        for row in rows[:EACH]:
            yield SearchResult(
                title=str(row),
                description=str(model_admin.opts.verbose_name),
                link=reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_change", args=[row.pk]),
                icon=icon,
            )


def time_zone_badge(request: HttpRequest) -> list[str]:
    """For the corner of every page: the name of the zone whose clock it shows, and a colour."""
    return [timezone.get_current_timezone_name(), "info"]


class _PasswordForm(AdminOwnPasswordChangeForm):
    """Asks for the old password as a login does: wrong ones are counted, and after some the account waits."""

    request: HttpRequest

    def clean_old_password(self) -> str:
        old: str = self.cleaned_data["old_password"]
        if authenticate(self.request, username=self.user.get_username(), password=old) is None:
            raise ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return old
