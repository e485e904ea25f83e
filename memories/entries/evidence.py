"""The words a model's facts rest on: stored with the fact, and forgotten with the message (D5, A15)."""

from collections.abc import Collection, Iterable, Sequence

from django.db import connection

from memories.entries.draft import Draft
from memories.models import BatchChange, Entry, Evidence, RefusedFact, Suppression


def store(written: Iterable[tuple[Entry, Draft]]) -> None:
    """Store the quotes of drafts beside the entries they came to; one that is there stays as it is."""
    rows = [
        Evidence(workspace_id=entry.workspace_id, entry=entry, **vars(words))
        for entry, draft in written
        for words in draft.evidence
    ]
    if rows:
        Evidence.objects.bulk_create(rows, ignore_conflicts=True)


def copy(sources: Sequence[Entry]) -> list[Evidence]:
    """The quotes of some entries, to be those of what they become; unsaved."""
    return list(Evidence.objects.filter(entry__in=[source.pk for source in sources]))


def evidence_of(entries: Collection[int], workspace_id: int) -> dict[int, list[Evidence]]:
    """The quotes of entries in the order they were said; none of a redacted message."""
    rows = list(Evidence.objects.filter(workspace_id=workspace_id, entry__in=list(entries)))
    if not rows:
        return {}
    redacted = _redacted(workspace_id, {row.origin for row in rows})
    found: dict[int, list[Evidence]] = {}
    for row in rows:
        if row.origin not in redacted:
            found.setdefault(row.entry_id, []).append(row)
    return found


def _redacted(workspace_id: int, origins: Collection[str]) -> set[str]:
    """Messages on which something rests that people suppressed."""
    conversations = {origin.rpartition("/")[0] for origin in origins} | {"*"}
    suppressed = Suppression.objects.filter(workspace_id=workspace_id, conversation__in=conversations)
    return {origin for named in suppressed.values_list("origins", flat=True) for origin in named}.intersection(origins)


def forget(workspace_id: int, origins: Collection[str]) -> int:
    """Forget the words of messages that are removed; how many quotes these were."""
    named = list(origins)
    quotes = Evidence.objects.filter(workspace_id=workspace_id, origin__in=named)
    entries = list(quotes.values_list("entry_id", flat=True))
    plans = BatchChange.objects.filter(workspace_id=workspace_id, entry__in=entries, draft__has_key="evidence")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memories_batchchange SET draft = draft - 'evidence' WHERE id = ANY(%s)",
            [list(plans.values_list("pk", flat=True))],
        )
    RefusedFact.objects.filter(workspace_id=workspace_id, origins__overlap=named).delete()
    return quotes.delete()[0]
