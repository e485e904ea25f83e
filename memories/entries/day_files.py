"""The notes of days in the files of their days: a marked block each, which follows its note (C10).

A note of a day that is made, changed, taken out of use or brought back is so in the file as well, once that is
committed. The note itself is what holds: a disk that fails is told of, and costs no more than the block.
"""

from collections.abc import Iterable
from datetime import date
from functools import partial

import structlog
from django.db import transaction

from memories.choices import Source
from memories.conf import conf
from memories.exceptions import PlatformError
from memories.files import archive, disk
from memories.files.layout import scope_folder
from memories.models import DailyEvent, Scope

log = structlog.get_logger(__name__)
#: What is told of a day with this source is its note: nothing else has it.
DAY_NOTE = Source.COMPRESSION
Place = tuple[int, date]  # the scope and the day


def places_of(events: Iterable[DailyEvent]) -> set[Place]:
    """The scopes and days of the notes among some events."""
    return {(event.scope_id, event.local_date) for event in events if event.source == DAY_NOTE}


def resting_on(scope: Scope, origins: Iterable[str]) -> set[Place]:
    """The days of a scope whose notes rest on some messages."""
    here = DailyEvent.objects.filter(workspace_id=scope.workspace_id, scope=scope, source=DAY_NOTE)
    found = here.filter(origins__overlap=sorted(set(origins))).values_list("local_date", flat=True)
    return {(scope.pk, day) for day in found}


def follow(places: set[Place]) -> None:
    """Have the files of these days tell what the notes of the days do, once the transaction is committed."""
    if places:
        transaction.on_commit(partial(_follow, sorted(places)))


def _follow(places: list[Place]) -> None:
    for scope in Scope.objects.filter(pk__in={pk for pk, _day in places}).select_related("workspace"):
        for day in (day for pk, day in places if pk == scope.pk):
            write(scope, day)


def write(scope: Scope, day: date) -> bool | None:
    """Have the file of a day tell what its note does: whether it was changed; None when it could not be.

    The note is read with the file locked: of two who write at once the last writes what holds.
    """
    changed = False

    def change(text: str) -> str:
        nonlocal changed
        content = _content_of(scope, day)
        if content and not conf.ARCHIVE_TO_FILES:
            return text
        wanted = archive.archived(text, day, content)
        changed = wanted != text
        return wanted

    try:
        folder = scope_folder(scope.workspace.folder, scope.key)
        disk.rewrite(folder, folder.daily(day), change)
    except (OSError, PlatformError) as problem:
        log.warning("day_note.not_in_file", scope=scope.key, day=day.isoformat(), problem=str(problem))
        return None
    return changed


def _content_of(scope: Scope, day: date) -> str:
    """What the note of a day says; nothing where there is none in use."""
    notes = DailyEvent.objects.in_use().filter(workspace_id=scope.workspace_id, scope=scope, local_date=day)
    return notes.filter(source=DAY_NOTE).order_by("-pk").values_list("content", flat=True).first() or ""
