"""Pages of the admin leave without the credentials that stand in them (memories.admin.masking)."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext

from memories.admin.masking import holds_mask, mask
from memplatform.http.access import is_staff
from memplatform.http.middleware import Middleware


class MaskedCredentials(Middleware):
    """Masks what the admin answers, and takes no form back in which something is masked."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (request.path.startswith(reverse("admin:index")) and is_staff(request)):
            return self._get_response(request)
        if holds_mask(request):
            messages.error(request, gettext("What is masked was not saved. Reveal it first, and type it anew."))
            return HttpResponseRedirect(request.get_full_path())
        response = self._get_response(request)
        mask(request, response)
        return response
