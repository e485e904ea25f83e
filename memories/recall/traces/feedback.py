"""Which of the memories it was given an answer rested on: what the bot says, and what the words tell (A14)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

from memories import metrics
from memories.conf import conf
from memories.entries.versions import served_versions
from memories.exceptions import NotServed
from memories.language import text
from memories.models import Entry, RecallTrace


def record_feedback(trace: RecallTrace, used: Sequence[UUID], note: str = "") -> None:
    """Keep what a bot says its answer rested on; the last word counts. Raises NotServed."""
    known = served_ids(trace, used)
    _measure(trace, len(known))
    trace.used, trace.note = list(known.values()), note or trace.note
    trace.save(update_fields=["used", "note"])


def _measure(trace: RecallTrace, used: int) -> None:
    """Count what is heard first of a recall; what is heard later corrects the trace only."""
    if trace.used is None and trace.overlap is None:
        metrics.count_report(served=len(trace.served), used=used)


def served_ids(trace: RecallTrace, used: Sequence[UUID]) -> dict[UUID, int]:
    """The entries with these ids, all served by this recall. Raises NotServed, naming the first that was not."""
    rows = Entry.objects.filter(workspace_id=trace.workspace_id, pk__in=trace.served, uid__in=used)
    known = dict(rows.values_list("uid", "pk"))
    for position, uid in enumerate(used):
        if uid not in known:
            raise NotServed(field=f"used.{position}")
    return {uid: known[uid] for uid in used}


def record_answer(trace: RecallTrace, *, question: str, answer: str) -> None:
    """Keep which served memories the words of an answer point to, beside what the bot itself may say."""
    entries = Entry.objects.filter(workspace_id=trace.workspace_id).in_bulk(trace.served)
    memories = {pk: served.words for pk, served in served_versions(trace, entries).items()}
    shares = reference_shares(answer, f"{trace.message}\n{question}", memories)
    pointed_to = [pk for pk in trace.served if shares.get(pk, 0.0) >= conf.REFERENCE_SHARE]
    _measure(trace, len(pointed_to))
    trace.overlap = pointed_to
    trace.save(update_fields=["overlap"])


def reference_shares(answer: str, question: str, memories: Mapping[int, str]) -> dict[int, float]:
    """How much of what is new in an answer each memory alone explains, 0–1.

    New are the answer's words (stems, Chinese words and bigrams, without stopwords) that the question did not hold. A
    word that several memories hold counts for each in equal parts, so that what all of them say points to none. From
    REFERENCE_SHARE on a memory counts as used. It is a guess: an answer that says a memory in other words is missed,
    one that meets its words by chance is not told apart. How often it is right shows where bots also name what they
    used (see `precision`).
    """
    new = text.terms(answer).keys() - text.terms(question).keys()
    if not new:
        return {}
    held = {pk: new & text.terms(content).keys() for pk, content in memories.items()}
    holders = Counter(term for terms in held.values() for term in terms)
    return {pk: sum(1 / holders[term] for term in terms) / len(new) for pk, terms in held.items()}


def precision(traces: Sequence[RecallTrace]) -> float | None:
    """Of the entries the words pointed to, the share the bots named too; None when nothing can be compared."""
    both = [trace for trace in traces if trace.used is not None and trace.overlap]
    guessed = sum(len(trace.overlap or []) for trace in both)
    right = sum(len(set(trace.overlap or []) & set(trace.used or [])) for trace in both)
    return right / guessed if guessed else None
