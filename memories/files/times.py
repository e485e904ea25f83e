"""When a block of a file was written, as the file alone tells it: a new index and an old one say the same."""

from datetime import UTC, datetime, time, timedelta, tzinfo

from memories.files.layout import day_of
from memories.files.markdown import Block

#: Of what says nothing about its time; nobody is told this date.
UNDATED = datetime(1970, 1, 1, tzinfo=UTC)


def time_of(path: str, block: Block, zone: tzinfo) -> datetime | None:
    """By its stamp; else the day of its file, at noon, lines in their order; None: it says nothing of a time."""
    if block.at is not None:
        return block.at
    day = day_of(path)
    if day is None:
        return None
    return datetime.combine(day, time(12), tzinfo=zone) + timedelta(microseconds=block.line_from)
