"""Bringing in what belongs to a workspace: its policies and channels, people and scopes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from channels_app.models import Channel, Consent, Identity, Person
from memories.entries import suppression
from memories.imports.batch import LeftOutReason
from memories.models import Erasure, Policy, Scope
from memplatform.transfer.reading import Line
from memplatform.transfer.records import CONSENT, IDENTITY, KINDS
from memplatform.transfer.run import Import

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
    return suppression.digest(run.workspace.pk, "person", identity["platform"], identity["peer"])


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


BRING: Mapping[str, Callable[[Import, Sequence[Line]], None]] = {
    "workspace": _workspace,
    "policy": _policies,
    "channel": _channels,
    "person": _people,
    "scope": _scopes,
}
