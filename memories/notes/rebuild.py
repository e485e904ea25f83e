"""Dropping the index of files, to have it made anew (E6)."""

from django.db import transaction

from memories.choices import EntryType
from memories.index import search_rows
from memories.models import Entry, EntryIndex, EntryVector, FileState, Workspace

CHUNK = 500


def drop_index(workspace: Workspace) -> int:
    """Forget what is known of a workspace's files, and the search rows of their lines; how many lines.

    The entries stay: they have a history. Their rows by words are made again at once, vectors by the embedder.
    """
    lines = (
        Entry.objects.filter(workspace=workspace, type=EntryType.NOTE).exclude(path="").live().select_related("scope")
    )
    FileState.objects.filter(workspace=workspace).delete()
    ids = list(lines.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), CHUNK):
        _renew(ids[start : start + CHUNK])
    return len(ids)


def _renew(ids: list[int]) -> None:
    with transaction.atomic():
        EntryIndex.objects.filter(entry__in=ids).delete()
        EntryVector.objects.filter(entry__in=ids).delete()
        entries = list(Entry.objects.filter(pk__in=ids).select_related("scope").order_by("pk"))
        lengths = {entry.scope_id: entry.scope.index_length for entry in entries}
        search_rows.write_keywords(search_rows.keyword_rows(entries), lengths)
        search_rows.enqueue(ids)
