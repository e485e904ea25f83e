"""Files of markdown in the admin: what lies there, what is out of step and why, and each file with its lines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.db.models import Case, Q, When
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from django_q.tasks import async_task

from memories.admin.access import RestrictedAdmin, visible_workspaces, workspace_choice
from memories.admin.pages import own_page, quarantine_url, return_url, row_number
from memories.entries.files import folder_of
from memories.exceptions import FileUnreadable, PlatformError
from memories.files import comments, disk, markdown
from memories.files.comments import Stamp, read_stamp
from memories.files.layout import MAIN, day_of, keys_of_folders, scope_folder, scope_folders
from memories.models import Entry, FileProblem, FileState, Policy, Scope, Workspace
from memories.models.state import State, state_of
from memories.notes.condition import (
    Difference,
    FileCondition,
    condition_of,
    conditions_of,
    conditions_of_each,
    index_out_of_step,
    passed_over,
)
from memories.notes.freshness import scopes_to_index
from memories.notes.index import SyncReport
from memories.staff.rights import VIEW, needs
from memories.staff.roles import Right
from memories.tenancy.resolver import kind_of_key

SECONDS = 1.0
#: Bytes of changed files that are indexed within about that time.
BYTES = 200_000


def index(request: HttpRequest, workspace: Workspace, work: Iterable[tuple[Scope, Iterable[FileCondition]]]) -> None:
    """Index now what is out of step of these files of scopes; what takes longer than a second the worker does."""
    report, seconds_left, now = SyncReport(), SECONDS, timezone.now()
    waiting = [(scope, stale_files) for scope, files in work if (stale_files := [file for file in files if file.why])]
    later: list[int] = []  # scopes
    if sum(file.size for _scope, files in waiting for file in files) > BYTES:
        waiting, later = [], [scope.pk for scope, _files in waiting]
    for number, (scope, files) in enumerate(waiting):
        begun = timezone.now()
        report.add(index_out_of_step(scope, now=now, seconds=max(seconds_left, 0.0), conditions=files))
        seconds_left -= (timezone.now() - begun).total_seconds()
        if not report.is_complete:
            later = [scope.pk for scope, _files in waiting[number:]]
            break

    # what became of it
    if later:
        async_task("memories.tasks.index_files", workspace.pk, later, group="mem:files")
        messages.info(request, _("This is much: the worker indexes it. This page shows how far it is."))
    elif not report.files:
        messages.info(request, _("Everything is in step already."))
    else:
        counts = {"new": report.created, "changed": report.changed, "ended": report.ended}
        text = ngettext("%(n)d file indexed", "%(n)d files indexed", report.files) % {"n": report.files}
        lines = _("%(new)d new lines, %(changed)d changed, %(ended)d out of use") % counts
        messages.success(request, f"{text}: {lines}.")
        for name, problem in report.problems.items():
            messages.warning(request, f"{name}: {problem.label}")


def scope_url(scope_id: int) -> str:
    """The page of the files of a scope."""
    return reverse("admin:memories_filestate_scope", args=[scope_id])


def file_page(scope_id: int) -> str:
    """The page of whichever file of a scope is asked for."""
    return reverse("admin:memories_filestate_file", args=[scope_id])


def file_url(scope_id: int, path: str, line: int | None = None) -> str:
    """The page of a file; with a line, the part of it that line stands in."""
    return file_url_on(file_page(scope_id), path, line)


def file_url_on(page: str, path: str, line: int | None = None) -> str:
    """The same, where the page of the scope's files is at hand: to look it up for each takes its time."""
    parameters = {"path": path, **({"line": line} if line else {})}
    address = f"{page}?{urlencode(parameters)}"
    return f"{address}#L{line}" if line else address


def index_url() -> str:
    """Where «index now» is sent to."""
    return reverse("admin:memories_filestate_index")


#: Of so many days all months but the first are folded.
DAYS_OPEN = 40
_NUMBERS_SHOWN = 12
_COLORS = {
    Difference.NEW: "info",
    Difference.CHANGED: "info",
    Difference.GONE: "warning",
    FileProblem.SUPPRESSED: "warning",
}


class FileRow:
    """A file in a list."""

    def __init__(self, page: str, file: FileCondition, *, is_indexed: bool = True) -> None:
        """With the page of the scope's files. Of a transcript, which is never indexed, nothing can be out of step."""
        self.path, self.name, self.size = file.path, file.path.rpartition("/")[2], file.size
        self.url = file_url_on(page, file.path)
        self.changed_at = datetime.fromtimestamp(file.found.mtime_ns / 1e9, UTC) if file.found else None
        self.state: FileState | None = file.state
        # Why it is out of step, if it is, and the lines that are meant, with where they stand
        self.why = file.why if is_indexed else None
        self.color = _COLORS.get(self.why, "danger") if self.why else "success"
        numbers = suppressed_lines(file) if self.why else []
        self.lines = [(number, file_url_on(page, file.path, number)) for number in numbers[:_NUMBERS_SHOWN]]
        self.more_lines = max(len(numbers) - _NUMBERS_SHOWN, 0)
        self.detail = "" if self.lines else file.detail


def suppressed_lines(file: FileCondition) -> list[int]:
    """The numbers of the lines that are not remembered again."""
    if file.why != FileProblem.SUPPRESSED:
        return []
    return [int(number) for number in file.detail.split(", ") if number.isdecimal()]


@dataclass(frozen=True)
class Branch:
    """Files that stand together: those of a month, or of a folder."""

    rows: list[FileRow]
    on: date | None = None  # the first of a month
    folder: str = ""
    is_open: bool = True

    @property
    def out_of_step(self) -> int:
        return sum(1 for row in self.rows if row.why)


@dataclass(frozen=True)
class Tree:
    """The files of a scope."""

    long_term: list[FileRow]
    months: list[Branch]
    folders: list[Branch]
    transcripts: list[FileRow]

    @property
    def rows(self) -> list[FileRow]:
        """The files that are indexed."""
        return [*self.long_term, *(row for branch in (*self.months, *self.folders) for row in branch.rows)]

    @cached_property
    def out_of_step(self) -> list[FileRow]:
        return [row for row in self.rows if row.why]

    @property
    def entries(self) -> int:
        return sum(row.state.entry_count for row in self.rows if row.state)

    @property
    def line_count(self) -> int:
        return sum(row.state.line_count for row in self.rows if row.state)


def tree_of(scope: Scope) -> Tree:
    """The tree of a scope."""
    folder, files, page = folder_of(scope), conditions_of(scope), file_page(scope.pk)
    rest = [file for file in files if file.path != folder.long_term]
    dates = {file.path: day for file in rest if (day := day_of(file.path)) and folder.daily(day) == file.path}

    # the days by month, the newest first
    days = sorted((file for file in rest if file.path in dates), key=lambda file: file.path, reverse=True)
    months: list[Branch] = []
    for month, inside in groupby(days, key=lambda file: dates[file.path].replace(day=1)):
        rows = [FileRow(page, file) for file in inside]
        is_open = not months or len(days) <= DAYS_OPEN or any(row.why for row in rows)
        months.append(Branch(rows, on=month, is_open=is_open))

    def above(file: FileCondition) -> str:
        return file.path.rpartition("/")[0]

    others = sorted((file for file in rest if file.path not in dates), key=lambda file: (above(file), file.path))
    return Tree(
        long_term=[FileRow(page, file) for file in files if file.path == folder.long_term],
        months=months,
        folders=[
            Branch([FileRow(page, file) for file in inside], folder=f"{name}/")
            for name, inside in groupby(others, key=above)
        ],
        transcripts=[
            FileRow(page, FileCondition(file.path, file, None), is_indexed=False)
            for file in reversed(folder.transcripts())
        ],
    )


PAGE = 500
_HEADING_SIGNS = 6


@dataclass
class ShownLine:
    """A line of a file, as a reader sees it."""

    number: int
    text: str
    stamp: Stamp | None = None
    entry: Entry | None = None  # that begins here
    state: State | None = None
    level: int = 0  # of a heading
    is_inside: bool = False  # an entry that began above
    is_struck: bool = False
    struck: Entry | None = None  # that can be restored
    is_taken_out: bool = False  # by people, and not remembered again

    @property
    def session_url(self) -> str:
        listed = reverse("admin:sessions_app_session_changelist")
        return f"{listed}?q={self.stamp.session}" if self.stamp and self.stamp.session else ""


@dataclass(frozen=True)
class FilePage:
    """Some hundred lines of a file."""

    lines: list[ShownLine]
    first: int
    is_more: bool
    count: int  # of all lines, when it was indexed

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def before(self) -> int | None:
        """The first line of the page before."""
        return max(self.first - PAGE, 1) if self.first > 1 else None

    @property
    def after(self) -> int | None:
        return self.first + PAGE if self.is_more else None


def page_of(scope: Scope, file: FileCondition, line: int) -> FilePage:
    """The page a line stands on. Raises PathNotAllowed, FileUnreadable."""
    first = (line - 1) // PAGE * PAGE + 1
    texts, is_more = disk.read_lines(folder_of(scope), file.path, first, PAGE)
    try:
        whole = disk.read(folder_of(scope), file.path)
        origins = comments.origins_in(whole.text) if whole else {}  # what the ids in its stamps stand for
    except FileUnreadable:  # as a whole
        origins = {}
    lines = [_line(first + n, text, origins) for n, text in enumerate(texts)]
    _add_entries(lines, scope, file.path)
    # What was struck as it was, with the newest entry of its words that can be restored
    text = "\n".join(texts)
    struck = [(mark, [block.text for block in markdown.blocks(mark.raw)]) for mark in comments.struck_texts(text)]
    words = {block for _mark, blocks in struck for block in blocks}
    here = Entry.objects.in_scope(scope).filter(path=file.path, content__in=words, expired_at__isnull=False)
    expired = {entry.content: entry for entry in here.order_by("expired_at", "pk")}  # no query where no words are
    for mark, blocks in struck:
        begin, end = text.count("\n", 0, mark.start), text.count("\n", 0, mark.end)
        for line_shown in lines[begin : end + 1]:
            line_shown.is_struck, line_shown.text, line_shown.level = True, "", 0
        raw = _line(0, mark.raw, origins)
        lines[begin].text, lines[begin].stamp = raw.text, raw.stamp
        lines[begin].struck = next((expired[block] for block in blocks if block in expired), None)
    last = first + len(texts) - 1
    for number in suppressed_lines(file):
        if first <= number <= last:
            lines[number - first].is_taken_out = True
    return FilePage(lines, first, is_more, file.state.line_count if file.state else 0)


def _line(number: int, text: str, origins: Mapping[str, Stamp]) -> ShownLine:
    """A line without its stamp."""
    stamps = [comment for comment in comments.parted(text)[1] if comment.startswith(comments.STAMPS)]
    for comment in stamps:
        text = text.replace(comment, "")
    stamp = read_stamp(stamps, origins)
    return ShownLine(number, text.rstrip(), stamp if stamp.at or stamp.session else None)


def _add_entries(lines: Sequence[ShownLine], scope: Scope, path: str) -> None:
    """What is remembered of these lines that follow each other; and which of the others are headings."""
    by_number = {line.number: line for line in lines}
    policies, now = Policy.objects.of(scope.workspace_id), timezone.now()
    here = (
        Entry.objects.in_scope(scope)
        .live()
        .filter(path=path, line_from__lte=max(by_number, default=0), line_to__gte=min(by_number, default=1))
    )
    for entry in here.select_related("access").defer("terms").order_by("line_from", "pk"):
        entry.scope = scope  # whose kind says when it ends
        begin, end = entry.line_from or 0, entry.line_to or 0
        for number in range(begin, end + 1):
            if line := by_number.get(number):
                line.is_inside = True
        if (first := by_number.get(begin)) and first.entry is None:
            first.entry, first.state = entry, state_of(entry, policies.end_of(entry), now)
    for line in lines:
        signs = len(line.text) - len(line.text.lstrip("#"))
        if not line.is_inside and 0 < signs <= _HEADING_SIGNS and line.text[signs : signs + 1] in ("", " ", "\t"):
            line.level = signs


SCOPES_SHOWN = 50
STRANGE_SHOWN = 20
_MAIN_FIRST = Case(When(key=MAIN, then=0), default=1)


@dataclass(frozen=True, kw_only=True)
class ScopeRow:
    """A scope with its files, and the sums over them."""

    scope: Scope
    url: str
    files: list[FileCondition]
    lines: int
    entries: int
    indexed_at: datetime | None
    out_of_step: int


@dataclass(frozen=True)
class StrangeFolder:
    """A folder among those of scopes that belongs to none."""

    name: str
    may_become: bool  # a scope of this name, once it is indexed


@dataclass(frozen=True)
class Overview:
    """The scopes of a page, and the folders of nobody."""

    page: "Page[Scope]"
    rows: list[ScopeRow]
    strange: list[StrangeFolder]
    more_strange: int


def overview_of(workspace: Workspace, number: str, search_term: str = "") -> Overview:
    """The scopes with files, `main` first and then by key; `search_term` is part of a key or label."""
    here = Scope.objects.in_workspace(workspace.pk)
    keys = keys_of_folders(scope_folders(workspace.folder), here.values_list("key", flat=True))
    scope_keys = {MAIN, *here.filter(key__in=keys.values()).values_list("key", flat=True)}
    strange = [StrangeFolder(name, kind_of_key(key) is not None) for name, key in keys.items() if key not in scope_keys]

    # those of which something was indexed, and those that have a folder
    named_keys = [*keys.values(), *([MAIN] if scope_folder(workspace.folder, MAIN).files() else [])]
    scopes = here.filter(Q(key__in=named_keys) | Q(pk__in=here.filter(files__isnull=False).values("pk")))
    if search_term:
        scopes = scopes.filter(Q(key__icontains=search_term) | Q(label__icontains=search_term))
    page = Paginator(scopes.order_by(_MAIN_FIRST, "key"), SCOPES_SHOWN).get_page(number)
    for scope in page.object_list:
        scope.workspace = workspace
    rows, conditions = [], conditions_of_each(list(page.object_list))
    for scope in page.object_list:
        files = conditions[scope.pk]
        states = [file.state for file in files if file.state]
        rows.append(
            ScopeRow(
                scope=scope,
                url=scope_url(scope.pk),
                files=files,
                lines=sum(state.line_count for state in states),
                entries=sum(state.entry_count for state in states),
                indexed_at=max((state.indexed_at for state in states), default=None),
                out_of_step=sum(1 for file in files if file.why),
            )
        )
    return Overview(page, rows, strange[:STRANGE_SHOWN], max(len(strange) - STRANGE_SHOWN, 0))


_DIGITS = 9
#: Of what lies in a folder and is not remembered; looking for it walks through all of it, so it is asked for.
PASSED_OVER_SHOWN = 200


@admin.register(FileState)
class FileStateAdmin(RestrictedAdmin):
    """Files are read on the disk; what was indexed of them stands beside."""

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
        workspaces, workspace = workspace_choice(request)
        search_term = request.GET.get("q", "").replace("\0", "").strip()
        overview = overview_of(workspace, request.GET.get("page", "1"), search_term) if workspace else None
        rows = passed_over(workspace, most=PASSED_OVER_SHOWN) if workspace and "passed_over" in request.GET else None
        context: dict[str, Any] = {"workspaces": workspaces, "chosen": workspace, "overview": overview}
        context |= {"sought": search_term, "passed_over": rows, "most": PASSED_OVER_SHOWN}
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
        line_number = request.GET.get("line", "")
        number = row_number(line_number, _DIGITS)
        line = 1 if number is None else number
        page, problem = None, ""
        try:
            page = page_of(scope, file, max(line, 1))
        except (OSError, PlatformError) as refusal:
            problem = str(refusal)
        is_transcript = folder_of(scope).is_transcript(file.path)
        context = {
            "scope": scope,
            "scope_url": scope_url(scope.pk),
            "file": FileRow(file_page(scope.pk), file, is_indexed=not is_transcript),
            "is_transcript": is_transcript,
            "shown": page,
            "problem": problem,
            "asked": line if line_number else None,
            "quarantine_url": quarantine_url(scope=scope.pk, path=file.path),
        }
        return self._page(request, "file", file.path, context)

    @needs(Right.OPERATE)
    def index_now(self, request: HttpRequest) -> HttpResponse:
        """Index a file, a scope or a workspace, and go back."""
        scope_id, workspace_id = row_number(request.POST.get("scope", ""), _DIGITS), request.POST.get("of", "")
        if scope_id is not None:
            scope = self._scope(request, scope_id, "operate")
            path = request.POST.get("path")
            index(request, scope.workspace, [(scope, [self._file(scope, path)] if path else conditions_of(scope))])
            return HttpResponseRedirect(return_url(request, scope_url(scope.pk)))
        mine = visible_workspaces(request, Right.OPERATE)
        workspace = next((row for row in mine if str(row.pk) == workspace_id), None)
        if workspace is None:
            raise Http404
        scopes = scopes_to_index(workspace)  # folders of new scopes are taken in
        for scope in scopes:
            scope.workspace = workspace
        index(request, workspace, [(scope, conditions_of(scope)) for scope in scopes])
        return HttpResponseRedirect(f"{reverse('admin:memories_filestate_changelist')}?of={workspace.pk}")

    def _scope(self, request: HttpRequest, scope_id: int, what: str = "view") -> Scope:
        """The scope of a page; 404 for those of other workspaces and for none alike."""
        scope: Scope = self.admin_site.get_model_admin(Scope).reach(request, str(scope_id), what)
        return scope

    def _file(self, scope: Scope, path: str) -> FileCondition:
        """The file of a page; 404 for what is none, or no file of this scope."""
        file = condition_of(scope, path) if folder_of(scope).owns(path) else None
        if file is None:
            raise Http404
        return file

    def _page(self, request: HttpRequest, name: str, title: str, context: dict[str, Any]) -> TemplateResponse:
        context |= {"title": title, "index_url": index_url()}
        return own_page(request, f"admin/memories/files/{name}.html", context, self)


#: A file of more bytes is not parsed for one card.
PARSED_BYTES = 300_000


@dataclass(frozen=True)
class FileCard:
    """What the file of an entry says where the entry stands."""

    entry: Entry
    line: int | None = None  # where it stands now
    says: str = ""
    agrees: bool = False
    is_gone: bool = False
    problem: str = ""

    @property
    def url(self) -> str:
        return file_url(self.entry.scope_id, self.entry.path, self.line or self.entry.line_from)


def card_of(entry: Entry) -> FileCard | None:
    """The card of an entry that is a line of a file; None: it is none."""
    if not entry.path:
        return None
    first, last = entry.line_from or 1, entry.line_to or 1
    try:
        folder = folder_of(entry.scope)
        file_found = folder.file_at(entry.path)
        if file_found is None:
            return FileCard(entry, is_gone=True)
        if file_found.size > PARSED_BYTES:
            says = "\n".join(disk.read_lines(folder, entry.path, first, last - first + 1)[0])
            return FileCard(entry, entry.line_from, says, entry.content in says)
        file = disk.read(folder, entry.path)
    except (OSError, PlatformError) as problem:
        return FileCard(entry, problem=str(problem))
    blocks, stood = markdown.blocks(file.text) if file else [], entry.line_from or 0
    same = [block.line_from for block in blocks if block.text == entry.content]
    if same:
        return FileCard(entry, min(same, key=lambda line: abs(line - stood)), entry.content, agrees=True)
    there = [block.text for block in blocks if block.line_from <= stood <= block.line_to]
    return FileCard(entry, entry.line_from, "\n".join(there))
