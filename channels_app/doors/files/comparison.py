"""Under dual_write the database answers, and a sample of recalls is asked of the files as well, unserved (A4)."""

import random
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db.models import F, Func, IntegerField

from channels_app.doors.files.answers import FilePlace
from channels_app.models import PathComparison
from memories.choices import PathMode
from memories.conf import conf
from memories.exceptions import PlatformError
from memories.files import keyword
from memories.language import text
from memories.models import Entry
from memories.offline import replicas
from memories.recall import Query, Recall
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Resolution

log = structlog.get_logger(__name__)

#: Share of the words of the shorter of two texts that the longer one has to hold to say the same.
SAME_SHARE = 0.8
_SHOWN_CHARS = 500


@dataclass(frozen=True)
class _Passage:
    """Something one of the two found: where, and its words."""

    place: dict[str, Any]
    content: str

    def says(self, other: "_Passage") -> bool:
        """Whether the two are the same memory: the same line, or nearly the same words."""
        if self.place.get("path") and all(self.place.get(name) == other.place.get(name) for name in ("path", "line")):
            return True
        mine, theirs = (text.shingles(passage.content) for passage in (self, other))
        return bool(mine and theirs) and len(mine & theirs) >= SAME_SHARE * min(len(mine), len(theirs))

    def as_json(self) -> dict[str, Any]:
        """As a comparison keeps it."""
        return self.place | {"content": self.content[:_SHOWN_CHARS]}


def compare(caller: Caller, query: Query, recall: Recall, resolution: Resolution, *, now: datetime) -> None:
    """Ask the files what a recall was asked, where its channel writes to both, and keep what only one of them found."""
    if resolution.path_mode != PathMode.DUAL_WRITE or not recall.need.retrieve or replicas.is_stale():
        return
    if random.random() >= conf.SHADOW_SAMPLE:  # noqa: S311 (no secret)
        return
    try:
        folders = FilePlace(caller, resolution).folders
        matches = keyword.search(folders, query.message, limit=query.limit, zone=caller.zone)
    except (OSError, PlatformError) as problem:  # nobody is served what the files say
        log.warning("comparison.failed", problem=type(problem).__name__)
        return
    trace = recall.trace.uid if recall.trace else None
    # The memories that were served; those that are lines of files with their lines
    lines = {
        pk: (path, line)
        for pk, path, line in Entry.objects.filter(pk__in=[item.entry.pk for item in recall.served])
        .exclude(path="")
        .values_list("pk", "path", "line_from")
    }
    entry_passages = []
    for item in recall.served:
        path, line = lines.get(item.entry.pk, ("", None))
        entry_passages.append(_Passage({"id": str(item.entry.uid), "path": path, "line": line}, item.entry.content))
    file_passages = [_Passage({"path": match.path, "line": match.line_from}, match.text) for match in matches]
    only_database = [passage for passage in entry_passages if not any(passage.says(other) for other in file_passages)]
    only_files = [passage for passage in file_passages if not any(passage.says(other) for other in entry_passages)]
    comparison = PathComparison(
        workspace_id=caller.workspace_id,
        platform=resolution.address.platform,
        account=resolution.address.account,
        trace=trace,
        message=query.message[: conf.RECALL_MESSAGE_CHARS],
        both=len(entry_passages) - len(only_database),
        only_database=[passage.as_json() for passage in only_database],
        only_files=[passage.as_json() for passage in only_files],
        created_at=now,
    )
    replicas.aside(comparison.save)


def length_of(column: str) -> Func:
    """How many memories a comparison keeps in a column of what only one of both found."""
    return Func(F(column), function="jsonb_array_length", output_field=IntegerField())
