"""Bringing in what belongs to a workspace: its policies and channels, scopes, and conversations with their messages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from channels_app.models import Channel, Consent, Identity, Person
from memories.entries import tombstones
from memories.entries.tombstones import Tombstones
from memories.imports.left_out import LeftOutReason
from memories.models import Erasure, Policy, Scope
from memplatform.transfer.messages import numbers
from memplatform.transfer.reading import Line
from memplatform.transfer.records import CONSENT, IDENTITY, KINDS, reference
from memplatform.transfer.run import Import, SessionHere
from sessions_app.models import Flush, Session, SessionEvent
from sessions_app.search import rows as search_rows

Row = tuple[int, dict[str, Any], dict[str, Any]]  # line, record, columns


def columns_of(kind: str, page: Sequence[Line]) -> list[Row]:
    """The lines of a page with the columns they tell."""
    return [(number, record, KINDS[kind].read(record)) for number, record in page]


def _workspace(run: Import, page: Sequence[Line]) -> None:
    """Its language and time zone, as long as nothing is in it; its name stays."""
    is_new = run.into is None and not Scope.objects.filter(workspace=run.workspace).exists()
    run.done.created["workspace"] += is_new
    run.done.already["workspace"] += not is_new
    if is_new and not run.is_dry:
        told = columns_of("workspace", page)[0][2]
        run.workspace.language, run.workspace.time_zone = told["language"], told["time_zone"]
        run.workspace.save(update_fields=["language", "time_zone"])


def _policies(run: Import, page: Sequence[Line]) -> None:
    _unless_there(run, "policy", Policy, page, ("kind", "entry_type", "scope_kind", "name"))


def _channels(run: Import, page: Sequence[Line]) -> None:
    _unless_there(run, "channel", Channel, page, ("platform", "account"))


def _unless_there(
    run: Import, kind: str, model: type[Policy | Channel], page: Sequence[Line], subject: tuple[str, ...]
) -> None:
    """Store what the workspace says nothing about yet; into a scope none of it goes."""
    if run.into:
        return
    there = set(model._default_manager.filter(workspace=run.workspace).values_list(*subject))
    rows = [told for _n, _record, told in columns_of(kind, page)]
    new = [told for told in rows if tuple(told[name] for name in subject) not in there]
    uids = run.ids.new(Channel, [told["uid"] for told in new]) if model is Channel else {}
    made: list[Any] = [
        model(workspace=run.workspace, **told | ({"uid": uids[told["uid"]]} if "uid" in told else {})) for told in new
    ]
    run.done.created[kind] += len(new)
    run.done.already[kind] += len(rows) - len(new)
    if not run.is_dry:
        model._default_manager.bulk_create(made)


def _people(run: Import, page: Sequence[Line]) -> None:
    """Store people who are not here, but for who was erased, or is another's here; into a scope none of it goes."""
    if run.into:
        return
    here = set(Person.objects.filter(workspace=run.workspace).values_list("key", flat=True))
    taken = set(Identity.objects.filter(workspace=run.workspace).values_list("platform", "peer"))
    erased = {
        one
        for hashes in Erasure.objects.filter(workspace=run.workspace).values_list("person", flat=True)
        for one in hashes
    }
    for number, record in page:
        columns = KINDS["person"].read(record)
        if columns["key"] in here:
            run.done.already["person"] += 1
            continue
        identities = [IDENTITY.read(one) for one in record.get("identities") or ()]
        gone = erased and [one for one in identities if _digest_of(run, one) in erased]
        if gone:
            run.leave_out([number], LeftOutReason.ERASED)
            continue
        run.done.created["person"] += 1
        if not run.is_dry:
            _store_person(
                run, columns, [one for one in identities if (one["platform"], one["peer"]) not in taken], record
            )


def _digest_of(run: Import, identity: dict[str, Any]) -> str:
    return tombstones.digest(run.workspace.pk, "person", identity["platform"], identity["peer"])


def _store_person(
    run: Import, columns: dict[str, Any], identities: Sequence[dict[str, Any]], record: dict[str, Any]
) -> None:
    person = Person.objects.create(workspace=run.workspace, **columns)
    place = {"workspace": run.workspace, "person": person}
    Person.objects.filter(pk=person.pk).update(created_at=columns["created_at"])
    Identity.objects.bulk_create(Identity(**place, **one) for one in identities)
    Consent.objects.bulk_create(Consent(**place, **CONSENT.read(one)) for one in record.get("consents") or ())


def _scopes(run: Import, page: Sequence[Line]) -> None:
    rows = [told for _n, _record, told in columns_of("scope", page)]
    here = Scope.objects.filter(workspace=run.workspace, key__in=[told["key"] for told in rows])
    by_key = {scope.key: scope for scope in here.select_related("workspace")}
    uids = run.ids.new(Scope, [told["uid"] for told in rows])
    for told in rows:
        scope = run.into or by_key.get(told["key"])
        run.done.already["scope"] += scope is not None
        if scope is None:
            columns = told | {"uid": uids[told["uid"]], "frozen": False}
            scope = Scope(workspace=run.workspace, **columns)
            run.done.created["scope"] += 1
            if not run.is_dry:
                scope.save()
                run.begun.add(scope.pk)
                Scope.objects.filter(pk=scope.pk).update(created_at=told["created_at"])
        if told["frozen"] and not run.into and scope.uid in (told["uid"], run.ids.derived(told["uid"])):
            run.to_freeze.append(scope)
        run.scopes[told["uid"]] = scope


def _sessions(run: Import, page: Sequence[Line]) -> None:
    rows = columns_of("session", page)
    there = run.ids.here(Session.objects.filter(workspace=run.workspace), [told["uid"] for _n, _record, told in rows])
    new = [row for row in rows if row[2]["uid"] not in there]
    uids = run.ids.new(Session, [told["uid"] for _n, _record, told in new])
    keys = {told["key"] for _n, _record, told in new}
    taken = set(Session.objects.filter(workspace=run.workspace, key__in=keys).values_list("platform", "account", "key"))
    made = {}
    for number, record, told in new:
        if (told["platform"], told["account"], told["key"]) in taken:
            run.leave_out([number], LeftOutReason.SESSION)
            continue
        scopes = {name: run.scopes.get(uid) if (uid := reference(record, name)) else None for name in _SCOPES}
        made[told["uid"]] = Session(
            workspace=run.workspace,
            **told | {"uid": uids[told["uid"]]},
            **{f"{name}_id": scope.pk if scope else None for name, scope in scopes.items()},
        )
    run.done.already["session"] += len(there)
    run.done.created["session"] += len(made)
    if not run.is_dry:
        Session.objects.bulk_create(made.values())
    run.sessions |= {uid: SessionHere(session.uid, session.pk) for uid, session in (there | made).items()}


_SCOPES = ("user_scope", "chat_scope")


def _of_sessions(run: Import, kind: str, page: Sequence[Line]) -> list[tuple[SessionHere, dict[str, Any]]]:
    """The rows of a page with the sessions they belong to, without those whose session was left out."""
    told = [(run.sessions.get(_uid(record, "session")), columns) for _n, record, columns in columns_of(kind, page)]
    return [(session, columns) for session, columns in told if session is not None]


def _uid(record: Mapping[str, Any], name: str) -> UUID:
    uid = reference(record, name)
    if uid is None:
        raise AssertionError("the file was checked")
    return uid


def _messages(run: Import, page: Sequence[Line]) -> None:
    rows = [
        ((session.uid, told["conversation"], told["position"]), session, told)
        for session, told in _of_sessions(run, "message", page)
    ]
    there = numbers(run.workspace.pk, [place for place, _session, _told in rows])
    texts = [(told["content"], "", ()) for _place, _session, told in rows]
    erased = Tombstones.of_workspace(run.workspace.pk).covering(texts, everywhere=True)
    lines = [number for number, record in page if run.sessions.get(_uid(record, "session"))]
    run.leave_out([number for number, gone in zip(lines, erased, strict=True) if gone], LeftOutReason.ERASED)
    new = [
        SessionEvent(workspace=run.workspace, session_id=session.pk, **told)
        for (place, session, told), gone in zip(rows, erased, strict=True)
        if place not in there and not gone
    ]
    run.done.already["message"] += len(there)
    run.done.created["message"] += len(new)
    if not run.is_dry:
        search_rows.write(SessionEvent.objects.bulk_create(new))


def _flushes(run: Import, page: Sequence[Line]) -> None:
    rows = _of_sessions(run, "flush", page)
    there = run.ids.here(Flush.objects.filter(workspace=run.workspace), [told["uid"] for _session, told in rows])
    new = [(session, told) for session, told in rows if told["uid"] not in there]
    uids = run.ids.new(Flush, [told["uid"] for _session, told in new])
    run.done.already["flush"] += len(there)
    run.done.created["flush"] += len(new)
    if not run.is_dry:
        Flush.objects.bulk_create(
            (
                Flush(workspace=run.workspace, session_id=session.pk, **told | {"uid": uids[told["uid"]]})
                for session, told in new
            ),
            ignore_conflicts=True,
        )


BRING: Mapping[str, Callable[[Import, Sequence[Line]], None]] = {
    "workspace": _workspace,
    "policy": _policies,
    "channel": _channels,
    "person": _people,
    "scope": _scopes,
    "session": _sessions,
    "message": _messages,
    "flush": _flushes,
}
