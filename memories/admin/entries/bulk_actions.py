"""What is done to several entries together: made one, pinned, filed; asked first, in a batch that can be undone."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from memories.admin.access import actor_of
from memories.admin.batches.detail import batch_url
from memories.admin.confirmation import Confirmation, ReasonForm, confirmation_page, is_confirmed, selection_fields
from memories.admin.return_link import return_url
from memories.batches import bulk_actions
from memories.batches.bulk_actions import BulkAction, BulkResult
from memories.choices import Category
from memories.conf import conf
from memories.models import Batch, Entry

#: Entries made one at a time: more than people can read.
MERGED_MOST = 50
LINKS = 5
NO_CATEGORY = "none"
LIST = "admin:memories_entry_changelist"


class BulkActionForm(ReasonForm):
    """Why, and whether it is only planned yet."""

    plan_only = forms.BooleanField(
        label=_("Plan only"),
        required=False,
        help_text=_("Shows what would become of each, word by word; you approve it there."),
        widget=UnfoldBooleanSwitchWidget,
    )

    def bulk_action(self, entries: list[Entry]) -> BulkAction:
        """What is to happen to the chosen entries; each form says its own."""
        raise NotImplementedError


class PinForm(BulkActionForm):
    """Nothing more is asked."""

    pinned = True

    def bulk_action(self, entries: list[Entry]) -> BulkAction:
        return bulk_actions.edit({"pinned": self.pinned})


class UnpinForm(PinForm):
    pinned = False


class SetAttributesForm(BulkActionForm):
    """Where they are to be filed; what is left empty stays as it is."""

    category = forms.ChoiceField(
        label=_("category"),
        required=False,
        choices=[("", _("as it is")), (NO_CATEGORY, _("None")), *Category.choices],
        widget=UnfoldAdminSelectWidget,
    )
    project = forms.CharField(
        label=_("project"),
        required=False,
        max_length=100,
        help_text=_("Empty: stays as it is."),
        widget=UnfoldAdminTextInputWidget,
    )
    field_order = ["category", "project"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not (data.get("category") or data.get("project")):
            raise forms.ValidationError(_("There is nothing to change."))
        return data

    def bulk_action(self, entries: list[Entry]) -> BulkAction:
        category, project = self.cleaned_data["category"], self.cleaned_data["project"]
        columns = {"category": "" if category == NO_CATEGORY else category} if category else {}
        return bulk_actions.edit(columns | ({"project": project} if project else {}))


class MergeForm(BulkActionForm):
    """Which of them stays, and what it is to say."""

    stays = forms.ChoiceField(label=_("Which one stays"), widget=UnfoldAdminRadioSelectWidget)
    content = forms.CharField(
        label=_("What it is to say then"),
        required=False,
        help_text=_("Empty: what it says now."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )
    field_order = ["stays", "content"]

    def __init__(self, data: Any = None, *, entries: list[Entry]) -> None:
        super().__init__(data)
        stays: Any = self.fields["stays"]
        stays.choices = [(str(entry.pk), entry.content[:200]) for entry in entries]
        stays.initial = str(entries[0].pk)
        self.fields["content"].max_length = conf.CONTENT_MAX_CHARS  # type: ignore[attr-defined]

    def bulk_action(self, entries: list[Entry]) -> BulkAction:
        into = next(entry for entry in entries if str(entry.pk) == self.cleaned_data["stays"])
        return bulk_actions.merge(into, self.cleaned_data["content"].replace("\r\n", "\n").strip() or None)


class BulkActions:
    """The actions on several entries of the admin of entries."""

    _of_many: Any

    @admin.action(description=_("Merge the chosen entries into one …"), permissions=["change"])
    def merge_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse | None:
        return self._together(request, queryset, self._merge)

    @admin.action(description=_("Pin the chosen entries …"), permissions=["change"])
    def pin_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse | None:
        text = gettext("No machine expires, merges, rewrites or archives what is pinned, and it does not run out.")
        return self._together(request, queryset, self._asking(PinForm, gettext("Pin"), text))

    @admin.action(description=_("Unpin the chosen entries …"), permissions=["change"])
    def unpin_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse | None:
        text = gettext("From now on they run out as their policy says, and machines may tidy them up.")
        return self._together(request, queryset, self._asking(UnpinForm, gettext("Unpin"), text))

    @admin.action(description=_("Set category or project of the chosen entries …"), permissions=["change"])
    def file_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> HttpResponse | None:
        text = gettext("The category says how fast a memory fades, the project when it is preferred.")
        return self._together(request, queryset, self._asking(SetAttributesForm, gettext("Set"), text))

    def _together(self, request: HttpRequest, queryset: QuerySet[Entry], act: Any) -> HttpResponse | None:
        answer: HttpResponse | None = self._of_many(request, queryset, act)
        return answer

    def _merge(self, request: HttpRequest, entries: list[Entry]) -> HttpResponse:
        problem = _unmergeable(entries)
        if problem:
            messages.error(request, problem)
            return HttpResponseRedirect(return_url(request, reverse(LIST)))
        form = MergeForm(request.POST if is_confirmed(request) else None, entries=entries)
        text = gettext("The others are archived, and the one that stays names them as its sources.")
        return self._ask_for(request, entries, form, gettext("Merge"), text)

    def _asking(self, kind: type[BulkActionForm], button: str, text: str) -> Callable[..., HttpResponse]:
        def act(request: HttpRequest, entries: list[Entry]) -> HttpResponse:
            form = kind(request.POST) if is_confirmed(request) else kind()
            return self._ask_for(request, entries, form, button, text)

        return act

    def _ask_for(
        self, request: HttpRequest, entries: list[Entry], form: BulkActionForm, button: str, text: str
    ) -> HttpResponse:
        if is_confirmed(request) and form.is_valid():
            return _do(request, entries, form)
        count = ngettext("%(n)d entry", "%(n)d entries", len(entries)) % {"n": len(entries)}
        question = Confirmation(
            title=f"{button}: {count}",
            text=text,
            button=button,
            back=return_url(request, reverse(LIST)),
            rows=[] if isinstance(form, MergeForm) else entries,  # its choices say them already
            count=0 if isinstance(form, MergeForm) else len(entries),
            hidden=selection_fields(request),
        )
        return confirmation_page(self, request, question, form)


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


def _do(request: HttpRequest, entries: list[Entry], form: BulkActionForm) -> HttpResponse:
    action, reason = form.bulk_action(entries), form.cleaned_data["reason"]
    who = {"now": timezone.now(), "actor": actor_of(request), "reason": reason}
    if form.cleaned_data["plan_only"]:
        return _plan(request, bulk_actions.plan_for_each_scope(entries, action, **who))
    done = bulk_actions.apply_action(entries, action, **who)
    report(request, done, ngettext("%(n)d entry was changed.", "%(n)d entries were changed.", done.changed))
    return HttpResponseRedirect(return_url(request, reverse(LIST)))


def _plan(request: HttpRequest, planned: BulkResult) -> HttpResponse:
    """One plan is opened; of several the list of those that wait."""
    for scope, why in planned.refused:
        messages.error(request, f"{scope}: {why}")
    if len(planned.batches) == 1:
        return HttpResponseRedirect(batch_url(planned.batches[0]))
    waiting = f"{reverse('admin:memories_batch_changelist')}?state__exact=proposed"
    return HttpResponseRedirect(waiting if planned.batches else return_url(request, reverse(LIST)))


def report(request: HttpRequest, done: BulkResult, said: str) -> None:
    """What became of it, with the way to its batches: undo is two clicks away."""
    if done.changed:
        messages.success(request, format_html("{} {}", said % {"n": done.changed}, _links(done.batches)))
    if done.skipped:
        left = ngettext(
            "%(n)d was so already, or was changed meanwhile.",
            "%(n)d were so already, or were changed meanwhile.",
            done.skipped,
        )
        messages.info(request, left % {"n": done.skipped})
    for scope, why in done.refused:
        messages.error(request, f"{scope}: {why}")


def _links(batches: list[Batch]) -> SafeString:
    said = gettext("Look at it or undo it")
    rows = [(batch_url(batch), said if len(batches) == 1 else f"{said}: {batch.scope}") for batch in batches[:LINKS]]
    return format_html_join(" · ", '<a class="mp-link underline" href="{}">{}</a>', rows)
