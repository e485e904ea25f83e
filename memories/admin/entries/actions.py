"""The actions on entries: expire, restore, merge, pin, set attributes; confirmed first, applied as a batch."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.enums import ActionVariant

from memories import entries as store
from memories.admin.access import actor_of
from memories.admin.batches.detail import batch_url
from memories.admin.confirmation import (
    CopiesForm,
    CopiesTermForm,
    ReasonForm,
    TermForm,
    confirm,
    confirmation_form,
    confirmation_page,
    is_confirmed,
)
from memories.admin.entries.bulk_forms import MergeForm
from memories.admin.entries.preview import counts_of
from memories.admin.entries.reports import report, report_refused
from memories.admin.entries.revealing import Revealing
from memories.admin.masking import is_secret
from memories.admin.return_link import return_url, with_return_url
from memories.admin.row_actions import InUseActions, row_action
from memories.batches import bulk_actions
from memories.batches.bulk_actions import BulkAction, BulkResult
from memories.models import Entry, Policy
from memories.models.state import State, state_of

#: Entries merged at a time: more than people can read.
MERGED_MOST = 50


class EntryActions(Revealing, InUseActions):
    """The actions of the admin of entries."""

    actions = [
        "expire_chosen", "restore_chosen", "term_chosen", "checked_chosen", "merge_chosen", "retype_chosen",
        "file_chosen", "move_chosen", "pin_chosen", "unpin_chosen",
        "mask_chosen", "no_secret_chosen",
    ]  # fmt: skip
    actions_detail = ["reveal", "still_true", "expire", "restore", "quarantine"]
    reach: Any
    get_object: Any
    has_change_permission: Any
    has_reveal_permission: Any
    _get_base_actions_detail: Any

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """What makes sense for this entry as it stands."""
        entry = self.get_object(request, str(object_id))
        if entry is None:
            return []
        wanted = self._wanted(entry) if self.has_change_permission(request, entry) else []
        if is_secret(entry) and self.has_reveal_permission(request, entry):
            wanted = ["reveal", *wanted]
        return [item for item in self._get_base_actions_detail() if item.method.original_function_name in wanted]

    def _wanted(self, entry: Entry) -> list[str]:
        if entry.quarantined_at:  # it is decided on the page of its quarantine
            return []
        state = state_of(entry, Policy.objects.of(entry.workspace_id).end_of(entry), timezone.now())
        wanted = {State.LIVE: ["expire"], State.DUE: ["restore", "expire"]}.get(state, ["restore"]) + ["quarantine"]
        return [*wanted, "still_true"] if store.contradiction_of(entry) else wanted

    @row_action(_("Still true"), "still-true", "verified", "change", ActionVariant.PRIMARY)
    def still_true(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The line is handed out again beside what contradicts it, until something newer does."""
        entry = self.reach(request, object_id)

        def verify() -> str:
            now, actor = timezone.now(), actor_of(request)
            verified = {"verified_at": now, "verified_by": actor}
            edit = store.Edit(columns=verified, slots={store.CONTRADICTED_BY: None})
            store.update(entry, edit, now=now, actor=actor)
            return gettext("It is handed out again.") if entry.tier == 1 else gettext("It is disputed no more.")

        return confirm(
            self,
            request,
            verify,
            back=back_to(request, [entry]),
            title=gettext("Still true"),
            text=gettext("It is handed out again, and you stand as the one who checked it.")
            if entry.tier == 1
            else gettext("It is disputed no more, and you stand as the one who checked it."),
            button=gettext("Still true"),
            rows=[entry],
        )

    @admin.action(description=_("Expire the chosen entries …"), permissions=["change"])
    def expire_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse | None:
        return self.of_many(request, queryset, self._expire)

    @admin.action(description=_("Restore the chosen entries …"), permissions=["change"])
    def restore_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse | None:
        return self.of_many(request, queryset, self._restore)

    @admin.action(description=_("Merge the chosen entries into one …"), permissions=["change"])
    def merge_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse | None:
        return self.of_many(request, queryset, self._merge)

    def of_many(
        self, request: HttpRequest, queryset: QuerySet[Entry], act: Callable[..., HttpResponse], *more: Any
    ) -> HttpResponse | None:
        """Act on the entries that were ticked, if they are not too many."""
        entries = list(queryset.select_related("scope")[: bulk_actions.MOST + 1])
        if len(entries) > bulk_actions.MOST:
            text = gettext("More than %(most)d entries: narrow the list first.")
            messages.error(request, text % {"most": bulk_actions.MOST})
            return None
        return act(request, entries, *more)

    def _expire(self, request: HttpRequest, entries: list[Entry]) -> HttpResponse:
        copies = store.copies_to_expire(entries)
        is_own = all(map(store.is_own_statement, entries))
        text = gettext(
            "It will not be recalled any more, and no machine will write it again. Nothing is deleted: you can restore "
            "it at any time."
        )
        return self.ask(
            request,
            entries,
            confirmation_form(request, CopiesForm if copies else ReasonForm, copies=is_own),
            lambda form: bulk_actions.expire(),
            ngettext_lazy("%(n)d entry is out of use.", "%(n)d entries are out of use.", "n"),
            copies=copies,
            title=ngettext("Expire %(n)d entry", "Expire %(n)d entries", len(entries)) % {"n": len(entries)},
            text=_and_copies(text, copies),
            button=gettext("Expire"),
            rows=entries,
            is_grave=True,
        )

    def _restore(self, request: HttpRequest, entries: list[Entry]) -> HttpResponse:
        copies = store.copies_to_restore(entries)
        text = gettext("It can be recalled again at once, and its time begins anew.")
        return self.ask(
            request,
            entries,
            confirmation_form(request, CopiesTermForm if copies else TermForm, copies=True),
            lambda form: bulk_actions.restore(form.chosen_term()),
            ngettext_lazy("%(n)d entry is in use again.", "%(n)d entries are in use again.", "n"),
            copies=copies,
            title=ngettext("Restore %(n)d entry", "Restore %(n)d entries", len(entries)) % {"n": len(entries)},
            text=_and_copies(text, copies),
            button=gettext("Restore"),
            rows=entries,
        )

    def _merge(self, request: HttpRequest, entries: list[Entry]) -> HttpResponse:
        if problem := _unmergeable(entries):
            messages.error(request, problem)
            return HttpResponseRedirect(back_to(request, entries))
        form = MergeForm(request.POST if is_confirmed(request) else None, entries=entries)
        text = gettext("The others are archived, and the one that stays names them as its sources.")

        def action(form: Any) -> BulkAction:
            into = next(entry for entry in entries if str(entry.pk) == form.cleaned_data["stays"])
            return bulk_actions.merge(into, form.cleaned_data["content"].replace("\r\n", "\n").strip() or None)

        return self.change(request, entries, form, action, gettext("Merge"), text, rows=[])  # they are its choices

    def change(
        self, request: HttpRequest, entries: list[Entry], form: Any, act: Any, button: str, text: str, rows: list[Entry]
    ) -> HttpResponse:
        """Ask for a change of entries, and make it."""
        count = ngettext("%(n)d entry", "%(n)d entries", len(entries)) % {"n": len(entries)}
        done = ngettext_lazy("%(n)d entry was changed.", "%(n)d entries were changed.", "n")
        title = f"{button}: {count}"
        return self.ask(request, entries, form, act, done, title=title, text=text, button=button, rows=rows)

    def ask(
        self,
        request: HttpRequest,
        entries: list[Entry],
        form: Form,
        action: Callable[[Any], BulkAction],
        done: Any,
        *,
        copies: list[Entry] | None = None,
        **question: Any,
    ) -> HttpResponse:
        """Ask; once it is confirmed, plan or apply the action a valid form makes, to the copies too if it says so."""
        back = back_to(request, entries)
        if not (is_confirmed(request) and form.is_valid()):
            return confirmation_page(self, request, form, back=back, counts=counts_of(entries), **question)
        if copies and form.cleaned_data["copies"]:
            entries = [*entries, *copies]
        who = {"now": timezone.now(), "actor": actor_of(request), "reason": form.cleaned_data["reason"]}
        if form.cleaned_data.get("plan_only"):
            planned = bulk_actions.plan_for_each_scope(entries, action(form), **who)
            return HttpResponseRedirect(_plans_url(request, planned) or back)
        report(request, bulk_actions.apply_action(entries, action(form), **who), done)
        return HttpResponseRedirect(back)


def back_to(request: HttpRequest, entries: list[Entry]) -> str:
    """To the page of the entry this was chosen on, or to the list as it was narrowed."""
    listed = reverse("admin:memories_entry_changelist")
    if request.path == listed:
        return return_url(request, listed)
    return with_return_url(request, reverse("admin:memories_entry_change", args=[entries[0].pk]))


def _and_copies(text: str, copies: list[Entry]) -> str:
    """What the page asks, with the names of the memories that hold copies."""
    if not copies:
        return text
    scopes = ", ".join(sorted({str(copy.scope) for copy in copies}))
    holders = ngettext("%(n)d copy is in %(scopes)s.", "%(n)d copies are in %(scopes)s.", len(copies))
    return f"{text} {holders % {'n': len(copies), 'scopes': scopes}}"


def _unmergeable(entries: list[Entry]) -> str:
    if len(entries) < 2:
        return gettext("Choose at least two entries to merge.")
    if len(entries) > MERGED_MOST:
        return gettext("More than %(most)d entries: narrow the list first.") % {"most": MERGED_MOST}
    if len({entry.scope_id for entry in entries}) > 1:
        return gettext("These entries belong to several scopes, and memories never cross from one to another.")
    if not all(entry.is_live() for entry in entries):
        return gettext("Only entries that are in use can be merged.")
    return ""


def _plans_url(request: HttpRequest, planned: BulkResult) -> str:
    """The page of the only plan, or of all of them as one; empty: there is none."""
    report_refused(request, planned)
    if not planned.batches:
        return ""
    return batch_url(planned.batches[0], "change" if len(planned.batches) == 1 else "run")
