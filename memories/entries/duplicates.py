"""Finding the entry that already says what a draft says (A10)."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import islice

from django.db import connection

from memories.choices import EntryType
from memories.conf import conf
from memories.entries.draft import Draft
from memories.kinds import type_rule
from memories.language.similarity import Likeness, compare
from memories.models import Entry
from memories.models.policy import Policies
from memories.models.state import live_sql

#: Terms leave out what is common, so that texts which share most words may share a little less of their terms.
TERM_SLACK = 0.25


@dataclass(kw_only=True, eq=False)
class Arrival:
    """A draft at the door with what was computed of it, and the entry it becomes once it is written."""

    draft: Draft
    counts: Counter[int]
    fingerprint: str
    probe: list[int] = field(default_factory=list)
    repeats: int = 0
    entry: Entry | None = None

    @property
    def written(self) -> Entry:
        """The entry, once it is written."""
        if self.entry is None:
            raise AssertionError("an arrival is asked for its entry before it was written")
        return self.entry

    @cached_property
    def place(self) -> tuple[object, ...]:
        """Where a twin would have to be: only there two texts can be one memory."""
        draft = self.draft
        partition = (draft.project, draft.topic) if draft.type == EntryType.FACT else ()
        return (draft.scope.pk, draft.type, draft.column("chat_id"), _who(draft), *partition)


@dataclass(kw_only=True, eq=False)
class Twin:
    """An entry, stored or on its way, that may say the same as a draft."""

    place: tuple[object, ...]
    content: str
    fingerprint: str
    terms: frozenset[int]
    stated_at: datetime
    pinned: bool = False
    entry_id: int | None = None
    arrival: Arrival | None = None


def _who(draft: Draft) -> tuple[str, str]:
    return draft.column("sender_id"), draft.column("speaker")


def choose_probes(arrivals: Sequence[Arrival], frequency: dict[tuple[int, int], int]) -> None:
    """Give every arrival the rarest of its terms to look for twins by, among what is stored and what comes with it.

    A text that shares so many of the terms misses only a few: among a few more than those, it has at least one.
    """
    least = min(conf.DEDUPE_THRESHOLD, conf.DEDUPE_TURN_THRESHOLD) - TERM_SLACK
    said = Counter((arrival.draft.scope.pk, term) for arrival in arrivals for term in arrival.counts)
    for arrival in arrivals:
        scope = arrival.draft.scope.pk
        heard = {term: frequency.get((scope, term), 0) + said[scope, term] for term in arrival.counts}
        rarest = sorted(heard, key=lambda term: (heard[term], term))
        arrival.probe = rarest[: len(rarest) - math.ceil(len(rarest) * least) + 1]


_CANDIDATES = f"""
    SELECT d.n, e.id, e.content, e.fingerprint, e.terms, e.stated_at, e.expires_at, e.pinned
    FROM jsonb_to_recordset(%s::jsonb) AS d (
        n int, scope bigint, type text, chat text, sender text, speaker text, project text, topic text,
        fingerprint text, probe int[]
    )
    CROSS JOIN LATERAL (
        SELECT f.* FROM memories_entry f WHERE f.scope_id = d.scope AND f.fingerprint = d.fingerprint
        AND {live_sql("f")}
        UNION
        (SELECT t.* FROM memories_entry t WHERE t.scope_id = d.scope AND t.terms && d.probe AND t.type = d.type
         AND {live_sql("t")}
         ORDER BY t.id + 0 DESC LIMIT %s)  -- not by the index on id: that would read every entry of everybody
    ) e
    WHERE e.type = d.type AND e.chat_id = d.chat AND e.sender_id = d.sender AND e.speaker = d.speaker
      AND (d.type <> 'fact' OR (e.project = d.project AND e.topic = d.topic))
    ORDER BY d.n, e.id
"""  # noqa: S608 (names of ours)


def stored_twins(arrivals: Sequence[Arrival], policies: Policies, now: datetime) -> dict[int, list[Twin]]:
    """Live entries that may say the same, by the position of the arrival."""
    wanted = [_probe_row(n, arrival) for n, arrival in enumerate(arrivals) if type_rule(arrival.draft.type).is_merged]
    found: dict[int, list[Twin]] = defaultdict(list)
    if not wanted:
        return found
    with connection.cursor() as cursor:
        cursor.execute(_CANDIDATES, [json.dumps(wanted), conf.DEDUPE_CANDIDATES])
        for n, entry, content, fingerprint, terms, stated_at, expires_at, pinned in cursor.fetchall():
            draft = arrivals[n].draft
            ends_at = expires_at or policies.ends_at(stated_at, draft.type, draft.scope.kind)
            if ends_at is None or ends_at > now or (pinned and expires_at is None):
                found[n].append(
                    Twin(
                        place=arrivals[n].place,
                        content=content,
                        fingerprint=fingerprint,
                        terms=frozenset(terms),
                        stated_at=stated_at,
                        pinned=pinned,
                        entry_id=entry,
                    )
                )
    return found


def _probe_row(n: int, arrival: Arrival) -> dict[str, object]:
    draft = arrival.draft
    sender, speaker = _who(draft)
    return {
        "n": n,
        "scope": draft.scope.pk,
        "type": draft.type,
        "chat": draft.column("chat_id"),
        "sender": sender,
        "speaker": speaker,
        "project": draft.project,
        "topic": draft.topic,
        "fingerprint": arrival.fingerprint,
        "probe": arrival.probe,
    }


class Newcomers:
    """The arrivals of this call that will be entries of their own, to be found by those after them."""

    def __init__(self) -> None:
        self._by_fingerprint: dict[tuple[object, ...], Twin] = {}
        self._by_term: dict[tuple[object, ...], list[Twin]] = defaultdict(list)

    def add(self, arrival: Arrival) -> None:
        twin = Twin(
            place=arrival.place,
            content=arrival.draft.content,
            fingerprint=arrival.fingerprint,
            terms=frozenset(arrival.counts),
            stated_at=arrival.draft.at,
            pinned=arrival.draft.pinned,
            arrival=arrival,
        )
        self._by_fingerprint[*arrival.place, arrival.fingerprint] = twin
        for term in arrival.counts:
            self._by_term[*arrival.place, term].append(twin)

    def like(self, arrival: Arrival) -> list[Twin]:
        """Those that share the rarest terms, the latest of each first, no more than are looked for among the stored."""
        sharing = (reversed(self._by_term.get((*arrival.place, term), [])) for term in arrival.probe)
        near = (twin for twins in sharing for twin in twins)
        found = dict.fromkeys(islice(near, conf.DEDUPE_CANDIDATES))
        if same := self._by_fingerprint.get((*arrival.place, arrival.fingerprint)):
            found[same] = None
        return list(found)


def best_twin(arrival: Arrival, twins: Iterable[Twin]) -> tuple[Twin | None, Likeness, list[Twin]]:
    """The twin a draft repeats or rewords, how alike they are, and those it only resembles."""
    apart: list[Twin] = []
    best: tuple[float, Twin] | None = None
    plain, recent, window = conf.DEDUPE_THRESHOLD, conf.DEDUPE_TURN_THRESHOLD, conf.DEDUPE_TURN_WINDOW
    is_turn = arrival.draft.type == EntryType.CHAT_TURN
    for twin in twins:
        if twin.fingerprint == arrival.fingerprint:
            return twin, Likeness.SAME, []
        threshold = recent if is_turn and abs(arrival.draft.at - twin.stated_at) <= window else plain
        if _share(twin.terms, arrival.counts) < threshold - TERM_SLACK:
            continue  # far apart: not worth a look at every word
        likeness, alike = compare(twin.content, arrival.draft.content, threshold=threshold)
        if likeness is Likeness.SAME:  # of a time when fingerprints were taken otherwise
            return twin, Likeness.SAME, []
        if likeness is Likeness.ALIKE and not twin.pinned:
            best = max(best or (0.0, twin), (alike, twin), key=lambda pair: pair[0])
        elif likeness is not Likeness.OTHER:
            apart.append(twin)
    return (best[1], Likeness.ALIKE, apart) if best else (None, Likeness.OTHER, apart)


def _share(ours: frozenset[int], theirs: Counter[int]) -> float:
    """Jaccard of index terms; 1 where one side has none, since its words are all common ones."""
    common = len(ours & theirs.keys())
    return common / (len(ours) + len(theirs) - common) if ours and theirs else 1.0
