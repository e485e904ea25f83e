"""A newer statement before the older one that it corrects (A7).

Decided among the candidates of a recall, by rules: nothing is stored, and what is taken out of use corrects nothing.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from memories.language.corrections import corrects, takes_back
from memories.language.turns import sides_of, telling_sentences
from memories.models import Entry
from memories.recall.scoring import Ranked, best_first

BEST = 8  # candidates that are compared with each other
MOMENT = timedelta(minutes=10)  # within which «no, I meant Tuesday» takes back what was said before


def prefer_corrections(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The candidates, best first, each correction before what it corrects, which is marked."""
    order = best_first(ranked)
    eligible = [item for item in order if item.reason != "floor"]
    best = {item.entry.pk for item in eligible[:BEST]}
    texts = {item.entry.pk: _statement(item.entry) for item in eligible}
    for newer, older in _pairs(sorted(eligible, key=lambda item: _time(item.entry))):
        if older.entry.pk not in best or not texts[newer.entry.pk]:
            continue
        words = texts[newer.entry.pk], texts[older.entry.pk]
        if (newer.entry.pk in best and corrects(*words)) or (_follows(newer.entry, older.entry) and takes_back(*words)):
            older.superseded_by = newer.entry.uid
            if order.index(older) < order.index(newer):
                order.remove(newer)
                order.insert(order.index(older), newer)
    for place, item in enumerate(order):
        item.place = place
    return order


def _pairs(in_time: Sequence[Ranked]) -> Iterator[tuple[Ranked, Ranked]]:
    """Newer and older of one author, so that what was corrected twice comes last."""
    for n, newer in enumerate(in_time):
        for older in reversed(in_time[:n]):
            if _author(newer) == _author(older):
                yield newer, older


def _author(item: Ranked) -> tuple[int, str]:
    return item.entry.scope_id, item.entry.sender_id or item.entry.speaker


def _time(entry: Entry) -> tuple[datetime, int]:
    return entry.stated_at, entry.pk


def _follows(newer: Entry, older: Entry) -> bool:
    """Whether it was said in the same conversation, a moment later."""
    is_same = (newer.session_id, newer.chat_id) == (older.session_id, older.chat_id)
    return is_same and bool(newer.session_id) and newer.stated_at - older.stated_at <= MOMENT


def _statement(entry: Entry) -> str:
    """What somebody said of it; of a turn what the user tells."""
    sides = sides_of(entry.content)
    return "\n".join(telling_sentences(sides[0])) if sides else entry.content
