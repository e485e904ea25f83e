"""One question, asked here as well, and both answers side by side."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from time import perf_counter
from typing import Any

from memplatform_shadow.compare import Pair, pairs_of
from memplatform_shadow.door import USER, Door, NotComparable
from memplatform_shadow.events import Hit
from memplatform_shadow.noting import unpacked
from memplatform_shadow.state import State, Work
from memplatform_shadow.writes import Done

#: Why a memory that was handed out there was not handed out here.
UNKNOWN, OUT_OF_USE, OTHERS = "unknown", "out_of_use", "of_a_user"
RANKED, HELD_BACK = "ranked", "held_back"  # others came first; there was room, and it was not held to bear on it
#: Why one was handed out here alone: it stands there too, or it does not.
RANKED_THERE, OWN = "ranked_there", "not_there"
COMPARED, NOT_COMPARABLE = "compared", "not_comparable"
_USUAL = 10  # how many are asked for, where the store does not say


class Reads:
    """Asks questions again, and finds out why the answers differ."""

    def __init__(self, door: Door, state: State) -> None:
        self._door, self._state = door, state

    def compare(self, work: Work) -> Done:
        """Raises MemplatformError."""
        asked, there = work.body, unpacked(work.body["hits"])
        self.see(there, asked["filters"])
        begun = perf_counter()
        try:
            here = self._answer(asked)
        except NotComparable as why:
            return Done({"outcome": NOT_COMPARABLE, "why": str(why), "there": _shown(there)})
        seconds = perf_counter() - begun
        pairs = pairs_of(there, here, stands_as=self._state.here, made_of=self._made_of)
        line = {"outcome": COMPARED, "here_s": round(seconds, 4), "there": _shown(there), "here": _shown(here)}
        found = {pair.there for pair in pairs}
        missed = [hit for place, hit in enumerate(there) if place not in found]
        line |= {"pairs": [[pair.there, pair.here, pair.how] for pair in pairs]}
        has_room = len(here) < (asked["limit"] or _USUAL)
        line |= {"why_missed": self._why_missed(missed, asked["filters"], HELD_BACK if has_room else RANKED)}
        is_cut = asked["query"] is None and len(there) >= (asked["limit"] or _USUAL)  # there may be more there
        return Done(line | ({"cut": True} if is_cut else {"why_here": self._why_here(here, pairs)}))

    def see(self, hits: Sequence[Hit], filters: Any = None) -> None:
        """Remember the words of memories there that do not stand here: who changes one of them names its id alone."""
        for hit in hits:
            whose = hit.whose or {name: value for name, value in (filters or {}).items() if name == USER}
            if whose and not self._state.here(hit.id):
                self._state.see(hit.id, whose, hit.text)

    def _answer(self, asked: dict[str, Any]) -> list[Hit]:
        if asked["query"] is None:
            return self._door.all(asked["filters"])
        return self._door.search(asked["query"], asked["filters"], asked["limit"] or _USUAL)

    def _made_of(self, here: str) -> Collection[str]:
        """What a memory here that was not mirrored was made of, asked for once."""
        if self._state.there(here):
            return ()
        sources = self._state.sources(here)
        if sources is None:
            sources = self._door.made_of(here)
            self._state.keep_sources(here, sources)
        return sources

    def _why_missed(self, missed: Sequence[Hit], filters: Any, in_use: str) -> dict[str, str]:
        """By their ids there; `in_use`: why one that could have been handed out was not."""
        self._meet(missed)
        standing = {hit.id: self._state.here(hit.id) for hit in missed}
        asked: dict[tuple[tuple[str, str], ...], set[str]] = {}
        for rows in standing.values():
            for uid, (_as_is, whose) in rows.items():
                asked.setdefault(tuple(sorted(whose.items())), set()).add(uid)
        used = {uid for whose, uids in asked.items() for uid in self._door.in_use(sorted(uids), dict(whose))}
        names_user = USER in str(filters)
        return {hit.id: self._why(hit, standing[hit.id], used, names_user) or in_use for hit in missed}

    def _meet(self, missed: Sequence[Hit]) -> None:
        """What was brought in otherwise stands here under ids nobody has told: it is known by its words."""
        strangers: dict[tuple[tuple[str, str], ...], list[Hit]] = {}
        for hit in missed:
            seen = None if self._state.here(hit.id) else self._state.seen(hit.id)
            if seen and not seen[2] and hit.text.strip():
                strangers.setdefault(tuple(sorted(seen[0].items())), []).append(hit)
        for whose, hits in strangers.items():
            found = self._door.find(dict(whose), [hit.text for hit in hits])
            for hit in hits:
                if hit.text in found:
                    self._state.know(hit.id, [found[hit.text]], as_is=True, whose=dict(whose))

    def _why(self, hit: Hit, rows: dict[str, tuple[bool, dict[str, str]]], used: set[str], names_user: bool) -> str:
        if not rows:
            seen = self._state.seen(hit.id)
            return f"not_mirrored:{seen[2]}" if seen and seen[2] else UNKNOWN
        if used.isdisjoint(rows):
            return OUT_OF_USE
        is_of_user = any(USER in whose for _as_is, whose in rows.values())
        return OTHERS if is_of_user and not names_user else ""

    def _why_here(self, here: Sequence[Hit], pairs: Sequence[Pair]) -> dict[str, str]:
        """Of the memories here that none there is, by their ids here."""
        paired = {pair.here for pair in pairs}
        alone = [hit for place, hit in enumerate(here) if place not in paired]
        return {hit.id: RANKED_THERE if self._state.there(hit.id) else OWN for hit in alone}


def _shown(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    return [{"id": hit.id, "text": hit.text, "score": hit.score} for hit in hits]
