"""Which of the ranked memories are served: quotas by type and scope, the best of the rest, no copies (A8)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from memories.choices import ScopeKind
from memories.models import Entry
from memories.models.policy import Policies
from memories.retrieval.statement import Candidate


@dataclass
class Ranked:
    """A candidate with its entry, its final score and what became of it."""

    candidate: Candidate
    entry: Entry
    scope_kind: str
    decay: float
    score: float
    fate: str = "rank"  # served, quota, duplicate, floor: too far from the question, or rank: others were better
    similarity: float | None = None  # 0: as near as anything here, 1: as near as clear answers get


def serve(ranked: Sequence[Ranked], policies: Policies, *, limit: int, quotas: bool) -> list[Ranked]:
    """At most `limit` of these, best first; marks on each what became of it."""
    unique = _without_copies([item for item in ranked if item.fate != "floor"])
    chosen = _within_quotas(unique, policies, limit) if quotas else list(unique[:limit])
    for item in chosen:
        item.fate = "served"
    return sorted(chosen, key=lambda item: -item.score)


def _without_copies(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The chat's copy of a turn is left out when the user's own is there."""
    own = {item.entry.fingerprint for item in ranked if item.scope_kind == ScopeKind.USER}
    kept = []
    for item in ranked:
        if item.scope_kind == ScopeKind.CHAT and item.entry.fingerprint in own:
            item.fate = "duplicate"
        else:
            kept.append(item)
    return kept


def _within_quotas(unique: Sequence[Ranked], policies: Policies, limit: int) -> list[Ranked]:
    """The best of each kind up to its quota, then the best of the rest, never more of the chat than its quota."""
    taken: Counter[tuple[str, str]] = Counter()
    chosen: list[Ranked] = []
    rest: list[Ranked] = []
    for item in unique:
        kind = (item.entry.type, item.scope_kind)
        quota = policies.quota(*kind)
        if quota is not None and taken[kind] >= quota:
            item.fate = "quota"
            if item.scope_kind == ScopeKind.USER:
                rest.append(item)
            continue
        taken[kind] += 1
        chosen.append(item)
    chosen = chosen[:limit]
    return chosen + rest[: limit - len(chosen)]
