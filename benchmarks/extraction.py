"""Does every message arrive, whatever the model does? Part of `make bench`, about two minutes; of a thousand, ten.

Conversations of 20 turns wait in the buffer; two workers extract them with a model that takes 1.5 s for an answer and
sometimes fails: 5 % errors of the server, 5 % answers that are no JSON, 1 % answers in good form that say what nobody
said. Workers are killed with -9 at random moments, and others take their place. In the end every message stands in a
fact or a day, was read and left out, or is parked; each conversation became one batch; what was invented is counted.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db.models import Sum

from benchmarks.ground import process
from memories.consolidation import buffer
from memories.models import Batch, BufferedTurn, DailyEvent, Entry, ExtractionBatch, Scope, Spend, Workspace
from tests.memories.llm.fake_server import FakeModel, plausible

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
TURNS = 20
ERRORS, NO_JSON, GARBAGE = 0.05, 0.05, 0.01
INVENTED = "The emperor of Atlantis ordered seventeen purple zeppelins."
#: What another process does, until nothing is due or it is killed.
WORK = """
import json
from django.utils import timezone
from memories.consolidation import extraction
print(json.dumps(extraction.extract_ready(timezone.now)), flush=True)
"""
_WHO = "Amy Ben Carol Dan Eve 小王 小李 米娅".split()  # noqa: SIM905 (to be read)
_WHAT = (
    "{who} moved to house number {n} in Hangzhou", "the service {n} of {who} listens on port {port}",
    "{who} pays {n} euros for the bicycle", "{who}在第{n}号机房部署了服务，端口是{port}",
    "{who}的会议改到了{n}号会议室", "{who} will bring {n} cakes to the party", "{who}家的猫今年{n}岁了，叫年糕{port}",
    "the budget of {who} is {port} euros",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1.5, help="the model takes for an answer")
    parser.add_argument("--calls", type=int, default=4, help="at the same time, all workers together")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=1, help="workers, each when a random share is done")
    parser.add_argument("--errors", type=float, default=ERRORS, help="share of calls the server answers with 500")
    parser.add_argument("--seed", type=int, default=3, help="of chance: which worker is killed, and when")


def main(options: argparse.Namespace) -> None:
    with FakeModel() as model:
        model.seconds, model.error_rate, model.otherwise = options.seconds, options.errors, sometimes_wrong()
        model.verdicts = {INVENTED: "not_stated"}  # the reader is honest
        expected = fill(options.conversations)
        began = time.perf_counter()
        counts = work_off(model.url, options)
        report(expected, model, counts, time.perf_counter() - began)


def sometimes_wrong() -> Any:
    chance = random.Random(11)

    def answer(request: Any) -> Any:
        at = chance.random()
        if at < NO_JSON:
            return "Certainly! Here are the facts you asked for: {"
        reply = plausible(request)
        if at < NO_JSON + GARBAGE:
            return {"facts": [fact | {"content": INVENTED} for fact in reply["facts"]], "summary": INVENTED}
        return reply

    return answer


def fill(conversations: int) -> dict[str, int]:
    """Conversations that have gone quiet, each of a person of its own; every message, and whose it is."""
    workspace, expected = Workspace.objects.create(name="bench"), dict[str, int]()
    chance = random.Random(5)
    for n in range(conversations):
        scope = Scope.objects.create(workspace=workspace, key=f"telegram:direct_u{n}", kind="user")
        session = uuid4()
        for turn in range(TURNS):
            sentence = chance.choice(_WHAT).format(who=chance.choice(_WHO), n=turn, port=chance.randrange(1_000, 9_999))
            at = NOW + timedelta(minutes=turn)
            messages = tuple(
                buffer.Message(id=f"session_events/{session}/1/event-{2 * turn + side}", role=role, content=text, at=at)
                for side, (role, text) in enumerate([(buffer.USER, sentence), (buffer.ASSISTANT, "Noted, 记住了。")])
            )
            expected |= {message.id: scope.pk for message in messages}
            buffer.add(messages, session_uid=session, conversation=1, user_scope=scope, chat=scope.key, now=at)
    return expected


def work_off(url: str, options: argparse.Namespace) -> Counter[str]:
    """Workers, until nothing waits; some are killed with -9 while they work."""
    counts, chance = Counter[str](), random.Random(options.seed)
    moments = sorted(chance.uniform(0.02, 0.95) for _ in range(options.kills))
    workers = [worker(url, options) for _ in range(options.workers)]
    while workers:
        time.sleep(0.5)
        for item in [worker for worker in workers if worker.poll() is not None]:
            workers.remove(item)
            counts.update(counted(item))
            if ExtractionBatch.objects.exclude(state="parked").exists():
                time.sleep(0.5)
                workers.append(worker(url, options))
        share = 1 - ExtractionBatch.objects.count() / options.conversations
        if moments and workers and share >= moments[0]:
            time.sleep(chance.uniform(0, 0.5))
            chance.choice(workers).kill()
            print(f"killed one at {share:.0%}", flush=True)
            moments.pop(0)
    return counts


def counted(one: "subprocess.Popen[str]") -> Counter[str]:
    output = one.stdout.read().strip() if one.stdout else ""
    return Counter(json.loads(output)) if one.returncode == 0 and output else Counter(killed=1)


def worker(url: str, options: argparse.Namespace) -> "subprocess.Popen[str]":
    return process(
        WORK, MEMORY_LLM_BASE_URL=url, MEMORY_LLM_MODEL="fake", MEMORY_LLM_CALLS=str(options.calls),
        MEMORY_LLM_TOTAL_SECONDS="30", MEMORY_LLM_DAILY_TOKENS="1000000000", MEMORY_EXTRACTION_LEASE="5s",
        MEMORY_EXTRACT_TIME="30m", LOG_LEVEL="ERROR",
    )  # fmt: skip


def report(expected: dict[str, int], model: Any, counts: Counter[str], seconds: float) -> None:
    """Where every message is, and what it cost. Ends with an error when one is missing, or is there twice."""
    facts = list(Entry.objects.filter(type="fact").values_list("scope_id", "content", "origins"))
    days = list(DailyEvent.objects.values_list("scope_id", "content", "origins"))
    in_facts = {origin for _scope, _content, origins in facts for origin in origins}
    in_days = {origin for _scope, _content, origins in days for origin in origins} - in_facts
    parked = {message["id"] for turn in BufferedTurn.objects.all() for message in turn.messages}
    told_of = {scope for scope, _content, _origins in [*facts, *days]}
    omissions = {one for one, scope in expected.items() if scope in told_of} - in_facts - in_days - parked
    losses = expected.keys() - in_facts - in_days - parked - omissions
    twice = len(days) - len({scope for scope, _content, _origins in days})
    twice += len(facts) - len({(scope, content) for scope, content, _origins in facts})
    batches = Counter(Batch.objects.values_list("scope_id", flat=True))
    twice += sum(n - 1 for n in batches.values())
    inventions = sum(content == INVENTED for _scope, content, _origins in [*facts, *days])
    people = len(set(expected.values()))
    print(f"{people:,} conversations, {len(expected):,} messages in {seconds:.0f} s ({people / seconds:.1f} a second)")
    print(f"in facts {len(in_facts):,}, only in days {len(in_days):,}, read and left out {len(omissions):,}", end=", ")
    print(f"parked {len(parked):,}, lost {len(losses):,}, there twice {twice:,}")
    calls = model.calls + len(model.readings)
    print(f"{calls:,} calls, {model.most_at_once} at once at most, {model.tokens:,} tokens counted by the server")
    spend = Spend.objects.aggregate(calls=Sum("calls"), prompts=Sum("prompt_tokens"), answers=Sum("completion_tokens"))
    print(f"{len(batches):,} batches; booked {spend['calls']:,} calls, {spend['prompts'] + spend['answers']:,} tokens")
    print(f"{len(facts):,} facts, {len(days):,} days; refused {counts['refused']:,} facts, {inventions:,} of them kept")
    print(", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())))
    if losses or twice or inventions:
        sys.exit("not every message is accounted for")
