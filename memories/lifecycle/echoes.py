"""Old turns that tell nothing new: found once, and taken out of what is ranked (A7).

Turns are looked at when they are written. Those of a time before that are looked at here, each with the memories before
it; nothing of them is changed but the mark, and their search rows are made anew.
"""

import time

from django.db import models, transaction

from memories.choices import Echo
from memories.entries.duplicates import EchoCandidate, find_echoes, mark_echoes
from memories.entries.locks import lock_scopes
from memories.entries.past import count_scope
from memories.exceptions import ScopeFrozen
from memories.index import scope_statistics
from memories.models import Entry, Scope

CHUNK = 500


def mark_old_echoes(*, seconds: float) -> dict[str, int]:
    """Decide of every old entry whether it is an echo; how many were looked at, and how many are one.

    It stops after so many seconds, and goes on where it stopped when it is called again. A frozen scope is left for
    later.
    """
    ends = time.monotonic() + seconds
    looked_at = echoes = 0
    for scope_id in undecided().order_by("scope").values_list("scope", flat=True).distinct():
        scope = Scope.objects.get(pk=scope_id)
        try:
            while time.monotonic() < ends and (decided := _decide(scope)):
                looked_at += len(decided)
                echoes += sum(echo != Echo.NONE for echo in decided)
            count_scope(scope)
        except ScopeFrozen:
            continue
    return {"entries": looked_at, "echoes": echoes}


def count_undecided() -> dict[str, int]:
    """How many entries nobody has looked at yet; those of frozen scopes wait."""
    return {"entries": undecided().filter(scope__frozen=False).count()}


def undecided() -> models.QuerySet[Entry]:
    """Entries written before turns were looked at."""
    return Entry.objects.filter(echo__isnull=True)


def _decide(scope: Scope) -> list[Echo]:
    """What the next entries of a scope are; none when there are no more."""
    with transaction.atomic():
        lock_scopes([scope])
        entries = list(undecided().filter(scope=scope).order_by("pk")[:CHUNK])
        texts = [EchoCandidate(scope.pk, entry.content, entry.terms, before=entry.pk) for entry in entries]
        counts = scope_statistics.frequencies([scope.pk], {term for entry in entries for term in entry.terms})
        echoes = find_echoes(texts, counts, workspace_id=scope.workspace_id)
        mark_echoes(entries, echoes)
    return echoes
