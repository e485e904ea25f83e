"""The scopes of a workspace that have files, with what is out of step in each, and folders that are no scope's."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Case, Q, QuerySet, When

from memories.admin.files.addresses import scope_url
from memories.files.layout import MAIN, keys_of_folders, scope_folder, scope_folders
from memories.models import Scope, Workspace
from memories.notes.condition import FileCondition, conditions_of_each
from memories.tenancy.keys import kind_of_key

SCOPES_SHOWN = 50
STRANGE_SHOWN = 20
_MAIN_FIRST = Case(When(key=MAIN, then=0), default=1)


@dataclass(frozen=True)
class ScopeRow:
    """A scope with its files."""

    scope: Scope
    files: list[FileCondition]

    @property
    def url(self) -> str:
        return scope_url(self.scope.pk)

    @property
    def lines(self) -> int:
        return sum(file.state.line_count for file in self.files if file.state)

    @property
    def entries(self) -> int:
        return sum(file.state.entry_count for file in self.files if file.state)

    @property
    def indexed_at(self) -> datetime | None:
        return max((file.state.indexed_at for file in self.files if file.state), default=None)

    @property
    def out_of_step(self) -> int:
        return sum(1 for file in self.files if file.why)


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


def overview_of(workspace: Workspace, number: str, sought: str = "") -> Overview:
    """The scopes with files, `main` first and then by key; `sought` is part of a key or label."""
    here = Scope.objects.in_workspace(workspace.pk).values_list("key", flat=True)
    keys = keys_of_folders(scope_folders(workspace.folder), here)
    scopes, strange = _with_files(workspace, keys.values()), _strange(workspace, keys)
    if sought:
        scopes = scopes.filter(Q(key__icontains=sought) | Q(label__icontains=sought))
    page = Paginator(scopes.order_by(_MAIN_FIRST, "key"), SCOPES_SHOWN)
    shown = page.get_page(number)
    for scope in shown.object_list:
        scope.workspace = workspace
    conditions = conditions_of_each(list(shown.object_list))
    rows = [ScopeRow(scope, conditions[scope.pk]) for scope in shown.object_list]
    return Overview(shown, rows, strange[:STRANGE_SHOWN], max(len(strange) - STRANGE_SHOWN, 0))


def _with_files(workspace: Workspace, keys: Iterable[str]) -> QuerySet[Scope]:
    """Those of which something was indexed, and those that have a folder."""
    here = Scope.objects.in_workspace(workspace.pk)
    has_main = bool(scope_folder(workspace.folder, MAIN).files())
    named = [*keys, *([MAIN] if has_main else [])]
    return here.filter(Q(key__in=named) | Q(pk__in=here.filter(files__isnull=False).values("pk")))


def _strange(workspace: Workspace, keys: Mapping[str, str]) -> list[StrangeFolder]:
    """The folders that no scope has."""
    here = Scope.objects.in_workspace(workspace.pk).filter(key__in=keys.values())
    known = {MAIN, *here.values_list("key", flat=True)}
    return [StrangeFolder(name, kind_of_key(key) is not None) for name, key in keys.items() if key not in known]
