"""Counters of captures and recalls (A14), one set a process; memplatform.metrics serves the sums."""

import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import SimpleNamespace

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0)

_making = threading.Lock()
_is_trial: ContextVar[bool] = ContextVar("what is written is taken back", default=False)


@contextmanager
def uncounted() -> Iterator[None]:
    """Count no captures in this block: all of it is taken back."""
    token = _is_trial.set(True)
    try:
        yield
    finally:
        _is_trial.reset(token)


def counters() -> SimpleNamespace:
    """Made when first used: prometheus_client decides when it is imported whether this process counts into files."""
    with _making:
        return _counters()


def begin_anew() -> None:
    """In a process just forked: count from nothing, into files if its environment wants them."""
    _counters.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "prometheus_client"]:
        del sys.modules[name]


@cache
def _counters() -> SimpleNamespace:
    from prometheus_client import Counter, Histogram, Summary

    return SimpleNamespace(
        recalls=Counter(
            "memplatform_recalls", "Recalls by their verdict: found, weak, none or not_needed.", ["outcome"]
        ),
        reads=Counter(
            "memplatform_recalls_read",
            "Recalls where there are replicas, by what they read from: replica, primary, or stale, a replica alone.",
            ["server"],
        ),
        recall_seconds=Histogram("memplatform_recall_seconds", "Time of a recall by step.", ["step"], buckets=SECONDS),
        degraded=Counter("memplatform_recalls_degraded", "Recalls answered without a part of the platform.", ["part"]),
        served=Counter("memplatform_entries_served", "Entries that recalls answered with."),
        reported=Counter("memplatform_recalls_reported", "Recalls whose answers were reported on."),
        reported_served=Counter(
            "memplatform_reported_entries_served", "Entries served by recalls that were reported on."
        ),
        used=Counter("memplatform_reported_entries_used", "Entries that answers rested on, of recalls reported on."),
        captures=Counter(
            "memplatform_captures", "Drafts by what became of them: created, merged, skipped …", ["outcome"]
        ),
        tokens=Summary("memplatform_entry_tokens", "Tokens of entries as they are stored."),
    )


def count_recall(*, verdict: str, entries: int, milliseconds: Mapping[str, float], degraded: Iterable[str]) -> None:
    """Count an answered recall; without a verdict it needed no memory."""
    counters().recalls.labels(verdict or "not_needed").inc()
    counters().served.inc(entries)
    for step, took in milliseconds.items():
        counters().recall_seconds.labels(step).observe(took / 1000)
    for part in degraded:
        counters().degraded.labels(part).inc()


def count_read(server: str) -> None:
    """Count a call that may read from a replica by what it read from: replica, primary or stale."""
    counters().reads.labels(server).inc()


def count_report(*, served_count: int, used_count: int) -> None:
    """Count the first report of a bot on which served entries its answer used."""
    counters().reported.inc()
    counters().reported_served.inc(served_count)
    counters().used.inc(used_count)


def count_capture(outcome: str, tokens: int) -> None:
    """Count a written draft by its outcome."""
    if _is_trial.get():
        return
    counters().captures.labels(outcome).inc()
    counters().tokens.observe(tokens)
