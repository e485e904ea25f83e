"""The state of an entry, as a value, a Q and SQL. Of several marks the first in the order of MARKS is its state."""

from datetime import datetime
from typing import Protocol

from django.db.models import Q, TextChoices
from django.utils.translation import gettext_lazy as _


class State(TextChoices):
    """The state of an entry; one that is due is no longer served and expires with the nightly job."""

    LIVE = "live", _("Live")
    DUE = "due", _("Due")
    EXPIRED = "expired", _("Expired")
    ARCHIVED = "archived", _("Archived")
    SUPERSEDED = "superseded", _("Superseded")
    QUARANTINED = "quarantined", _("In quarantine")
    SUPPRESSED = "suppressed", _("Suppressed")


#: What takes an entry out of use, with the column that says so; the first that is set is the entry's state.
MARKS = {
    State.EXPIRED: "expired_at",
    State.ARCHIVED: "archived_at",
    State.SUPERSEDED: "superseded_by_id",
    State.QUARANTINED: "quarantined_at",
    State.SUPPRESSED: "suppressed_at",
}
#: The marks that are asked whether an entry is live: what is in quarantine is suppressed (a constraint holds it).
_TELLING: list[State] = [state for state in MARKS if state != State.QUARANTINED]


class Marked(Protocol):
    """What carries the marks: an entry."""

    expired_at: datetime | None
    archived_at: datetime | None
    superseded_by_id: int | None
    quarantined_at: datetime | None
    suppressed_at: datetime | None


def mark_of(entry: Marked) -> State | None:
    """The mark that is the state of an entry; None: it is in use, though its time may be over."""
    return next((state for state, column in MARKS.items() if getattr(entry, column)), None)


def state_of(entry: Marked, ends_at: datetime | None, now: datetime) -> State:
    """The state of an entry whose time ends at `ends_at`, if ever."""
    return mark_of(entry) or (State.DUE if ends_at and ends_at <= now else State.LIVE)


def in_state(state: str, over: Q) -> Q:
    """The condition that an entry is in a state, given the one that its time is over."""
    if state == State.LIVE:
        return LIVE & ~over
    if state == State.DUE:
        return LIVE & over
    marks = list(MARKS)
    before = marks[: marks.index(State(state))]
    return _unless(before) & ~_unless([State(state)])


def live_sql(entry: str) -> str:
    """In SQL, that an entry by this name carries no mark."""
    return " AND ".join(f"{entry}.{MARKS[state]} IS NULL" for state in _TELLING)


def without_marks() -> dict[str, None]:
    """The values of an entry that carries no mark, by field."""
    return dict.fromkeys(column.removesuffix("_id") for column in MARKS.values())


def _unless(marks: list[State]) -> Q:
    return Q(**{f"{MARKS[state].removesuffix('_id')}__isnull": True for state in marks})


#: Without a mark. Whether its time is over is a condition of its own.
LIVE = _unless(_TELLING)
