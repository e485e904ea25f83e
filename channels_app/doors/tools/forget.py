"""memory_forget and memory_restore: what is read here, days too, is taken out of use, and brought back (A15)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.utils.translation import gettext as _

from channels_app.doors.tools.get import DAYS, day_in, reveals, uid_in
from channels_app.doors.tools.place import Place
from channels_app.doors.tools.search import ENTRIES
from memories import batches, entries
from memories.batches import PlanRow
from memories.batches.steps import ExpireStep, RestoreStep
from memories.entries import daily_events
from memories.exceptions import EntryNotFound, PathNotAllowed
from memories.files.layout import read_reference
from memories.language import quoting
from memories.models import DailyEvent, Entry, Policy
from memories.models.change import acting
from memories.recall.eligibility import readable_entry
from memories.recall.events import forgotten_day, readable_day
from memories.recall.query import opening_of
from memories.visibility import entry_for
from sessions_app.choices import in_language

FORGOTTEN, RESTORED = "forgotten", "restored"
OUTCOMES = (FORGOTTEN, RESTORED)
SHOWN = 200  # characters of a memory

TOLD = {
    FORGOTTEN: {
        "en": "Forgotten: «{content}». It is out of use and can be restored: memory_restore with {path}.",
        "zh-hans": "已忘记：“{content}”。这条记忆已停用，可以恢复：用 memory_restore，路径 {path}。",
    },
    RESTORED: {"en": "In use again: «{content}» [{path}].", "zh-hans": "已恢复使用：“{content}” [{path}]。"},
}


@dataclass(frozen=True, kw_only=True)
class ChangedMemory:
    """A memory, or the event of a day, that was taken out of use or brought back, with its copies in other scopes."""

    path: str
    content: str
    scope: str
    outcome: str
    copies: int
    language: str = "en"  # of what is said about it


def memory_forget(place: Place, *, path: str, now: datetime) -> ChangedMemory:
    """Take a memory that could be read here out of use; no machine writes it again until it is restored.

    Raises PathNotAllowed for what is no memory of this place, InvalidAddress, ScopeNotFound, ScopeFrozen.
    """
    query = place.query("", limit=1)
    if day := _forget_day(place, path, now):
        return _day(place, day, FORGOTTEN)
    uid = _uid(place, path)
    entry = readable_entry(query, uid, opening_of(query, now=now).policies, now) if uid and query.places else None
    if entry is None:
        raise _no_memory()
    gone, copies = entries.expire_with_copies(
        entry,
        along=entries.is_own_statement(entry),
        reach=place.caller.may_reach,
        now=now,
        actor=place.caller.actor,
    )
    return _changed(place, gone, FORGOTTEN, sum(not copy.is_live() for copy in copies))


def memory_restore(place: Place, *, path: str, now: datetime) -> ChangedMemory:
    """Bring a memory of this place back into use, for as long as its policy says. Raises what memory_forget does.

    In a group a person's own are left to where the person talks alone, unless the group may hear everything.
    """
    if day := _restore_day(place, path, now):
        return _day(place, day, RESTORED)
    uid = uid_in(path)
    try:
        entry = entry_for(place.caller, uid) if uid else None
    except EntryNotFound as unknown:
        raise _no_memory() from unknown
    here = {one.scope.pk for one in place.places if one.ref.only_chat is None}
    if entry is None or entry.scope_id not in here or reveals(place, entry.content, entry.origins):
        raise _no_memory()
    back, copies = entries.restore_with_copies(
        entry, along=True, reach=place.caller.may_reach, now=now, actor=place.caller.actor
    )
    return _changed(place, back, RESTORED, sum(copy.is_live() for copy in copies))


def _uid(place: Place, path: str) -> UUID | None:
    """The memory a path leads to: by its own path, or by the line of the file it stands in."""
    file, line = read_reference(path)
    if line is None or uid_in(path):
        return uid_in(path)
    lines = Entry.objects.live().filter(scope__in=[one.scope for one in place.places], path=file)
    return lines.filter(line_from__lte=line, line_to__gte=line).values_list("uid", flat=True).first()


def _no_memory() -> PathNotAllowed:
    return PathNotAllowed(_("This path leads to no memory here; find it with memory_search."))


def _changed(place: Place, entry: Entry, outcome: str, copies: int) -> ChangedMemory:
    return ChangedMemory(
        path=f"{ENTRIES}/{entry.uid}",
        content=entry.content,
        scope=entry.scope.key,
        outcome=outcome,
        copies=copies,
        language=place.caller.language,
    )


def _day(place: Place, day: DailyEvent, outcome: str) -> ChangedMemory:
    return ChangedMemory(
        path=f"{DAYS}/{day.uid}",
        content=day.content,
        scope=day.scope.key,
        outcome=outcome,
        copies=0,
        language=place.caller.language,
    )


def shown(changed: ChangedMemory) -> str:
    """What a model is told."""
    cut = quoting.between_marks(changed.content, SHOWN)
    return in_language(TOLD[changed.outcome], changed.language).format(content=cut, path=changed.path)


# events of days: each change is a batch, to be undone like any other


def _forget_day(place: Place, path: str, now: datetime) -> DailyEvent | None:
    """Take the event of a day that could be read here out of use; None: the path leads to none. Raises ScopeFrozen."""
    uid = day_in(path)
    policies = Policy.objects.of(place.caller.workspace_id)
    day = readable_day(uid, place.places, policies, now) if uid else None
    return _change_day(place, day, uid, ExpireStep(), now)


def _restore_day(place: Place, path: str, now: datetime) -> DailyEvent | None:
    """Bring the event of a day of this place back into use; None: the path leads to none. Raises ScopeFrozen."""
    uid = day_in(path)
    return _change_day(place, forgotten_day(uid, place.places) if uid else None, uid, RestoreStep(), now)


def _change_day(
    place: Place, day: DailyEvent | None, uid: UUID | None, step: ExpireStep | RestoreStep, now: datetime
) -> DailyEvent | None:
    if day is None or reveals(place, day.content, [f"{DAYS}/{uid}", *day.origins]):
        return None
    actor, run = place.caller.actor, f"{step.verb}:{uuid4()}"
    rows = DailyEvent.objects.filter(pk=day.pk, workspace_id=place.caller.workspace_id)
    with acting(actor):
        scope = entries.lock_scopes([day.scope])[day.scope_id]
        batch = batches.begin_applied(scope, name=step.verb, run=run, actor=actor, now=now, reason="")
        with acting(actor, batch=batch.pk, run=run):
            change = daily_events.expire if isinstance(step, ExpireStep) else daily_events.restore
            change(rows, now=now, actor=actor)
            batches.add_applied(batch, [PlanRow(step=step, event_id=day.pk)])
    return day
