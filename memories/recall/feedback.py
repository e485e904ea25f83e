"""Which of the memories it was given an answer rested on: what the bot says, and what the words tell (A14)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

from memories import metrics
from memories.conf import conf
from memories.entries.served_versions import as_served
from memories.exceptions import NotServed
from memories.language import text
from memories.models import Entry, Receipt


def tell_used(receipt: Receipt, used: Sequence[UUID], note: str = "") -> None:
    """Keep what a bot says its answer rested on; the last word counts. Raises NotServed."""
    known = served_of(receipt, used)
    _measure(receipt, len(known))
    receipt.used, receipt.note = list(known.values()), note or receipt.note
    receipt.save(update_fields=["used", "note"])


def _measure(receipt: Receipt, used: int) -> None:
    """Count what is heard first of a recall; what is heard later corrects the receipt only."""
    if receipt.used is None and receipt.overlap is None:
        metrics.reported(served=len(receipt.served), used=used)


def served_of(receipt: Receipt, used: Sequence[UUID]) -> dict[UUID, int]:
    """The entries with these ids, all served by this recall. Raises NotServed, naming the first that was not."""
    rows = Entry.objects.filter(workspace_id=receipt.workspace_id, pk__in=receipt.served, uid__in=used)
    known = dict(rows.values_list("uid", "pk"))
    for position, uid in enumerate(used):
        if uid not in known:
            raise NotServed(field=f"used.{position}")
    return {uid: known[uid] for uid in used}


def tell_answer(receipt: Receipt, *, question: str, answer: str) -> None:
    """Keep which served memories the words of an answer point to, beside what the bot itself may say."""
    entries = Entry.objects.filter(workspace_id=receipt.workspace_id).in_bulk(receipt.served)
    memories = {pk: served.words for pk, served in as_served(receipt, entries).items()}
    shares = explained(answer, f"{receipt.message}\n{question}", memories)
    pointed_to = [pk for pk in receipt.served if shares.get(pk, 0.0) >= conf.REFERENCE_SHARE]
    _measure(receipt, len(pointed_to))
    receipt.overlap = pointed_to
    receipt.save(update_fields=["overlap"])


def explained(answer: str, question: str, memories: Mapping[int, str]) -> dict[int, float]:
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


def precision(receipts: Sequence[Receipt]) -> float | None:
    """Of the entries the words pointed to, the share the bots named too; None when nothing can be compared."""
    both = [receipt for receipt in receipts if receipt.used is not None and receipt.overlap]
    guessed = sum(len(receipt.overlap or []) for receipt in both)
    right = sum(len(set(receipt.overlap or []) & set(receipt.used or [])) for receipt in both)
    return right / guessed if guessed else None
