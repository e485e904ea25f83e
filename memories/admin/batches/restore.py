"""Restoring what the nightly job expired: of one batch, or all of the last night, with a term."""

from copy import copy
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import PAGE_VAR
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django_q.tasks import async_task

from memories.admin.access import actor_of, in_workspaces
from memories.admin.batches.detail import batch_url, is_expiry, undo_link
from memories.admin.confirmation import ROWS_SHOWN, TermForm, confirmation_form, confirmation_page, is_confirmed
from memories.admin.return_link import FILTERS_PARAMETER, RETURN_PARAMETER, return_url
from memories.choices import BatchVerb
from memories.lifecycle import expiry
from memories.models import Batch, Entry
from memories.rights import needs, workspaces_of
from memories.tasks import INLINE_ROWS
from memories.tenancy.roles import Right


def expired_last_night(request: HttpRequest, now: datetime, right: Right = Right.READ) -> QuerySet[Batch]:
    """The batches of the expiry job of the last day, in the workspaces where this person holds the right."""
    where = workspaces_of(request, right)
    batches: QuerySet[Batch] = in_workspaces(expiry.expiry_batches(since=now - expiry.NIGHT), where)
    return batches


class ExpiredRestoration:
    """The pages that restore what the job expired."""

    admin_site: Any
    reach: Any

    @needs(Right.CURATE)
    def restore(self, request: HttpRequest, object_id: str) -> HttpResponse:
        batch = self.reach(request, object_id, "curate")
        if not is_expiry(batch):
            raise Http404
        return self._restore(request, [batch], batch_url(batch, request=request))

    @needs(Right.CURATE)
    def restore_last_night(self, request: HttpRequest) -> HttpResponse:
        """What the last night expired; of it what the list of memories shows, narrowed as the address says."""
        batches = list(expired_last_night(request, timezone.now(), Right.CURATE))
        back = return_url(request, reverse("admin:memories_batch_changelist"))
        try:
            among = self._listed(request)
        except IncorrectLookupParameters:
            return HttpResponseRedirect(back)
        return self._restore(request, batches, back, among)

    def _listed(self, request: HttpRequest) -> list[int] | None:
        """The memories the list shows under the search and the filters of this address; None: it has none of them."""
        narrowed = request.GET.copy()
        for name in (RETURN_PARAMETER, FILTERS_PARAMETER, PAGE_VAR):
            narrowed.pop(name, None)
        if not narrowed:
            return None
        listing: Any = copy(request)
        listing.GET = narrowed
        changelist = self.admin_site.get_model_admin(Entry).get_changelist_instance(listing)
        return list(changelist.queryset.order_by().values_list("pk", flat=True))

    def _restore(
        self, request: HttpRequest, batches: list[Batch], back: str, among: list[int] | None = None
    ) -> HttpResponse:
        found = expiry.expired_by(batches)
        if among is not None:
            found = found.filter(pk__in=among)
        count, form = found.count(), confirmation_form(request, TermForm)
        if not count:
            messages.info(request, gettext("Everything the job took out is in use again, or people took it out since."))
            return HttpResponseRedirect(back)
        if is_confirmed(request) and form.is_valid():
            _restore(request, batches, count, form.chosen_term(), form.cleaned_data["reason"], among)
            return HttpResponseRedirect(back)
        return confirmation_page(
            self,
            request,
            form,
            title=ngettext("Restore %(n)s memory", "Restore %(n)s memories", count) % {"n": f"{count:,}"},
            text=gettext("They can be recalled again at once, and their time begins anew. Nothing else is changed."),
            button=gettext("Restore"),
            back=back,
            rows=found.order_by("-created_at", "-pk")[:ROWS_SHOWN],
            count=count,
        )


def _restore(
    request: HttpRequest,
    batches: list[Batch],
    count: int,
    term: timedelta | None,
    reason: str,
    among: list[int] | None,
) -> None:
    actor = actor_of(request)
    if count > INLINE_ROWS:
        ids = [batch.pk for batch in batches]
        async_task(
            "memories.tasks.restore_expired",
            ids,
            term=term,
            actor=actor,
            reason=reason,
            among=among,
            group="mem:batches",
        )
        text = gettext("These are many: the worker brings them back. The list of batches shows how far it is.")
        messages.info(request, text)
        return
    now = timezone.now()
    done = expiry.restore_all(batches, term=term, now=now, actor=actor, reason=reason, among=among)
    text = ngettext("%(n)d memory is in use again.", "%(n)d memories are in use again.", done["entries"])
    link = undo_link(Batch.objects.filter(actor=actor, name=BatchVerb.RESTORE, created_at=now).order_by("pk"))
    messages.success(request, format_html("{} {}", text % {"n": done["entries"]}, link))
    if done["entries"] < count:
        messages.warning(request, gettext("Those in frozen scopes, and those changed meanwhile, stayed as they are."))
