"""When files are indexed: as they change, before a search, and all of them at a time (C12).

The embedder process watches the folder of files between two texts it embeds, so that a change is indexed within a
second or two. Should a notice be lost, as on some network disks, the look before a search finds the change, and so does
the look at everything every few minutes.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import cache
from itertools import chain
from pathlib import Path
from threading import Condition, Lock
from time import monotonic

import structlog
from cachetools import TTLCache
from django.db import transaction
from django.db.models import QuerySet
from watchfiles import Change, watch

from memories.choices import ScopeKind
from memories.conf import conf
from memories.entries.past import count_scope
from memories.exceptions import PlatformError, ScopeFrozen
from memories.files.layout import MAIN, keys_of_folders, root, scope_folder, scope_folders
from memories.models import FileProblem, FileState, Scope, Workspace
from memories.notes.index import SyncReport, forget_if_changed, sync_scope
from memories.offline import replicas
from memories.tenancy.access import Caller
from memories.tenancy.resolver import kind_of_key

log = structlog.get_logger(__name__)
SEARCH_SECONDS = 1.0  # that a search gives to the index; what is left is done in the background
WORK_SECONDS = 0.5  # at a time, in the process that embeds
LOOK_SECONDS = 1.0  # between two looks for what has changed
ALL_SECONDS = 600.0  # between two looks at all files
COMPARE_FILES, COMPARE_REST = 20, 3_600.0  # whose bytes are compared at a look; between two rounds over all
COUNT_REST = 50  # times as long as it took to count a scope, it is not counted again
_DEBOUNCE_MS, _STEP_MS, _WAIT_MS = 200, 20, 1
_MOST_SCOPES = 10_000
_lock = Lock()


_Place = tuple[int, str]  # workspace and key of a scope
_syncing: set[_Place] = set()
_synced = Condition(_lock)


@cache
def _folder_cache(seconds: float) -> TTLCache[_Place, dict[str, int]]:
    """The folders of scopes whose files were all in step when they were looked at, as these were then."""
    return TTLCache(_MOST_SCOPES, seconds, timer=monotonic)


def sync_before_search(caller: Caller, keys: Iterable[str], *, now: datetime) -> bool:
    """Index what has changed in the files of these scopes; whether any is left that is not indexed. No search fails.

    They are looked at every SYNC_MIN_INTERVAL, and wherever a file came or went since, or was left the last time.
    """
    if not conf.SYNC_ON_SEARCH:
        return False
    in_step = [_is_in_step(caller, key, now) for key in keys]
    return not all(in_step)


def _is_in_step(caller: Caller, key: str, now: datetime) -> bool:
    looked, place = _folder_cache(conf.SYNC_MIN_INTERVAL.total_seconds()), (caller.workspace_id, key)
    folder = scope_folder(caller.folder, key)
    with _synced:
        if not _synced.wait_for(lambda: place not in _syncing, SEARCH_SECONDS):
            return False  # somebody else is at it
        last_folders = looked.get(place)
        if last_folders is not None and last_folders == folder.folder_changes(last_folders):
            return True
        if folder.files():
            if replicas.is_stale():
                return False  # there is nothing to index it in
            replicas.need_primary()
        _syncing.add(place)
    folders, report = {}, SyncReport(is_complete=False)
    try:
        folders, report = folder.folders(), SyncReport()
        if folder.files() and (scope := _scope(Workspace.objects.get(pk=caller.workspace_id), key)):
            report = _sync(scope, now=now, seconds=SEARCH_SECONDS)
    finally:
        with _synced:
            _syncing.discard(place)
            looked.pop(place, None)
            if report.is_complete:
                looked[place] = folders
            _synced.notify_all()
    return report.is_complete


def scopes_with_files(workspace: Workspace) -> Iterator[Scope]:
    """The scopes of a workspace there are files of; a scope that nobody wrote to yet begins with its folder."""
    scope_keys = Scope.objects.in_workspace(workspace.pk).values_list("key", flat=True)
    keys = keys_of_folders(scope_folders(workspace.folder), scope_keys)
    for key in dict.fromkeys([MAIN, *keys.values()]):
        if scope_folder(workspace.folder, key).files() and (scope := _scope(workspace, key)):
            yield scope


def scopes_to_index(workspace: Workspace, scope_ids: Collection[int] | None = None) -> list[Scope]:
    """The scopes of a workspace there are files of, or were when they were indexed; or of these those there are."""
    if scope_ids is not None:
        here = Scope.objects.in_workspace(workspace.pk).filter(pk__in=scope_ids)
        return list(here.select_related("workspace"))
    with_files = {scope.pk: scope for scope in scopes_with_files(workspace)}
    return [*with_files.values(), *_indexed_scopes(workspace).exclude(pk__in=with_files)]


def _scope(workspace: Workspace, key: str) -> Scope | None:
    """The scope with this key that is there; or a new one, where the resolver could make it and there are files of it.

    Whether there are is asked once more when it is made. An erasure removes the files first: who finds the row gone
    and makes it anew finds no files any more, and takes it back.
    """
    scope = Scope.objects.in_workspace(workspace.pk).filter(key=key).first()
    if scope is None and kind_of_key(key):
        with transaction.atomic():
            scope = Scope.objects.begin(workspace.pk, key, kind_of_key(key) or ScopeKind.USER)
            if not scope_folder(workspace.folder, key).files():
                transaction.set_rollback(True)
                scope = None
    if scope is not None:
        scope.workspace = workspace
    return scope


def sync_workspace(workspace: Workspace, *, now: datetime, force: bool = False) -> SyncReport:
    """Index all files of a workspace, and end the lines of those that are gone.

    With `force` every file is read and each scope is counted anew, as the process that embeds does a little later.
    """
    report = SyncReport()
    for scope in scopes_to_index(workspace):
        of_scope = sync_scope(scope, now=now, force=force)
        if force:
            _count(scope)
        report.add(of_scope)
    return report


def _sync(scope: Scope, *, now: datetime, seconds: float) -> SyncReport:
    """Index what has changed in the files of a scope; what cannot be indexed now is left, and logged."""
    try:
        report = sync_scope(scope, now=now, seconds=seconds)
    except (OSError, PlatformError) as problem:
        log.warning("files.not_indexed", scope=scope.key, reason=str(problem))
        return SyncReport()
    if report.created or report.changed or report.ended:
        counts = {"created": report.created, "changed": report.changed, "ended": report.ended}
        log.info("files.indexed", scope=scope.key, files=report.files, **counts)
    return report


def _count(scope: Scope) -> None:
    try:
        count_scope(scope)
    except ScopeFrozen:  # counted each night, once it has thawed
        log.info("files.not_counted", scope=scope.key)
    except Scope.DoesNotExist:  # erased meanwhile
        return


class FileIndexer:
    """What the process that embeds does for files, a little at a time (memories.index.worker.EmbedderWork).

    It goes on while entries wait for their vectors: what is not indexed is not found at all.
    """

    is_urgent = True

    def __init__(self) -> None:
        self._changes: Iterator[set[tuple[Change, str]]] | None = None
        self._waiting: dict[int, Scope] = {}
        self._uncounted: dict[int, Scope] = {}
        self._rests: dict[int, float] = {}  # when a scope may be counted again
        self._all_at = 0.0
        self._compared, self._compare_at = 0, monotonic() + COMPARE_REST  # the last file that was, and when to go on

    def __call__(self, *, now: datetime) -> float:
        """Index what has changed; how many seconds later to look again, 0 when there is more to do."""
        if monotonic() >= self._all_at:
            self._all_at = monotonic() + ALL_SECONDS
            for workspace in Workspace.objects.all():
                for scope in chain(scopes_with_files(workspace), _indexed_scopes(workspace)):
                    self._waiting[scope.pk] = scope
        for scope in self._changed_scopes():
            self._waiting[scope.pk] = self._uncounted[scope.pk] = scope
        if self._waiting:
            pk, scope = next(iter(self._waiting.items()))
            report = _sync(scope, now=now, seconds=WORK_SECONDS)
            if report.files:
                self._uncounted[pk] = scope
            del self._waiting[pk]
            if not report.is_complete:
                self._waiting[pk] = scope  # behind the others, whose few changes do not wait for its many
        else:
            # Count a scope anew whose files have come to rest; the longer that takes, the more seldom
            begun = monotonic()
            rested = next((pk for pk in self._uncounted if self._rests.get(pk, 0.0) <= begun), None)
            if rested is not None:
                _count(self._uncounted.pop(rested))
                self._rests[rested] = monotonic() + COUNT_REST * (monotonic() - begun)
            # Read a few files, of all in their turn, and index those that say something else at the same time and size:
            # a disk that was put back, or one without ctimes, shows that in no other way
            if monotonic() >= self._compare_at:
                states = FileState.objects.filter(pk__gt=self._compared, problem=FileProblem.NONE).order_by("pk")
                some = list(states.select_related("scope__workspace")[:COMPARE_FILES])
                self._compared = some[-1].pk if some else 0
                self._compare_at = monotonic() + (LOOK_SECONDS if some else COMPARE_REST)
                for state in some:
                    if forget_if_changed(state):
                        self._waiting[state.scope_id] = state.scope
        return 0.0 if self._waiting else LOOK_SECONDS

    def _changed_scopes(self) -> Iterator[Scope]:
        """The scopes in whose folders files have changed since the last look, or have come to begin one with."""
        folder = root()
        try:
            if self._changes is None:
                folder.mkdir(parents=True, exist_ok=True)
                self._changes = watch(
                    folder.resolve(),
                    watch_filter=lambda _change, path: path.endswith(".md") and "/transcripts/" not in path,
                    debounce=_DEBOUNCE_MS,
                    step=_STEP_MS,
                    rust_timeout=_WAIT_MS,
                    yield_on_timeout=True,
                    raise_interrupt=False,
                )
            file_changes = next(self._changes, set())
        except OSError as problem:  # no more watches to be had: the look at all files is what is left
            log.warning("files.not_watched", reason=str(problem))
            self._changes = iter(())
            return
        places = set()  # the folders of workspaces, and of scopes in them
        for _change, path in file_changes:
            match Path(path).relative_to(folder.resolve()).parts:
                case [name, "memory", "scopes", scope_name, _, *_]:
                    places.add((name, scope_name))
                case [name, *_]:
                    places.add((name, MAIN))
        for name, scope_name in places:
            for workspace in Workspace.objects.filter(folder=name):
                keys = Scope.objects.in_workspace(workspace.pk).values_list("key", flat=True)
                if scope := _scope(workspace, keys_of_folders([scope_name], keys)[scope_name]):
                    yield scope


def _indexed_scopes(workspace: Workspace) -> QuerySet[Scope]:
    scopes = Scope.objects.in_workspace(workspace.pk).filter(files__isnull=False)
    return scopes.select_related("workspace").distinct()


#: Work of the process that embeds, by its path in MEMORY_EMBEDDER_WORK.
index_changed_files = FileIndexer()
