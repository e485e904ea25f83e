"""«Index now»: of a file, a scope or a workspace; what takes longer than a second is left to the worker."""

from collections.abc import Collection

from django.contrib import messages
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django_q.tasks import async_task

from memories.models import Scope, Workspace
from memories.notes.condition import FileCondition, conditions_of, index_out_of_step
from memories.notes.freshness import scopes_to_index
from memories.notes.index import SyncReport

SECONDS = 1.0
#: Bytes of changed files that are indexed within about that time.
BYTES = 200_000


def index_file(request: HttpRequest, scope: Scope, file: FileCondition) -> None:
    """Index one file, unless nothing of it is out of step."""
    _index(request, scope.workspace, [(scope, [file])])


def index_scope(request: HttpRequest, scope: Scope) -> None:
    """Index the files of a scope that are out of step."""
    _index(request, scope.workspace, [(scope, conditions_of(scope))])


def index_workspace(request: HttpRequest, workspace: Workspace) -> None:
    """Index the files of all scopes that are out of step; folders of new scopes are taken in."""
    scopes = scopes_to_index(workspace)
    for scope in scopes:
        scope.workspace = workspace
    _index(request, workspace, [(scope, conditions_of(scope)) for scope in scopes])


def _index(request: HttpRequest, workspace: Workspace, work: list[tuple[Scope, list[FileCondition]]]) -> None:
    report, left, now = SyncReport(), SECONDS, timezone.now()
    waiting = [(scope, wanted) for scope, files in work if (wanted := [file for file in files if file.why])]
    if sum(file.size for _scope, files in waiting for file in files) > BYTES:
        return _leave_to_worker(request, workspace, [scope.pk for scope, _files in waiting])
    for number, (scope, files) in enumerate(waiting):
        begun = timezone.now()
        report.add(index_out_of_step(scope, now=now, seconds=max(left, 0.0), conditions=files))
        left -= (timezone.now() - begun).total_seconds()
        if not report.is_complete:
            return _leave_to_worker(request, workspace, [scope.pk for scope, _files in waiting[number:]])
    return _tell(request, report)


def _leave_to_worker(request: HttpRequest, workspace: Workspace, scopes: Collection[int]) -> None:
    async_task("memories.tasks.index_files", workspace.pk, list(scopes), group="mem:files")
    messages.info(request, _("This is much: the worker indexes it. This page shows how far it is."))


def _tell(request: HttpRequest, report: SyncReport) -> None:
    if not report.files:
        messages.info(request, _("Everything is in step already."))
        return
    counts = {"new": report.created, "changed": report.changed, "ended": report.ended}
    text = ngettext("%(n)d file indexed", "%(n)d files indexed", report.files) % {"n": report.files}
    lines = _("%(new)d new lines, %(changed)d changed, %(ended)d out of use") % counts
    messages.success(request, f"{text}: {lines}.")
    for path, problem in report.problems.items():
        messages.warning(request, f"{path}: {problem.label}")
