"""The pages of policies: what holds, the form of each kind with its preview, and the versions to go back to."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memories.admin.access import RestrictedAdmin, actor_of, workspace_choice
from memories.admin.auditing import note
from memories.admin.fields import TextField
from memories.admin.history import history_page, row_history
from memories.admin.own_pages import own_page
from memories.admin.policies.forms import NumbersForm
from memories.admin.policies.numbers import KINDS, EffectiveNumber, effective
from memories.admin.policies.preview import fingerprint, preview
from memories.admin.policies.removed import Removed, filled_in, policy_of, removals, set_url
from memories.admin.policies.versions import Values, versions_of
from memories.audit.models import AuditEvent
from memories.choices import PolicyKind
from memories.entries.history import stored_columns
from memories.models import Policy, Workspace
from memories.models.change import acting
from memories.models.policy import Policies
from memories.staff.rights import VIEW, Needs, held_in, holds, needs
from memories.staff.roles import Right

REMOVED_SHOWN = 20
_LIST = "admin:memories_policy_changelist"


class SaveForm(forms.Form):
    """Why the numbers are changed; kept with the version."""

    reason = TextField(
        label=_("Reason"),
        max_length=500,
        required=False,
        help_text=_("Kept with this version, for whoever asks later."),
        rows=2,
    )


@admin.register(Policy)
class PolicyAdmin(RestrictedAdmin):
    """Numbers are set by the form of their kind, after a preview; all versions are kept, and can be gone back to."""

    members_may: Needs = {**VIEW, "change": Right.OPERATE}
    ordering = ["workspace__name", "kind", "entry_type", "scope_kind", "name"]
    list_select_related = ["workspace"]
    change_list_template = "admin/memories/policies.html"

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("set/<slug:policy_kind>/", view(self.set_numbers), name="memories_policy_set"),
            path("versions/", view(self.versions), name="memories_policy_versions"),
            path("versions/<int:version>/back/", view(self.go_back), name="memories_policy_go_back"),
            *super().get_urls(),
        ]

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Everything that holds in a workspace, the defaults included, and what was removed."""
        mine, chosen = workspace_choice(request)
        policies = Policy.objects.of(chosen.pk) if chosen else Policies([])
        return {
            "workspaces": mine,
            "chosen": chosen,
            "may": held_in(request, chosen.pk) if chosen else {},
            "kinds": [(kind, *KINDS[kind], _table(effective(kind, policies))) for kind in PolicyKind],
            "removed": [Removed(removal) for removal in removals(request)[:REMOVED_SHOWN]],
        }

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """The form of its kind, for those who may use it."""
        if object_id is None:
            return super().changeform_view(request, object_id, form_url, extra_context)
        policy: Policy = self.reach(request, object_id, "view")
        if request.method != "GET":
            return HttpResponseNotAllowed(["GET"])
        may = holds(request, Right.OPERATE, policy.workspace_id)
        return HttpResponseRedirect(set_url(policy) if may else _list_url(policy.workspace_id))

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Also of a policy that was removed."""
        removal = next((one for one in removals(request) if str(one.row_id) == object_id), None)
        if removal is None:
            row = self.reach(request, object_id, "view")
            return history_page(self, request, row, row_history(row, stored_columns(row)), reverse(_LIST))
        policy = policy_of(removal)
        return history_page(self, request, policy, row_history(policy, {}), reverse(_LIST))

    # -- setting numbers

    @needs(Right.OPERATE)
    def set_numbers(self, request: HttpRequest, policy_kind: str) -> HttpResponse:
        """The numbers of a kind: filled in, looked at in a preview, saved."""
        if policy_kind not in PolicyKind.values:
            raise Http404
        workspace = self._workspace(request, Right.OPERATE)
        values = Policy.objects.of(workspace.pk).values
        shown = values | filled_in(request, policy_kind)
        form = NumbersForm(
            request.POST if request.method == "POST" else None,
            kind=policy_kind,
            values=shown if request.method == "GET" else values,
        )
        name, text = KINDS[PolicyKind(policy_kind)]
        context = {"form": form, "kind": policy_kind, "name": name, "text": text}
        if not (request.method == "POST" and form.is_valid()):
            return self._page(request, "policy_set", workspace, **context)
        return self._preview_or_save(request, workspace, form.wanted(), hidden=form.hidden(), **context)

    @needs(Right.READ)
    def versions(self, request: HttpRequest) -> HttpResponse:
        workspace = self._workspace(request, Right.READ)
        return self._page(request, "policy_versions", workspace, versions=versions_of(workspace.pk))

    @needs(Right.OPERATE)
    def go_back(self, request: HttpRequest, version: int) -> HttpResponse:
        """All policies as they were in a version, after the same preview."""
        workspace = self._workspace(request, Right.OPERATE)
        found = next((one for one in versions_of(workspace.pk) if one.number == version), None)
        if found is None:
            raise Http404
        if request.method == "POST":
            return self._preview_or_save(request, workspace, found.values, hidden=[], version=found)
        shown = preview(workspace, found.values, now=timezone.now())
        return self._page(request, "policy_set", workspace, version=found, preview=shown, save=SaveForm())

    def _preview_or_save(
        self, request: HttpRequest, workspace: Workspace, wanted: Values, *, hidden: Any, **context: Any
    ) -> HttpResponse:
        """Save what was previewed; a preview where it was not asked to, or others changed something meanwhile."""
        is_saving = "confirmed" in request.POST
        save = SaveForm(request.POST if is_saving else None)
        present = fingerprint(Policy.objects.of(workspace.pk).values)
        shown = None
        if is_saving and save.is_valid() and not save.cleaned_data["reason"]:
            shown = preview(workspace, wanted, now=timezone.now())
            if shown.pinned and shown.pinned.runs:
                save.add_error("reason", gettext("Pinned tests would fail: say why it is to be so all the same."))
        if is_saving and request.POST.get("before") != present:
            messages.warning(request, gettext("Somebody changed these policies meanwhile: look at them again."))
        elif is_saving and save.is_valid():
            return self._save(request, workspace, wanted, save.cleaned_data["reason"])
        shown = shown or preview(workspace, wanted, now=timezone.now())
        return self._page(request, "policy_set", workspace, preview=shown, hidden=hidden, save=save, **context)

    def _save(self, request: HttpRequest, workspace: Workspace, wanted: Values, reason: str) -> HttpResponse:
        run = f"policies:{uuid4().hex}"
        with acting(actor_of(request), run=run):
            changed = Policy.objects.put(workspace.pk, wanted, reason=reason)
            note(request, AuditEvent.SETTING, workspace, details={"what": "policies", "rows": changed})
        text = ngettext("%(n)d policy was changed.", "%(n)d policies were changed.", changed) % {"n": changed}
        messages.success(request, f"{text} {gettext('It holds from the next call on.')}")
        return HttpResponseRedirect(_list_url(workspace.pk))

    # -- which workspace

    def _workspace(self, request: HttpRequest, right: Right) -> Workspace:
        """The workspace of a page. Raises Http404, or PermissionDenied where this person may not do it there."""
        asked = request.GET.get("of")
        _mine, chosen = workspace_choice(request)
        if chosen is None or (asked and str(chosen.pk) != asked):
            raise Http404
        if not holds(request, right, chosen.pk):
            raise PermissionDenied
        return chosen

    def _page(self, request: HttpRequest, template: str, workspace: Workspace, **context: Any) -> HttpResponse:
        page = {
            "title": gettext("Policies"),
            "subtitle": workspace.name,
            "chosen": workspace,
            "may": held_in(request, workspace.pk),
            "tabs": [(kind, name) for kind, (name, _text) in KINDS.items()],
            "back": _list_url(workspace.pk),
        }
        return own_page(request, f"admin/memories/{template}.html", page | context, self)


def _list_url(workspace_id: int) -> str:
    return f"{reverse(_LIST)}?{urlencode({'of': workspace_id})}"


def _table(numbers: list[EffectiveNumber]) -> list[list[EffectiveNumber]]:
    """The numbers in rows: those of one type beside each other."""
    rows: dict[Any, list[EffectiveNumber]] = {}
    for number in numbers:
        _kind, entry_type, _scope_kind, name = number.number.subject
        rows.setdefault(entry_type or name, []).append(number)
    return list(rows.values())
