"""Scopes: their labels, their numbers of entries, and the switch that freezes them."""

from typing import Any

from django.contrib import admin
from django.db.models import F, Func, QuerySet, TextField, Value
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesDropdownFilter
from unfold.decorators import display

from memories.admin.access import Colors, RestrictedAdmin
from memories.admin.batches.branch import BEGIN
from memories.admin.batches.detail import batch_url
from memories.admin.labels import batch_name
from memories.admin.pages import column
from memories.batches import branch
from memories.choices import ScopeKind
from memories.models import Scope
from memories.staff.rights import VIEW, Needs
from memories.staff.roles import Right


@admin.register(Scope)
class ScopeAdmin(RestrictedAdmin):
    """Scopes come into being when a bot first writes to them; people name and freeze them."""

    when_empty = _("A memory begins when a bot first writes to it: connect one.")
    members_may: Needs = {**VIEW, "change": Right.OPERATE}
    list_display = ["name", "key", "colored_kind", "workspace", "memories", "frozen", "created_at"]
    list_filter = [("kind", ChoicesDropdownFilter), ("frozen", BooleanRadioFilter)]
    list_select_related = ["workspace"]
    declared = (BEGIN,)
    search_fields = ["key", "label"]
    search_help_text = _("Part of a key, a label or the name of who speaks there")
    ordering = ["-id"]
    fields = [
        *("label", "frozen", "relevance_likely", "key", "kind", "workspace", "uid", "memories", "speakers", "version"),
        *("created_at", "branches"),
    ]
    readonly_fields = ["key", "kind", "workspace", "uid", "memories", "speakers", "version", "created_at", "branches"]
    name = column(_("scope"), str, ordering="key")
    colored_kind = column(
        _("kind"),
        lambda scope: scope.get_kind_display(),
        ordering="kind",
        label=Colors({ScopeKind.USER.label: "info", ScopeKind.CHAT.label: "success"}),
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Scope], search_term: str
    ) -> tuple[QuerySet[Scope], bool]:
        """Also by what people are called there: «Priya», not the key of her memory."""
        rows, may_repeat = super().get_search_results(request, queryset, search_term)
        if name := " ".join(search_term.replace("\0", "").split()):
            speaker_names = Func(F("speakers"), Value(" "), function="array_to_string", output_field=TextField())
            rows |= queryset.filter(
                pk__in=Scope.objects.alias(called=speaker_names).filter(called__icontains=name).values("pk")
            )
        return rows, may_repeat

    def get_form(self, request: HttpRequest, obj: Scope | None = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["help_texts"] = {
            "label": _("What people call it; shown instead of the key."),
            "frozen": _("A frozen scope is recalled as before, but nothing is written to it, edited or expired in it."),
        }
        return super().get_form(request, obj, change=change, **kwargs)

    def save_model(self, request: HttpRequest, obj: Scope, form: Any, change: bool) -> None:
        """Only what was changed: the counters are others' to write."""
        if form.changed_data:
            obj.save(update_fields=form.changed_data)

    @display(description=_("branches"))
    def branches(self, scope: Scope) -> str:
        """Those nobody has merged or dropped."""
        waiting = branch.of_workspace(scope.workspace_id).filter(scope=scope)
        rows = [(batch_url(batch), batch_name(batch)) for batch in waiting]
        return format_html_join(", ", '<a class="mp-link" href="{}">{}</a>', rows) or "—"

    @display(description=_("entries"), ordering="entry_count")
    def memories(self, scope: Scope) -> str:
        """How many were ever written, as a link to those of this scope."""
        address = f"{reverse('admin:memories_entry_changelist')}?scope__id__exact={scope.pk}"
        label = ngettext("%(count)s entry", "%(count)s entries", scope.entry_count)
        count = label % {"count": f"{scope.entry_count:,}"}
        return format_html('<a class="mp-link" href="{}">{}</a>', address, count)
