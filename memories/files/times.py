"""When a block of a file was written, as the file alone tells it: a new index and an old one say the same."""

from datetime import datetime, time, tzinfo

from memories.files.layout import day_of
from memories.files.markdown import Block


def time_of(path: str, block: Block, zone: tzinfo) -> datetime | None:
    """By its stamp; else the day of its file, at noon; None: it says nothing of a time."""
    if block.at is not None:
        return block.at
    day = day_of(path)
    if day is None:
        return None
    return datetime.combine(day, time(12), tzinfo=zone)
