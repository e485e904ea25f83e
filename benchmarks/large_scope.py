"""One scope of very many memories: searched whole, and with the index it gets; what building that costs writers.

A part of `python -m benchmarks large`. Its vectors stand a hundred times each in a million, so what is compared with a
search of all are scores: of ten that are served, how many are as good as the tenth of all.
"""

import random
import time
from collections.abc import Callable
from typing import Any

from django.test import override_settings

from benchmarks.expiry import ADDRESS, NOW, WORDS
from benchmarks.ground import Milliseconds, begun, percentile, seconds, sql
from memories.index import large_scopes
from memories.models import Scope
from memories.recall import Query, SearchScope, recall
from memories.tenancy.resolver import ScopeRef

Post = Callable[[str, dict[str, Any]], None]
_BUILD = """
from memories.index import large_scopes
print("begun", flush=True)
large_scopes.carry_out()
"""


def measure(post: Post, entries: int, calls: int) -> None:
    """Print recall and writes before an index is there, while it is built, and after."""
    scope = Scope.objects.get(key="telegram:direct_c0")
    pick = random.Random(2)
    results = [f"when were the {pick.choice(WORDS)} and the {pick.choice(WORDS)} painted? {n}" for n in range(calls)]
    post("recall", {"address": {**ADDRESS, "peer": "c0"}, "message": "is anybody there?"})
    with override_settings(MEMORY_LARGE_SCOPE_ENTRIES=0):
        whole = {question: served(scope, question) for question in results}
    print(f"one scope of {entries:,}: searched whole p50 {median(whole):.1f} ms", flush=True)
    before = [write(post) for _ in range(100)]
    if not large_scopes.plan().build:
        print("it gets no index: MEMORY_LARGE_SCOPE_ENTRIES is more than that")
        return
    builder, during = begun(_BUILD), Milliseconds()
    began = time.perf_counter()
    while builder.poll() is None:
        during.append(write(post))
    took = time.perf_counter() - began
    ((size,),) = sql("SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relname ~ '^memories_large_'")
    print(f"its index was built in {took:.0f} s and takes {size / entries:,.0f} bytes a memory; writes before", end="")
    print(f" p50 {percentile(before, 50)}, p95 {percentile(before, 95)} ms, meanwhile", end="")
    print(f" p50 {percentile(during, 50)}, p95 {percentile(during, 95)} ms")
    by_index = {question: served(scope, question) for question in results}
    alike = [as_good(by_index[question][1], whole[question][1]) for question in results]
    print(
        f"with it p50 {median(by_index):.1f} ms, as good as the ten of all: {sum(alike) / len(alike):.3f}", flush=True
    )


def write(post: Post) -> float:
    """Milliseconds of a turn nobody said before."""
    message = f"the {random.choice(WORDS)} of {random.getrandbits(48)} is in the {random.choice(WORDS)}"  # noqa: S311
    body = {"address": {**ADDRESS, "peer": "c0"}, "user": message, "assistant": "Noted."}
    return seconds(lambda: post("turns", body)) * 1000


def served(scope: Scope, question: str) -> tuple[float, list[float]]:
    """Milliseconds of a recall, and the scores of what it serves."""
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, places=places, message=question, limit=10, need="off", nearest=True)
    scores: list[float] = []
    took = seconds(lambda: scores.extend(item.score for item in recall(query, now=NOW, recorded=False).served))
    return took * 1000, scores


def as_good(scores: list[float], best: list[float]) -> float:
    """The share of the best that is matched by what was found."""
    return min(sum(score >= best[-1] - 1e-6 for score in scores) / len(best), 1.0) if best else 1.0


def median(answers: dict[str, tuple[float, list[float]]]) -> float:
    return percentile([took for took, _scores in answers.values()], 50)
