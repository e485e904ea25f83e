"""The admin site: it takes restricted admins only, and leads everywhere from one side bar."""

import time
from functools import partial
from http import HTTPStatus
from importlib import import_module
from typing import Any

from django.contrib.admin import ModelAdmin, autodiscover
from django.contrib.auth import authenticate
from django.contrib.auth.views import PasswordChangeView
from django.core.checks import CheckMessage
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.sites import UnfoldAdminSite

from memories.audit.models import AuditEvent
from memories.staff.models import Factor
from memories.staff.rights import guarded, may_in
from memplatform.site import second_factor
from memplatform.site.logins import note_account, note_login, remember_device

#: Packages whose own admin pages are replaced by ours.
_REPLACED = ("django.contrib.auth.", "django_q.")

#: Read when a page is made: it knows the pages of all apps, which know this site.
navigation: Any = SimpleLazyObject(partial(import_module, "memplatform.site.navigation"))


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

    def check(self, app_configs: Any) -> list[CheckMessage]:
        """The pages are loaded here, and for their addresses: a process without either starts in half the time."""
        autodiscover()
        messages: list[CheckMessage] = super().check(app_configs)
        return messages

    def get_urls(self) -> list[URLPattern]:
        """Without «view on site»: nothing has a page elsewhere, and it would tell which ids exist."""
        autodiscover()
        own = [
            path("login/code/", partial(second_factor.ask, site=self), name="login_code"),
            path("second-factor/", self.admin_view(self.second_factor), name="second_factor"),
        ]
        return own + [pattern for pattern in super().get_urls() if getattr(pattern, "name", None) != "view_on_site"]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """A page of the staff; refuses to be built of a view that names no right."""
        return super().admin_view(guarded(self, view), cacheable)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context = super().each_context(request)
        return {
            **context,
            "may": may_in(request),
            "is_more_open": navigation.is_more_open(context["sidebar_navigation"]),
        }

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
        success_url = reverse("admin:password_change_done")
        view = PasswordChangeView.as_view(form_class=form_class, success_url=success_url, extra_context=context)
        response: Any = view(request)
        # what became of the form is noted
        if request.method == "POST" and response.status_code == HTTPStatus.FOUND:
            note_account(request, AuditEvent.PASSWORD, request.user)
        elif getattr(request, "axes_locked_out", False):
            note_account(request, AuditEvent.LOGIN_LOCKED, request.user)
        return response

    def get_sidebar_list(self, request: HttpRequest) -> list[dict[str, Any]]:
        return navigation.side_bar(self, request)

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        answer: HttpResponse = navigation.Autocomplete.as_view(admin_site=self)(request)
        return answer

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The palette (Ctrl-K): pages and actions by name, people and rows by their words.

        Nothing is cached: access may have ended.
        """
        query = request.GET.get("s", "").strip()
        if not query:
            return HttpResponse()
        begun = time.perf_counter()
        results = list(navigation.results(self, request, query))
        # As the page's script expects it
        paginator = Paginator(results, max(len(results), 1))
        context = {
            "page_obj": paginator,
            "results": paginator.page(1),
            "page_counter": 0,
            "execution_time": time.perf_counter() - begun,
            "command_show_history": False,
        }
        is_palette = "extended" in request.GET
        template = f"unfold/helpers/{'command' if is_palette else 'search'}_results.html"
        return TemplateResponse(request, template, context, headers={"HX-Trigger": "search"})


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
