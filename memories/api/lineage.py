"""What an entry was made from and what it became, for whoever reads it: a merge loses nobody its sources (D6)."""

from typing import Any

from django.db.models import Q
from rest_framework import serializers

from memories.api.answers import EntryAnswer
from memories.choices import LinkKind
from memories.models import Entry, EntryAccess, Link

#: Relatives told of, newest first; more than these no batch names.
MOST = 200
#: Seen from the entry a link begins at: what the other one is.
_FROM = {LinkKind.MERGED_FROM: "sources", LinkKind.SUPERSEDES: "sources", LinkKind.SOURCE_OF: "became"}
_OTHER = {"sources": "became", "became": "sources"}


class Relative(serializers.Serializer[Any]):
    """An entry another was made from, or became."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=[LinkKind.MERGED_FROM, LinkKind.SUPERSEDES, LinkKind.SOURCE_OF])
    content = serializers.CharField()
    at = serializers.DateTimeField()


class EntryWithLineage(EntryAnswer):
    """A memory, what it was made from, and what it became."""

    sources = Relative(many=True, help_text="What it was made from, or replaced.")
    became = Relative(many=True, help_text="What it has become part of, or a source of, or what replaced it.")
    origins = serializers.ListField(
        child=serializers.CharField(),
        help_text="The messages it rests on: `session_events/<session>/<conversation>/event-<id>`.",
    )
    times_recalled = serializers.IntegerField()
    last_recalled_at = serializers.DateTimeField(allow_null=True)
    times_repeated = serializers.IntegerField(help_text="How often the same was said again.")


def lineage_json(entry: Entry) -> dict[str, Any]:
    """Sources and successors of its scope with their kinds and dates, its messages, and how often it was recalled."""
    told: dict[str, Any] = {"sources": [], "became": []}
    ends = Q(from_entry=entry) | Q(to_entry=entry)
    links = Link.objects.filter(ends, workspace_id=entry.workspace_id, kind__in=_FROM)
    for link in links.select_related("from_entry", "to_entry").order_by("-created_at", "-pk")[:MOST]:
        begins = link.from_entry_id == entry.pk
        side, other = _FROM[LinkKind(link.kind)], link.to_entry if begins else link.from_entry
        if other.scope_id == entry.scope_id:
            told[side if begins else _OTHER[side]].append(
                {"id": str(other.uid), "kind": link.kind, "content": other.content, "at": link.created_at}
            )
    access = EntryAccess.objects.filter(pk=entry.pk, workspace_id=entry.workspace_id).first()
    times = {"times_recalled": access.access_count if access else 0}
    times |= {"times_repeated": access.repeat_count if access else 0}
    last = {"last_recalled_at": access.last_accessed if access else None}
    return told | {"origins": list(entry.origins)} | times | last
