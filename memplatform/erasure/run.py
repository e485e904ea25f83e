"""Erasing a person: ordered by an operator, worked off by a job, gone on with after a kill, and certified (F7)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Count

from memories import postgresql
from memories.entries import suppression
from memories.entries.past import count_scope
from memories.exceptions import PlatformError, ScopeFrozen
from memories.language.text import smart_truncate
from memories.models import Entry, Erasure, ErasureState, ErasureTarget, Scope, Workspace
from memories.offline import replicas
from memplatform import archive
from memplatform.erasure import certificate, collect, outside, person, remove, search
from memplatform.erasure.person import Identity

log = structlog.get_logger(__name__)
#: How often it is looked whether the person wrote something meanwhile.
ROUNDS = 5
#: Memories a preview shows, and characters of each.
SAMPLES, SAMPLE_CHARS = 5, 160
_LOCK = 11 << 56  # the highest byte of an advisory lock is its kind
_UNFINISHED = (ErasureState.WAITING, ErasureState.RUNNING)


def order(workspace: Workspace, identities: Sequence[Identity], *, reason: str, actor: str, now: datetime) -> Erasure:
    """Order an erasure of a person, with all that is linked to them; one under way for the same is returned.

    Raises PersonUnclear, OSError.
    """
    identities = person.linked(workspace, identities)
    suppression.begin()
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        hashes = person.hashes(workspace.pk, identities)
        same = Erasure.objects.filter(workspace=workspace, person=hashes, state__in=_UNFINISHED).first()
        if same:
            return same
        erasure = Erasure.objects.create(
            workspace=workspace,
            identities=person.as_json(identities),
            person=hashes,
            reason=reason,
            actor=actor,
            created_at=now,
        )
        certificate.put_on_file(erasure)
    log.info("erasure.ordered", erasure=str(erasure.uid), workspace=workspace.pk, actor=actor)
    return erasure


@dataclass(frozen=True)
class Preview:
    """What an erasure would find."""

    counts: dict[str, int]  # rows by table
    samples: list[str]  # the first memories, shortened
    files: int

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def preview(workspace: Workspace, identities: Sequence[Identity], *, now: datetime) -> Preview:
    """How many rows of each table an erasure would find now; nothing is kept of it. Raises PersonUnclear."""
    identities = person.linked(workspace, identities)
    with transaction.atomic():
        erasure = Erasure.objects.create(
            workspace=workspace, identities=person.as_json(identities), reason="-", actor="preview", created_at=now
        )
        collect.collect(erasure)
        outside.collect_lines(erasure)
        tables = erasure.targets.order_by("table_name").values_list("table_name")
        counts: dict[str, int] = dict(tables.annotate(rows=Count("pk")))
        entries = erasure.targets.filter(table_name=Entry._meta.db_table).values("row_id")
        first = Entry.objects.filter(pk__in=entries).order_by("-created_at").values_list("content", flat=True)
        different = list(dict.fromkeys(first[: SAMPLES * 4]))[:SAMPLES]
        samples = [smart_truncate(content, SAMPLE_CHARS) for content in different]
        transaction.set_rollback(True)
    return Preview(counts, samples, outside.count_files(workspace, identities))


def erase_waiting(*, now: datetime) -> dict[str, int]:
    """Work off every erasure that was ordered, or was interrupted; how many were finished."""
    counts = {"erased": 0, "failed": 0}
    for pk in Erasure.objects.filter(state__in=_UNFINISHED).order_by("pk").values_list("pk", flat=True):
        try:
            counts["erased"] += work_off(pk, now=now)
        except (PlatformError, OSError) as problem:
            Erasure.objects.filter(pk=pk).update(error=f"{type(problem).__name__}: {problem}"[:2_000])
            log.exception("erasure.interrupted", erasure=pk)
            counts["failed"] += 1
    return counts


def count_waiting() -> dict[str, int]:
    """How many wait."""
    return {"erased": Erasure.objects.filter(state__in=_UNFINISHED).count(), "failed": 0}


def work_off(pk: int, *, now: datetime) -> bool:
    """Do what is left of an erasure; whether it is done now. False: another process is at it."""
    with postgresql.lock_of_session(_LOCK | pk) as is_mine:
        if not is_mine:
            return False
        erasure = Erasure.objects.select_related("workspace").get(pk=pk)
        if erasure.state not in _UNFINISHED:
            return False
        # Rounds of finding and removing until nothing is found any more; what the last process found comes first, and
        # the first round is made in any case: somebody may be in the journal, in files or in quotes alone
        was_removing = erasure.step in ("remove", "count", "archive")
        _enter(erasure, "find")
        matchers: list[search.Matcher] = []
        for _round in range(ROUNDS):
            new = collect.collect(erasure)
            if matchers and not new and not erasure.targets.exclude(table_name=collect.PUT_BACK).exists():
                break
            erasure.total += new
            erasure.save(update_fields=["total"])
            matchers.append(_remove(erasure, now))
        _enter(erasure, "archive")
        _forget_archived(erasure, matchers)
        if was_removing:  # which scopes lost something by the last process nobody knows any more
            _count(erasure, Scope.objects.filter(workspace_id=erasure.workspace_id).values_list("pk", flat=True))
        # What is left is looked for, and the certificate says what was found
        _enter(erasure, "verify")
        still_tied, left_over = verify(erasure)
        replicas.note_write(erasure.workspace_id)  # no recall reads a replica that has it still
        document = certificate.issue(erasure, left_over, still_tied, now=now)
        certificate.put_on_file(erasure, document)  # before the names are forgotten here
        erasure.state, erasure.step, erasure.error = ErasureState.DONE, "", ""
        erasure.identities, erasure.certificate, erasure.finished_at = [], document, now
        erasure.save()
        log.info("erasure.done", erasure=str(erasure.uid), rows=sum(erasure.counts.values()))
        return True


def _enter(erasure: Erasure, step: str) -> None:
    erasure.state, erasure.step = ErasureState.RUNNING, step
    erasure.save(update_fields=["state", "step"])


def _forget_archived(erasure: Erasure, matchers: Sequence[search.Matcher]) -> None:
    """Have the archive hold nothing of what went, nor what says something of the person."""
    keys, peers = set(person.keys_of(erasure)), person.peers_of(erasure)
    put_back = set(collect.take(erasure, collect.PUT_BACK))

    def is_gone(table: str, row: dict[str, Any], text: str) -> bool:
        if table == archive.TRACES and (row["asker"] in peers or not keys.isdisjoint(row["scope_keys"])):
            return True
        if table == archive.HISTORY and row["table_name"] == Entry._meta.db_table and row["row_id"] in put_back:
            return True
        return any(matcher.matches(text) for matcher in matchers)

    if count := archive.forget(erasure.workspace, is_gone):
        remove.add(erasure, "archive", count)
    erasure.targets.filter(table_name=collect.PUT_BACK).delete()


def _remove(erasure: Erasure, now: datetime) -> search.Matcher:
    _enter(erasure, "mark")
    restored_count = remove.put_others_back(erasure, now=now)
    if restored_count:
        remove.add(erasure, "put_back", restored_count)
    outside.collect_lines(erasure)
    remove.mark(erasure)
    # The scopes that stay and lose something
    rows = ErasureTarget.objects.filter(erasure=erasure, table_name=Entry._meta.db_table).values("row_id")
    others = Scope.objects.filter(workspace_id=erasure.workspace_id).exclude(key__in=person.keys_of(erasure))
    peers = person.peers_of(erasure)
    scopes = {pk for pk, names in others.values_list("pk", "sender_names") if peers & names.keys()}
    touched_scopes = others.filter(pk__in=Entry.objects.filter(pk__in=rows).values("scope_id"))
    scopes |= set(touched_scopes.values_list("pk", flat=True))
    matcher = search.matcher_of(erasure)
    _enter(erasure, "search")
    with transaction.atomic():
        search.remove_loose(erasure, matcher, lambda table, count: remove.add(erasure, table, count))
    _enter(erasure, "files")
    for name, count in outside.erase_files(erasure).items():
        remove.add(erasure, name, count)
    remove.add(erasure, "journal", outside.erase_calls(erasure, matcher))
    _enter(erasure, "remove")
    remove.remove_all(erasure, now=now)
    _enter(erasure, "count")
    _count(erasure, scopes)
    return matcher


def _count(erasure: Erasure, scopes: Iterable[int]) -> None:
    """Have the scopes of others know neither the person's names nor their words."""
    peers = person.peers_of(erasure)
    for scope in Scope.objects.filter(pk__in=scopes):
        names = {name for peer, name in scope.sender_names.items() if peer in peers}
        scope.sender_names = {peer: name for peer, name in scope.sender_names.items() if peer not in peers}
        speaking = set(Entry.objects.filter(scope=scope).values_list("speaker", flat=True).distinct())
        scope.speakers = [name for name in scope.speakers if name in speaking]
        scope.nicknames = {name: whom for name, whom in scope.nicknames.items() if not {name, whom} & (names | peers)}
        scope.save(update_fields=["sender_names", "speakers", "nicknames"])
        try:
            count_scope(scope)
        except ScopeFrozen:  # its counts are what they were; nobody writes there
            continue


def verify(erasure: Erasure) -> tuple[int, dict[str, list[int] | list[str]]]:
    """What is still tied to the person by an id; and where their words or id still stand, by table."""
    with transaction.atomic():
        still_tied = collect.collect(erasure) if erasure.identities else 0
        transaction.set_rollback(True)
    matcher = search.matcher_of(erasure)
    left_over: dict[str, list[int] | list[str]] = dict(search.left_over(erasure, matcher))
    if files := outside.left_in_files(erasure, matcher):
        left_over["files"] = [f"file {n}" for n, _file in enumerate(files, start=1)]
    if calls := outside.erase_calls(erasure, matcher, is_dry=True):
        left_over["journal"] = [calls]
    return still_tied, left_over


def order_missing(*, now: datetime) -> int:
    """Order again what is on file and not in the database, which is older: a backup was restored; how many."""
    count = 0
    for order in certificate.on_file_only():
        workspace = Workspace.objects.filter(uid=order.workspace).first()
        if workspace is None:
            continue
        suppression.begin(order.seed)
        identities = person.from_json(order.identities)
        Erasure.objects.create(
            uid=order.uid,
            workspace=workspace,
            identities=order.identities,
            person=person.hashes(workspace.pk, identities),
            reason=order.reason,
            actor=order.actor,
            created_at=now,
        )
        log.warning("erasure.ordered_again", erasure=str(order.uid))
        count += 1
    return count
