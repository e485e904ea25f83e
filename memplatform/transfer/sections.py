"""What an export reads, section by section: pages of rows by their numbers, made into records."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from django.db.models import F, Q, QuerySet

from channels_app.models import Channel, Consent, Identity, Person
from memories.choices import Operation
from memories.models import (
    Change,
    DailyEvent,
    Entry,
    EntryAccess,
    Evidence,
    Link,
    Policy,
    Scope,
    Slot,
    Suppression,
    Workspace,
)
from memories.tenancy import canaries
from memplatform.transfer.messages import by_position
from memplatform.transfer.records import ACCESS, CHANGE, CONSENT, EVIDENCE, IDENTITY, KINDS, SLOT, SUCCESSOR, as_json
from sessions_app.models import Flush, Session, SessionEvent

Record = dict[str, Any]
_OWNERS = {
    **dict.fromkeys(("day", "entry", SUCCESSOR, "suppression"), "scope_id"),
    **dict.fromkeys(("message", "flush"), "session_id"),
    "link": "from_entry__scope_id",
}


@dataclass(frozen=True)
class Section:
    """One kind of record: its rows, in the order of what they belong to, and how a page of these is told."""

    kind: str
    rows: QuerySet[Any]
    tell: Callable[[Sequence[Any]], Iterable[Record]] | None = None
    owner: str = "workspace_id"  # an import brings in together what belongs together

    def pages(self, after: Sequence[int], size: int) -> Iterator[list[Any]]:
        """The rows after one that is named by its owner and its number, read as one stream."""
        rows = self.rows.annotate(owner_number=F(self.owner)).order_by("owner_number", "pk")
        if after:
            rows = rows.filter(Q(owner_number__gt=after[0]) | Q(owner_number=after[0], pk__gt=after[1]))
        stream = rows.iterator(chunk_size=size)
        while page := list(islice(stream, size)):
            yield page

    def records(self, page: Sequence[Any]) -> Iterable[Record]:
        return self.tell(page) if self.tell else (plain(self.kind, row) for row in page)


def sections(workspace: Workspace, scope: Scope | None, *, history: bool) -> Iterator[Section]:
    """The sections of a workspace, or of one scope of it, in the order in which they are brought in again."""
    of_scope = Q(scope=scope) if scope else Q()
    held = Q(user_scope=scope, is_group=False) | Q(chat_scope=scope, is_group=True) if scope else Q()
    sessions = Session.objects.filter(held, workspace=workspace)
    of_sessions = Q(session__in=sessions.values("pk")) if scope else Q()
    linked = Q(from_entry__scope=scope, to_entry__scope=scope) if scope else Q()
    if scope is None:
        yield Section("workspace", Workspace.objects.filter(pk=workspace.pk), owner="pk")
        yield Section("policy", Policy.objects.filter(workspace=workspace))
        yield Section("channel", Channel.objects.filter(workspace=workspace))
        yield Section("person", Person.objects.filter(workspace=workspace), _people)
    yield _referring("scope", Scope.objects.filter(Q(pk=scope.pk) if scope else Q(), workspace=workspace))
    yield _referring("session", sessions)
    yield _referring("message", SessionEvent.objects.filter(of_sessions, workspace=workspace))
    yield _referring("flush", Flush.objects.filter(of_sessions, workspace=workspace))
    yield _referring("day", DailyEvent.objects.filter(of_scope, workspace=workspace), _days)
    entries = Entry.objects.filter(of_scope, workspace=workspace).exclude(subtype=canaries.SUBTYPE)
    yield _referring("entry", entries, partial(_entries, history=history))
    yield _referring(SUCCESSOR, entries.filter(superseded_by__uid__isnull=False))
    yield _referring("link", Link.objects.filter(linked, workspace=workspace))
    of_entries = Suppression.objects.filter(of_scope, workspace=workspace, entry__isnull=False)
    yield _referring("suppression", of_entries, _days)


def _referring(
    kind: str, rows: QuerySet[Any], tell: Callable[[Sequence[Any]], Iterable[Record]] | None = None
) -> Section:
    """A section whose rows come with the ids of what they refer to."""
    names = KINDS[kind].references
    owner = _OWNERS.get(kind, "workspace_id")
    if kind == SUCCESSOR:
        return Section(kind, rows.annotate(entry_uid=F("uid"), by_uid=F("superseded_by__uid")), tell, owner)
    return Section(kind, rows.annotate(**{f"{name}_uid": F(f"{name}__uid") for name in names}), tell, owner)


def plain(kind: str, row: Any) -> Record:
    """A row by its columns and references."""
    names = KINDS[kind].references
    return {
        "record": kind,
        **{name: as_json(getattr(row, f"{name}_uid")) for name in names},
        **KINDS[kind].written(row),
    }


def _days(page: Sequence[DailyEvent | Suppression]) -> Iterator[Record]:
    renamed = by_position({origin for row in page for origin in row.origins})
    kind = "day" if isinstance(page[0], DailyEvent) else "suppression"
    for row in page:
        yield plain(kind, row) | {"origins": [renamed.get(origin, origin) for origin in row.origins]}


def _entries(page: Sequence[Entry], *, history: bool) -> Iterator[Record]:
    pks = [entry.pk for entry in page]
    slots, evidence = _grouped(Slot, pks), _grouped(Evidence, pks)
    accesses = EntryAccess.objects.in_bulk(pks)
    past = _history(page, slots) if history else {}
    origins = {origin for entry in page for origin in entry.origins}
    renamed = by_position(origins | {row.origin for rows in evidence.values() for row in rows})
    for entry in page:
        record = plain("entry", entry)
        record["origins"] = [renamed.get(origin, origin) for origin in entry.origins]
        if entry.superseded_by_id is not None and record["superseded_by"] is None:  # its successor is gone
            record["archived_at"] = record["archived_at"] or record["updated_at"]
        record["slots"] = [{"number": slot.pk, **SLOT.written(slot)} for slot in slots[entry.pk]]
        record["evidence"] = [
            EVIDENCE.written(row) | {"origin": renamed.get(row.origin, row.origin)} for row in evidence[entry.pk]
        ]
        record["quarantined_at"] = as_json(entry.quarantined_at)  # for people: elsewhere it is suppressed
        record["access"] = ACCESS.written(accesses[entry.pk]) if entry.pk in accesses else None
        if history:
            record["history"] = past.get(entry.pk, [])
        yield record


def _grouped(model: type[Slot | Evidence], entries: Sequence[int]) -> defaultdict[int, list[Any]]:
    rows: defaultdict[int, list[Any]] = defaultdict(list)
    for row in model.objects.filter(entry__in=entries).order_by("pk"):
        rows[row.entry_id].append(row)
    return rows


def _history(page: Sequence[Entry], slots: dict[int, list[Slot]]) -> dict[int, list[Record]]:
    """The changes of entries and of their slots, the removed ones too, oldest first."""
    workspace, table = page[0].workspace_id, Slot._meta.db_table
    changes = Change.objects.filter(workspace_id=workspace)
    owner = {slot.pk: entry for entry, rows in slots.items() for slot in rows}
    removed = changes.filter(
        table_name=table, op=Operation.DELETE, old__entry_id__in=[entry.pk for entry in page]
    ).values_list("row_id", "old__entry_id")
    owner |= dict(removed)
    found: defaultdict[int, list[Record]] = defaultdict(list)
    of_rows = Q(table_name=Entry._meta.db_table, row_id__in=[entry.pk for entry in page])
    rows = list(changes.filter(of_rows | Q(table_name=table, row_id__in=list(owner))).order_by("pk"))
    successors = {row.old["superseded_by_id"] for row in rows if row.old.get("superseded_by_id")}
    uids = dict(Entry.objects.filter(pk__in=successors).values_list("pk", "uid"))
    for row in rows:
        is_slot = row.table_name == table
        old = dict(row.old)
        if "superseded_by_id" in old:
            old["superseded_by_id"] = as_json(uids.get(old["superseded_by_id"]))
        found[owner[row.row_id] if is_slot else row.row_id].append(
            {
                **CHANGE.written(row),
                "slot": row.row_id if is_slot else None,
                "old": old,
            }
        )
    return found


def _people(page: Sequence[Person]) -> Iterator[dict[str, Any]]:
    """The records of people, each with their identities and consents."""
    parts: defaultdict[str, defaultdict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for one in Identity.objects.filter(person__in=page).order_by("platform", "peer"):
        parts["identities"][one.person_id].append(IDENTITY.written(one))
    for consent in Consent.objects.filter(person__in=page).order_by("at", "pk"):
        parts["consents"][consent.person_id].append(CONSENT.written(consent))
    for person in page:
        hanging = {name: parts[name][person.pk] for name in ("identities", "consents")}
        yield {"record": "person", **KINDS["person"].written(person), **hanging}
