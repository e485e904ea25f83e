"""The words a model's facts rest on: stored with the fact, and forgotten with the message (D5, A15)."""

from collections.abc import Collection, Iterable, Sequence

from django.db import connection
from django.db.models import Exists, Func, OuterRef, Q, Value

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
    """The quotes of entries in the order they were said; none of a redacted message. One statement, none of nothing."""
    found: dict[int, list[Evidence]] = {}
    if entries:
        rows = Evidence.objects.filter(~_is_redacted(), workspace_id=workspace_id, entry__in=list(entries))
        for row in rows:
            found.setdefault(row.entry_id, []).append(row)
    return found


def _is_redacted() -> Exists:
    """Whether something rests on its message that people suppressed."""
    conversation = Func(OuterRef("origin"), Value("/[^/]*$"), Value(""), function="regexp_replace")
    return Exists(
        Suppression.objects.filter(
            Q(conversation=conversation) | Q(conversation="*"),
            workspace_id=OuterRef("workspace_id"),
            origins__contains=[OuterRef("origin")],
        )
    )


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
