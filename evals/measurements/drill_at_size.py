"""Does anything leak where there are many? A thousand scopes in 52 workspaces are planted in and asked for.

    python -m evals.measurements drill_at_size                      about ten thousand probes; some minutes
    python -m evals.measurements drill_at_size --workspaces 4       a thirteenth of it
    python -m evals.measurements drill_at_size --full               every asker at every door, in three wordings

Each workspace is that of a bot on one platform: sixteen people and the groups they share, with memories in both
languages, a conversation each and what was said in the groups. Then each is drilled as `manage.py leak_drill --quick`
drills one: canaries in every kind of place of every scope, all taken back. It fails where a word leaks, is left behind,
or where nobody hears even their own.
"""

import argparse
import random
import time
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from channels_app.turns import take_turn
from memories import entries
from memories.choices import EntryType, ScopeKind, Source
from memories.consolidation.capture import Turn
from memories.entries.draft import Draft
from memories.models import Entry, Scope, Workspace
from memories.tenancy.resolver import Address
from memplatform.drill.asking import QUICK, Effort
from memplatform.drill.run import Report, drill

PEOPLE, GROUPS = 16, 4
PLATFORMS = ("telegram", "slack", "lark", "qq")
WORDS = ("garden", "violin", "harbour", "salary", "password", "holiday", "meeting", "birthday", "router", "bakery")
CHINESE = ("年糕", "房租", "合唱团", "工资", "密码", "假期", "会议", "生日", "黄山", "自行车")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspaces", type=int, default=52)
    parser.add_argument("--scopes", type=int, default=1_000)
    parser.add_argument("--memories", type=int, default=11_000)
    parser.add_argument("--full", action="store_true")


def main(options: argparse.Namespace) -> None:
    now, begun = timezone.now(), time.monotonic()
    share = options.workspaces / 52 if options.workspaces < 52 else 1.0
    scopes, memories = round(options.scopes * share), round(options.memories * share)
    houses = [
        furnish(n, _part(scopes, options.workspaces, n), _part(memories, options.workspaces, n), now)
        for n in range(options.workspaces)
    ]
    count = Entry.objects.filter(workspace__in=houses).count()
    there = Scope.objects.filter(workspace__in=houses).count()
    print(
        f"{len(houses)} workspaces, {there:,} scopes, {count:,} memories in {time.monotonic() - begun:.0f} s",
        flush=True,
    )
    reports = [drill(house, sample=None, effort=Effort() if options.full else QUICK, now=now) for house in houses]
    wrong = tell(reports)
    if Entry.objects.filter(workspace__in=houses).count() != count:
        wrong.append("memories were added or lost")
    if wrong:
        raise SystemExit("; ".join(wrong))


def furnish(number: int, scopes: int, memories: int, now: datetime) -> Workspace:
    """A workspace of so many scopes with so many memories, a turn in each among them."""
    pick, at = random.Random(number), now - timedelta(days=2)
    house = Workspace.objects.create(name=f"drill at size {number}")
    platform = PLATFORMS[number % len(PLATFORMS)]
    groups = max(1, scopes * GROUPS // (PEOPLE + GROUPS))
    people = [f"p{n}" for n in range(scopes - groups)]
    for n, peer in enumerate(people):
        address: dict[str, Any] = {"platform": platform, "peer": peer}
        _say(house, Address(**address), sentence(pick, n), at)
    for n in range(groups):
        address = {"platform": platform, "account": "bot", "chat": f"g{n}", "is_group": True}
        _say(house, Address(**address, peer=people[n % len(people)]), sentence(pick, n), at)
    rows = list(Scope.objects.filter(workspace=house).order_by("pk"))
    missing_count = max(memories - Entry.objects.filter(workspace=house).count(), 0)
    for n, scope in enumerate(rows):
        drafts = [_draft(scope, sentence(pick, m), at, m) for m in range(_part(missing_count, len(rows), n))]
        entries.remember_many(drafts, now=at, actor="evals:drill")
    return house


def _part(whole: int, parts: int, number: int) -> int:
    """The share of one of so many that are as equal as can be."""
    return whole * (number + 1) // parts - whole * number // parts


def _say(house: Workspace, address: Address, words: str, at: datetime) -> None:
    take_turn(house.caller("bot:evals"), Turn(address=address, user=words, assistant="Noted.", at=at), now=at)


def _draft(scope: Scope, content: str, at: datetime, number: int) -> Draft:
    """A fact, or something saved on purpose; of a person it may be heard where it was said."""
    chats = (scope.key,) if scope.kind == ScopeKind.USER else ()
    if number % 2:
        return Draft(scope=scope, content=content, at=at, chats=chats, type=EntryType.USER_EXPLICIT, source=Source.TOOL)
    tier = 1 if number % 10 == 0 else 2
    columns: dict[str, Any] = {"type": EntryType.FACT, "source": Source.EXTRACTION, "tier": tier}
    return Draft(scope=scope, content=content, at=at, chats=chats, **columns)


def sentence(pick: random.Random, number: int) -> str:
    """Words that the questions of a drill hold as well, every fourth in Chinese; no two alike."""
    if number % 4 == 3:
        return f"{pick.choice(CHINESE)}和{pick.choice(CHINESE)}的事，编号{pick.randrange(10**9)}。"
    one, other = pick.sample(WORDS, 2)
    return f"The {one} of number {pick.randrange(10**9)} has to do with the {other} of {pick.choice(WORDS)}."


def tell(reports: list[Report]) -> list[str]:
    """Print what was asked and heard by door; what went wrong."""
    probes: Counter[str] = Counter()
    heard: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for report in reports:
        probes.update(report.probes.asked)
        heard.update(report.probes.heard)
        failed.update(report.probes.failed)
    for door, count in sorted(probes.items()):
        print(
            f"{count:8,d}  {door:20s} own words heard: {heard[door]:,}"
            + (f", faults: {failed[door]}" * bool(failed[door]))
        )
    leaks = sum(report.leak_count for report in reports)
    canaries = sum(report.canaries.total() for report in reports)
    words_left, refused = sum(report.left for report in reports), sum(len(report.refused) for report in reports)
    seconds = sum(report.seconds for report in reports)
    print(
        f"{sum(report.scopes for report in reports):,} scopes, {canaries:,} words, {probes.total():,} probes, "
        f"{leaks} leaks, {words_left} left behind, {refused} refused, {seconds:.0f} s"
    )
    deaf = sum(report.is_deaf for report in reports)
    figures = {"leaks": leaks, "words left": words_left, "faults": failed.total(), "deaf drills": deaf}
    return [f"{name}: {count}" for name, count in figures.items() if count]
