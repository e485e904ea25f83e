"""Events of days taken out of use and brought back by a model: each change is a batch, to be undone like any other."""

from datetime import datetime
from uuid import UUID, uuid4

from channels_app.tools.get import DAYS, day_in, reveals
from channels_app.tools.place import Place
from memories import batches, entries
from memories.batches import PlanRow
from memories.batches.steps import ExpireStep, RestoreStep
from memories.entries import daily_events
from memories.models import DailyEvent, Policy
from memories.models.change import acting
from memories.recall.daily_events import forgotten_day, readable_day


def forget_day(place: Place, path: str, now: datetime) -> DailyEvent | None:
    """Take the event of a day that could be read here out of use; None: the path leads to none. Raises ScopeFrozen."""
    uid = day_in(path)
    policies = Policy.objects.of(place.caller.workspace_id)
    day = readable_day(uid, place.places, policies, now) if uid else None
    return _changed(place, day, uid, ExpireStep(), now)


def restore_day(place: Place, path: str, now: datetime) -> DailyEvent | None:
    """Bring the event of a day of this place back into use; None: the path leads to none. Raises ScopeFrozen."""
    uid = day_in(path)
    return _changed(place, forgotten_day(uid, place.places) if uid else None, uid, RestoreStep(), now)


def _changed(
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
