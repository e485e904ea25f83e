"""What the memories of a trace said when they were served: a trace is a record (F5)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memories.entries.versions import Moment, contents_at
from memories.models import Entry, RecallTrace, Suppression


@dataclass(frozen=True)
class Served:
    """The version of an entry a trace tells of."""

    version: int
    words: str
    is_reworded: bool  # it says something else now


def as_served(
    trace: RecallTrace, entries: Mapping[int, Entry], versions: Mapping[int, int] | None = None
) -> dict[int, Served]:
    """The words of these entries at the time of a recall. `versions` are those of candidates that were not served."""
    known = dict(versions or {})
    found = each_as_served([trace], entries, known)
    return {entry: served for (_trace, entry), served in found.items()}


def each_as_served(
    traces: Sequence[RecallTrace], entries: Mapping[int, Entry], candidates: Mapping[int, int] | None = None
) -> dict[tuple[int, int], Served]:
    """By trace and entry, in one query at most. A trace that kept no versions goes by its time."""
    asked = [
        (trace.pk, Moment(entry, version, trace.created_at))
        for trace in traces
        for entry, version in _versions(trace, candidates, entries).items()
    ]
    changed = [(pk, moment) for pk, moment in asked if entries[moment.row_id].version != moment.version]
    workspace = traces[0].workspace_id if traces else 0
    past = dict(zip(changed, contents_at(Entry, workspace, [moment for _pk, moment in changed]), strict=True))
    told = {}
    for pk, moment in asked:
        now = entries[moment.row_id]
        version, words = past.get((pk, moment), (now.version, None))
        words = now.content if words is None else words
        told[pk, moment.row_id] = Served(version, words, words != now.content)
    return told


def _versions(
    trace: RecallTrace, candidates: Mapping[int, int] | None, entries: Mapping[int, Entry]
) -> dict[int, int | None]:
    """Of the entries that are still there: the version that was served, as far as it was kept."""
    kept = dict(zip(trace.served, trace.versions, strict=False))
    named: Iterable[int] = entries if candidates is not None else trace.served
    return {pk: kept.get(pk, (candidates or {}).get(pk)) for pk in named if pk in entries}


def taken_out(entries: Mapping[int, Entry]) -> set[int]:
    """Those of these entries that people took out of use: their words are told to no bot (A15)."""
    out = Suppression.objects.filter(entry__in=list(entries)).values_list("entry_id", flat=True)
    return {*out, *(pk for pk, entry in entries.items() if entry.suppressed_at)}
