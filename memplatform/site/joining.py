"""The page behind an invitation link: somebody makes an account and joins, or joins with the account they have."""

from typing import Any

from django import forms
from django.contrib.auth import get_user_model, login
from django.contrib.auth.forms import BaseUserCreationForm
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from memories.audit.models import AuditEvent, AuditRecord
from memories.staff.models import Invitation, Member
from memories.staff.roles import Role
from memories.tenancy import row_level_security

_INVALID = _("This invitation cannot be used: it was used already, withdrawn, or is over. Ask for a new one.")
_MEMBER = _("You are a member of this workspace already.")
_BACKEND = "memplatform.site.accounts.Accounts"


class CodeForm(forms.Form):
    """What somebody who is logged in needs."""

    code = forms.CharField(label=_("Invitation code"), max_length=100)


class JoinForm(BaseUserCreationForm[Any]):
    """An account of one's own, with a password that is a good one."""

    code = forms.CharField(label=_("Invitation code"), max_length=100)
    field_order = ["code", "username"]

    class Meta:
        model = get_user_model()
        fields = ["username"]


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """GET shows the form, into which a script puts the code behind the #; POST joins."""
    is_signed_in = request.user.is_authenticated and request.user.is_active
    form: Any = (CodeForm if is_signed_in else JoinForm)(request.POST or None)
    if request.method == "POST":
        try:
            if _join(request, form, is_signed_in=is_signed_in):
                return HttpResponseRedirect(reverse("admin:index"))
        finally:
            row_level_security.leave()
    return render(request, "join.html", {"form": form, "person": request.user if is_signed_in else None})


def _join(request: HttpRequest, form: Any, *, is_signed_in: bool) -> bool:
    """Whether somebody joined. The code is looked at before the name: without one, nobody learns whose names exist."""
    now = timezone.now()
    with transaction.atomic():
        invitation = Invitation.of_code(request.POST.get("code", "").strip()[:100], now=now)
        if invitation is None or not invitation.is_backed():
            form.errors.clear() if form.is_bound else None
            form.add_error(None, _INVALID)
            return False
        if not form.is_valid():
            return False
        if (
            is_signed_in
            and Member.objects.filter(workspace_id=invitation.workspace_id, user_id=request.user.pk or 0).exists()
        ):
            form.add_error(None, _MEMBER)
            return False
        user: Any = request.user if is_signed_in else form.save(commit=False)
        user.is_staff = True
        user.save()
        Member.objects.create(workspace_id=invitation.workspace_id, user=user, role=invitation.role)
        Invitation.objects.filter(pk=invitation.pk).update(accepted_at=now)
        AuditRecord.note(
            AuditEvent.JOINED,
            actor=f"user:{user.get_username()}",
            at=now,
            workspace_id=invitation.workspace_id,
            user_id=user.pk,
            about=str(invitation),
            details={"text": str(Role(invitation.role).label)},
            ip=request.META.get("REMOTE_ADDR") or None,
        )
    if not is_signed_in:
        login(request, user, backend=_BACKEND)
    return True
