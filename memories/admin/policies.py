"""Policies: what holds in a workspace, a preview of other numbers before they are saved, and every version (F2)."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from itertools import groupby
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memories.admin.access import RestrictedAdmin, actor_of, in_workspaces, workspace_choice
from memories.admin.auditing import note
from memories.admin.batches.detail import batch_url
from memories.admin.forms import TextField
from memories.admin.history import history_page, row_history
from memories.admin.labels import actor_label, batch_name
from memories.admin.pages import own_page, row_number
from memories.admin.policy_numbers import (
    COLUMNS,
    KINDS,
    EffectiveNumber,
    Number,
    NumberChange,
    NumbersForm,
    changes_between,
    numbers_of,
    unlimited_field,
)
from memories.audit.models import AuditEvent
from memories.batches import branch
from memories.choices import SECRET, Operation, PolicyKind
from memories.entries.history import stored_columns
from memories.evaluation import what_if
from memories.evaluation.pinned import NewlyFailing, newly_failing
from memories.lifecycle import expiry
from memories.models import Change, Entry, Policy, Workspace
from memories.models.change import acting
from memories.models.policy import Policies, Subject
from memories.staff.rights import VIEW, Needs, holds, may_in, needs, workspaces_of
from memories.staff.roles import Right

Values = dict[Subject, float | None]
_Rows = dict[int, dict[str, Any]]  # columns by the id of the row
#: Changes that are read back: what is older stands in the history of each number.
CHANGES_READ = 500


@dataclass(frozen=True)
class Version:
    """The policies of a workspace from one change on."""

    number: int  # id of its last change
    at: datetime
    actor: str
    reason: str
    lines: list[NumberChange]
    values: Values
    is_present: bool


def versions_of(workspace_id: int) -> list[Version]:
    """The versions of a workspace's policies, the newest first: walked back from what holds now."""
    changes = Change.objects.filter(workspace_id=workspace_id, table_name=Policy._meta.db_table).order_by("-id")
    rows: _Rows = {row["id"]: {**row} for row in Policy.objects.filter(workspace_id=workspace_id).values()}
    versions: list[Version] = []
    after = _values(rows)
    for _run, saved in groupby(changes[:CHANGES_READ], key=lambda change: change.run or change.pk):
        group = list(saved)  # together, by their run; others are alone
        # What was changed without a reason may still carry that of an earlier save
        first = group[0]
        row = first.old if first.op == Operation.DELETE else rows.get(first.row_id, {})
        reason = str(row.get("reason", "")) if first.run else ""
        for change in group:
            if change.op == Operation.INSERT:
                rows.pop(change.row_id, None)
            elif change.op == Operation.DELETE:
                rows[change.row_id] = dict(change.old)
            elif change.row_id in rows:
                rows[change.row_id] = rows[change.row_id] | change.old
        before = _values(rows)
        versions.append(
            Version(
                number=first.pk,
                at=first.at,
                actor=actor_label(first.actor),
                reason=reason,
                lines=changes_between(before, after),
                values=after,
                is_present=not versions,
            )
        )
        after = before
    return versions


def _values(rows: _Rows) -> Values:
    return {(row["kind"], row["entry_type"], row["scope_kind"], row["name"]): row["value"] for row in rows.values()}


#: Seconds the database may take to count what would end.
COUNT_SECONDS = 5
#: And the pinned tests, about so many.
PINNED_SECONDS = 3.0
SAMPLES, ANSWERS_SHOWN, WORDS = 6, 12, 160


@dataclass(frozen=True)
class Sample:
    """A memory by its words; of a credential none are shown."""

    entry: Entry

    @property
    def words(self) -> str:
        return gettext("a credential") if self.entry.category in SECRET else self.entry.content[:WORDS]


@dataclass(frozen=True)
class AnswerRow:
    """A question whose answer would change, with the memories that go and come."""

    other: what_if.OtherAnswer
    went: list[Sample]
    came: list[Sample]


@dataclass
class Preview:
    """What saving these policies would do."""

    wanted: Values
    before: str  # a fingerprint of what holds now
    changes: list[NumberChange]
    serving: expiry.ServingChange | None = None  # None: no time to live changes, or it was not counted in time
    is_uncounted: bool = False
    samples: list[Sample] = field(default_factory=list)
    answers: what_if.AskedAgain | None = None
    rows: list[AnswerRow] = field(default_factory=list)
    pinned: NewlyFailing | None = None
    last_days: what_if.TakenOut | None = None  # None: no source loses a place where it is served
    taken: list[tuple[Sample, int]] = field(default_factory=list)  # with how many answers served it

    @property
    def more_samples(self) -> int:
        return max((self.serving.ended if self.serving else 0) - len(self.samples), 0)

    @property
    def more_rows(self) -> int:
        return max((len(self.answers.others) if self.answers else 0) - len(self.rows), 0)


def fingerprint(values: Values) -> str:
    """Equal for the same policies."""
    return sha256(repr(sorted(values.items())).encode()).hexdigest()[:16]


def preview(workspace: Workspace, values: Values, *, now: datetime) -> Preview:
    """What these policies would change in a workspace, in bounded time; nothing is kept."""
    present = Policy.objects.of(workspace.pk)
    result = Preview(values, fingerprint(present.values), changes_between(present.values, values))
    if not result.changes:
        return result
    after = Policies.of_values(values)
    if any(change.number.kind == PolicyKind.TTL for change in result.changes):
        # how many memories would end, and some of them; or that the database needs too long
        try:
            with _seconds(COUNT_SECONDS):
                result.serving = expiry.change_of_serving(workspace.pk, present, after, now=now)
                if result.serving.ended:
                    rows = expiry.newly_over(workspace.pk, present, after, now=now)[:SAMPLES]
                    result.samples = [Sample(entry) for entry in rows]
        except OperationalError:
            result.is_uncounted = True
    if any(change.number.kind == PolicyKind.TRUST for change in result.changes):
        try:
            with _seconds(COUNT_SECONDS):
                result.last_days = what_if.taken_out(workspace.pk, present, after, now=now)
        except OperationalError:
            result.is_uncounted = True
    result.answers = what_if.ask_again(workspace.pk, present, after, now=now, zone=workspace.zone())
    others = result.answers.others[:ANSWERS_SHOWN]
    pks = {entry for other in others for entry in (*other.went, *other.came)}
    most_served = list(result.last_days.memories.items())[:SAMPLES] if result.last_days else []
    pks |= {entry for entry, _times in most_served}
    there = {pk: Sample(entry) for pk, entry in Entry.objects.filter(workspace_id=workspace.pk).in_bulk(pks).items()}
    result.rows = [
        AnswerRow(
            other, [there[pk] for pk in other.went if pk in there], [there[pk] for pk in other.came if pk in there]
        )
        for other in others
    ]
    result.taken = [(there[pk], times) for pk, times in most_served if pk in there]
    result.pinned = newly_failing(workspace, after, now=now, seconds=PINNED_SECONDS)
    return result


@contextmanager
def _seconds(most: float) -> Iterator[None]:
    """A transaction whose statements may take so long each. Raises OperationalError where one does not end."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{int(most * 1000)}ms"])
        yield


@dataclass(frozen=True, kw_only=True)
class Removed:
    """A policy that was removed, as the page lists it."""

    change: Change
    actor: str
    number: Number
    value: str
    bring_back: str  # the form of its kind, with the number that was removed filled in


def removals(request: HttpRequest) -> QuerySet[Change]:
    """The removals of policies, the last first, in the workspaces of whoever asks."""
    rows = Change.objects.filter(table_name=Policy._meta.db_table, op=Operation.DELETE).order_by("-id")
    mine: QuerySet[Change] = in_workspaces(rows, workspaces_of(request))
    return mine


def policy_of(removal: Change) -> Policy:
    """The policy as it was when it was removed; not to be saved."""
    columns = {column.attname for column in Policy._meta.concrete_fields} - {"created_at", "updated_at"}
    return Policy(**{name: value for name, value in removal.old.items() if name in columns})


def set_url(policy: Policy, **numbers: Any) -> str:
    """The form of a policy's kind in its workspace, with numbers filled in."""
    number = Number(policy.subject)
    query = urlencode({"of": policy.workspace_id, **numbers})
    return f"{reverse('admin:memories_policy_set', args=[policy.kind])}?{query}#id_{number.field}"


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
        mine, workspace = workspace_choice(request)
        values = Policy.objects.of(workspace.pk).values if workspace else {}
        kinds = []
        for kind in PolicyKind:
            # In rows: the numbers of one type, or of one source, beside each other
            rows: dict[Any, list[EffectiveNumber]] = {}
            for number in numbers_of(kind):
                label = number.value_label(values.get(number.subject, number.default))
                rows.setdefault(number.row, []).append(EffectiveNumber(number, number.subject in values, label))
            kinds.append((kind, *KINDS[kind], COLUMNS[kind], list(rows.values())))
        removed = []
        for removal in removals(request)[:REMOVED_SHOWN]:
            policy = policy_of(removal)
            number = Number(policy.subject)
            initial = {unlimited_field(number): "on"} if policy.value is None else {number.field: f"{policy.value:g}"}
            removed.append(
                Removed(
                    change=removal,
                    actor=actor_label(removal.actor),
                    number=number,
                    value=number.value_label(policy.value),
                    bring_back=set_url(policy, **initial),
                )
            )
        return {
            "workspaces": mine,
            "chosen": workspace,
            "may": may_in(request, workspace.pk) if workspace else {},
            "kinds": kinds,
            "removed": removed,
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
        removal = next((change for change in removals(request) if str(change.row_id) == object_id), None)
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
        # With the numbers the address fills in; what is no number is left out
        initial_values = dict(values)
        for number in numbers_of(policy_kind):
            if unlimited_field(number) in request.GET:
                initial_values[number.subject] = None
            elif text := request.GET.get(number.field):
                with suppress(ValueError):
                    initial_values[number.subject] = float(text)
        form = NumbersForm(
            request.POST if request.method == "POST" else None,
            kind=policy_kind,
            values=initial_values if request.method == "GET" else values,
        )
        name, sentence = KINDS[PolicyKind(policy_kind)]
        context = {"form": form, "kind": policy_kind, "name": name, "text": sentence}
        if not (request.method == "POST" and form.is_valid()):
            return self._page(request, "policy_set", workspace, **context)
        # A form that changes nothing speaks of all its numbers; else of the others nobody spoke
        about = [] if form.wanted() != values else [number.subject for number in form.numbers]
        return self._preview_or_save(request, workspace, form.wanted(), about, hidden=form.hidden(), **context)

    @needs(Right.READ)
    def versions(self, request: HttpRequest) -> HttpResponse:
        workspace = self._workspace(request, Right.READ)
        return self._page(request, "policy_versions", workspace, versions=versions_of(workspace.pk))

    @needs(Right.OPERATE)
    def go_back(self, request: HttpRequest, version: int) -> HttpResponse:
        """All policies as they were in a version, after the same preview."""
        workspace = self._workspace(request, Right.OPERATE)
        target = next((row for row in versions_of(workspace.pk) if row.number == version), None)
        if target is None:
            raise Http404
        if request.method == "POST":
            everything = [number.subject for kind in PolicyKind for number in numbers_of(kind)]
            return self._preview_or_save(request, workspace, target.values, everything, hidden=[], version=target)
        policy_preview = preview(workspace, target.values, now=timezone.now())
        return self._page(request, "policy_set", workspace, version=target, preview=policy_preview, save=SaveForm())

    def _preview_or_save(
        self,
        request: HttpRequest,
        workspace: Workspace,
        values: Values,
        about: Collection[Subject],
        *,
        hidden: Any,
        **context: Any,
    ) -> HttpResponse:
        """Save what was previewed; a preview where it was not asked to, or others changed something meanwhile.

        What they are `about` is put back also where it is as it holds.
        """
        open_branches = branch.of_workspace(workspace.pk)
        if "to_branch" in request.POST:
            branch_batch = get_object_or_404(open_branches, pk=row_number(request.POST["branch"]))
            if branch.add_policies(branch_batch, values, about=about):
                text = gettext("They are on the branch: try it there, nothing holds yet.")
            else:
                text = gettext("The branch no longer changes these numbers.")
            messages.success(request, text)
            return HttpResponseRedirect(batch_url(branch_batch))
        is_saving = "confirmed" in request.POST
        save = SaveForm(request.POST if is_saving else None)
        present = fingerprint(Policy.objects.of(workspace.pk).values)
        policy_preview = None
        if is_saving and save.is_valid() and not save.cleaned_data["reason"]:
            policy_preview = preview(workspace, values, now=timezone.now())
            if policy_preview.pinned and policy_preview.pinned.runs:
                save.add_error("reason", gettext("Pinned tests would fail: say why it is to be so all the same."))
        if is_saving and request.POST.get("before") != present:
            messages.warning(request, gettext("Somebody changed these policies meanwhile: look at them again."))
        elif is_saving and save.is_valid():
            reason = save.cleaned_data["reason"]
            run = f"policies:{uuid4().hex}"
            with acting(actor_of(request), run=run):
                count = Policy.objects.put(workspace.pk, values, reason=reason)
                note(request, AuditEvent.SETTING, workspace, details={"what": "policies", "rows": count})
            text = ngettext("%(n)d policy was changed.", "%(n)d policies were changed.", count) % {"n": count}
            messages.success(request, f"{text} {gettext('It holds from the next call on.')}")
            return HttpResponseRedirect(_list_url(workspace.pk))
        policy_preview = policy_preview or preview(workspace, values, now=timezone.now())
        offered = open_branches if policy_preview.changes else branch.of_policies(workspace.pk, about)
        context["branches"] = [(row.pk, f"{batch_name(row)} · {row.scope}") for row in offered]
        return self._page(request, "policy_set", workspace, preview=policy_preview, hidden=hidden, save=save, **context)

    # -- which workspace

    def _workspace(self, request: HttpRequest, right: Right) -> Workspace:
        """The workspace of a page. Raises Http404, or PermissionDenied where this person may not do it there."""
        workspace_id = request.GET.get("of")
        _mine, workspace = workspace_choice(request)
        if workspace is None or (workspace_id and str(workspace.pk) != workspace_id):
            raise Http404
        if not holds(request, right, workspace.pk):
            raise PermissionDenied
        return workspace

    def _page(self, request: HttpRequest, template: str, workspace: Workspace, **context: Any) -> HttpResponse:
        page = {
            "title": gettext("Policies"),
            "subtitle": workspace.name,
            "chosen": workspace,
            "may": may_in(request, workspace.pk),
            "tabs": [(kind, name) for kind, (name, _text) in KINDS.items()],
            "back": _list_url(workspace.pk),
        }
        return own_page(request, f"admin/memories/{template}.html", page | context, self)


def _list_url(workspace_id: int) -> str:
    return f"{reverse(_LIST)}?{urlencode({'of': workspace_id})}"
