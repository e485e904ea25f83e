"""The page of the lab."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memories.admin.access import actor_of, in_workspaces, workspace_choice
from memories.admin.own_pages import own_page
from memories.exceptions import InvalidDraft, PlatformError
from memories.models import Policy, RecallTrace, Scope, Workspace
from memories.staff.rights import holds, needs, workspaces_of
from memories.staff.roles import Right
from memplatform.lab import asking
from memplatform.lab.form import LabForm
from memplatform.lab.pinning import pin
from sessions_app.models import Session

#: Scopes and sessions that are proposed, those used last.
PROPOSED = 40


@never_cache
@require_http_methods(["GET", "POST"])
@needs(Right.READ)
def page(request: HttpRequest) -> HttpResponse:
    """A question and its answers; asked by POST, so that no address of a page holds its words."""
    sent = request.POST if request.method == "POST" else request.GET
    trace = _trace(request, sent.get("trace", ""))
    mine, workspace = workspace_choice(request)
    if request.method == "POST":
        workspace = next((row for row in mine if str(row.pk) == request.POST.get("of")), None)
    workspace = trace.workspace if trace else workspace
    context: dict[str, Any] = {"title": gettext("Recall lab"), "workspaces": mine, "workspace": workspace}
    if workspace is not None:
        timezone.activate(workspace.zone())
        context |= _context(request, workspace, trace)
    if (pinned := context.get("pinned")) is not None:
        messages.success(request, gettext("Saved. It is run once a day; “Run now” runs it at once."))
        return HttpResponseRedirect(reverse("admin:memories_pinnedtest_change", args=[pinned.pk]))
    return own_page(request, "admin/memplatform/lab.html", context)


def _context(request: HttpRequest, workspace: Workspace, trace: RecallTrace | None) -> dict[str, Any]:
    form = LabForm(request.POST) if request.method == "POST" else LabForm(initial=_initial(trace))
    answers: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        try:
            answers = _answers(request, workspace, trace, form)
        except PlatformError as refusal:
            field = refusal.field if refusal.field in form.fields else "at" if refusal.field == "as_of" else "whom"
            form.add_error(field, str(refusal))
    return {
        "form": form,
        "trace": trace,
        "numbers": list(form.numbers(Policy.objects.of(workspace.pk))),
        "proposed": _proposed(workspace),
        "has_address": bool(form["platform"].value()),
        **answers,
    }


def _answers(request: HttpRequest, workspace: Workspace, trace: RecallTrace | None, form: LabForm) -> dict[str, Any]:
    """Both answers, and what moved between them; one where no other number is tried."""
    now, asked = timezone.now(), form.cleaned_data
    may_pin, pinned, pin_error = holds(request, Right.CURATE, workspace.pk), None, ""
    if trace and asked["whom"] == _whom(trace):
        query = asking.query_of_trace(trace, asked, need=form.need)
    else:
        query = asking.query_of(workspace, actor_of(request), asked, need=form.need, now=now)
    answers = [asking.ask(query, workspace, now=now)]
    if may_pin and request.POST.get("do") == "pin":
        try:
            pinned = pin(workspace, actor_of(request), query, form, request.POST)
        except InvalidDraft as refusal:
            pin_error = str(refusal)
    if changes := form.changes():
        answers.append(asking.ask(asking.tried(changes, query), workspace, now=now))
    moved = asking.moves(*answers) if len(answers) > 1 else []
    return {
        "answers": list(zip([gettext("Now"), gettext("With other numbers")], answers, strict=False)),
        "moves": moved,
        "is_the_same": bool(moved) and all(move.before == move.now for move in moved),
        "query": query,
        "may_pin": may_pin,
        "pinned": pinned,
        "pin_error": pin_error,
        "answer": answers[0],
        "pinnable": [*answers[0].served, *answers[0].left_out],
        "asked": form.asked(),
    }


def _trace(request: HttpRequest, number: str) -> RecallTrace | None:
    """The recall this begins from, of the workspaces this person may read."""
    if not (number.isascii() and number.isdecimal() and len(number) < 19):
        return None
    rows: Any = in_workspaces(RecallTrace.objects.select_related("workspace"), workspaces_of(request))
    found: RecallTrace | None = rows.filter(pk=int(number)).first()
    return None if found is None or found.is_purged else found


def _initial(trace: RecallTrace | None) -> dict[str, Any]:
    if trace is None:
        return {"mode": "hybrid"}
    return {
        "message": trace.message,
        "whom": _whom(trace),
        "mode": trace.query.get("mode", "hybrid"),
        "always": trace.query.get("need") == "off",
    }


def _whom(trace: RecallTrace) -> str:
    return str(trace.session_key or ", ".join(trace.scope_keys))


def _proposed(workspace: Workspace) -> list[str]:
    sessions = Session.objects.filter(workspace=workspace).order_by("-last_at")
    scopes = Scope.objects.filter(workspace=workspace).order_by("-created_at")
    found = [*sessions.values_list("key", flat=True)[:PROPOSED], *scopes.values_list("key", flat=True)[:PROPOSED]]
    return list(dict.fromkeys(found))
