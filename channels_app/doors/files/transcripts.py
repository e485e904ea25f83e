"""Transcripts: what was said, in the files of its scope, one line a message (C1)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, tzinfo

import structlog

from memories.conf import conf
from memories.exceptions import PlatformError
from memories.files import disk
from memories.files.comments import Stamp, origin_line
from memories.files.layout import scope_folder
from memories.files.markdown import item
from memories.language.redaction import redact
from memories.language.text import smart_truncate
from memories.tenancy.access import Caller

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class SaidLine:
    """A message of a transcript."""

    who: str
    content: str
    at: datetime


def write(caller: Caller, scope_key: str | None, session_key: str, lines: Iterable[SaidLine]) -> bool:
    """Add messages to the transcript of their day; False where that failed: a transcript keeps no call from its end."""
    if scope_key is None:
        return True
    folder = scope_folder(caller.folder, scope_key)
    try:
        for day, text in _by_day(lines, caller.zone, session=session_key, scope_key=scope_key).items():
            disk.append(folder, folder.transcript(day), text, below=origin_line(session_key, scope_key))
    except (OSError, PlatformError) as problem:
        log.warning("transcript_not_written", problem=str(problem))
        return False
    return True


def turn_lines(user: str, assistant: str, *, speaker: str, at: datetime) -> list[SaidLine]:
    """Both sides of a turn, as far as they say something."""
    sides = [SaidLine(speaker or "user", user, at), SaidLine("assistant", assistant, at)]
    return [side for side in sides if side.content.strip()]


def _by_day(lines: Iterable[SaidLine], zone: tzinfo, **stamp: str) -> dict[date, str]:
    """The text for the file of each day, in order."""
    texts: dict[date, list[str]] = {}
    for line in lines:
        content = f"{line.who}: {smart_truncate(redact(line.content), conf.TRANSCRIPT_CHARS)}"
        at = line.at.astimezone(zone)
        texts.setdefault(at.date(), []).append(item(content, Stamp(at, **stamp)))
    return {day: "\n".join(items) for day, items in texts.items()}
