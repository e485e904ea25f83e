"""Policies: the numbers set for a workspace, beside the built-in defaults."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.widgets import UnfoldBooleanSwitchWidget

from memories.admin.access import (
    RestrictedAdmin,
    in_workspaces,
    visible_workspaces,
    workspace_choice,
    workspaces_of,
)
from memories.admin.history import RevertibleHistory, history_page, row_history
from memories.choices import EntryType, Operation, PolicyKind, ScopeKind
from memories.conf import conf
from memories.kinds import type_rule
from memories.lifecycle import expiry
from memories.models import Change, Policy, Workspace
from memories.models.policy import WEIGHTS, Policies
from memories.rights import CONFIGURE, Needs
from memories.tenancy.roles import Right

#: Removed policies on the page; the histories of older ones are still there.
REMOVED_SHOWN = 20
_WEIGHT_CHOICES = [("", "—"), *((name.lower(), name.lower()) for name in WEIGHTS)]


@dataclass(frozen=True)
class EffectivePolicy:
    """A number in effect in a workspace, with the page that sets it."""

    subject: str
    value: str
    default: str
    is_set: bool
    address: str


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A policy is about a type in a kind of scope, or about one weight; the form says so before the database does."""

    name = forms.ChoiceField(label=_("weight"), choices=_WEIGHT_CHOICES, required=False)
    agreed = forms.BooleanField(label=_("Save it all the same"), required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("kind") == PolicyKind.WEIGHT:
            data["entry_type"] = data["scope_kind"] = ""
            self._require(data, "name", "value")
        else:
            data["name"] = ""
            self._require(data, "entry_type", "scope_kind")
        if (data.get("value") or 0) < 0:
            self.add_error("value", _("Not below 0."))
        elif data.get("kind", self.instance.kind) == PolicyKind.TTL and not self.errors:
            self._warn_of_expiry(data)
        return data

    def _warn_of_expiry(self, data: dict[str, Any]) -> None:
        """A shorter life ends memories at once: it is saved only when whoever sets it has seen how many."""
        names = ("workspace", "entry_type", "scope_kind")
        policy = Policy(**{name: data.get(name) or getattr(self.instance, name) for name in names})
        warning = expiry_warning(policy, days=data.get("value"))
        if warning and not data.get("agreed"):
            self.fields["agreed"].widget = UnfoldBooleanSwitchWidget()
            self.add_error("agreed", warning)

    def _require(self, data: dict[str, Any], *names: str) -> None:
        for name in names:
            if data.get(name) in ("", None) and name in self.fields:
                self.add_error(name, _("This kind of policy needs it."))


def expiry_warning(policy: Policy, *, days: float | None, is_set: bool = True) -> str:
    """The warning that a time to live would take memories out of recall at once, with their number; else nothing."""
    after = Policy.objects.of(policy.workspace_id).with_ttl(policy.entry_type, policy.scope_kind, days, is_set=is_set)
    ended, recalled = expiry.count_newly_over(policy.workspace_id, after, now=timezone.now())
    if not ended:
        return ""
    return gettext("%(ended)s of %(recalled)s memories would no longer be recalled, from the next call on.") % {
        "ended": f"{ended:,}",
        "recalled": f"{recalled:,}",
    }


@admin.register(Policy)
class PolicyAdmin(RevertibleHistory, RestrictedAdmin):
    """Everything that holds, the defaults included; removing a row brings its default back, and history keeps it."""

    members_may: Needs = {**CONFIGURE, "delete": Right.OPERATE}
    revertible = ("value",)
    form = PolicyForm
    list_display = ["subject", "workspace", "value_label", "default_label", "updated_at"]
    list_display_links = ["subject"]
    list_select_related = ["workspace"]
    ordering = ["workspace__name", "kind", "entry_type", "scope_kind", "name"]
    change_list_template = "admin/memories/policies.html"
    fields = ["workspace", "kind", "entry_type", "scope_kind", "name", "value", "agreed"]

    def get_form(self, request: HttpRequest, obj: Policy | None = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["help_texts"] = {"value": _("Days of a time to live, places of a quota, or a weight; empty: no limit.")}
        return super().get_form(request, obj, change=change, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Policy | None = None) -> list[str]:
        return ["workspace", "kind", "entry_type", "scope_kind", "name"] if obj else []

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        mine = visible_workspaces(request, Right.OPERATE)
        given = {name: request.GET[name] for name in self.fields if name in request.GET}
        return {"workspace": mine[0].pk if len(mine) == 1 else None, **given}

    def revert_question(self, row: Any, version: int, pairs: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
        question = super().revert_question(row, version, pairs)
        if row.kind == PolicyKind.TTL and (warning := expiry_warning(row, days=pairs["value"][0])):
            question["text"] += f" {warning}"
        return question

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """The page that asks says what the default would end."""
        policy = self.get_object(request, object_id)
        is_asked = request.method == "GET" and policy and policy.kind == PolicyKind.TTL
        if is_asked and (warning := expiry_warning(policy, days=None, is_set=False)):
            messages.warning(request, warning)
        return super().delete_view(request, object_id, extra_context)

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        """Everything that holds in a workspace, the defaults included, and what was removed, above the list."""
        mine, chosen = workspace_choice(request)
        return {
            "workspaces": mine,
            "chosen": chosen,
            "policies": list(effective_policies(chosen)) if chosen else [],
            "removed": [_removed_row(removal) for removal in removals(request)[:REMOVED_SHOWN]],
        }

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Also of a policy that was removed."""
        removal = next((one for one in removals(request) if str(one.row_id) == object_id), None)
        if removal is None:
            return super().history_view(request, object_id, extra_context)
        policy = policy_of(removal)
        return history_page(self, request, policy, row_history(policy, {}), reverse("admin:memories_policy_changelist"))

    @display(description=_("policy"))
    def subject(self, policy: Policy) -> str:
        return policy_subject(policy)

    @display(description=_("value"))
    def value_label(self, policy: Policy) -> str:
        return policy_value(policy.kind, policy.value)

    @display(description=_("default"))
    def default_label(self, policy: Policy) -> str:
        return policy_value(policy.kind, default_of(policy))


def removals(request: HttpRequest) -> QuerySet[Change]:
    """The removals of policies, the last first, in the workspaces of whoever asks."""
    rows = Change.objects.filter(table_name=Policy._meta.db_table, op=Operation.DELETE).order_by("-id")
    found: QuerySet[Change] = in_workspaces(rows, workspaces_of(request))
    return found


def policy_of(removal: Change) -> Policy:
    """The policy as it was when it was removed; not to be saved."""
    columns = {column.attname for column in Policy._meta.concrete_fields} - {"created_at", "updated_at"}
    return Policy(**{name: value for name, value in removal.old.items() if name in columns})


def _removed_row(removal: Change) -> dict[str, Any]:
    policy = policy_of(removal)
    return {
        "change": removal,
        "subject": policy_subject(policy),
        "value": policy_value(policy.kind, policy.value),
    }


def policy_subject(policy: Policy) -> str:
    about = policy.name or f"{dict(EntryType.choices)[policy.entry_type]} · {ScopeKind(policy.scope_kind).label}"
    return f"{PolicyKind(policy.kind).label}: {about}"


def default_of(policy: Policy) -> float | None:
    """The built-in number; None: without limit."""
    if policy.kind == PolicyKind.WEIGHT:
        return float(getattr(conf, policy.name.upper()))
    rule = type_rule(policy.entry_type)
    if policy.kind == PolicyKind.QUOTA:
        return rule.quotas.get(policy.scope_kind)
    ttl = rule.ttls.get(policy.scope_kind)
    return ttl.days if ttl else None


def policy_value(kind: str, value: float | None) -> str:
    if value is None:
        return gettext("never ends") if kind == PolicyKind.TTL else gettext("no limit")
    return gettext("%(days)g days") % {"days": value} if kind == PolicyKind.TTL else f"{value:g}"


def effective_policies(workspace: Workspace) -> Iterator[EffectivePolicy]:
    """Every number a workspace could set, with the value that holds now."""
    rows = {(row.kind, row.entry_type, row.scope_kind, row.name): row for row in workspace.policies.all()}
    effective = Policies(list(rows.values()))
    kinds = [(entry_type, scope_kind) for entry_type in EntryType for scope_kind in ScopeKind]
    values: dict[tuple[str, str, str, str], float | None] = {}
    for kind in kinds:
        ttl = effective.ttl(*kind)
        values[PolicyKind.TTL, *kind, ""] = None if ttl is None else ttl.total_seconds() / 86_400
    values |= {(PolicyKind.QUOTA, *kind, ""): effective.quota(*kind) for kind in kinds}
    values |= {(PolicyKind.WEIGHT, "", "", name.lower()): effective.weight(name) for name in WEIGHTS}
    for key, value in values.items():
        names = dict(zip(("kind", "entry_type", "scope_kind", "name"), key, strict=True))
        policy = rows.get(key)
        about = policy or Policy(workspace=workspace, **names)
        if policy:
            address = reverse("admin:memories_policy_change", args=[policy.pk])
        else:
            given = "&".join(f"{name}={part}" for name, part in names.items() if part)
            address = f"{reverse('admin:memories_policy_add')}?workspace={workspace.pk}&{given}"
        yield EffectivePolicy(
            subject=policy_subject(about),
            value=policy_value(about.kind, value),
            default=policy_value(about.kind, default_of(about)),
            is_set=policy is not None,
            address=address,
        )
