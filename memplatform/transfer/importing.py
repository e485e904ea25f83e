"""Bringing an export into a workspace, or its one scope into another: a page of records a transaction (F8).

What is here already stays as it is. A run that was killed, or is repeated, goes on with what is missing. Entries and
days come as one batch a scope, which can be undone. A session that is here already, under its id or its key, is the
same as far as its messages are: what is missing is brought, so that the longer of two goes on. From the place on where
the two part, what the export holds becomes a session beside the one here, which goes on undisturbed.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from channels_app.models import Channel, Consent, Identity, Person
from memories.entries import suppression
from memories.entries.suppression import Tombstones
from memories.exceptions import ScopeFrozen
from memories.imports.batch import READ, ROWS, LeftOutReason, Report
from memories.imports.bundle import FileRefused
from memories.models import Erasure, Policy, Scope, Workspace
from memories.models.change import acting
from memplatform.transfer import remembered
from memplatform.transfer.records import (
    CONSENT,
    END,
    HEAD,
    IDENTITY,
    KINDS,
    LEFT_OUT_AT,
    Line,
    Place,
    columns_of,
    numbers,
    records_of,
    reference,
)
from memplatform.transfer.records import check_file as check
from memplatform.transfer.records import records_in as lines
from memplatform.transfer.run import Ids, Import, ImportedFiles, SessionHere, TransferReport
from sessions_app.conversations import BEGINNING, acquire_lock
from sessions_app.models import LEFT_OUT, EventKind, Flush, Session, SessionEvent
from sessions_app.search import rows as search_rows


def _workspace(run: Import, page: Sequence[Line]) -> None:
    """Its language and time zone, as long as nothing is in it; its name stays."""
    is_new = run.into is None and not Scope.objects.filter(workspace=run.workspace).exists()
    run.done.created["workspace"] += is_new
    run.done.already["workspace"] += not is_new
    if is_new and not run.is_dry:
        columns = columns_of("workspace", page)[0][2]
        run.workspace.language, run.workspace.time_zone = columns["language"], columns["time_zone"]
        run.workspace.save(update_fields=["language", "time_zone"])


def _unless_there(
    run: Import, page: Sequence[Line], *, kind: str, model: type[Policy | Channel], subject: tuple[str, ...]
) -> None:
    """Store what the workspace says nothing about yet; into a scope none of it goes."""
    if run.into:
        return
    there = set(model._default_manager.filter(workspace=run.workspace).values_list(*subject))
    rows = [columns for _n, _record, columns in columns_of(kind, page)]
    new = [columns for columns in rows if tuple(columns[name] for name in subject) not in there]
    uids = run.ids.new(Channel, [columns["uid"] for columns in new]) if model is Channel else {}
    new_objects: list[Any] = [
        model(workspace=run.workspace, **columns | ({"uid": uids[columns["uid"]]} if "uid" in columns else {}))
        for columns in new
    ]
    run.done.created[kind] += len(new)
    run.done.already[kind] += len(rows) - len(new)
    if not run.is_dry:
        model._default_manager.bulk_create(new_objects)


def _people(run: Import, page: Sequence[Line]) -> None:
    """Store people who are not here, but for who was erased, or is another's here; into a scope none of it goes."""
    if run.into:
        return
    here = set(Person.objects.filter(workspace=run.workspace).values_list("key", flat=True))
    known_pairs = set(Identity.objects.filter(workspace=run.workspace).values_list("platform", "peer"))
    erased = {
        digest
        for digests in Erasure.objects.filter(workspace=run.workspace).values_list("person", flat=True)
        for digest in digests
    }
    for number, record in page:
        columns = KINDS["person"].read(record)
        if columns["key"] in here:
            run.done.already["person"] += 1
            continue
        identities = [IDENTITY.read(identity) for identity in record.get("identities") or ()]
        is_erased = erased and any(  # where nobody ever was, there is no seed to make digests with
            suppression.digest(run.workspace.pk, "person", identity["platform"], identity["peer"]) in erased
            for identity in identities
        )
        if is_erased:
            run.leave_out([number], LeftOutReason.ERASED)
            continue
        run.done.created["person"] += 1
        if not run.is_dry:
            person = Person.objects.create(workspace=run.workspace, **columns)
            place = {"workspace": run.workspace, "person": person}
            Person.objects.filter(pk=person.pk).update(created_at=columns["created_at"])
            free = [identity for identity in identities if (identity["platform"], identity["peer"]) not in known_pairs]
            Identity.objects.bulk_create(Identity(**place, **identity) for identity in free)
            consents = [CONSENT.read(consent) for consent in record.get("consents") or ()]
            Consent.objects.bulk_create(Consent(**place, **consent) for consent in consents)


def _scopes(run: Import, page: Sequence[Line]) -> None:
    rows = [columns for _n, _record, columns in columns_of("scope", page)]
    here = Scope.objects.filter(workspace=run.workspace, key__in=[columns["key"] for columns in rows])
    by_key = {scope.key: scope for scope in here.select_related("workspace")}
    uids = run.ids.new(Scope, [columns["uid"] for columns in rows])
    for columns in rows:
        scope = run.into or by_key.get(columns["key"])
        run.done.already["scope"] += scope is not None
        if scope is None:
            scope = Scope(workspace=run.workspace, **columns | {"uid": uids[columns["uid"]], "frozen": False})
            run.done.created["scope"] += 1
            if not run.is_dry:
                scope.save()
                run.begun.add(scope.pk)
                Scope.objects.filter(pk=scope.pk).update(created_at=columns["created_at"])
        if columns["frozen"] and not run.into and scope.uid in (columns["uid"], run.ids.derived(columns["uid"])):
            run.to_freeze.append(scope)
        run.scopes[columns["uid"]] = scope


_SCOPES = ("user_scope", "chat_scope")
#: How the key of a session ends that stands beside another; no address leads to it.
_BESIDE = re.compile(r"~[0-9a-f]{8}$")
_KEY_CHARS = 100
#: What a session takes over from one that has gone on further.
_STATE = ("conversation", "tokens", "next_position", "cycle", "flushed_to", "compacted_to")
_ASKED = ("flush_asked_at", "compaction_asked_at")
_Message = tuple[int, SessionHere, dict[str, Any]]  # line, session, columns


def _sessions(run: Import, page: Sequence[Line]) -> None:
    rows = columns_of("session", page)
    ours = Session.objects.filter(workspace=run.workspace)
    uids = [columns["uid"] for _n, _record, columns in rows]
    here = run.ids.here(ours, uids)
    free = run.ids.new(Session, [uid for uid in uids if uid not in here])
    besides = {row.uid: row for row in ours.filter(uid__in=map(run.ids.beside, uids))}
    keys = {name for _n, _record, columns in rows for name in (columns["key"], _BESIDE.sub("", columns["key"]))}
    by_key = {(row.platform, row.account, row.key): row for row in ours.filter(key__in=keys)}
    new_sessions = []
    for _number, record, columns in rows:
        uid, channel = columns["uid"], (columns["platform"], columns["account"])
        scopes = {
            f"{name}_id": run.scopes[there].pk
            for name in _SCOPES
            if (there := reference(record, name)) and there in run.scopes
        }
        namesake = by_key.get((*channel, columns["key"]))
        same = here.get(uid) or namesake or by_key.get((*channel, _BESIDE.sub("", columns["key"])))
        if same is None:
            session = Session(workspace=run.workspace, **columns | {"uid": free[uid]}, **scopes)
            new_sessions.append(session)
            run.sessions[uid] = SessionHere(session, columns)
            continue
        new_uid, key = run.ids.beside(uid), columns["key"]
        if namesake or uid in here:
            key = f"{key[: _KEY_CHARS - 9]}~{new_uid.hex[-8:]}"
        names = {"uid": new_uid, "key": key}
        beside = besides.get(new_uid) or Session(workspace=run.workspace, **columns | names, **scopes)
        is_alike = uid in here or (same.next_position == 1 and same.conversation == 1)
        is_elsewhere = uid not in here and any(getattr(same, name) != pk for name, pk in scopes.items())
        run.sessions[uid] = SessionHere(same, columns, beside, is_alike, (1, 0) if is_elsewhere else None)
        run.done.already["session"] += 1
    run.done.created["session"] += len(new_sessions)
    if not run.is_dry:
        Session.objects.bulk_create(new_sessions)


def _of_sessions(run: Import, kind: str, page: Sequence[Line]) -> list[_Message]:
    """The rows of a page with the sessions they belong to."""
    rows = [(number, reference(record, "session"), columns) for number, record, columns in columns_of(kind, page)]
    return [(number, run.sessions[uid], columns) for number, uid, columns in rows if uid in run.sessions]


def _place(session: SessionHere, columns: Mapping[str, Any]) -> Place:
    conversation, position = columns["conversation"], columns["position"]
    return session.at(conversation, position).uid, conversation, position


def _messages(run: Import, page: Sequence[Line]) -> None:
    rows = _of_sessions(run, "message", page)
    sessions = {session.session.pk: session for _n, session, _columns in rows if session.beside}
    if not run.is_dry:
        # Keep others from writing to sessions that were here before, until the end of the transaction
        for session in sorted(sessions.values(), key=lambda here: here.session_key):
            session.session = acquire_lock(run.workspace.pk, *session.session_key) or session.session
    _compare(run, [row for row in rows if row[1].beside])
    there = numbers(run.workspace.pk, [_place(session, columns) for _n, session, columns in rows])
    texts = [(columns["content"], "", ()) for _n, _session, columns in rows]
    erased = Tombstones.of_workspace(run.workspace.pk).covering(texts, everywhere=True)
    run.leave_out([row[0] for row, is_hit in zip(rows, erased, strict=True) if is_hit], LeftOutReason.ERASED)
    new = [row for row, is_hit in zip(rows, erased, strict=True) if not is_hit and _place(row[1], row[2]) not in there]
    run.done.already["message"] += len(there)
    run.done.created["message"] += len(new)
    if run.is_dry:
        return
    events = SessionEvent.objects.bulk_create(
        SessionEvent(
            workspace=run.workspace,
            session_id=session.at(columns["conversation"], columns["position"]).pk,
            **columns,
        )
        for _n, session, columns in new
    )
    search_rows.write((event.pk, event.kind, event.content) for event in events)
    _leave_out(run, [(event, session) for event, (_n, session, _columns) in zip(events, new, strict=True)])
    for session in sessions.values():
        # One that was here before goes on where the export ends, once messages came after its last
        here, exported_columns = session.session, session.columns
        end = here.conversation, here.next_position
        places = [(columns["conversation"], columns["position"]) for _n, of, columns in new if of is session]
        if any(place >= end and session.at(*place) is here for place in places):
            state = {name: exported_columns[name] for name in (*_STATE, *_ASKED)}
            Session.objects.filter(pk=here.pk).update(**state, last_at=max(here.last_at, exported_columns["last_at"]))
        # Of what stands beside another session only its own messages count
        if session.beside is not None and session.parts_at is not None:
            own = session.beside.messages().aggregate(tokens=Sum("tokens", default=0))["tokens"]
            Session.objects.filter(pk=session.beside.pk).update(tokens=min(own, session.columns["tokens"]))
    _go_on_after(rows)


def _leave_out(run: Import, events: Sequence[tuple[SessionEvent, SessionHere]]) -> None:
    """Have summaries leave out the messages here that they left out there; the numbers of another platform go."""
    places: dict[int, list[Place]] = {}
    summaries = []
    for event, session in events:
        is_summary = event.kind == EventKind.SUMMARY and isinstance(event.data, dict)
        if is_summary and {LEFT_OUT, LEFT_OUT_AT} & event.data.keys():
            event.data.pop(LEFT_OUT, None)
            positions = event.data.pop(LEFT_OUT_AT, None)
            at = [n for n in positions if type(n) is int] if isinstance(positions, list) else []
            places[event.pk] = [_place(session, {"conversation": event.conversation, "position": n}) for n in at]
            summaries.append(event)
    pks = numbers(run.workspace.pk, [place for some in places.values() for place in some])
    for summary in summaries:
        if left_out := sorted(pks[place] for place in places[summary.pk] if place in pks):
            summary.data[LEFT_OUT] = left_out
    SessionEvent.objects.bulk_update(summaries, ["data"])


def _go_on_after(rows: Sequence[_Message]) -> None:
    """Have sessions go on after messages that lie beyond what the export tells of them; it may be of two moments."""
    beyond: dict[int, tuple[int, int]] = {}
    for _n, session, columns in rows:
        place = columns["conversation"], columns["position"]
        if place >= (session.columns["conversation"], session.columns["next_position"]):
            pk = session.at(*place).pk
            beyond[pk] = max(beyond.get(pk, place), place)
    for pk, (conversation, position) in beyond.items():
        here = Session.objects.filter(pk=pk)
        here.filter(conversation__lt=conversation).update(conversation=conversation, **BEGINNING)
        here.filter(conversation=conversation, next_position__lte=position).update(next_position=position + 1)


def _compare(run: Import, rows: Sequence[_Message]) -> None:
    """Find where sessions part from those that were here before, and begin what stands beside these from there on."""
    places = [(session.session.uid, columns["conversation"], columns["position"]) for _n, session, columns in rows]
    pks = numbers(run.workspace.pk, places)
    words = {
        pk: rest
        for pk, *rest in SessionEvent.objects.filter(pk__in=pks.values()).values_list(
            "pk", "kind", "sender_id", "content"
        )
    }
    for place, (_number, session, columns) in zip(places, rows, strict=True):
        if session.parts_at is None:
            here = words.get(pks.get(place, 0))
            if here == [columns["kind"], columns["sender_id"], columns["content"]]:
                session.is_alike = True
            elif here or not session.is_alike:
                session.parts_at = place[1:]
        beside = session.at(*place[1:])
        if beside is session.beside and beside.pk is None and not session.has_begun_beside:
            session.has_begun_beside = True
            run.done.created["session"] += 1
            if not run.is_dry:
                beside.save()


def _flushes(run: Import, page: Sequence[Line]) -> None:
    rows = _of_sessions(run, "flush", page)
    uids = [columns["uid"] for _n, _session, columns in rows]
    there = run.ids.here(Flush.objects.filter(workspace=run.workspace), uids)
    flushes = [(session.at(columns["conversation"], columns["up_to"]), columns) for _n, session, columns in rows]
    cycles = set(
        Flush.objects.filter(session__in=[session.pk for session, _columns in flushes if session.pk]).values_list(
            "session_id", "conversation", "cycle"
        )
    )
    new = [
        (session, columns)
        for session, columns in flushes
        if columns["uid"] not in there and (session.pk, columns["conversation"], columns["cycle"]) not in cycles
    ]
    uids_here = run.ids.new(Flush, [columns["uid"] for _session, columns in new])
    run.done.already["flush"] += len(rows) - len(new)
    run.done.created["flush"] += len(new)
    if not run.is_dry:
        Flush.objects.bulk_create(
            (
                Flush(workspace=run.workspace, session_id=session.pk, **columns | {"uid": uids_here[columns["uid"]]})
                for session, columns in new
                if session.pk
            ),
            ignore_conflicts=True,
        )


PAGE = 1_000
#: What brings in a page of each kind of record.
_BRING: dict[str, Callable[[Import, Sequence[Line]], None]] = {
    "workspace": _workspace,
    "policy": partial(_unless_there, kind="policy", model=Policy, subject=("kind", "entry_type", "scope_kind", "name")),
    "channel": partial(_unless_there, kind="channel", model=Channel, subject=("platform", "account")),
    "person": _people,
    "scope": _scopes,
    "session": _sessions,
    "message": _messages,
    "flush": _flushes,
    **remembered.BRING,
}


def import_export(
    workspace: Workspace,
    into: Scope | None,
    place: Path,
    *,
    now: datetime,
    actor: str,
    is_dry: bool = False,
    report: Report | None = None,
) -> TransferReport:
    """Import an export, a folder or its file of records; dry, only say what would be written.

    The whole file is read before anything is written. Raises FileRefused or ScopeFrozen.
    """
    file = records_of(place)
    size = file.stat().st_size
    contents = check(file, lambda position: report(READ, position, size) if report else None)
    if into and len(contents.scopes) != 1:
        message = _("The file holds %(count)d scopes; into one scope only one can be brought.")
        raise FileRefused(message % {"count": len(contents.scopes)})
    folder = ImportedFiles(place if place.is_dir() else None)
    ids = Ids((into or workspace).uid)
    run = Import(workspace, into, now, actor, is_dry, place.name, ids, folder, contents.remembered)
    total, row_count = contents.counts.total(), 0
    for kind, page in _pages_of(file):
        try:
            with transaction.atomic(), acting(actor):
                _BRING[kind](run, page)
        except ScopeFrozen as problem:
            frozen = ", ".join(scope.key for scope in run.scopes.values() if scope.frozen)
            message = _("A scope is frozen and takes nothing: %(scopes)s. Thaw it and import again: it goes on.")
            raise ScopeFrozen(message % {"scopes": frozen}) from problem
        except DatabaseError as problem:
            places = {"first": page[0][0], "last": page[-1][0], "why": str(problem).splitlines()[0]}
            raise FileRefused(_("Lines %(first)d to %(last)d: %(why)s") % places) from problem
        row_count += len(page)
        if report:
            report(ROWS, row_count, total)
    if not is_dry:
        run.done.files = folder.bring(run.scopes.values())
        scope_ids = [scope.pk for scope in run.to_freeze if scope.pk in run.batches or scope.pk in run.begun]
        Scope.objects.filter(pk__in=scope_ids).update(frozen=True)
    return run.done


def _pages_of(file: Path) -> Iterator[tuple[str, list[Line]]]:
    """Runs of lines of one kind."""
    for kind, of_kind in groupby(lines(file), key=lambda line: line[1]["record"]):
        while kind not in (HEAD, END) and (page := list(islice(of_kind, PAGE))):
            yield kind, page
