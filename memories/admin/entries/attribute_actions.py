"""The bulk actions that set something on entries: term, check, type, category, project, pin; each a batch (F3)."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.admin.access import actor_of
from memories.admin.confirmation import confirmation_form
from memories.admin.entries.bulk_forms import (
    BulkActionForm,
    CheckedForm,
    PinForm,
    SetAttributesForm,
    SetTermForm,
    SetTypeForm,
    UnpinForm,
    ValuesForm,
)
from memories.batches import bulk_actions
from memories.batches.bulk_actions import BulkAction
from memories.models import Entry
from memories.models.entry import SECRET_SUBTYPE

Answer = HttpResponse | None


class AttributeActions:
    """What the admin of entries sets on several of them."""

    of_many: Any
    change: Any

    @admin.action(description=_("Pin the chosen entries …"), permissions=["change"])
    def pin_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> Answer:
        text = gettext("No machine expires, merges, rewrites or archives what is pinned, and it does not run out.")
        return self._set(request, queryset, PinForm, gettext("Pin"), text)

    @admin.action(description=_("Unpin the chosen entries …"), permissions=["change"])
    def unpin_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> Answer:
        text = gettext("From now on they run out as their policy says, and machines may tidy them up.")
        return self._set(request, queryset, UnpinForm, gettext("Unpin"), text)

    @admin.action(description=_("Set category or project of the chosen entries …"), permissions=["change"])
    def file_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> Answer:
        text = gettext("The category says how fast a memory fades, the project when it is preferred.")
        return self._set(request, queryset, SetAttributesForm, gettext("Set"), text)

    @admin.action(description=_("Set the type of the chosen entries …"), permissions=["change"])
    def retype_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> Answer:
        text = gettext(
            "The type says how long a memory lives and how many of its kind a recall serves. Lines of files keep it."
        )
        return self._set(request, queryset.filter(path=""), SetTypeForm, gettext("Set the type"), text)

    @admin.action(description=_("Set the term of the chosen entries …"), permissions=["change"])
    def term_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> Answer:
        text = gettext("A term of its own wins over the policy; what is pinned ends by its own term alone.")
        return self._set(request, queryset, SetTermForm, gettext("Set the term"), text)

    @admin.action(description=_("Mark the chosen entries as checked …"), permissions=["change"])
    def checked_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> Answer:
        text = gettext("You stand as the one who checked them, and they are due for review again when you say.")
        return self._set(request, queryset, CheckedForm, gettext("Mark as checked"), text)

    @admin.action(description=_("Mask the secrets of the chosen entries …"), permissions=["change"])
    def mask_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> Answer:
        text = gettext("What is recognised as a secret is taken out; the rest stays a credential. It can be undone.")
        return self._as_secret(request, queryset, bulk_actions.mask_secrets, gettext("Mask"), text)

    @admin.action(description=_("Keep the chosen entries as no secret …"), permissions=["change"])
    def no_secret_chosen(self, request: HttpRequest, queryset: QuerySet[Entry]) -> Answer:
        text = gettext("They are shown, searched and recalled like any other memory from then on.")
        recognised = queryset.filter(subtype__startswith=SECRET_SUBTYPE)
        return self._as_secret(request, recognised, bulk_actions.keep_as_no_secret, gettext("No secret"), text)

    def _as_secret(
        self, request: HttpRequest, queryset: QuerySet[Entry], make: Callable[[], BulkAction], button: str, text: str
    ) -> Answer:
        def act(request: HttpRequest, entries: list[Entry]) -> HttpResponse:
            form = confirmation_form(request, BulkActionForm)
            answer: HttpResponse = self.change(request, entries, form, lambda form: make(), button, text, rows=entries)
            return answer

        answer: Answer = self.of_many(request, queryset, act)
        return answer

    def _set(
        self, request: HttpRequest, queryset: QuerySet[Entry], kind: type[ValuesForm], button: str, text: str
    ) -> Answer:
        answer: Answer = self.of_many(request, queryset, self._edit, kind, button, text)
        return answer

    def _edit(
        self, request: HttpRequest, entries: list[Entry], kind: type[ValuesForm], button: str, text: str
    ) -> HttpResponse:
        def action(form: ValuesForm) -> BulkAction:
            return bulk_actions.edit(form.columns(now=timezone.now(), actor=actor_of(request)))

        form = confirmation_form(request, kind)
        answer: HttpResponse = self.change(request, entries, form, action, button, text, rows=entries)
        return answer
