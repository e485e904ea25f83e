"""Policies that were removed: their history stays, and each can be brought back."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from memories.admin.access import in_workspaces, workspaces_of
from memories.admin.labels import actor_label
from memories.admin.policies.forms import unlimited_field
from memories.admin.policies.numbers import Number, numbers_of
from memories.choices import Operation
from memories.models import Change, Policy
from memories.models.policy import Subject


@dataclass(frozen=True)
class Removed:
    """A policy that was removed, as the page lists it."""

    change: Change

    @property
    def actor(self) -> str:
        return actor_label(self.change.actor)

    @property
    def policy(self) -> Policy:
        return policy_of(self.change)

    @property
    def number(self) -> Number:
        return Number(self.policy.subject)

    @property
    def value(self) -> str:
        return self.number.value_label(self.policy.value)

    @property
    def bring_back(self) -> str:
        """The form of its kind, with the number that was removed filled in."""
        return set_url(self.policy, **prefilled(self.policy))


def removals(request: HttpRequest) -> QuerySet[Change]:
    """The removals of policies, the last first, in the workspaces of whoever asks."""
    rows = Change.objects.filter(table_name=Policy._meta.db_table, op=Operation.DELETE).order_by("-id")
    found: QuerySet[Change] = in_workspaces(rows, workspaces_of(request))
    return found


def policy_of(removal: Change) -> Policy:
    """The policy as it was when it was removed; not to be saved."""
    columns = {column.attname for column in Policy._meta.concrete_fields} - {"created_at", "updated_at"}
    return Policy(**{name: value for name, value in removal.old.items() if name in columns})


def set_url(policy: Policy, **given: Any) -> str:
    """The form of a policy's kind in its workspace, with numbers filled in."""
    number = Number(policy.subject)
    query = urlencode({"of": policy.workspace_id, **given})
    return f"{reverse('admin:memories_policy_set', args=[policy.kind])}?{query}#id_{number.field}"


def prefilled(policy: Policy) -> dict[str, Any]:
    """The parameters of an address that fill a policy's number in."""
    number = Number(policy.subject)
    return {unlimited_field(number): "on"} if policy.value is None else {number.field: f"{policy.value:g}"}


def filled_in(request: HttpRequest, kind: str) -> dict[Subject, float | None]:
    """The numbers an address fills in; what is no number is left out."""
    found: dict[Subject, float | None] = {}
    for number in numbers_of(kind):
        if unlimited_field(number) in request.GET:
            found[number.subject] = None
        elif given := request.GET.get(number.field):
            try:
                found[number.subject] = float(given)
            except ValueError:
                continue
    return found
