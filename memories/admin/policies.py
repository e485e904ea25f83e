"""Policies: the numbers of a workspace, with the built-in ones where nobody has set any."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
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

from memories.admin.access import MANAGE, RestrictedAdmin, workspaces_of
from memories.admin.history import RevertibleHistory, history_page, removed_row_history
from memories.choices import EntryType, Operation, PolicyKind, ScopeKind
from memories.conf import conf
from memories.kinds import type_rule
from memories.lifecycle import expiry
from memories.models import Change, Policy, Workspace
from memories.models.policy import WEIGHTS, Policies

#: Removed policies on the page; the histories of older ones are still there.
REMOVED_SHOWN = 20
_WEIGHT_CHOICES = [("", "—"), *((name.lower(), name.lower()) for name in WEIGHTS)]


@dataclass(frozen=True)
class EffectivePolicy:
    """One number that holds in a workspace, and where it comes from."""

    subject: str
    value: str
    default: str
    is_set: bool
    address: str


@dataclass(frozen=True)
class RemovedPolicy:
    """A policy that holds no more, and where its history is read."""

    subject: str
    value: str
    actor: str
    at: datetime
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
            self._ask_about_what_ends(data)
        return data

    def _ask_about_what_ends(self, data: dict[str, Any]) -> None:
        """A shorter life ends memories at once: it is saved only when whoever sets it has seen how many."""
        about = {name: data.get(name) or getattr(self.instance, name) for name in ("entry_type", "scope_kind")}
        workspace = data.get("workspace") or self.instance.workspace
        warning = expiry_warning(workspace.pk, **about, days=data.get("value"))
        if warning and not data.get("agreed"):
            self.fields["agreed"].widget = UnfoldBooleanSwitchWidget()
            self.add_error("agreed", warning)

    def _require(self, data: dict[str, Any], *names: str) -> None:
        for name in names:
            if data.get(name) in ("", None) and name in self.fields:
                self.add_error(name, _("This kind of policy needs it."))


def expiry_warning(workspace: int, *, entry_type: str, scope_kind: str, days: float | None, is_set: bool = True) -> str:
    """The warning that a time to live would take memories out of recall at once, with their number; else nothing."""
    after = Policy.objects.of(workspace).with_ttl(entry_type, scope_kind, days, is_set=is_set)
    ended, recalled = expiry.count_newly_over(workspace, after, now=timezone.now())
    if not ended:
        return ""
    return gettext("%(ended)s of %(recalled)s memories would no longer be recalled, from the next call on.") % {
        "ended": f"{ended:,}",
        "recalled": f"{recalled:,}",
    }


@admin.register(Policy)
class PolicyAdmin(RevertibleHistory, RestrictedAdmin):
    """Everything that holds, the defaults included; removing a row brings its default back, and history keeps it."""

    members_may = MANAGE
    revertible = ("value",)
    form = PolicyForm
    list_display = ["subject", "workspace", "said_value", "said_default", "updated_at"]
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
        known = {name: request.GET[name] for name in self.fields if name in request.GET}
        return {"workspace": self._only_workspace(request), **known}

    def consequence(self, row: Any, values: dict[str, Any]) -> str:
        if row.kind != PolicyKind.TTL or "value" not in values:
            return ""
        return expiry_warning(
            row.workspace_id, entry_type=row.entry_type, scope_kind=row.scope_kind, days=values["value"]
        )

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """The page that asks says what the default would end."""
        policy = self.get_object(request, object_id)
        if request.method == "GET" and policy and policy.kind == PolicyKind.TTL:
            about = {"entry_type": policy.entry_type, "scope_kind": policy.scope_kind}
            if warning := expiry_warning(policy.workspace_id, **about, days=None, is_set=False):
                messages.warning(request, warning)
        answer: HttpResponse = super().delete_view(request, object_id, extra_context)
        return answer

    def _only_workspace(self, request: HttpRequest) -> int | None:
        mine = self._workspaces(request)
        return mine[0].pk if len(mine) == 1 else None

    def _workspaces(self, request: HttpRequest) -> list[Workspace]:
        seen = workspaces_of(request)
        rows = Workspace.objects.order_by("name")
        return list(rows if seen is None else rows.filter(pk__in=seen))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """With everything that holds in a workspace above the list, the defaults included."""
        mine = self._workspaces(request)
        asked = request.GET.get("of", "")
        chosen = next((row for row in mine if str(row.pk) == asked), mine[0] if mine else None)
        holds = list(effective_policies(chosen)) if chosen else []
        lookups = request.GET.copy()
        lookups.pop("of", None)  # ours, not a lookup of the list
        request.GET = lookups  # type: ignore[assignment]
        more = {
            "workspaces": mine,
            "chosen": chosen,
            "holds": holds,
            "removed": removed_policies(request),
            **(extra_context or {}),
        }
        answer: HttpResponse = super().changelist_view(request, more)
        return answer

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Also of a policy that was removed."""
        removal = next((one for one in removals(request) if str(one.row_id) == object_id), None)
        if removal is None:
            return super().history_view(request, object_id, extra_context)
        told, back = removed_row_history(Policy, removal), reverse("admin:memories_policy_changelist")
        return history_page(self, request, policy_of(removal), told, back)

    @display(description=_("policy"))
    def subject(self, policy: Policy) -> str:
        return policy_subject(policy.kind, policy.entry_type, policy.scope_kind, policy.name)

    @display(description=_("value"))
    def said_value(self, policy: Policy) -> str:
        return policy_value(policy.kind, policy.value)

    @display(description=_("default"))
    def said_default(self, policy: Policy) -> str:
        return policy_value(policy.kind, default_of(policy.kind, policy.entry_type, policy.scope_kind, policy.name))


def removals(request: HttpRequest) -> QuerySet[Change]:
    """When policies were removed, the last first, in the workspaces of whoever asks."""
    seen = workspaces_of(request)
    rows = Change.objects.filter(table_name=Policy._meta.db_table, op=Operation.DELETE).order_by("-id")
    return rows if seen is None else rows.filter(workspace_id__in=seen)


def policy_of(removal: Change) -> Policy:
    """The policy as it was when it was removed; not to be saved."""
    columns = {column.attname for column in Policy._meta.concrete_fields} - {"created_at", "updated_at"}
    return Policy(**{name: value for name, value in removal.old.items() if name in columns})


def removed_policies(request: HttpRequest) -> list[RemovedPolicy]:
    """The policies that were removed last."""
    found = []
    for removal in removals(request)[:REMOVED_SHOWN]:
        was = policy_of(removal)
        found.append(
            RemovedPolicy(
                subject=policy_subject(was.kind, was.entry_type, was.scope_kind, was.name),
                value=policy_value(was.kind, was.value),
                actor=removal.actor,
                at=removal.at,
                address=reverse("admin:memories_policy_history", args=[removal.row_id]),
            )
        )
    return found


def policy_subject(kind: str, entry_type: str, scope_kind: str, name: str) -> str:
    about = name or f"{dict(EntryType.choices)[entry_type]} · {ScopeKind(scope_kind).label}"
    return f"{PolicyKind(kind).label}: {about}"


def default_of(kind: str, entry_type: str, scope_kind: str, name: str) -> float | None:
    """The built-in number; None: without limit."""
    if kind == PolicyKind.WEIGHT:
        return float(getattr(conf, name.upper()))
    if kind == PolicyKind.QUOTA:
        return type_rule(entry_type).quotas.get(scope_kind)
    ttl = type_rule(entry_type).ttls.get(scope_kind)
    return ttl.days if ttl else None


def policy_value(kind: str, value: float | None) -> str:
    if value is None:
        return gettext("never ends") if kind == PolicyKind.TTL else gettext("no limit")
    return gettext("%(days)g days") % {"days": value} if kind == PolicyKind.TTL else f"{value:g}"


def effective_policies(workspace: Workspace) -> Iterator[EffectivePolicy]:
    """Every number a workspace could set, with what holds now."""
    rows = {(row.kind, row.entry_type, row.scope_kind, row.name): row for row in workspace.policies.all()}
    holds = Policies(list(rows.values()))
    kinds = [(entry_type, scope_kind) for entry_type in EntryType for scope_kind in ScopeKind]
    for entry_type, scope_kind in kinds:
        ttl = holds.ttl(entry_type, scope_kind)
        days = None if ttl is None else ttl.total_seconds() / 86_400
        yield _row(workspace, rows, (PolicyKind.TTL, entry_type, scope_kind, ""), days)
    for entry_type, scope_kind in kinds:
        quota = holds.quota(entry_type, scope_kind)
        yield _row(workspace, rows, (PolicyKind.QUOTA, entry_type, scope_kind, ""), quota)
    for name in WEIGHTS:
        yield _row(workspace, rows, (PolicyKind.WEIGHT, "", "", name.lower()), holds.weight(name))


def _row(
    workspace: Workspace, rows: dict[Any, Policy], key: tuple[str, str, str, str], value: float | None
) -> EffectivePolicy:
    policy = rows.get(key)
    if policy:
        address = reverse("admin:memories_policy_change", args=[policy.pk])
    else:
        names = ("kind", "entry_type", "scope_kind", "name")
        asked = "&".join(f"{name}={part}" for name, part in zip(names, key, strict=True) if part)
        address = f"{reverse('admin:memories_policy_add')}?workspace={workspace.pk}&{asked}"
    return EffectivePolicy(
        policy_subject(*key),
        policy_value(key[0], value),
        policy_value(key[0], default_of(*key)),
        policy is not None,
        address,
    )
