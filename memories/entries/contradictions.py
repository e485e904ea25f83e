"""What a newer statement contradicts: core facts, which hold no more, and identities that were saved (D1).

Core facts, those whose grounds are out of use as well, are no longer served, at once and by a condition alone. Who
somebody is, as it was saved on purpose, stays in use and is marked for a person to decide on.

The mark is a slot with the id of the newer statement, recorded like any change. Removing the slot states that the fact
is still true. The mark counts only as long as the newer statement is in use.
"""

import re
from collections.abc import Sequence
from datetime import datetime

from django.db import connection
from django.db.models import F, Q

from memories.choices import Act, Category, EntryType, Source, Verification
from memories.entries.changes import Edit, update
from memories.language.compare import outdates
from memories.language.quoting import sides_of
from memories.models import Entry, Policy, Slot

CONTRADICTED_BY = "contradicted_by"
STATEMENTS = frozenset({EntryType.FACT, EntryType.USER_EXPLICIT})
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MOST = 200  # entries that are compared, core facts first
#: What may be marked. What machines wrote of conversations has proposals of its own.
_MARKED = Q(tier=1) | (
    Q(type__in=STATEMENTS, category=Category.IDENTITY) & ~Q(source__in=(Source.EXTRACTION, Source.COMPRESSION))
)
#: Lines of the profile of these scopes that hold no more, each with the statement that takes its place. A function of
#: the database, planned once a connection: in every recall's own plan it would take longer than the rest of it.
_OUTDATED = "memplatform_outdated_lines(%(workspace)s::bigint, %(scopes)s::bigint[])"
#: In SQL, that an entry `e` is a line that holds no more; looked up once for all entries of these scopes, so that each
#: is read from a narrow index.
CONTRADICTED_SQL = f"(e.id = ANY (ARRAY(SELECT line_id FROM {_OUTDATED})))"  # noqa: S608 (names of ours)


def contradiction_of(line: Entry) -> Entry | None:
    """The statement in use that takes the place of a core fact, or disputes what was saved; None where none does."""
    if line.tier == 1:
        return dict(outdated_lines(line.scope_id, line.workspace_id)).get(line.pk)
    marks = Slot.objects.filter(entry=line.pk, workspace=line.workspace_id, name=CONTRADICTED_BY)
    uids = [value for value in marks.values_list("value", flat=True) if _UID.fullmatch(value)]
    by = Entry.objects.filter(workspace=line.workspace_id, uid__in=uids).first()
    newer = _in_use(by.pk, line.workspace_id) if by else None
    return newer if newer and newer.is_live() else None


def outdated_lines(scope_id: int, workspace_id: int) -> list[tuple[int, Entry | None]]:
    """The lines in use of a scope that are handed out no more, each with the statement in use that takes its place."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT line_id, max(correction_id) FROM {_OUTDATED} GROUP BY line_id ORDER BY line_id",  # noqa: S608 (names of ours)
            {"scopes": [scope_id], "workspace": workspace_id},
        )
        rows = cursor.fetchall()
    return [(line, _in_use(correction, workspace_id)) for line, correction in rows]


def _in_use(pk: int | None, workspace_id: int) -> Entry | None:
    """An entry, or what took its place since."""
    seen_pks: set[int] = set()
    while pk is not None and pk not in seen_pks:
        seen_pks.add(pk)
        entry = Entry.objects.filter(pk=pk, workspace_id=workspace_id).first()
        if entry is None or entry.is_live():
            return entry
        pk = entry.superseded_by_id
    return None


def contradict(line: Entry, by: Entry, *, now: datetime, actor: str) -> bool:
    """Have a core fact handed out no more, as a newer statement contradicts it; whether it is.

    What is pinned, or was verified by a person since, stays; so does what the source of the statement may not replace.
    """
    may_be = not line.pinned and by.verification != Verification.QUOTED and _is_newer(by, line)
    if may_be and Policy.objects.of(line.workspace_id).may(by.trust, Act.SUPERSEDE):
        update(line, Edit(slots={CONTRADICTED_BY: str(by.uid)}), now=now, actor=actor)
        return True
    return False


def mark_contradicted(newer: Sequence[Entry], *, now: datetime, actor: str) -> None:
    """Mark what these statements contradict, in the change that wrote them; not what is pinned or was verified since.

    Words of a model that nobody read a second time contradict nothing.
    """
    # a compression run supersedes the core facts it replaces by itself
    statements = [
        entry
        for entry in newer
        if entry.type in STATEMENTS
        and (entry.tier, entry.source) != (1, Source.COMPRESSION)
        and entry.verification != Verification.QUOTED
    ]
    if not statements:
        return
    words = {}
    for entry in statements:  # of a turn that is kept the user's side
        sides = sides_of(entry.content) if entry.type == EntryType.USER_EXPLICIT else None
        words[entry.pk] = sides[0] if sides else entry.content
    lines = Entry.objects.live().filter(_MARKED, scope__in={entry.scope_id for entry in statements}, pinned=False)
    in_order = lines.order_by(F("tier").asc(nulls_last=True), "-importance", "-stated_at", "-id")
    contradicted: dict[int, tuple[Entry, Entry]] = {}
    for line in in_order.select_related("scope")[:_MOST]:
        for entry in statements:
            is_newer = entry.scope_id == line.scope_id and _is_newer(entry, line)
            if is_newer and outdates(words[entry.pk], line.content):
                contradicted[line.pk] = (line, entry)
    marks = Slot.objects.filter(entry__in=list(contradicted), name=CONTRADICTED_BY)
    marked = dict(marks.values_list("entry_id", "value"))
    for line, entry in contradicted.values():
        if marked.get(line.pk) != str(entry.uid):
            contradict(line, entry, now=now, actor=actor)


def _is_newer(entry: Entry, line: Entry) -> bool:
    if line.verified_at is not None and line.verified_at >= entry.stated_at:
        return False
    return (entry.stated_at, entry.pk) > (line.stated_at, line.pk)
