"""One memory by its id, read whole where a recall could serve it (C4)."""

from datetime import datetime
from uuid import UUID

from django.db import connection

from memories.models import Entry
from memories.models.policy import Policies
from memories.recall.question.query import Query
from memories.recall.retrieval.filters import all_of, credential_guard, scope_filter, servable_filter

_SERVABLE = """
SELECT e.id FROM memories_entry e JOIN memories_entryindex i ON i.entry_id = e.id
WHERE e.uid = %(uid)s AND {conditions}
"""


def readable_entry(query: Query, uid: UUID, policies: Policies, now: datetime) -> Entry | None:
    """The entry with this id, if a question asked from here could be answered with it at this moment."""
    conditions, parameters = all_of(scope_filter(query), servable_filter(query, policies, now))
    with connection.cursor() as cursor:
        cursor.execute(_SERVABLE.replace("{conditions}", " AND ".join(conditions)), parameters | {"uid": uid})
        found = cursor.fetchone()
    if found is None:
        return None
    entry = Entry.objects.select_related("scope").get(pk=found[0], workspace_id=query.workspace_id)
    guard = credential_guard(query.workspace_id, query.scopes)
    return None if guard.reveals(entry.content, entry.origins) else entry
