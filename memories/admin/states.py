"""The state of an entry as operators see it, for one row and for many."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q, TextChoices
from django.utils.translation import gettext_lazy as _

from memories.models import Entry, Policy
from memories.models.entry import LIVE
from memories.models.policy import Policies


class State(TextChoices):
    """Where an entry stands; «due» is past its time, unseen already, and waiting for the nightly job to say so."""

    LIVE = "live", _("Live")
    DUE = "due", _("Due")
    EXPIRED = "expired", _("Expired")
    ARCHIVED = "archived", _("Archived")
    SUPERSEDED = "superseded", _("Superseded")
    SUPPRESSED = "suppressed", _("Suppressed")


def policies_of(workspaces: Iterable[int]) -> dict[int, Policies]:
    """What holds in each of these workspaces, in one query."""
    return Policy.objects.of_each(workspaces)


def state_of(entry: Entry, policies: Policies, now: datetime) -> State:
    marks = (
        (State.EXPIRED, entry.expired_at),
        (State.ARCHIVED, entry.archived_at),
        (State.SUPERSEDED, entry.superseded_by_id),
        (State.SUPPRESSED, entry.suppressed_at),
    )
    for state, mark in marks:
        if mark:
            return state
    ends_at = policies.end_of(entry)
    return State.DUE if ends_at and ends_at <= now else State.LIVE


def in_state(state: str, now: datetime) -> Q:
    """The condition that an entry is in this state, under the policies of whichever workspace it is in."""
    if state == State.EXPIRED:
        return Q(expired_at__isnull=False)
    if state == State.ARCHIVED:
        return Q(archived_at__isnull=False, expired_at__isnull=True)
    if state == State.SUPERSEDED:
        return Q(superseded_by__isnull=False, archived_at__isnull=True, expired_at__isnull=True)
    if state == State.SUPPRESSED:
        return Q(
            suppressed_at__isnull=False, superseded_by__isnull=True, archived_at__isnull=True, expired_at__isnull=True
        )
    over = Policy.objects.over(now)
    return LIVE & over if state == State.DUE else LIVE & ~over
