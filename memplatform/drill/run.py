"""A drill: plant, ask everybody at every door, take all of it back, and say in a signed report what was heard (A3, F8).

A few scopes at a time, each group of them in a transaction that is rolled back. For as long as it is open, a few
seconds, turns to these scopes wait. A drill runs in a process of its own: what it learns is in no cache of another.
"""

import logging
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.test.utils import override_settings

from channels_app.models import Channel
from memories.audit.models import AuditEvent, AuditRecord
from memories.choices import GroupUserRecall, Permission, ScopeKind
from memories.entries import suppression
from memories.models import Bot, BotKey, Scope, Webhook, WebhookDelivery, Workspace
from memories.models.outbox import WebhookEvent
from memories.recall import forget_answers
from memories.tenancy.access import SCOPE_KEY
from memories.webhooks import announce_leak
from memplatform.drill.asking import FULL, Asker, Doors, Effort, Leak, Probes, address_of
from memplatform.drill.planting import ACTOR, Home, Planted, home_of, plant, rows_of
from memplatform.erasure.certificate import signed

#: Scopes that are planted in at a time.
TOGETHER = 12
#: How the folders of drills begin, in the folder for temporary files.
FOLDER = "memplatform-drill-"
FORMAT = 1
#: The keys of a part ask as much as so many askers: what is still to ask is told from it.
KEYS_WEIGH = 5
#: No limit of calls a minute: an answer of 429 would hide what the door says.
CALLS_PER_MINUTE = 1_000_000_000


@dataclass
class Report:
    """What a drill found."""

    workspace: Workspace
    begun_at: datetime
    scopes: int = 0
    of: int = 0
    canaries: Counter[str] = field(default_factory=Counter)  # by place
    probes: Probes = field(default_factory=Probes)
    refused: list[str] = field(default_factory=list)
    left: int = 0  # rows that hold a word of a drill afterwards
    seconds: float = 0.0

    @property
    def probe_count(self) -> int:
        return sum(self.probes.asked.values())

    @property
    def leak_count(self) -> int:
        return len(self.probes.leaks)

    @property
    def fault_count(self) -> int:
        """Answers of 500 or 429, which say nothing of the wall behind them."""
        return sum(self.probes.failed.values())

    @property
    def is_clean(self) -> bool:
        """Whether it proves what it set out to: everybody was answered, and nobody heard what is not theirs."""
        return not (self.leak_count or self.left or self.fault_count or self.is_deaf)

    @property
    def is_deaf(self) -> bool:
        """Whether nobody heard even their own words: then silence proves nothing."""
        return not self.probes.heard and bool(self.canaries)

    def body(self) -> dict[str, Any]:
        """The report as it is signed; of what leaked where it was, and not its words."""
        return {
            "format": FORMAT,
            "drill": str(uuid4()),
            "workspace": str(self.workspace.uid),
            "begun_at": self.begun_at.isoformat(),
            "seconds": round(self.seconds, 1),
            "scopes": self.scopes,
            "scopes_of_the_workspace": self.of,
            "canaries": dict(sorted(self.canaries.items())),
            "clean": self.is_clean,
            "probes": self.probe_count,
            "probes_by_door": dict(sorted(self.probes.asked.items())),
            "own_words_heard": dict(sorted(self.probes.heard.items())),
            "faults": dict(sorted(self.probes.failed.items())),
            "not_planted": self.refused[:50],
            "leaks": self.leak_count,
            "leaked": [
                {"door": leak.door, "to": leak.asker, "place": leak.place, "of": leak.scope, "times": times}
                for leak, times in list(self.probes.leaks.items())[:100]
            ],
            "left_behind": self.left,
        }


class _RolledBack(Exception):
    """Ends the transaction of a part of a drill, with all that was planted in it."""


def drill(
    workspace: Workspace,
    *,
    sample: int | None,
    now: datetime,
    effort: Effort = FULL,
    progress: Callable[[int, int], None] = lambda probes, about: None,
) -> Report:
    """Drill a workspace, or a sample of its scopes; nothing of it is ever committed.

    `progress` is told how many probes were asked, of about how many.
    """
    report, begun = Report(workspace, now), time.monotonic()
    scopes = scopes_of(workspace, sample)
    report.of = Scope.objects.in_workspace(workspace.pk).exclude(key=SCOPE_KEY).count()
    with _quietly(), _own_folders():
        for start in range(0, len(scopes), TOGETHER):
            some = scopes[start : start + TOGETHER]
            advance = partial(_tell, progress, report, len(some) / len(scopes), start / len(scopes))
            try:
                with transaction.atomic():
                    _drill_some(workspace, some, report, effort, advance, now=now)
                    raise _RolledBack
            except _RolledBack:
                report.scopes += len(some)
            finally:
                forget_answers()  # with the versions of the scopes, which are rolled back, they would be served again
            advance(1.0)
    report.left = sum(rows_of(workspace.pk).values())
    report.seconds = time.monotonic() - begun
    return report


def _tell(progress: Callable[[int, int], None], report: Report, part: float, before: float, share: float) -> None:
    """Tell how far it is: in a part, which is this part of the whole, after those before it, at this share of it."""
    progress(report.probe_count, round(report.probe_count / (before + part * share)))


def scopes_of(workspace: Workspace, sample: int | None) -> list[Scope]:
    """The scopes of a drill, people and groups mixed, so that each part of it has both."""
    rows = Scope.objects.in_workspace(workspace.pk).exclude(key=SCOPE_KEY).order_by("?" if sample else "pk")
    people, groups = (list(rows.filter(kind=kind)) for kind in (ScopeKind.USER, ScopeKind.CHAT))
    share = len(groups) / max(len(people) + len(groups), 1)
    scopes: list[Scope] = []
    while people or groups:
        wants_group = groups and (not people or sum(s.kind == ScopeKind.CHAT for s in scopes) <= share * len(scopes))
        scopes.append((groups if wants_group else people).pop(0))
    return scopes[:sample] if sample else scopes


def _drill_some(
    workspace: Workspace,
    scopes: Sequence[Scope],
    report: Report,
    effort: Effort,
    advance: Callable[[float], None],
    *,
    now: datetime,
) -> None:
    """One part of a drill, inside the transaction that ends with it; says which share of it is reached."""
    stranger = Workspace.objects.create(name=f"{ACTOR}-{uuid4().hex[:12]}")
    Webhook.objects.create(
        workspace=stranger, url="https://drill.invalid/", events=WebhookEvent.values, with_content=True, created_at=now
    )
    caller = workspace.caller(ACTOR)
    member = f"{ACTOR}-member"  # whose own memory is nobody's here
    homes = [home_of(scope, member) for scope in scopes]
    planted = plant(caller, homes, now=now - timedelta(minutes=5))
    report.refused += planted.refused
    report.canaries.update(canary.place for canary in planted.canaries)

    doors = Doors(workspace, report.probes, effort, now=now)
    doors.canaries = {canary.token: canary for canary in planted.canaries}
    doors.rules = _rules(workspace, homes)
    key = _key(workspace, "drill", ())
    askers = list(_askers(homes, key, f"{ACTOR}-nobody"))
    traces: list[str] = []
    for number, asker in enumerate(askers):
        others = [canary for canary in planted.canaries if not asker.may_hear(canary, doors.rules)]
        doors.ask_from(asker, caller, others[number % 3 :: 3][: effort.read])
        if number < 2 and (trace := doors.trace_of(asker)):
            traces.append(trace)
        advance((number + 1) / (len(askers) + KEYS_WEIGH))
    _ask_with_keys(workspace, stranger, scopes, planted, doors, traces)
    deliveries = WebhookDelivery.objects.filter(workspace=stranger).count()
    report.probes.asked["webhooks"] = report.probes.asked.get("webhooks", 0) + 1
    if deliveries:
        report.probes.leaks[Leak("webhooks", "a stranger's webhook", "entry", "")] = deliveries


def _ask_with_keys(
    workspace: Workspace, other: Workspace, scopes: Sequence[Scope], planted: Planted, doors: Doors, traces: list[str]
) -> None:
    """As a key of another workspace, as one that is bound to one scope, and as nobody."""
    key = scopes[0].key
    keys = [
        Asker("a key of another workspace", _key(other, "drill", ())),
        Asker("a key bound to one scope", _key(workspace, "drill-bound", (key,)), reaches=frozenset({key})),
        Asker("nobody", "mp_nothing"),
    ]
    for asker in keys:
        others = [canary for canary in planted.canaries if not asker.may_hear(canary, {})]
        foreign = [scope for scope in scopes if scope.key not in asker.reaches]
        # In turn one that is read as an entry, a day, a message and a line of a file
        kinds = [[one for one in others if one.paths and one.paths[0].startswith(kind)] for kind in "edsm"]
        some = [canary for together in zip_longest(*kinds) for canary in together if canary][: doors.effort.by_key]
        doors.ask_with_key(asker, foreign[: doors.effort.scopes], some, traces)
    doors.export(keys[0], other, None)
    for scope in scopes[:2]:
        doors.export(Asker("an export of one scope", "", reaches=frozenset({scope.key})), workspace, scope)


def _askers(homes: Sequence[Home], token: str, nobody: str) -> Iterator[Asker]:
    """Everybody: each person in their direct chat and in a group, each group, and somebody nobody knows."""
    groups = [home for home in homes if home.is_group and home.address]
    for number, home in enumerate(homes):
        if home.address is None:
            continue
        if home.is_group:
            yield Asker("a stranger in the group", token, address_of(home, peer=nobody), group=home.scope.key)
            continue
        yield Asker("a person alone", token, address_of(home), home)
        group = groups[number % len(groups)] if groups else None
        if group and group.address and group.address.platform == home.address.platform:
            address = address_of(group, peer=home.address.peer)
            yield Asker("a person in a group", token, address, home, group=group.scope.key)
    platform = next((home.address.platform for home in homes if home.address), "telegram")
    yield Asker("a stranger alone", token, {"platform": platform, "peer": nobody})


def _key(workspace: Workspace, name: str, patterns: Sequence[str]) -> str:
    """A key for the length of the transaction."""
    bot = Bot.objects.create(workspace=workspace, name=f"{name}-{uuid4().hex[:8]}")
    permissions = [Permission.READ.value, Permission.WRITE.value]
    _row, token = BotKey.issue(bot, permissions=permissions, scope_patterns=list(patterns))
    return token


def _rules(workspace: Workspace, homes: Sequence[Home]) -> dict[str, str]:
    """What each group hears of its members, by its key."""
    channels = {(row.platform, row.account): row for row in Channel.objects.filter(workspace=workspace)}
    rules: dict[str, str] = {}
    for home in homes:
        if home.is_group and home.address:
            channel = channels.get((home.address.platform, home.address.account))
            rules[home.scope.key] = channel.rules().group_user_recall if channel else GroupUserRecall.SAME_CHAT
    return rules


@contextmanager
def _quietly() -> Iterator[None]:
    """Without a line of the log for every answer."""
    levels = {name: logging.getLogger(name).level for name in ("memories", "memplatform", "django.request")}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextmanager
def _own_folders() -> Iterator[None]:
    """Files and known keys below a folder of this drill; those a killed one left are removed."""
    for old_folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        if time.time() - old_folder.stat().st_mtime > timedelta(days=1).total_seconds():
            shutil.rmtree(old_folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=FOLDER) as folder:
        places = {"MEMORY_FILES_ROOT": Path(folder) / "files", "MEMORY_OFFLINE_ROOT": Path(folder) / "offline"}
        limits = {"ALLOWED_HOSTS": [*settings.ALLOWED_HOSTS, "localhost"], "MEMORY_CALLS_PER_MINUTE": CALLS_PER_MINUTE}
        with override_settings(**places, **limits):
            yield


def settle(report: Report, *, now: datetime, run: str = "") -> dict[str, Any]:
    """Sign a report and note the drill in the audit log; what leaked is told as a canary in an answer is.

    `run` names the run of the job it was, by which its page finds the report.
    """
    suppression.begin()  # the key reports are signed with, unless there is one
    result = signed(report.body())
    figures = {"scopes": report.scopes, "probes": report.probe_count, "leaks": report.leak_count}
    figures["faults"] = report.fault_count
    with transaction.atomic():
        AuditRecord.note(
            AuditEvent.DRILLED, actor=ACTOR, at=now, workspace_id=report.workspace.pk,
            details={**figures, "seconds": round(report.seconds), "run": run, "report": result},
        )  # fmt: skip
        if report.leak_count:
            announce_leak(report.workspace.pk, now=now)
    return result
