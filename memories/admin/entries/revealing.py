"""Looking at a credential that is masked: with a right of its own, and noted in the audit log."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.admin.auditing import note
from memories.admin.confirmation import confirmation_form, confirmation_page, is_confirmed
from memories.admin.fields import SelectField
from memories.admin.own_pages import own_page
from memories.admin.return_link import return_url
from memories.admin.row_actions import row_action
from memories.models import AuditEvent

#: Reasons to choose from: the audit log outlives an erasure, so that nobody types about people there.
_REASONS = [
    ("", _("not said")),
    ("asked", _("its owner asked for it")),
    ("check", _("to see whether it is right")),
    ("incident", _("an incident")),
]


class WhyForm(forms.Form):
    """Why somebody looks; it may stay unsaid."""

    why = SelectField(label=_("Why"), required=False, choices=_REASONS, help_text=_("Kept in the audit log."))


class Revealing:
    """The page that shows a masked credential."""

    admin_site: Any
    opts: Any
    reach: Any

    @row_action(_("Reveal"), "reveal", "visibility", "reveal")
    def reveal(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The text is in the answer to the POST and nowhere else."""
        entry = self.reach(request, object_id, "reveal")
        form = confirmation_form(request, WhyForm)
        back = return_url(request, reverse("admin:memories_entry_change", args=[entry.pk]))
        if not (is_confirmed(request) and form.is_valid()):
            text = gettext("You see what it says, once. That you looked is written into the audit log.")
            title, button = gettext("Reveal this credential"), gettext("Reveal")
            return confirmation_page(self, request, form, title=title, text=text, button=button, back=back)
        why = form.cleaned_data["why"] and {"text": str(dict(_REASONS)[form.cleaned_data["why"]])}
        note(
            request,
            AuditEvent.REVEALED,
            entry,
            about=str(entry.pk),
            details={"text": str(why)} if form.cleaned_data["why"] else None,
        )
        context = {"title": gettext("What it says"), "content": entry.content, "back": back}
        page = own_page(request, "admin/memories/revealed.html", context, self, headers={"Cache-Control": "no-store"})
        page.is_revealing = True  # type: ignore[attr-defined]
        return page
