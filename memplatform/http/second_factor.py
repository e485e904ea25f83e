"""Who is who: an account with a second factor is somebody only in a session in which its code was given.

Whatever logs somebody in, none of their pages opens before. `request.account` is whose password was given.
"""

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from memories.staff.models import Factor
from memplatform.http.middleware import Middleware
from memplatform.site.second_factor import PASSED


class SecondFactor(Middleware):
    """An account that has not given its code is nobody; one that needs a factor is led to where it is set up."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        account = request.user
        request.account = account  # type: ignore[attr-defined]
        request.user = SimpleLazyObject(lambda: account if _is_known(request) else AnonymousUser())  # type: ignore[assignment]
        if request.path.startswith(reverse("admin:index")) and _lacks_factor(request) and not _is_setting_up(request):
            return HttpResponseRedirect(reverse("admin:second_factor"))
        return self._get_response(request)


def _is_known(request: HttpRequest) -> bool:
    factor = Factor.of(request.account)  # type: ignore[attr-defined]
    if factor is None:
        return not _lacks_factor(request) or _is_setting_up(request)
    return bool(request.session.get(PASSED) == factor.pk)


def _lacks_factor(request: HttpRequest) -> bool:
    account = request.account  # type: ignore[attr-defined]
    return bool(settings.REQUIRE_SECOND_FACTOR and account.is_staff and Factor.of(account) is None)


def _is_setting_up(request: HttpRequest) -> bool:
    open_pages = ("admin:second_factor", "admin:logout", "admin:jsi18n", "set_language")
    return request.path in map(reverse, open_pages)
