"""How long memories wait for their embedding, and turns for their extraction: looked at once a minute, in seconds."""

import json
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Min

from memories.choices import BufferState
from memories.models import ExtractionBatch, IndexQueueItem
from memplatform.operations.rollups.histogram import bucket_of

EMBEDDING, EXTRACTION = "embedding-lag", "extraction-lag"
#: Steps that are no steps of a recall: their times are in seconds, and cannot be counted once more later.
LAGS = (EMBEDDING, EXTRACTION)
_ADD = f"""
INSERT INTO memories_hourlytime AS kept (hour, workspace_id, channel, step, counts)
SELECT %(hour)s, w.id, '', %(step)s, array_fill(0, ARRAY[bucket]) || ARRAY[1] || array_fill(0, ARRAY[63 - bucket])
FROM memories_workspace w CROSS JOIN LATERAL (
    SELECT {bucket_of("coalesce((%(waits)s::jsonb ->> w.id::text)::float8, 0)")} AS bucket
) found
ON CONFLICT (hour, workspace_id, channel, step) DO UPDATE SET counts = kept.counts + excluded.counts
"""  # noqa: S608 (constants)


def sample(*, now: datetime) -> None:
    """Add the lags of this minute to the hour's: of each workspace how long its oldest waits, or 0."""
    queued = IndexQueueItem.objects.without_vector().values_list("workspace_id").annotate(since=Min("since"))
    buffered = ExtractionBatch.objects.exclude(state=BufferState.PARKED).order_by().values_list("workspace_id")
    oldest = {EMBEDDING: dict(queued), EXTRACTION: dict(buffered.annotate(since=Min("began_at")))}
    hour = now.replace(minute=0, second=0, microsecond=0)
    with transaction.atomic(), connection.cursor() as cursor:
        for step, since in oldest.items():
            waits = {str(pk): max((now - at).total_seconds(), 0.0) for pk, at in since.items()}
            cursor.execute(_ADD, {"hour": hour, "step": step, "waits": json.dumps(waits)})
