"""The pages on which an owner erases a person: search, preview, reason and confirmation, progress, certificate."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_q.tasks import async_task

from memories.admin import actions
from memories.admin.access import Colors, RestrictedAdmin, in_workspaces, workspace_choice
from memories.admin.actions import Action, ActionCall, Outcome, Question
from memories.admin.auditing import note
from memories.admin.forms import LineField, TextField
from memories.admin.pages import column, own_page
from memories.audit.models import AuditEvent
from memories.models import Erasure, ErasureState
from memories.staff.rights import Needs, needs, workspaces_of
from memories.staff.roles import Right
from memplatform.erasure import certificate, person, run
from memplatform.erasure.person import Identity

LIST = "admin:memories_erasure_changelist"
_COLORS = Colors(
    {
        ErasureState.WAITING.label: "info",
        ErasureState.RUNNING.label: "warning",
        ErasureState.DONE.label: "success",
        ErasureState.FAILED.label: "danger",
    }
)


class SearchForm(forms.Form):
    """Whom to look for."""

    person = LineField(required=False, attrs={"placeholder": _("name, id, or telegram:u42")})


class EraseForm(forms.Form):
    """Why, and whom once more, by hand."""

    reason = TextField(
        label=_("Reason"),
        max_length=500,
        help_text=_("Stands in the certificate, which is kept. Name nobody in it: a number of the request will do."),
        rows=2,
    )
    person = LineField(label=_("Type whom you erase, as it stands above"), attrs={"autocomplete": "off"})

    def expect(self, name: str) -> "EraseForm":
        """What has to be typed."""
        self.expected = name
        return self

    def clean_person(self) -> str:
        words = str(self.cleaned_data["person"]).strip()
        if words != self.expected:
            raise forms.ValidationError(_("This is not what stands above."))
        return words


@dataclass(frozen=True)
class _Found:
    """Whom an address names, with all that belongs to them, and what would go."""

    identities: list[Identity]
    preview: run.Preview

    @classmethod
    def by(cls, call: ActionCall) -> "_Found":
        workspace, names = call.arguments["workspace"], call.request.GET.getlist("person")  # an id may hold spaces
        identities = person.linked(workspace, [Identity.parse(name) for name in names])
        return cls(identities, run.preview(workspace, identities, now=call.now))

    def __str__(self) -> str:
        return ", ".join(map(str, self.identities))


def _question(call: ActionCall) -> Question:
    preview = call.rows.preview
    files = [(certificate.table_name("files"), preview.files)] if preview.files else []
    return Question(
        title=gettext("Erase %(person)s") % {"person": call.rows},
        template="admin/memplatform/erasure_order.html",
        rows=(),
        counts=[*certificate.counted(preview.counts), *files],
        context={"person": str(call.rows), "workspace": call.arguments["workspace"], "found": preview},
    )


def _order(call: ActionCall) -> Outcome:
    workspace, reason = call.arguments["workspace"], call.data["reason"]
    try:
        erasure = run.order(workspace, call.rows.identities, reason=reason, actor=call.actor, now=call.now)
    except OSError as refusal:
        return Outcome(errors=[str(refusal)])
    note(call.request, AuditEvent.ERASED, erasure, about=str(erasure.uid))
    transaction.on_commit(lambda: async_task("memplatform.tasks.erase_waiting", group="mem:asked", ack_failure=True))
    return Outcome(address=reverse("admin:memories_erasure_change", args=[erasure.pk]))


ERASE = Action(
    name="erase", label=_("Erase for good"), right="erase", rows=_Found.by, question=_question, act=_order,
    form=lambda call: call.bound(EraseForm).expect(str(call.rows)), back=lambda call: reverse(LIST),
)  # fmt: skip


@admin.register(Erasure)
class ErasureAdmin(RestrictedAdmin):
    """For owners alone, who find people of their workspaces here; an erasure is never changed or deleted."""

    members_may: Needs = {"view": Right.ERASE}
    audit_event = None
    has_history = False
    list_display = ["created_at", "workspace", "colored_state", "removed_rows", "reason", "actor", "finished_at"]
    list_display_links = ["created_at"]
    list_select_related = ["workspace"]
    ordering = ["-created_at", "-id"]
    sortable_by: list[str] = []
    change_form_template = "admin/memplatform/erasure.html"
    list_before_template = "admin/memplatform/erasure_search.html"
    colored_state = column(_("state"), lambda erasure: ErasureState(erasure.state).label, label=_COLORS)
    removed_rows = column(_("rows removed"), lambda erasure: sum(erasure.counts.values()))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Erasure]:
        """Of the workspaces somebody may erase in; those they only read keep theirs to themselves."""
        return in_workspaces(super().get_queryset(request), workspaces_of(request, Right.ERASE))

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        return [
            path("erase/", wrap(self.erase), name="memories_erasure_erase"),
            path("<int:pk>/certificate/", wrap(self.certificate), name="memories_erasure_certificate"),
            path("<int:pk>/certificate.json", wrap(self.certificate_json), name="memories_erasure_json"),
            *super().get_urls(),
        ]

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Who is found by the words of the search."""
        lookups = request.GET.copy()
        words = lookups.pop("person", [""])[-1].strip()
        request.GET = lookups  # type: ignore[assignment]
        workspaces, workspace = workspace_choice(request, Right.ERASE)
        people = person.search(workspace, words) if workspace and words else []
        search = SearchForm(initial={"person": words})
        return {"search": search, "words": words, "workspaces": workspaces, "chosen": workspace, "people": people}

    @needs("view")
    def erase(self, request: HttpRequest) -> HttpResponse:
        """What would go, and the form that orders it."""
        _mine, workspace = workspace_choice(request, Right.ERASE)
        if workspace is None:
            raise Http404
        return actions.run(ActionCall(ERASE, self, request, arguments={"workspace": workspace}))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """How far it is; the page loads itself again until it is done. Nothing is changed on it."""
        if request.method == "POST":
            raise PermissionDenied
        erasure = self.reach(request, object_id, "view")
        rows_left = erasure.targets.count()
        context = {
            "title": gettext("Erasure of %(at)s")
            % {"at": timezone.localtime(erasure.created_at).strftime("%Y-%m-%d %H:%M")},
            "erasure": erasure,
            "progress": certificate.progress(erasure),
            "counts": certificate.counted(erasure.counts),
            "is_over": erasure.state in (ErasureState.DONE, ErasureState.FAILED),
            "share": round(100 * (erasure.total - rows_left) / erasure.total) if erasure.total else 0,
            "left": rows_left,
            "back": reverse(LIST),
        }
        return own_page(request, self.change_form_template, context, self)

    @needs("view")
    def certificate(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The certificate to read and print."""
        document = self._certificate(request, pk)
        context = {
            "title": gettext("Certificate of erasure"),
            "certificate": document,
            "is_genuine": certificate.verify(document) == "own",
            "removed": certificate.counted(document["removed"]),
            "findings": certificate.findings(document),
            "not_reached": [certificate.table_name(name) for name in document["not_reached"]],
            "pk": pk,
            "back": reverse("admin:memories_erasure_change", args=[pk]),
        }
        return own_page(request, "admin/memplatform/erasure_certificate.html", context, self)

    @needs("view")
    def certificate_json(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The same for machines, signed."""
        response = JsonResponse(self._certificate(request, pk), json_dumps_params={"indent": 1, "ensure_ascii": False})
        response["Content-Disposition"] = f'attachment; filename="erasure-{pk}.json"'
        return response

    def _certificate(self, request: HttpRequest, pk: int) -> dict[str, Any]:
        document: dict[str, Any] | None = self.reach(request, str(pk), "view").certificate
        if document is None:
            raise Http404
        return document
