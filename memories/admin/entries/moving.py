"""Moving entries to another scope of their workspace, and the way from an entry into quarantine."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext, ngettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from memories.admin.access import actor_of
from memories.admin.confirmation import ReasonForm, confirmation_page, is_confirmed
from memories.admin.entries.actions import back_to
from memories.admin.entries.preview import counts_of
from memories.admin.entries.reports import report
from memories.admin.entries.scope_field import scope_field
from memories.admin.quarantine.address import quarantine_url
from memories.admin.row_actions import row_action
from memories.batches.moving import move
from memories.models import Entry


class MoveForm(ReasonForm):
    """Where to, and why."""

    field_order = ["scope", "reason"]

    def __init__(self, data: Any = None, *, scope: Any) -> None:
        super().__init__(data)
        self.fields["scope"] = scope
        self.order_fields(self.field_order)


class Moving:
    """The admin of entries moves several of them, and puts what rests on one into quarantine."""

    of_many: Any
    reach: Any

    @row_action(_("Put into quarantine …"), "quarantine", "coronavirus", "change")
    def quarantine(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """This entry, the messages it rests on, and what was made of both."""
        return HttpResponseRedirect(quarantine_url(entry=self.reach(request, object_id).pk))

    @admin.action(description=_("Move the chosen entries to another scope …"), permissions=["change"])
    def move_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse | None:
        answer: HttpResponse | None = self.of_many(request, queryset, self._move)
        return answer

    def _move(self, request: HttpRequest, entries: list[Entry]) -> HttpResponse:
        back = back_to(request, entries)
        if len({entry.workspace_id for entry in entries}) > 1:
            messages.error(request, gettext("These entries belong to several workspaces."))
            return HttpResponseRedirect(back)
        field = scope_field(self, request)
        field.queryset = field.queryset.filter(workspace_id=entries[0].workspace_id)  # type: ignore[union-attr]
        form = MoveForm(request.POST if is_confirmed(request) else None, scope=field)
        if is_confirmed(request) and form.is_valid():
            result = move(
                entries,
                form.cleaned_data["scope"],
                now=timezone.now(),
                actor=actor_of(request),
                reason=form.cleaned_data["reason"],
            )
            report(request, result, ngettext_lazy("%(n)d entry was moved.", "%(n)d entries were moved.", "n"))
            return HttpResponseRedirect(back)
        count = ngettext("%(n)d entry", "%(n)d entries", len(entries)) % {"n": len(entries)}
        text = gettext(
            "They are remembered in the other scope, with their words, slots and sources, and archived where they are. "
            "Whoever is served that scope is served them from then on. Lines of files, and what is out of use, stay."
        )
        return confirmation_page(
            self, request, form, title=f"{gettext('Move')}: {count}", text=text, button=gettext("Move"), back=back,
            rows=entries, counts=counts_of(entries),
        )  # fmt: skip
