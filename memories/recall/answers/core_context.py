"""What goes into a prompt without being searched for: the profile, always (D1), and the notes of these days (C9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Q

from memories.choices import EntryType, Verification
from memories.conf import conf
from memories.entries import daily_events
from memories.entries.evidence import evidence_of
from memories.files.layout import scope_folder
from memories.kinds import SECRET
from memories.language import text
from memories.models import DailyEvent, Entry, Evidence, Scope
from memories.models.policy import Policies
from memories.recall.question.query import Query
from memories.recall.retrieval.filters import credential_guard, scope_filter, servable_filter


class ProfileFact(NamedTuple):
    """What is told of a core fact."""

    pk: int
    uid: UUID
    scope_id: int
    category: str
    content: str
    sender_id: str = ""
    speaker: str = ""
    verification: str = ""
    type: str = ""
    subtype: str = ""
    source: str = ""
    evidence: Sequence[Evidence] = ()  # where only these words bear it out


@dataclass(frozen=True)
class Note:
    """What is noted of one local day."""

    on: date
    scope: str
    items: Sequence[str]  # in the order they were
    is_cut: bool  # there is more of that day

    @property
    def content(self) -> str:
        return "\n".join(self.items)


#: Of a prompt that is built for every message a hundred rows: by the index that holds them in this order.
_PROFILE = """
SELECT e.id, e.uid, e.scope_id, e.category, e.content, e.sender_id, e.speaker, e.verification, e.type,
    e.subtype, e.source
FROM memories_entry e CROSS JOIN LATERAL (SELECT e.scope_id) i
WHERE e.workspace_id = %(workspace)s AND e.scope_id = ANY(%(scopes)s::bigint[]) AND e.tier = 1
    AND e.category <> ALL(%(secret)s::text[]) AND {servable}
ORDER BY e.importance DESC, e.stated_at DESC, e.id DESC LIMIT %(most)s
"""


def profile_of(query: Query, policies: Policies, *, now: datetime) -> list[ProfileFact]:
    """Who is spoken with: the core facts, the most important first, PROFILE_MAX at most.

    In a group a person's only where it may hear everything of them (A3). Passwords never: they are recalled when
    somebody asks for them, and not sent to a model with every message.
    """
    if not query.places:
        return []
    conditions, parameters = servable_filter(query, policies, now)
    parameters |= scope_filter(query)[1] | {"secret": [category.value for category in SECRET], "most": conf.PROFILE_MAX}
    with connection.cursor() as cursor:
        cursor.execute(_PROFILE.replace("{servable}", " AND ".join(conditions)), parameters)
        facts = [ProfileFact(*row) for row in cursor.fetchall()]
    quotes = evidence_of([fact.pk for fact in facts if fact.verification == Verification.QUOTED], query.workspace_id)
    return [fact._replace(evidence=quotes.get(fact.pk, ())) for fact in facts]


class _Line(NamedTuple):
    """One of the things noted of a day, in the order they were."""

    at: datetime
    place: int  # in the file of the day
    content: str
    on: date
    is_saved: bool  # on purpose, by whom a file or a note is written


def notes_of(scope: Scope, policies: Policies, *, now: datetime, zone: tzinfo) -> list[Note]:
    """Today's and yesterday's notes of a scope, today first; NOTES_DAY_CHARS a day and NOTES_CHARS together.

    What is told of the day, what was noted on purpose, and the lines of the day's file in their order; each once. Of a
    day with more, the newest. A group's tell no credential.
    """
    today = now.astimezone(zone).date()
    both = [today, today - timedelta(days=1)]
    lines = [*_daily_events(scope, both), *_saved_lines(scope, policies, both, now, zone)]
    left, notes = conf.NOTES_CHARS, []
    for day in both:
        newest = [line.content for line in sorted(_each_once([line for line in lines if line.on == day]), reverse=True)]
        items, is_cut = _newest_items(newest, min(conf.NOTES_DAY_CHARS, left))
        if any(items):
            notes.append(Note(day, scope.key, items, is_cut))
            left -= len(notes[-1].content)
    return notes


def _each_once(lines: Sequence[_Line]) -> list[_Line]:
    """The lines of a day without repeats: what was saved, and what is told of the day beyond that."""
    saved: dict[str, _Line] = {}
    for line in sorted(line for line in lines if line.is_saved):
        saved.setdefault(text.normalise(line.content) or line.content, line)
    known = "\n".join(saved)
    told = [line for line in lines if not (line.is_saved or daily_events.is_within(line.content, known))]
    return [*saved.values(), *told]


def _daily_events(scope: Scope, on: Sequence[date]) -> list[_Line]:
    """What is told of these days."""
    rows = DailyEvent.objects.in_use().filter(workspace_id=scope.workspace_id, scope=scope, local_date__in=on)
    newest = daily_events.without_repeats(list(rows.order_by("-local_date", "-id")[: conf.NOTES_CHARS]))
    guard = credential_guard(scope.workspace_id, [scope])
    return [
        _Line(event.created_at, 0, event.content, event.local_date, is_saved=False)
        for event in newest
        if not guard.reveals(event.content, event.origins)
    ]


def _saved_lines(scope: Scope, policies: Policies, on: Sequence[date], now: datetime, zone: tzinfo) -> list[_Line]:
    """The notes saved on these days, and the lines of their files; passwords are recalled when one asks for them."""
    folder = scope_folder(scope.workspace.folder, scope.key)
    files = {folder.daily(day): day for day in on}
    since = datetime.combine(min(on), time(), zone)
    saved = Q(path="", created_at__gte=since, created_at__lte=now) | Q(path__in=files)
    noted = Entry.objects.in_scope(scope).live().filter(saved, type=EntryType.NOTE)
    rows = noted.exclude(policies.over(now, scope_kind=scope.kind)).exclude(category__in=SECRET)
    newest = rows.order_by("-created_at", "-line_from", "-id")[: conf.NOTES_CHARS]
    guard = credential_guard(scope.workspace_id, [scope])
    lines = [
        _Line(at, place or 0, content, files.get(path) or at.astimezone(zone).date(), is_saved=True)
        for path, place, at, content, origins in newest.values_list(
            "path", "line_from", "created_at", "content", "origins"
        )
        if not guard.reveals(content, origins)
    ]
    return [line for line in lines if not line.place] + _in_file_order([line for line in lines if line.place], zone)


def _in_file_order(lines: Sequence[_Line], zone: tzinfo) -> list[_Line]:
    """Lines of files, none before the one above it, whatever time it names."""
    ordered: list[_Line] = []
    for line in sorted(lines, key=lambda line: (line.on, line.place)):
        begins = datetime.combine(line.on, time(), zone)
        above = ordered[-1].at if ordered and ordered[-1].on == line.on else begins
        ordered.append(line._replace(at=max(above, min(line.at, begins + timedelta(days=1)))))
    return ordered


def _newest_items(told: Sequence[str], limit: int) -> tuple[list[str], bool]:
    """The items of a day in their order, as many of the newest as fit; a single one that does not is shortened."""
    chosen: list[str] = []
    used = -1
    for said in (content.strip() for content in told):
        if used + 1 + len(said) > limit:
            break
        chosen.append(said)
        used += 1 + len(said)
    if told and not chosen:
        return [text.smart_truncate(told[0], limit)], True
    return chosen[::-1], len(chosen) < len(told)
