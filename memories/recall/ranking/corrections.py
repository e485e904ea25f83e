"""A newer statement before the older one that it corrects (A7).

Decided among the candidates of a recall, by rules: nothing is stored, and what is taken out of use corrects nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from django.db.models import Q

from memories.choices import Echo, ScopeKind
from memories.language.corrections import corrects, may_take_back, takes_back, takes_back_anywhere
from memories.language.turns import sides_of, telling_sentences
from memories.models import Entry
from memories.recall.ranking.features import READ_TEXTS
from memories.recall.ranking.scoring import Ranked, best_first

BEST = 8  # candidates that are compared with each other
MOMENT = timedelta(minutes=10)  # within which «no, I meant Tuesday» takes back what was said before


def prefer_corrections(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The candidates, best first, each correction before what it corrects, which is marked."""
    order = best_first(ranked)
    eligible = [item for item in order if item.reason != "floor"]
    for newer, older in _corrections(eligible):
        older.superseded_by = newer.entry.uid
        if order.index(older) < order.index(newer):
            order.remove(newer)
            order.insert(order.index(older), newer)
    for place, item in enumerate(order):
        item.place = place
    return order


def _corrections(eligible: Sequence[Ranked]) -> Iterator[tuple[Ranked, Ranked]]:
    """Which candidate corrects which, the oldest correction first, so that what was corrected twice comes last."""
    best = {item.entry.pk: item for item in eligible[:BEST]}
    texts = {pk: _statement(item.entry) for pk, item in best.items()}
    for newer in sorted(eligible, key=lambda item: _time(item.entry)):
        taken_back = _taken_back(newer, best.values(), texts)
        if taken_back and (before := _entry_before(newer.entry)) in taken_back:
            yield newer, taken_back[before]
        if said := texts.get(newer.entry.pk, ""):
            for older in best.values():
                if (
                    _is_older(older.entry, newer.entry)
                    and _is_same_author(newer, older)
                    and corrects(said, texts[older.entry.pk])
                ):
                    yield newer, older


def _taken_back(newer: Ranked, others: Iterable[Ranked], texts: Mapping[int, str]) -> dict[int, Ranked]:
    """What of these it would take back, had nothing else been said between: nearly always nothing."""
    if not (newer.entry.session_id and _may_take_back(newer.entry)):
        return {}
    said = _statement(newer.entry)
    before = [other for other in others if _is_just_before(other.entry, newer.entry)]
    return {other.entry.pk: other for other in before if takes_back(said, texts[other.entry.pk])}


def _is_just_before(older: Entry, newer: Entry) -> bool:
    """Whether it was said within a moment before another of its conversation."""
    is_within = newer.stated_at - MOMENT <= older.stated_at <= newer.stated_at
    return older is not newer and is_within and _place(older) == _place(newer)


def _place(entry: Entry) -> tuple[int, str, str]:
    return entry.scope_id, entry.session_id, entry.chat_id


def _may_take_back(entry: Entry) -> bool:
    """Whether what is told of it may take back what was said before; most sentences show at once that they do not."""
    return _begins_so(entry.content) and may_take_back(_statement(entry))


@lru_cache(maxsize=READ_TEXTS)
def _begins_so(content: str) -> bool:
    sides = sides_of(content)
    return takes_back_anywhere(sides[0] if sides else content)


def _entry_before(entry: Entry) -> int | None:
    """What was said just before it in its conversation, within a moment; echoes aside."""
    beside = Entry.objects.live().filter(
        scope_id=entry.scope_id,
        session_id=entry.session_id,
        chat_id=entry.chat_id,
        stated_at__gte=entry.stated_at - MOMENT,
    )
    before = beside.filter(Q(stated_at=entry.stated_at, pk__lt=entry.pk) | Q(stated_at__lt=entry.stated_at))
    return before.exclude(echo=Echo.TURN).order_by("-stated_at", "-pk").values_list("pk", flat=True).first()


def _is_same_author(one: Ranked, other: Ranked) -> bool:
    """In a person's memory what nobody is named for is that person's; in a chat it may be anybody's.

    Two may speak from one address.
    """
    speakers = {item.entry.speaker for item in (one, other)} - {""}
    if len(speakers) > 1:
        return False
    ours, theirs = (item.entry.sender_id or item.entry.speaker for item in (one, other))
    is_unnamed = one.scope_kind == ScopeKind.USER and not (ours and theirs)
    return one.entry.scope_id == other.entry.scope_id and (ours == theirs or is_unnamed)


def _time(entry: Entry) -> tuple[datetime, str, int, int]:
    """The order in which entries were stated; of a file, of one time, the order of its lines."""
    return entry.stated_at, entry.path, entry.line_from or 0, entry.pk


def _is_older(one: Entry, other: Entry) -> bool:
    """Of lines of two files with one time neither is older, whichever was indexed first."""
    is_undecided = one.stated_at == other.stated_at and one.path != other.path
    return not is_undecided and _time(one) < _time(other)


def _statement(entry: Entry) -> str:
    """What somebody said of it; of a turn what the user tells."""
    sides = sides_of(entry.content)
    return "\n".join(telling_sentences(sides[0])) if sides else entry.content
