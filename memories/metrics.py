"""Counters of captures and recalls (A14), one set a process; memplatform.metrics serves the sums."""

from collections.abc import Iterable, Mapping

from prometheus_client import Counter, Histogram, Summary

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0)

_recalls = Counter("memplatform_recalls", "Recalls by their verdict: found, weak, none or not_needed.", ["outcome"])
_recall_seconds = Histogram("memplatform_recall_seconds", "Time of a recall by step.", ["step"], buckets=SECONDS)
_degraded = Counter("memplatform_recalls_degraded", "Recalls answered without a part of the platform.", ["part"])
_served = Counter("memplatform_entries_served", "Entries that recalls answered with.")
_reported = Counter("memplatform_recalls_reported", "Recalls whose answers were reported on.")
_reported_served = Counter("memplatform_reported_entries_served", "Entries served by recalls that were reported on.")
_used = Counter("memplatform_reported_entries_used", "Entries that answers rested on, of recalls reported on.")
_captures = Counter("memplatform_captures", "Drafts by what became of them: created, merged, skipped …", ["outcome"])
_tokens = Summary("memplatform_entry_tokens", "Tokens of entries as they are stored.")


def count_recall(*, verdict: str, served: int, milliseconds: Mapping[str, float], degraded: Iterable[str]) -> None:
    """Count an answered recall; without a verdict it needed no memory."""
    _recalls.labels(verdict or "not_needed").inc()
    _served.inc(served)
    for step, took in milliseconds.items():
        _recall_seconds.labels(step).observe(took / 1000)
    for part in degraded:
        _degraded.labels(part).inc()


def count_report(*, served: int, used: int) -> None:
    """Count the first report of a bot on which served entries its answer used."""
    _reported.inc()
    _reported_served.inc(served)
    _used.inc(used)


def count_capture(outcome: str, tokens: int) -> None:
    """Count a written draft by its outcome."""
    _captures.labels(outcome).inc()
    _tokens.observe(tokens)
