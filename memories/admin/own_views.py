"""Views of a list that a person saved for themselves: its filters, search and order under a name of theirs."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memories.admin.pages import FILTERS_PARAMETER, RETURN_PARAMETER, admin_url, row_number
from memories.staff.models import OwnView
from memories.staff.rights import needs

#: Views of one list a person may save.
MOST = 20
#: Parameters of a list's address that are no part of how it is narrowed.
_PASSING = frozenset({"p", "e", "_popup", "_to_field", RETURN_PARAMETER, FILTERS_PARAMETER})


@dataclass
class OwnViews:
    """Those of the person of a request for the list at its address."""

    request: HttpRequest
    opts: Any

    @property
    def place(self) -> str:
        return str(self.opts.label_lower)

    @property
    def query(self) -> str:
        """How the list is narrowed now; empty where it is not."""
        return _narrowing(self.request.GET)

    @cached_property
    def saved(self) -> list[OwnView]:
        """By name, each with its address, and whether it is the one that is shown."""
        views = list(
            OwnView.objects.filter(user_id=int(self.request.user.pk or 0), place=self.place).order_by("name")[:MOST]
        )
        for view in views:
            view.address, view.is_shown = f"{self.request.path}?{view.query}", view.query == self.query
        return views

    @property
    def shown(self) -> OwnView | None:
        """The one that is shown."""
        return next((view for view in self.saved if view.is_shown), None)


def _narrowing(parameters: QueryDict) -> str:
    pairs = [(name, value) for name, values in parameters.lists() if name not in _PASSING for value in values if value]
    return urlencode(sorted(pairs))


@require_POST
@needs("read")
def keep(request: HttpRequest) -> HttpResponse:
    """Save the view that is named, or delete it; then back to the list."""
    models = {model._meta.label_lower: model_admin for model, model_admin in admin.site._registry.items()}
    model_admin = models.get(request.POST.get("place", ""))
    if model_admin is None:
        raise Http404
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    opts, user_id = model_admin.opts, int(request.user.pk or 0)
    mine = OwnView.objects.filter(user_id=user_id, place=opts.label_lower)
    listed = admin_url(model_admin.model)
    if (pk := row_number(request.POST.get("delete", ""))) is not None:
        mine.filter(pk=pk).delete()
        return HttpResponseRedirect(listed)
    query = _narrowing(QueryDict(request.POST.get("query", "").replace("\0", "")))
    name = " ".join(request.POST.get("name", "").replace("\0", "").split())
    if not name or len(name) > OwnView.NAME_CHARS or not query or len(query) > OwnView.QUERY_CHARS:
        messages.error(request, _("Narrow the list first, then give the view a name of at most 60 characters."))
    elif mine.exclude(name=name).count() >= MOST:
        messages.error(request, _("You have 20 views of this list. Delete one first."))
    else:
        saved = {"query": query}
        OwnView.objects.update_or_create(user_id=user_id, place=opts.label_lower, name=name, defaults=saved)
    return HttpResponseRedirect(f"{listed}?{query}" if query else listed)
