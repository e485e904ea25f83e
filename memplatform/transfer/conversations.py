"""Bringing in conversations: sessions with their messages and flushes.

A session that is here already, under its id or its key, is the same as far as its messages are: what is missing is
brought, so that the longer of two goes on. From the place on where the two part, what the export tells becomes a
session beside the one here, which goes on undisturbed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.models import Sum

from memories.entries.suppression import Tombstones
from memories.imports.batch import LeftOutReason
from memplatform.transfer.messages import Place, numbers
from memplatform.transfer.reading import Line
from memplatform.transfer.records import reference
from memplatform.transfer.run import Import, SessionHere
from memplatform.transfer.tables import columns_of
from sessions_app.lifecycle.conversations import acquire_lock
from sessions_app.models import Flush, Session, SessionEvent
from sessions_app.search import rows as search_rows

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
    made = []
    for _number, record, columns in rows:
        uid, channel = columns["uid"], (columns["platform"], columns["account"])
        scopes = {
            f"{name}_id": run.scopes[there].pk
            for name in _SCOPES
            if (there := reference(record, name)) and there in run.scopes
        }
        taken = by_key.get((*channel, columns["key"]))
        same = here.get(uid) or taken or by_key.get((*channel, _BESIDE.sub("", columns["key"])))
        if same is None:
            session = Session(workspace=run.workspace, **columns | {"uid": free[uid]}, **scopes)
            made.append(session)
            run.sessions[uid] = SessionHere(session, columns)
            continue
        new_uid, key = run.ids.beside(uid), columns["key"]
        if taken or uid in here:
            key = f"{key[: _KEY_CHARS - 9]}~{new_uid.hex[-8:]}"
        names = {"uid": new_uid, "key": key}
        beside = besides.get(new_uid) or Session(workspace=run.workspace, **columns | names, **scopes)
        is_alike = uid in here or (same.next_position == 1 and same.conversation == 1)
        is_elsewhere = uid not in here and any(getattr(same, name) != pk for name, pk in scopes.items())
        run.sessions[uid] = SessionHere(same, columns, beside, is_alike, (1, 0) if is_elsewhere else None)
        run.done.already["session"] += 1
    run.done.created["session"] += len(made)
    if not run.is_dry:
        Session.objects.bulk_create(made)


def _of_sessions(run: Import, kind: str, page: Sequence[Line]) -> list[_Message]:
    """The rows of a page with the sessions they belong to."""
    rows = [(number, reference(record, "session"), columns) for number, record, columns in columns_of(kind, page)]
    return [(number, run.sessions[uid], columns) for number, uid, columns in rows if uid in run.sessions]


def _place(session: SessionHere, columns: Mapping[str, Any]) -> Place:
    conversation, position = columns["conversation"], columns["position"]
    return session.at(conversation, position).uid, conversation, position


def _messages(run: Import, page: Sequence[Line]) -> None:
    rows = _of_sessions(run, "message", page)
    met = {session.session.pk: session for _n, session, _columns in rows if session.beside}
    if not run.is_dry:
        _lock(run, met.values())
    _compare(run, [row for row in rows if row[1].beside])
    there = numbers(run.workspace.pk, [_place(session, columns) for _n, session, columns in rows])
    texts = [(columns["content"], "", ()) for _n, _session, columns in rows]
    erased = Tombstones.of_workspace(run.workspace.pk).covering(texts, everywhere=True)
    run.leave_out([row[0] for row, gone in zip(rows, erased, strict=True) if gone], LeftOutReason.ERASED)
    new = [row for row, gone in zip(rows, erased, strict=True) if not gone and _place(row[1], row[2]) not in there]
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
    search_rows.write(events)
    for session in met.values():
        _go_on(session, [columns for _n, of, columns in new if of is session])
        _count_tokens(session)


def _lock(run: Import, sessions: Any) -> None:
    """Keep others from writing to sessions that were here before, until the end of the transaction."""
    for key, met in sorted(((one.session.platform, one.session.account, one.session.key), one) for one in sessions):
        met.session = acquire_lock(run.workspace.pk, *key) or met.session


def _compare(run: Import, rows: Sequence[_Message]) -> None:
    """Find where sessions part from those that were here before, and begin what stands beside these from there on."""
    wanted = [(session.session.uid, columns["conversation"], columns["position"]) for _n, session, columns in rows]
    found = numbers(run.workspace.pk, wanted)
    words = {
        pk: rest
        for pk, *rest in SessionEvent.objects.filter(pk__in=found.values()).values_list(
            "pk", "kind", "sender_id", "content"
        )
    }
    for place, (_number, session, columns) in zip(wanted, rows, strict=True):
        if session.parts_at is None:
            here = words.get(found.get(place, 0))
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


def _go_on(session: SessionHere, new: Sequence[Mapping[str, Any]]) -> None:
    """Let a session that was here before go on where the export ends, once messages came after its last."""
    here, told = session.session, session.columns
    end = here.conversation, here.next_position
    places = [(columns["conversation"], columns["position"]) for columns in new]
    if any(place >= end and session.at(*place) is here for place in places):
        state = {name: told[name] for name in (*_STATE, *_ASKED)}
        Session.objects.filter(pk=here.pk).update(**state, last_at=max(here.last_at, told["last_at"]))


def _count_tokens(session: SessionHere) -> None:
    """Of what stands beside another session only its own messages count."""
    if session.beside is not None and session.parts_at is not None:
        own = session.beside.messages().aggregate(tokens=Sum("tokens", default=0))["tokens"]
        Session.objects.filter(pk=session.beside.pk).update(tokens=min(own, session.columns["tokens"]))


def _flushes(run: Import, page: Sequence[Line]) -> None:
    rows = _of_sessions(run, "flush", page)
    uids = [columns["uid"] for _n, _session, columns in rows]
    there = run.ids.here(Flush.objects.filter(workspace=run.workspace), uids)
    placed = [(session.at(columns["conversation"], columns["up_to"]), columns) for _n, session, columns in rows]
    cycles = set(
        Flush.objects.filter(session__in=[session.pk for session, _columns in placed if session.pk]).values_list(
            "session_id", "conversation", "cycle"
        )
    )
    new = [
        (session, columns)
        for session, columns in placed
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


BRING: Mapping[str, Callable[[Import, Sequence[Line]], None]] = {
    "session": _sessions,
    "message": _messages,
    "flush": _flushes,
}
