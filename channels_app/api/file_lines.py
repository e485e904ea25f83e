"""Lines of files as recalled memories."""

from typing import Any

from channels_app.doors.files.recall import RecalledLine
from memories.api.recall_traces import RecalledMemory
from memories.choices import EntryType
from memories.recall import traces
from memories.recall.traces import CandidateRecord


def line_answer(line: RecalledLine) -> dict[str, Any]:
    """A line of a file as clients see it: it has no id, and its slots tell where it stands."""
    match = line.match
    return RecalledMemory.of(
        id=None,
        type=EntryType.NOTE,
        scope=line.scope,
        content=match.text,
        sender=None,
        sender_name=None,
        slots=line.slots,
        verification="",
        evidence=[],
        created_at=match.at,
        score=round(match.score, 4),
        superseded_by_newer=None,
        why=traces.why(CandidateRecord(entry=0, keyword=round(match.score, 4), in_context=line.in_context), {}),
    )
