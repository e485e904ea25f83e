"""Pages that ask before something is done: GET shows what would happen, only a confirmed POST does it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django import forms
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldBooleanSwitchWidget

ROWS_SHOWN = 10  # of the rows it is about
F = TypeVar("F", bound=forms.Form)


class ReasonForm(forms.Form):
    """Why: the answer stands in the batch, for whoever asks later."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=500,
        help_text=_("Kept with the change, for whoever asks later."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2, "autofocus": True}),
    )


class TermForm(ReasonForm):
    """Why, and for how long from now."""

    term = forms.ChoiceField(
        label=_("New term"),
        required=False,
        choices=[
            ("", _("as long as its policy says, from today")),
            ("7", _("7 days from now")),
            ("30", _("30 days from now")),
            ("90", _("90 days from now")),
            ("365", _("a year from now")),
        ],
        widget=UnfoldAdminSelectWidget,
    )
    field_order = ["term", "reason"]


class CopiesForm(ReasonForm):
    """Why, and whether the copies go, too."""

    copies = forms.BooleanField(
        label=_("With its copies"),
        required=False,
        help_text=_("The same words in other memories, and what was drawn from them; they come back together."),
        widget=UnfoldBooleanSwitchWidget,
    )
    field_order = ["copies", "reason"]


class CopiesTermForm(TermForm):
    """Why, for how long from now, and whether what went with it comes back, too."""

    copies = CopiesForm.base_fields["copies"]
    field_order = ["term", "copies", "reason"]


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """What the page asks."""

    title: str
    text: str
    button: str
    back: str
    rows: Sequence[Any] = ()
    count: int = 1
    is_grave: bool = False
    hidden: list[tuple[str, str]] = field(default_factory=list)


def confirmation_form(request: HttpRequest, kind: type[F], **initial: Any) -> F:
    """The form of such a page, bound once the answer has been given."""
    return kind(request.POST) if is_confirmed(request) else kind(initial=initial)


def is_confirmed(request: HttpRequest) -> bool:
    return request.method == "POST" and "confirmed" in request.POST


def confirmation_page(
    model_admin: Any, request: HttpRequest, question: Confirmation, form: forms.Form
) -> TemplateResponse:
    """The page itself."""
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": question.title,
        "question": question,
        "rows": question.rows[:ROWS_SHOWN],
        "more": max(question.count - ROWS_SHOWN, 0),
        "form": form,
    }
    request.current_app = model_admin.admin_site.name
    return TemplateResponse(request, "admin/memories/confirm.html", context)


def selection_fields(request: HttpRequest) -> list[tuple[str, str]]:
    """The hidden fields that make an answer mean the rows that were ticked in the list."""
    ticked = [(ACTION_CHECKBOX_NAME, pk) for pk in request.POST.getlist(ACTION_CHECKBOX_NAME)]
    kept = [(name, request.POST[name]) for name in ("action", "select_across", "index") if name in request.POST]
    return ticked + kept
