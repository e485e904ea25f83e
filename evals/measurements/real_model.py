"""What becomes of ten conversations with a real model? Optional, never part of `make bench`: it needs an endpoint.

    python -m evals.measurements real_model http://127.0.0.1:8931/v1 [--model NAME] [--seconds 240]

Ten short conversations, half of them Chinese, are extracted; days become facts; duplicates that were seeded are
compressed; long turns are shortened. Every answer of the model is printed with what became of it, and why.
"""

import argparse
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast
from uuid import uuid4

from django.conf import settings
from django.db.models import Sum

from benchmarks.ground import scope_of, seconds
from memories import entries
from memories.consolidation import buffer, compression
from memories.consolidation.capture import turn_text
from memories.consolidation.extraction import extract_ready
from memories.consolidation.summaries import shorten
from memories.entries.draft import Draft
from memories.exceptions import AnswerInvalid
from memories.llm import parsing
from memories.models import Batch, BufferedTurn, DailyEvent, Entry, ExtractionBatch, Spend, Workspace

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TALKS = (
    (("I moved to Lisbon last week, the flat has two rooms.", "Congratulations!"),
     ("The rent is 950 euros.", "Good to know.")),
    (("My sister Ida is a nurse in Oslo.", "That is a demanding job."), ("She visits me in May.", "How nice.")),
    (("Our staging server listens on port 8081 now.", "Noted."), ("It was 8080 before.", "I will remember.")),
    (("I am allergic to walnuts.", "I will keep that in mind."), ("But peanuts are fine.", "All right.")),
    (("We decided to use PostgreSQL 16 for Atlas.", "A solid choice."), ("The release is on June 12.", "Noted.")),
    (("我上周搬到了成都，住在三环边上。", "恭喜搬家！"), ("房租每月2800元。", "记住了。")),
    (("我女儿叫小雨，今年六岁。", "真可爱。"), ("她周三学钢琴。", "好的。")),
    (("我对海鲜过敏，不能吃虾。", "我会注意的。"), ("不过牛肉没问题。", "好。")),
    (("项目用的数据库是 PostgreSQL 16。", "好选择。"), ("上线时间定在6月12日。", "记住了。")),
    (("我每天早上六点跑步。", "很自律！"), ("周末会跑十公里。", "厉害。")),
)  # fmt: skip
TWINS = (
    "Atlas runs the backup at night.", "At night Atlas runs the backup.", "Mia's dog is called Rex.",
    "Mia has a dog named Rex.", "The printer is on the second floor.", "The printer stands on the 2nd floor.",
    "米娅养了一只猫，叫年糕。", "米娅的猫名叫年糕。", "会议在周四下午三点。", "周四下午3点开会。",
    "Bob owes Mia five euros.", "The river is deep and cold.",
)  # fmt: skip
LONG = (
    ("Could you explain once more why our nightly backup of the Atlas database failed on Tuesday, and what we agreed to"
     " change? I have to tell the others and I did not write anything down during the call with Dana.",
     "The disk of the backup host was full, since old dumps were never removed. You agreed that Dana adds a job which"
     " deletes dumps older than 14 days, and that the alert goes to the ops channel before the disk is 90 % full."),
    ("昨天我们讨论了搬家的事情，我想再确认一下：搬家公司几点到，钥匙交给谁，还有旧沙发怎么处理？我妻子说沙发要送给她的表妹，但是我记得我们说过要卖掉。",
     "搬家公司周六上午九点到。钥匙交给楼下的王阿姨。旧沙发按照您妻子的意思送给表妹，由搬家公司顺路送到城西。新家的门禁密码是4711，请提前告诉司机。"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", help="of an OpenAI-compatible endpoint, for instance http://127.0.0.1:8931/v1")
    parser.add_argument("--model", default="local")
    parser.add_argument("--seconds", type=float, default=240.0, help="for one answer")
    parser.add_argument("--talks", type=int, default=len(TALKS), help="so many of the ten conversations")
    parser.add_argument("--tokens", type=int, default=900, help="of the longest answer")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which a step asks no more")
    parser.add_argument("--steps", nargs="*", default=["extraction", "daily", "weekly", "shortening"])


def main(options: argparse.Namespace) -> None:
    span = timedelta(minutes=options.minutes)
    for name, value in {
        "BASE_URL": options.url, "MODEL": options.model, "CALLS": 1, "SECONDS": options.seconds,
        "TOTAL_SECONDS": 3 * options.seconds, "MAX_TOKENS": options.tokens,
    }.items():  # fmt: skip
        setattr(settings, f"MEMORY_LLM_{name}", value)
    settings.MEMORY_EXTRACT_TIME = settings.MEMORY_COMPRESS_TIME = span
    settings.MEMORY_USE_LLM_SUMMARY, settings.MEMORY_EXTRACTION_LEASE = True, timedelta(hours=1)
    settings.MEMORY_EXTRACTION_ATTEMPTS = 1
    listen()
    steps: dict[str, Callable[[], None]] = {"weekly": weekly, "shortening": shortening}
    steps |= {"extraction": partial(extraction, options.talks), "daily": partial(daily, options.talks)}
    for name in options.steps:
        print(f"\n-- {name}", flush=True)
        print(f"{seconds(steps[name]):.0f} s; {spent()}", flush=True)


def listen() -> None:
    """Print every answer, before it is judged."""
    judge = parsing.parse

    def heard(reply: str, *rest: Any, **options: Any) -> Any:
        try:
            value = judge(reply, *rest, **options)
        except AnswerInvalid as problem:
            print(f"  refused ({problem}): {reply[:300]!r}", flush=True)
            raise
        print(f"  readable: {reply[:300]!r}", flush=True)
        return value

    parsing.parse = cast(Any, heard)


def spent() -> str:
    rows = Spend.objects.values_list("purpose").annotate(
        Sum("calls"), Sum("failures"), Sum("prompt_tokens"), Sum("completion_tokens")
    )
    return "; ".join(f"{name}: {c} calls, {f} failed, {p} + {a} tokens" for name, c, f, p, a in rows) or "nothing spent"


def buffer_talks(talks: int, workspace: str) -> None:
    for talk in TALKS[:: max(len(TALKS) // talks, 1)][:talks]:
        scope, session = scope_of(workspace), uuid4()
        for n, sides in enumerate(talk):
            at = NOW - timedelta(hours=6) + timedelta(minutes=n)
            messages = tuple(
                buffer.Message(id=f"session_events/{session}/1/event-{2 * n + side}", role=role, content=content, at=at)
                for side, (role, content) in enumerate(zip((buffer.USER, buffer.ASSISTANT), sides, strict=True))
            )
            buffer.add(messages, session_uid=session, conversation=1, user_scope=scope, chat=scope.key, now=at)


def extraction(talks: int) -> None:
    buffer_talks(talks, "talks")
    counts = extract_ready(lambda: NOW)
    print({name: count for name, count in counts.items() if count})
    for fact in Entry.objects.filter(type="fact").order_by("pk"):
        print(f"  kept fact ({fact.category}, {fact.importance}): {fact.content}")
    for day in DailyEvent.objects.order_by("pk"):
        print(f"  kept day: {day.content}")
    states = Counter(ExtractionBatch.objects.values_list("state", flat=True))
    print(f"conversations still in the buffer: {dict(states)}, {BufferedTurn.objects.count()} turns")


def daily(talks: int) -> None:
    """Days written without a model, so that its nightly work does not depend on what it had extracted."""
    buffer_talks(talks, "days")
    workspace = Workspace.objects.get(name="days")
    url, settings.MEMORY_LLM_BASE_URL = settings.MEMORY_LLM_BASE_URL, ""
    extract_ready(lambda: NOW, workspace_id=workspace.pk)
    settings.MEMORY_LLM_BASE_URL = url
    now = NOW + timedelta(days=1)
    counts = compression.compress_days(workspace.pk, clock=lambda: now, run="real:days")
    print({name: count for name, count in counts.items() if count})
    for fact in Entry.objects.filter(type="fact", scope__workspace=workspace).order_by("pk"):
        print(f"  kept fact ({fact.category}, {fact.importance}): {fact.content}")


def weekly() -> None:
    scope = scope_of("twins")
    drafts = [
        Draft(scope=scope, type="fact", tier=2, content=content, source="extraction", at=NOW - timedelta(days=n + 1),
              category="config", project="_global", topic="_general") for n, content in enumerate(TWINS)
    ]  # fmt: skip
    entries.remember_many(drafts, now=NOW, actor="bench")
    counts = compression.compress_facts(scope.workspace_id, clock=lambda: NOW, run="real:facts")
    print({name: count for name, count in counts.items() if count})
    for batch in Batch.objects.filter(scope=scope).order_by("pk"):
        print(f"  batch {batch.name}: {batch.state}, {batch.counts}, held because {batch.held_because}")
    for fact in Entry.objects.in_scope(scope).order_by("pk"):
        print(f"  {'live' if fact.archived_at is None else 'gone'}: {fact.content}")


def shortening() -> None:
    outcomes: Counter[str] = Counter()
    for user, assistant in LONG:
        scope = scope_of("long")
        content = turn_text(user, assistant)
        draft = Draft(
            scope=scope, type="chat_turn", content=content, source="conversation_capture", at=NOW,
            slots={"sender_id": "u"},
        )  # fmt: skip
        entry = entries.remember(draft, now=NOW, actor="bench").entry
        replaced_count = shorten(scope.workspace, [entry.pk], user, assistant, entry.content, now=NOW)
        outcomes["replaced" if replaced_count else "left as it was"] += 1
        entry.refresh_from_db()
        print(f"  {'now' if replaced_count else 'still'}: {entry.content[:200]}")
    print(dict(outcomes))
