"""The pages of files: the scopes of a workspace, the tree of a scope, a file with its lines; and «index now»."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from memories.admin.access import VIEW, RestrictedAdmin, visible_workspaces, workspace_choice
from memories.admin.files.addresses import file_page, file_url, index_url, scope_url
from memories.admin.files.indexing import index_file, index_scope, index_workspace
from memories.admin.files.lines import FilePage, page_of
from memories.admin.files.overview import overview_of
from memories.admin.files.tree import FileRow, tree_of
from memories.admin.own_pages import own_page
from memories.admin.quarantine.address import quarantine_url
from memories.admin.return_link import return_url
from memories.entries.files import folder_of
from memories.exceptions import PlatformError
from memories.models import FileState, Scope
from memories.notes.condition import FileCondition, condition_of, passed_over
from memories.staff.rights import needs
from memories.staff.roles import Right

_DIGITS = 9
#: Of what lies in a folder and is not remembered; looking for it walks through all of it, so it is asked for.
PASSED_OVER_SHOWN = 200


@admin.register(FileState)
class FileStateAdmin(RestrictedAdmin):
    """Files are read on the disk; what is known of them from when they were indexed stands beside."""

    members_may = VIEW
    has_history = False

    def get_urls(self) -> list[URLPattern]:
        def own(view: Any) -> Any:
            return never_cache(self.admin_site.admin_view(view))

        return [
            path("scope/<int:scope_id>/", own(self.scope_page), name="memories_filestate_scope"),
            path("scope/<int:scope_id>/file/", own(self.file_page), name="memories_filestate_file"),
            path("index/", own(require_POST(self.index_now)), name="memories_filestate_index"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The scopes of a workspace."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        workspaces, chosen = workspace_choice(request)
        sought = request.GET.get("q", "").replace("\0", "").strip()
        overview = overview_of(chosen, request.GET.get("page", "1"), sought) if chosen else None
        left_out = passed_over(chosen, most=PASSED_OVER_SHOWN) if chosen and "passed_over" in request.GET else None
        context: dict[str, Any] = {"workspaces": workspaces, "chosen": chosen, "overview": overview, "sought": sought}
        context |= {"passed_over": left_out, "most": PASSED_OVER_SHOWN}
        return self._page(request, "overview", _("Files"), context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """A file has one page: that with its lines."""
        state = self.reach(request, object_id, "view")
        return HttpResponseRedirect(file_url(state.scope_id, state.path))

    @needs(Right.READ)
    def scope_page(self, request: HttpRequest, scope_id: int) -> HttpResponse:
        """The files of a scope as a tree."""
        scope = self._scope(request, scope_id)
        return self._page(request, "scope", str(scope), {"scope": scope, "tree": tree_of(scope)})

    @needs(Right.READ)
    def file_page(self, request: HttpRequest, scope_id: int) -> HttpResponse:
        """A file with its lines, some hundred at a time."""
        scope = self._scope(request, scope_id)
        file = self._file(scope, request.GET.get("path", ""))
        asked = request.GET.get("line", "")
        line = int(asked) if asked.isdecimal() and len(asked) <= _DIGITS else 1
        shown, problem = _lines(scope, file, max(line, 1))
        is_transcript = folder_of(scope).is_transcript(file.path)
        context = {
            "scope": scope,
            "scope_url": scope_url(scope.pk),
            "file": FileRow(file_page(scope.pk), file, is_indexed=not is_transcript),
            "is_transcript": is_transcript,
            "shown": shown,
            "problem": problem,
            "asked": line if asked else None,
            "quarantine_url": quarantine_url(scope=scope.pk, path=file.path),
        }
        return self._page(request, "file", file.path, context)

    @needs(Right.OPERATE)
    def index_now(self, request: HttpRequest) -> HttpResponse:
        """Index a file, a scope or a workspace, and go back."""
        scope_id, workspace_id = request.POST.get("scope", ""), request.POST.get("of", "")
        if scope_id.isdecimal() and len(scope_id) <= _DIGITS:
            scope = self._scope(request, int(scope_id), "operate")
            if wanted := request.POST.get("path"):
                index_file(request, scope, self._file(scope, wanted))
            else:
                index_scope(request, scope)
            return HttpResponseRedirect(return_url(request, scope_url(scope.pk)))
        workspace = next(
            (one for one in visible_workspaces(request, Right.OPERATE) if str(one.pk) == workspace_id), None
        )
        if workspace is None:
            raise Http404
        index_workspace(request, workspace)
        return HttpResponseRedirect(f"{reverse('admin:memories_filestate_changelist')}?of={workspace.pk}")

    def _scope(self, request: HttpRequest, scope_id: int, what: str = "view") -> Scope:
        """The scope of a page; 404 for those of other workspaces and for none alike."""
        scope: Scope = self.admin_site.get_model_admin(Scope).reach(request, str(scope_id), what)
        return scope

    def _file(self, scope: Scope, wanted: str) -> FileCondition:
        """The file of a page; 404 for what is none, or no file of this scope."""
        file = condition_of(scope, wanted) if folder_of(scope).owns(wanted) else None
        if file is None:
            raise Http404
        return file

    def _page(self, request: HttpRequest, name: str, title: str, context: dict[str, Any]) -> TemplateResponse:
        context |= {"title": title, "index_url": index_url()}
        return own_page(request, f"admin/memories/files/{name}.html", context, self)


def _lines(scope: Scope, file: FileCondition, line: int) -> tuple[FilePage | None, str]:
    """The lines of a file, or why they cannot be read."""
    try:
        return page_of(scope, file, line), ""
    except (OSError, PlatformError) as problem:
        return None, str(problem)
