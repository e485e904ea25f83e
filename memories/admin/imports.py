"""Import what another program exported: a file is read, what it would bring is shown, and a click writes it.

What is shown is a plan, stored as a batch that waits: it is written by approving it, by the worker where it is large,
and can be undone like any other. The file itself is kept nowhere.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django import forms
from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from unfold.widgets import UnfoldAdminFileFieldWidget

from memories.admin.access import actor_of
from memories.admin.batches.detail import batch_url
from memories.admin.entries.forms import scope_field
from memories.admin.forms import LineField, SelectField
from memories.admin.pages import own_page
from memories.evaluation import trial
from memories.exceptions import PlatformError
from memories.imports.batch import ImportReport
from memories.imports.foreign_file import propose_file
from memories.imports.formats import FORMATS, format_of
from memories.language.confidential import find_secrets
from memories.models import Batch, BatchChange, Entry
from memories.staff.rights import needs
from memories.staff.roles import Right

#: Of one file, in bytes and in rows; more goes by the command, which reads a file of any size.
BYTES_MOST, ROWS_MOST = 8 * 1024 * 1024, 5_000
#: Of what it would bring, and of what it leaves out, so much is shown.
SHOWN, NAMED = 20, 50


class ImportForm(forms.Form):
    """A file, whose memory it goes into, and what it is where it does not say so itself."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        widget=UnfoldAdminFileFieldWidget,
        help_text=gettext_lazy("As the other program exports it: a zip, JSON or a table. Up to 8 MB."),
    )
    kind = SelectField(
        label=gettext_lazy("What it is"),
        required=False,
        choices=lambda: [("", _("as the file says")), *((name, kind.title) for name, kind in FORMATS.items())],
    )
    who = LineField(
        label=gettext_lazy("Only of"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("The id of one person in the file, where it holds memories of several."),
    )
    field_order = ["file", "scope", "kind", "who"]

    def __init__(self, data: Any = None, files: Any = None, *, scope: Any) -> None:
        super().__init__(data, files)
        self.fields["scope"] = scope
        self.order_fields(self.field_order)

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > BYTES_MOST:
            raise forms.ValidationError(
                _("It has %(size)d MB. Up to 8 MB go here; manage.py import takes a file of any size.")
                % {"size": file.size // 1024**2}
            )
        return file


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """What an import would bring, as its page shows it."""

    report: ImportReport
    batch: Batch | None
    kind: str
    languages: str
    rows: list[tuple[str, str]]  # words and days of the first memories
    reasons: list[tuple[Any, int]]
    left_out: list[tuple[str, str]]  # the first of what is left out: where it stands, and why


@never_cache
@needs(Right.OPERATE)
def page(request: HttpRequest) -> HttpResponse:
    """Ask for a file; the answer says what it would bring, and nothing of it is in use yet."""
    entries = admin.site.get_model_admin(Entry)
    form = ImportForm(
        request.POST if request.method == "POST" else None, request.FILES or None, scope=scope_field(entries, request)
    )
    context: dict[str, Any] = {"title": _("Import"), "form": form, "formats": FORMATS, "back": reverse("admin:index")}
    if form.is_bound and form.is_valid():
        try:
            tried = _tried(request, form.cleaned_data)
        except PlatformError as problem:
            form.add_error("file", str(problem))
        else:
            context |= {"tried": tried, "title": _("What it would bring"), "back": request.path}
            if batch := tried.batch:
                context |= {
                    "approve": reverse("admin:memories_batch_approve", args=[batch.pk]),
                    "refuse": reverse("admin:memories_batch_refuse", args=[batch.pk]),
                    "details": batch_url(batch),
                    "try": batch_url(batch, "try") if trial.is_open(batch) else "",
                }
            return own_page(request, "admin/memories/import_tried.html", context)
    return own_page(request, "admin/memories/import.html", context)


def _tried(request: HttpRequest, data: dict[str, Any]) -> DryRun:
    """Read the file into a plan. Raises FileRefused and ScopeFrozen."""
    upload = data["file"]
    with tempfile.TemporaryDirectory(prefix="memplatform-import-") as folder:
        # the name says what it is, and what it is called in the history; nothing else of the path is taken
        place = Path(folder) / (Path(upload.name).name[:100] or "upload")
        with place.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
        kind = data["kind"] or format_of(place)
        with transaction.atomic():
            report = propose_file(
                data["scope"], place, kind=kind, who=data["who"] or None, now=timezone.now(),
                actor=actor_of(request), most=ROWS_MOST,
            )  # fmt: skip
    drafts = BatchChange.objects.filter(batch=report.batch, verb="create").order_by("position") if report.batch else ()
    rows = []
    for row in drafts[:SHOWN]:
        content = str(row.draft.get("content", ""))
        rows.append((_("A credential") if find_secrets(content) else content, str(row.draft.get("at", ""))[:10]))
    left_out = [
        (f"{row.path}:{row.line}" if row.line else row.path or "—", f"{row.reason.label} {row.detail}".strip())
        for row in report.left_out.first[:NAMED]
    ]
    return DryRun(
        report=report,
        batch=report.batch,
        kind=FORMATS[kind].title,
        languages=", ".join(f"{name} {count}" for name, count in report.preview.languages.most_common()),
        rows=rows,
        reasons=[(reason.label, count) for reason, count in report.left_out.reasons.most_common()],
        left_out=left_out,
    )
