"""The page on which somebody changes their own password."""

from http import HTTPStatus
from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.forms import AdminOwnPasswordChangeForm

from memories.models import AuditEvent
from memplatform.site.logins import note_account


class _Form(AdminOwnPasswordChangeForm):  # type: ignore[misc]
    """Asks for the old password as a login does: wrong ones are counted, and after some the account waits."""

    request: HttpRequest

    def clean_old_password(self) -> str:
        old: str = self.cleaned_data["old_password"]
        if authenticate(self.request, username=self.user.get_username(), password=old) is None:
            raise ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return old


def own_password(request: HttpRequest, *, extra_context: dict[str, Any]) -> HttpResponse:
    """The page, with what the site's template needs; what became of the form is noted."""
    form_class = type("_RequestForm", (_Form,), {"request": request})
    done = reverse("admin:password_change_done")
    view = PasswordChangeView.as_view(form_class=form_class, success_url=done, extra_context=extra_context)
    response: Any = view(request)
    if request.method == "POST" and response.status_code == HTTPStatus.FOUND:
        note_account(request, AuditEvent.PASSWORD, request.user)
    elif getattr(request, "axes_locked_out", False):
        note_account(request, AuditEvent.LOGIN_LOCKED, request.user)
    return response  # type: ignore[no-any-return]
