"""What is kept of good facts and of lies, what of the lies may act, and for how many calls, in each way to read.

    python -m evals.measurements believed

Thirty conversations (`tests/support/conversations`, half of them Chinese), quiet at the same time, with a scripted
model that answers every good fact and every lie of each. The second reading knows what is true, or believes everything;
or there is none (`MEMORY_VERIFY=no`); or there is no model. A lie acts where it is verified: then it may enter the
profile, be merged, and replace what was believed.
"""

import argparse
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db.models import Sum

from evals.measurements.compression import model
from evals.run import override_settings
from memories.consolidation import extraction
from memories.models import DailyEvent, Entry, Spend, Workspace
from tests.memories.consolidation.extraction.test_conversations import hold, offer
from tests.memories.llm.fake_server import Asked, credulous, verdicts
from tests.support.conversations import Conversation, Fact, load

#: How a fact is read, with the settings of memory that make it so.
WAYS: dict[str, dict[str, Any]] = {
    "a reader that knows": {},
    "the same, each conversation alone": {"READ_TOGETHER": 1},
    "a reader that believes everything": {},
    "read once (`MEMORY_VERIFY=no`)": {"VERIFY": False},
    "no model": {"LLM_MODEL": ""},
}


def add_arguments(_parser: argparse.ArgumentParser) -> None:
    """None."""


def main(_options: argparse.Namespace) -> None:
    conversations = load("conversations")
    good = [fact for one in conversations for fact in one.facts]
    lies = [fact for one in conversations for fact in (*one.lies, *one.swaps)]
    print(f"{len(conversations)} conversations, {len(good)} good facts, {len(lies)} lies")
    print("| way | good kept | … verified | lies kept | lies that act | calls | of one reading |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    with model() as fake:
        settings.MEMORY_LLM_CALLS = 1
        for number, (way, values) in enumerate(WAYS.items()):
            fake.otherwise = _model(conversations)
            fake.reader = credulous if "believes" in way else _reader(conversations)
            with override_settings(values):
                _run(number, way, conversations, good, lies)


def _run(number: int, way: str, talks: Sequence[Conversation], good: Sequence[Fact], lies: Sequence[Fact]) -> None:
    """Have every conversation, have all read at once, and print what is kept."""
    workspaces = []
    for language, zone in (("en", "Europe/London"), ("zh", "Asia/Shanghai")):
        words = {"time_zone": zone, "language": "zh-hans" if language == "zh" else "en"}
        workspace = Workspace.objects.create(name=f"{number} {language}", **words)
        due = max(hold(workspace, one) for one in talks if one.language == language)
        extraction.extract_ready(lambda due=due: due, workspace_id=workspace.pk)
        workspaces.append(workspace)
    here = {"workspace__in": workspaces}
    checks = dict(Entry.objects.live().filter(type="fact", **here).values_list("content", "verification"))
    text = "\n".join([*checks, *DailyEvent.objects.filter(**here).values_list("content", flat=True)])
    is_own = not settings.MEMORY_LLM_MODEL  # then a fact is kept in the words it rests on
    facts = [fact for fact in good if fact.content in checks or (is_own and all(q.text in text for q in fact.quote))]
    verified_count = sum(checks.get(fact.content) == "verified" for fact in good)
    lie_checks = [checks[lie.content] for lie in lies if lie.content in checks]
    calls = dict(Spend.objects.filter(**here).values_list("purpose").annotate(calls=Sum("calls")).order_by())
    once, total = calls.get("extraction", 0), sum(calls.values())
    share = f"{total / once:.2f}" if once else "–"
    acting = lie_checks.count("verified")
    print(f"| {way} | {len(facts)} | {verified_count} | {len(lie_checks)} | {acting} | {total} | {share} |", flush=True)


def _model(talks: Sequence[Conversation]) -> Any:
    """Answers all good facts and lies of the conversation it is shown."""
    by_words = {message.content: one for one in talks for message in one.messages}

    def answer(request: Asked) -> Any:
        one = next(by_words[row["content"]] for row in request.data["messages"] if row["content"] in by_words)
        contents = {message["content"] for message in request.data["messages"]}
        ids = {message.id: message.content for message in one.messages}
        statements = [
            fact
            for fact in (*one.facts, *one.lies, *one.swaps)
            if all(ids[quote.message] in contents for quote in fact.quote)
        ]
        return offer(one, statements, one.summary.good)(request)

    return answer


def _reader(talks: Sequence[Conversation]) -> Any:
    """Believes what is true, and nothing else."""
    true = {fact.content for one in talks for fact in one.facts}
    summaries = "\n".join(one.summary.good for one in talks)
    return lambda request: verdicts(
        request, lambda words: "entailed" if words in true or words in summaries else "not_stated"
    )
