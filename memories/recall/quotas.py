"""Which of the ranked memories are served: quotas by type and scope, the best of the rest, no copies (A8)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from memories.choices import RETELLINGS, EntryType, ScopeKind
from memories.models import Entry
from memories.models.policy import Policies
from memories.recall.ranking import Candidate
from memories.recall.speakers import Sender

#: Decided before anything is served: too far from the question, or said by the conversation that is handed out.
_OUT = ("floor", "history")


@dataclass
class Ranked:
    """A candidate with its entry, its final score and what became of it (see explanation.FATES)."""

    candidate: Candidate
    entry: Entry
    scope_kind: str
    decay: float
    score: float
    reason: str = "limit"  # until something else is decided, others were better
    similarity: float | None = None  # 0: as near as anything here, 1: as near as clear answers get
    recency: float = 1.0
    contrast: float | None = None  # how much nearer than the questions people ask
    ranks: dict[str, int] = field(default_factory=dict)  # in each retriever that found it, among what was looked at
    in_context: bool = False
    sender: Sender = field(default_factory=Sender)
    whose: float = 1.0  # less where somebody asks about themselves, and this is what another said


def serve(ranked: Sequence[Ranked], policies: Policies, *, limit: int, quotas: bool) -> list[Ranked]:
    """At most `limit` of these, best first; marks on each what became of it.

    The user's copy of a turn and the chat's are one memory, at the place of the better one. The user's is served; when
    its quota is full, the chat's may be, within the quota of the chat. What only tells again turns that are all served
    gives up its place.
    """
    left = [item for item in ranked if item.reason not in _OUT]
    while True:
        for item in left:
            item.reason = "limit"
        near = _Duplicates(left)
        chosen = _within_quotas(near, policies, limit) if quotas else near.without_copies()[:limit]
        retold = _redundant_summaries(chosen)
        if not retold:
            break
        left = [item for item in left if item.entry.pk not in retold]
    for item in chosen:
        item.reason = "served"
    for item in near.copies_of(chosen):
        item.reason = "duplicate"
    kept = {item.entry.pk for item in left}
    for item in ranked:
        if item.reason not in _OUT and item.entry.pk not in kept:
            item.reason = "duplicate"
    return sorted(chosen, key=lambda item: (-item.score, -item.entry.pk))


def _redundant_summaries(chosen: Sequence[Ranked]) -> set[int]:
    """What tells again turns of a conversation, each of which is chosen itself.

    To take it out moves others up, and none out: the turns are chosen without it as well.
    """
    turns = {origin for item in chosen if item.entry.type == EntryType.CHAT_TURN for origin in item.entry.origins}
    telling = [item.entry for item in chosen if item.entry.subtype in RETELLINGS and item.entry.origins]
    return {entry.pk for entry in telling if turns.issuperset(entry.origins)}


class _Duplicates:
    """Candidates in their order, and which of them say the same in the user's scope and in the chat's."""

    def __init__(self, items: Sequence[Ranked]) -> None:
        places: dict[str, int] = {}
        for place, item in enumerate(items):
            places.setdefault(item.entry.fingerprint, place)
        self.users = [item for item in items if item.scope_kind == ScopeKind.USER]
        self.users.sort(key=lambda item: places[item.entry.fingerprint])
        self.chats = [item for item in items if item.scope_kind == ScopeKind.CHAT]
        self._places = places

    def in_order(self, items: Sequence[Ranked]) -> list[Ranked]:
        return sorted(items, key=lambda item: self._places[item.entry.fingerprint])

    def without_copies(self) -> list[Ranked]:
        own = _fingerprints(self.users)
        return self.in_order([*self.users, *(item for item in self.chats if item.entry.fingerprint not in own)])

    def copies_of(self, chosen: Sequence[Ranked]) -> list[Ranked]:
        """What was left out and is served from the other scope."""
        said = {(item.entry.fingerprint, item.scope_kind) for item in chosen}
        other = {ScopeKind.USER: ScopeKind.CHAT, ScopeKind.CHAT: ScopeKind.USER}
        return [
            item
            for item in (*self.users, *self.chats)
            if item.reason != "served" and (item.entry.fingerprint, other[ScopeKind(item.scope_kind)]) in said
        ]


def _within_quotas(near: _Duplicates, policies: Policies, limit: int) -> list[Ranked]:
    """The best of each kind up to its quota, then the best of the rest, never more of the chat than its quota."""
    mine, rest = _split_by_quota(near.users, policies)
    own = _fingerprints(mine)
    of_chat, _over = _split_by_quota([item for item in near.chats if item.entry.fingerprint not in own], policies)
    chosen = near.in_order([*mine, *of_chat])[:limit]
    told = _fingerprints([item for item in chosen if item.scope_kind == ScopeKind.CHAT])
    fill = [item for item in rest if item.entry.fingerprint not in told]
    return chosen + fill[: limit - len(chosen)]


def _split_by_quota(items: Sequence[Ranked], policies: Policies) -> tuple[list[Ranked], list[Ranked]]:
    """Those within the quota of their kind, and those over it."""
    count: Counter[tuple[str, str]] = Counter()
    within: list[Ranked] = []
    over: list[Ranked] = []
    for item in items:
        kind = (item.entry.type, item.scope_kind)
        quota = policies.quota(*kind)
        if quota is not None and count[kind] >= quota:
            item.reason = "quota"
            over.append(item)
        else:
            count[kind] += 1
            within.append(item)
    return within, over


def _fingerprints(items: Sequence[Ranked]) -> set[str]:
    return {item.entry.fingerprint for item in items}
