"""The door of tier 3: the only code that writes what happened on a day (D1)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memories import text
from memories.choices import Source
from memories.conf import conf
from memories.exceptions import InvalidDraft, ScopeFrozen
from memories.models import DailyEvent, Scope, Suppression
from memories.models.change import acting


@dataclass(frozen=True, kw_only=True)
class Day:
    """What is to be told of one local day of a scope, and the messages it rests on."""

    scope: Scope
    local_date: date
    content: str
    source: str = Source.EXTRACTION
    chats: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


class TakenOut:
    """What people took out of some scopes, which no machine tells of again (A15); read once."""

    def __init__(self, scopes: Iterable[Scope]) -> None:
        self._words: dict[int, set[str]] = defaultdict(set)
        self._origins: dict[int, set[str]] = defaultdict(set)
        found = Suppression.objects.filter(scope__in=list(scopes)).values_list("scope_id", "fingerprint", "origins")
        for scope_id, fingerprint, origins in found:
            self._words[scope_id].add(fingerprint)
            self._origins[scope_id].update(origins)

    def holds(self, scope: Scope, content: str, origins: Iterable[str]) -> bool:
        """Whether it says what was taken out, or rests on a message whose memory was."""
        if not self._origins[scope.pk].isdisjoint(origins):
            return True
        return bool(self._words[scope.pk]) and text.fingerprint(content) in self._words[scope.pk]


def write(days: Sequence[Day], *, now: datetime, actor: str) -> list[DailyEvent]:
    """Store what is told of days, less what people took out. Raises ScopeFrozen, InvalidDraft; then none is stored."""
    if not days:
        return []
    scopes = Scope.objects.in_bulk({day.scope.pk for day in days})
    if any(scope.frozen for scope in scopes.values()):
        raise ScopeFrozen
    for day in days:
        check(day.content)
    with acting(actor):
        taken_out = TakenOut(scopes.values())
        told = [day for day in days if not taken_out.holds(day.scope, day.content, day.origins)]
        return DailyEvent.objects.bulk_create(_event(day, now) for day in told)


def _event(day: Day, now: datetime) -> DailyEvent:
    return DailyEvent(
        workspace_id=day.scope.workspace_id,
        scope=day.scope,
        local_date=day.local_date,
        content=day.content,
        terms=sorted(text.terms(day.content)),
        source=day.source,
        chats=list(dict.fromkeys(day.chats)),
        origins=list(dict.fromkeys(day.origins)),
        created_at=now,
        updated_at=now,
    )


def check(content: str) -> None:
    """Raise InvalidDraft unless this can be told of a day."""
    if not content.strip():
        raise InvalidDraft(_("An empty memory says nothing."), field="content")
    if len(content) > conf.CONTENT_MAX_CHARS:
        said = _("%(length)d characters; at most %(limit)d fit.")
        raise InvalidDraft(said % {"length": len(content), "limit": conf.CONTENT_MAX_CHARS}, field="content")
    if not text.is_storable(content):
        raise InvalidDraft(_("NUL and lone surrogates cannot be stored."), field="content")


def reword(event: DailyEvent, content: str, *, now: datetime, actor: str) -> None:
    """Have it say something else; what it said stays in its history. Raises InvalidDraft."""
    check(content)
    event.content, event.terms, event.updated_at = content, sorted(text.terms(content)), now
    with acting(actor):
        event.save(update_fields=["content", "terms", "updated_at"])


def mark_compressed(events: Sequence[DailyEvent], *, now: datetime, actor: str) -> bool:
    """Say that facts were made of these; not of any when one of them was changed, taken out or done since it was read.

    Inside the transaction that stores the facts.
    """
    versions = {event.pk: event.version for event in events}
    held = DailyEvent.objects.in_use().filter(pk__in=versions, compressed_at__isnull=True)
    with acting(actor):
        found = dict(held.select_for_update(of=("self",)).order_by("pk").values_list("pk", "version"))
        if found != versions:
            return False
        DailyEvent.objects.filter(pk__in=versions).update(compressed_at=now, updated_at=now)
    return True


def expire(events: QuerySet[DailyEvent], *, now: datetime, actor: str) -> int:
    """Take events out of use; how many were in use."""
    with acting(actor):
        return events.filter(expired_at__isnull=True).update(expired_at=now, updated_at=now)


def restore(events: QuerySet[DailyEvent], *, now: datetime, actor: str) -> int:
    """Bring events back into use; how many were out."""
    with acting(actor):
        return events.filter(expired_at__isnull=False).update(expired_at=None, updated_at=now)
