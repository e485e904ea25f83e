"""Taking entries out of use and bringing them back: a page that asks, a POST that acts, a batch that remembers."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action
from unfold.enums import ActionVariant

from memories import entries as store
from memories.admin.access import actor_of
from memories.admin.confirmation import (
    Confirmation,
    CopiesForm,
    CopiesTermForm,
    ReasonForm,
    TermForm,
    confirmation_form,
    confirmation_page,
    is_confirmed,
    selection_fields,
)
from memories.admin.entries.bulk_actions import BulkActions, report
from memories.admin.return_link import return_url, with_return_url
from memories.batches import bulk_actions
from memories.models import Entry, Policy
from memories.models.state import State, state_of

Act = Callable[[HttpRequest, list[Entry]], HttpResponse]


class ExpireRestoreActions(BulkActions):
    """The actions «expire» and «restore» of the admin of entries."""

    actions = ["expire_chosen", "restore_chosen", "merge_chosen", "file_chosen", "pin_chosen", "unpin_chosen"]
    actions_detail = ["still_true", "expire", "restore"]
    reach: Any
    get_object: Any
    has_change_permission: Any
    _get_base_actions_detail: Any

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """What makes sense for this entry as it stands."""
        entry = self.get_object(request, str(object_id))
        if entry is None or not self.has_change_permission(request, entry):
            return []
        state = state_of(entry, Policy.objects.of(entry.workspace_id).end_of(entry), timezone.now())
        wanted = {State.LIVE: ["expire"], State.DUE: ["restore", "expire"]}.get(state, ["restore"])
        if store.contradiction_of(entry):
            wanted = [*wanted, "still_true"]
        return [item for item in self._get_base_actions_detail() if item.method.original_function_name in wanted]

    @action(description=_("Expire"), url_path="expire", icon="timer_off", variant=ActionVariant.DANGER)
    def expire(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._expire(request, [self.reach(request, object_id)])

    @action(description=_("Still true"), url_path="still-true", icon="verified", variant=ActionVariant.PRIMARY)
    def still_true(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The line is handed out again beside what contradicts it, until something newer does."""
        entry = self.reach(request, object_id)
        question = Confirmation(
            title=gettext("Still true"),
            text=gettext("It is handed out again, and you stand as the one who checked it."),
            button=gettext("Still true"),
            back=self._back(request, [entry]),
            rows=[entry],
        )
        if not is_confirmed(request):
            return confirmation_page(self, request, question, forms.Form())
        now, actor = timezone.now(), actor_of(request)
        checked = {"verified_at": now, "verified_by": actor}
        store.update(entry, store.Edit(columns=checked, slots={store.CONTRADICTED_BY: None}), now=now, actor=actor)
        messages.success(request, gettext("It is handed out again."))
        return HttpResponseRedirect(question.back)

    @action(description=_("Restore"), url_path="restore", icon="restore", variant=ActionVariant.SUCCESS)
    def restore(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._restore(request, [self.reach(request, object_id)])

    @admin.action(description=_("Expire the chosen entries …"), permissions=["change"])
    def expire_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse | None:
        return self._of_many(request, queryset, self._expire)

    @admin.action(description=_("Restore the chosen entries …"), permissions=["change"])
    def restore_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse | None:
        return self._of_many(request, queryset, self._restore)

    def _of_many(self, request: HttpRequest, queryset: QuerySet[Entry], act: Act) -> HttpResponse | None:
        entries = list(queryset.select_related("scope")[: bulk_actions.MOST + 1])
        if len(entries) > bulk_actions.MOST:
            messages.error(
                request, gettext("More than %(most)d entries: narrow the list first.") % {"most": bulk_actions.MOST}
            )
            return None
        return act(request, entries)

    def _expire(self, request: HttpRequest, entries: list[Entry]) -> HttpResponse:
        copies = store.copies_to_expire(entries)
        is_own = all(map(store.is_own_statement, entries))
        form = confirmation_form(request, CopiesForm if copies else ReasonForm, copies=is_own)
        if is_confirmed(request) and form.is_valid():
            reason, going = form.cleaned_data["reason"], [*entries, *_along(form, copies)]
            done = bulk_actions.apply_action(
                going, bulk_actions.expire(), now=timezone.now(), actor=actor_of(request), reason=reason
            )
            said = ngettext("%(n)d entry is out of use.", "%(n)d entries are out of use.", done.changed)
            return self._report(request, done, said, entries)
        title = ngettext("Expire %(n)d entry", "Expire %(n)d entries", len(entries)) % {"n": len(entries)}
        text = gettext(
            "It will not be recalled any more, and no machine will write it again. Nothing is deleted: you can restore "
            "it at any time."
        )
        question = self._question(request, entries, title, _and_copies(text, copies), gettext("Expire"))
        return confirmation_page(self, request, question, form)

    def _restore(self, request: HttpRequest, entries: list[Entry]) -> HttpResponse:
        copies = store.copies_to_restore(entries)
        form = confirmation_form(request, CopiesTermForm if copies else TermForm, copies=True)
        if is_confirmed(request) and form.is_valid():
            days = form.cleaned_data["term"]
            done = bulk_actions.apply_action(
                [*entries, *_along(form, copies)],
                bulk_actions.restore(timedelta(days=int(days)) if days else None),
                now=timezone.now(),
                actor=actor_of(request),
                reason=form.cleaned_data["reason"],
            )
            said = ngettext("%(n)d entry is in use again.", "%(n)d entries are in use again.", done.changed)
            return self._report(request, done, said, entries)
        title = ngettext("Restore %(n)d entry", "Restore %(n)d entries", len(entries)) % {"n": len(entries)}
        text = gettext("It can be recalled again at once, and its time begins anew.")
        question = self._question(request, entries, title, _and_copies(text, copies), gettext("Restore"))
        return confirmation_page(self, request, question, form)

    def _question(self, request: HttpRequest, entries: list[Entry], title: str, text: str, button: str) -> Confirmation:
        return Confirmation(
            title=title,
            text=text,
            button=button,
            back=self._back(request, entries),
            rows=entries,
            count=len(entries),
            is_grave=button == gettext("Expire"),
            hidden=selection_fields(request),
        )

    def _report(
        self, request: HttpRequest, done: bulk_actions.BulkResult, said: str, entries: list[Entry]
    ) -> HttpResponse:
        report(request, done, said)
        return HttpResponseRedirect(self._back(request, entries))

    def _back(self, request: HttpRequest, entries: list[Entry]) -> str:
        """To the page of the entry this was chosen on, or to the list as it was narrowed."""
        listed = reverse("admin:memories_entry_changelist")
        if request.path == listed:
            return return_url(request, listed)
        return with_return_url(request, reverse("admin:memories_entry_change", args=[entries[0].pk]))


def _along(form: ReasonForm, copies: list[Entry]) -> list[Entry]:
    """The copies, if the operator wants them to share the fate of what was chosen."""
    return copies if form.cleaned_data.get("copies") else []


def _and_copies(text: str, copies: list[Entry]) -> str:
    """What the page asks, with the names of the memories that hold copies."""
    if not copies:
        return text
    scopes = ", ".join(sorted({str(copy.scope) for copy in copies}))
    said = ngettext("%(n)d copy is in %(scopes)s.", "%(n)d copies are in %(scopes)s.", len(copies))
    return f"{text} {said % {'n': len(copies), 'scopes': scopes}}"
