"""How a memory answers before an import and after it: questions made from what is imported (D8).

A question is the telling words of a memory, asked of keywords alone: what was written a moment ago has no vectors yet,
and the two scores are of one kind. It is found where a memory of the same words is served.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from memories.choices import NeedMode
from memories.language import text
from memories.models import Entry, Scope
from memories.recall import Query, SearchScope, recall
from memories.recall.query import Mode
from memories.tenancy.resolver import ScopeRef

_WORDS, _LIMIT = 6, 10


@dataclass(frozen=True)
class ImportScore:
    """How many memories there are, how many of them twice, and what the questions find."""

    memories: int
    duplicates: int
    asked: int
    found: int
    served: tuple[frozenset[int], ...]  # by question

    def still_served(self, after: "ImportScore") -> float:
        """The share of what was served before that is served after as well; of nothing all."""
        before = sum(map(len, self.served))
        both = sum(len(one & other) for one, other in zip(self.served, after.served, strict=True))
        return both / before if before else 1.0


def score(scope: Scope, contents: Sequence[str], *, now: datetime) -> ImportScore:
    """The score of a scope by questions made from these memories. It leaves no trace."""
    live = Entry.objects.in_scope(scope).live()
    counts = live.aggregate(memories=Count("pk"), different=Count("fingerprint", distinct=True))
    place = SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))
    stopwords = text.ENGLISH_STOPWORDS | text.CHINESE_STOPWORDS
    found_count, served_ids = 0, []
    for content in contents:
        # The telling words of a memory, in their order: the longest of its first sentences
        words = [word for word in dict.fromkeys(text.words(content[:500])) if word not in stopwords and word.isalnum()]
        longest = sorted(words, key=lambda word: (-len(word.encode()), words.index(word)))[:_WORDS]
        query = Query(
            workspace_id=scope.workspace_id,
            places=[place],
            message=" ".join(word for word in words if word in longest) or content[:100],
            limit=_LIMIT,
            mode=Mode.KEYWORD,
            need=NeedMode.OFF,
            language=scope.workspace.language,
        )
        entries = [item.entry for item in recall(query, now=now, zone=scope.workspace.zone(), recorded=False).served]
        fingerprint = text.fingerprint(content)
        found_count += any(entry.fingerprint == fingerprint for entry in entries)
        served_ids.append(frozenset(entry.pk for entry in entries))
    memories = counts["memories"]
    return ImportScore(memories, memories - counts["different"], len(contents), found_count, tuple(served_ids))
