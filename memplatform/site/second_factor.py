"""The second factor: codes of an app or for recovery, the page that asks for one, and the page that sets it up.

Codes of an app are those of RFC 6238, each taken once. The secret is encrypted with the key of secrets. Wrong codes are
counted for the account, so that several addresses do not have more tries than one.
"""

import base64
import secrets as random
from datetime import datetime
from enum import Enum
from typing import Any

import pyotp
import segno
from django import forms
from django.contrib.auth import authenticate
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

from memories import secrets
from memories.audit.models import AuditEvent
from memories.models import BotKey
from memories.staff.models import Factor
from memories.staff.rights import PASSED
from memplatform.site.logins import note_account, remember_device

ISSUER = "memplatform"
SECONDS = 30  # one step of the clock
LATE = 1  # steps the clock of a phone may be behind or before ours
RECOVERY_CODES = 10
_RECOVERY_BYTES = 10  # 80 bits: a hash of one cannot be tried out


class Answer(Enum):
    """What a code turned out to be."""

    RIGHT = "right"
    RECOVERY = "recovery"
    WRONG = "wrong"
    LOCKED = "locked"


def new_secret() -> str:
    """A secret for an app, as it is typed: 32 letters and digits."""
    return pyotp.random_base32()


def set_up(user: Any, secret: str, code: str, *, now: datetime) -> list[str] | None:
    """Give somebody their factor and return its recovery codes; None where the code is not one of the secret."""
    step = _step_of(secret, code, now=now)
    if step is None:
        return None
    codes = _recovery_codes()
    Factor.objects.create(
        user=user,
        sealed=secrets.seal(secret),
        step=step,
        recovery=[BotKey.digest_of(code) for code in codes],
        created_at=now,
    )
    return codes


def renew_recovery(factor: Factor) -> list[str]:
    """New recovery codes; the former ones are void."""
    codes = _recovery_codes()
    Factor.objects.filter(pk=factor.pk).update(recovery=[BotKey.digest_of(code) for code in codes])
    return codes


def check(user: Any, code: str, *, now: datetime) -> Answer:
    """Whether a code opens; a right one is used up by it. Raises SecretUnreadable, Factor.DoesNotExist."""
    with transaction.atomic():
        factor = Factor.objects.select_for_update().get(user=user)  # two tries at once: one after the other
        if factor.is_locked(now):
            return Answer.LOCKED
        code = "".join(code.split()).replace("-", "")
        if (digest := BotKey.digest_of(code.upper())) in factor.recovery:
            factor.recovery.remove(digest)
            answer = Answer.RECOVERY
        else:
            step = _step_of(secrets.unseal(factor.sealed), code, now=now, after=factor.step)
            answer = Answer.WRONG if step is None else Answer.RIGHT
            factor.step = factor.step if step is None else step
        if answer is Answer.WRONG:
            factor.count_wrong(now)
            return Answer.LOCKED if factor.is_locked(now) else Answer.WRONG
        factor.wrong = 0
        factor.save(update_fields=["step", "recovery", "wrong"])
        return answer


def _step_of(secret: str, code: str, *, now: datetime, after: int = 0) -> int | None:
    """The step of the clock a code is of, of those that are near and younger than `after`."""
    totp, here = pyotp.TOTP(secret, interval=SECONDS), int(now.timestamp()) // SECONDS
    near = (step for step in range(here - LATE, here + LATE + 1) if step > after)
    return next((step for step in near if random.compare_digest(totp.generate_otp(step).encode(), code.encode())), None)


def _recovery_codes() -> list[str]:
    """Each of sixteen letters and digits; shown in groups, and taken with or without hyphens."""
    return [base64.b32encode(random.token_bytes(_RECOVERY_BYTES)).decode() for _n in range(RECOVERY_CODES)]


_WRONG = _("This code is not right, or was used already. Wait for the next one.")
#: In the session, encrypted: the secret on the page, until a code of it confirms it.
_DRAFT = "second_factor_draft"


class CodeForm(forms.Form):
    """A code of the app, or a recovery code."""

    code = forms.CharField(
        label=_("Code"),
        max_length=40,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "one-time-code", "autofocus": True}),
    )


class ConfirmForm(CodeForm):
    """A first code of the app, and the password: a browser that was left open sets nothing up."""

    password = forms.CharField(
        label=_("Your password"), widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "current-password"})
    )
    field_order = ["code", "password"]


def lead_on(request: HttpRequest, address: str) -> HttpResponse:
    """From the password to the code; `address` is where the login leads to afterwards."""
    request.session.pop(PASSED, None)
    return HttpResponseRedirect(f"{reverse('admin:login_code')}?{urlencode({'next': address})}")


@never_cache
@sensitive_post_parameters()
@csrf_protect
def ask(request: HttpRequest, site: Any) -> HttpResponse:
    """The page after the password."""
    account: Any = request.account  # type: ignore[attr-defined]
    factor = Factor.of(account)
    if factor is None or request.user.is_authenticated:
        return HttpResponseRedirect(_next(request))
    form = CodeForm(request.POST or None)
    if form.is_valid():
        answer = _check(request, form, account)
        if answer is Answer.LOCKED:
            return _locked_page(request)
        if answer in (Answer.RIGHT, Answer.RECOVERY):
            request.session[PASSED] = factor.pk
            request.session.cycle_key()
            note_account(request, AuditEvent.LOGIN, account, details={"code": answer.value})
            return remember_device(HttpResponseRedirect(_next(request)), account)
    context = {**site.each_context(request), "title": _("Second factor"), "form": form, "account": account}
    return TemplateResponse(request, "admin/login_code.html", context)


@never_cache
@sensitive_post_parameters()
def own(request: HttpRequest, site: Any) -> HttpResponse:
    """What somebody does about their own factor: set it up, renew its recovery codes, remove it."""
    account: Any = request.account  # type: ignore[attr-defined]
    factor = Factor.of(account)
    if request.method == "POST":
        answer = _change(request, account, factor) if factor else _set_up(request, account)
    else:
        answer = {"form": CodeForm() if factor else ConfirmForm()}
    if isinstance(answer, HttpResponse):
        return answer
    context = {**site.each_context(request), "title": _("Second factor"), "factor": factor, **answer}
    if factor is None and "codes" not in answer:
        secret = _draft(request)
        totp = pyotp.TOTP(secret, interval=SECONDS, name=account.get_username(), issuer=ISSUER)
        drawing = segno.make(totp.provisioning_uri(), error="m")
        svg = drawing.svg_inline(scale=4, border=2, dark="#18181b", light="#fff", omitsize=True, svgclass="mp-qr")
        context |= {"svg": mark_safe(svg), "secret": _in_groups(secret)}  # noqa: S308 (drawn by segno: paths alone)
    return TemplateResponse(request, "admin/second_factor.html", context)


def _set_up(request: HttpRequest, account: Any) -> HttpResponse | dict[str, Any]:
    form = ConfirmForm(request.POST)
    if not form.is_valid():
        return {"form": form}
    if authenticate(request, username=account.get_username(), password=form.cleaned_data["password"]) is None:
        form.add_error("password", _("This is not your password."))  # counted: after some the login is locked
        return {"form": form}
    code = "".join(form.cleaned_data["code"].split())
    codes = set_up(account, _draft(request), code, now=timezone.now())
    if codes is None:
        form.add_error("code", _("This is not the code of this secret. Is the clock of your phone right?"))
        return {"form": form}
    del request.session[_DRAFT]
    request.session[PASSED] = Factor.objects.values_list("pk", flat=True).get(user=account)
    note_account(request, AuditEvent.FACTOR_ON, account)
    return {"codes": list(map(_in_groups, codes))}


def _change(request: HttpRequest, account: Any, factor: Factor) -> HttpResponse | dict[str, Any]:
    form = CodeForm(request.POST)
    if not form.is_valid():
        return {"form": form}
    answer = _check(request, form, account)
    if answer is Answer.LOCKED:
        return _locked_page(request)
    if answer is Answer.WRONG:
        return {"form": form}
    if "remove" in request.POST:
        factor.delete()
        note_account(request, AuditEvent.FACTOR_OFF, account)
        return HttpResponseRedirect(reverse("admin:second_factor"))
    codes = renew_recovery(factor)
    note_account(request, AuditEvent.FACTOR_ON, account, details={"what": "recovery codes"})
    return {"codes": list(map(_in_groups, codes))}


def _check(request: HttpRequest, form: CodeForm, account: Any) -> Answer:
    """What the code is; a wrong one is noted, and shown on the form."""
    try:
        answer = check(account, form.cleaned_data["code"], now=timezone.now())
    except secrets.SecretUnreadable as problem:
        form.add_error("code", str(problem))
        return Answer.WRONG
    if answer in (Answer.WRONG, Answer.LOCKED):
        note_account(request, AuditEvent.CODE_FAILED, account)
        form.add_error("code", _WRONG)
    return answer


def _draft(request: HttpRequest) -> str:
    """The secret that is being set up: the same one until it is confirmed."""
    try:
        return secrets.unseal(request.session.get(_DRAFT, ""))
    except secrets.SecretUnreadable:  # none yet, or the key has changed
        secret = new_secret()
        request.session[_DRAFT] = secrets.seal(secret)
        return secret


def _in_groups(code: str) -> str:
    return " ".join(code[n : n + 4] for n in range(0, len(code), 4))


def _locked_page(request: HttpRequest) -> HttpResponse:
    return render(request, "admin/locked.html", {"is_code": True}, status=429)


def _next(request: HttpRequest) -> str:
    address = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if is_ours else reverse("admin:index")
