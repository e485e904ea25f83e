"""The field that chooses a scope by its name, among those a person may write to."""

from typing import Any

from django import forms
from django.contrib.admin.widgets import AutocompleteSelect
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from memories.models import Entry


def scope_field(model_admin: Any, request: HttpRequest) -> forms.ModelChoiceField:  # type: ignore[type-arg]
    """A required choice among the scopes of workspaces where this person may write, found as one types."""
    column = Entry._meta.get_field("scope")
    return forms.ModelChoiceField(
        label=_("scope"),
        queryset=model_admin.settable(column, request),
        widget=AutocompleteSelect(column, model_admin.admin_site, attrs={"class": "unfold-filter-autocomplete"}),
    )
