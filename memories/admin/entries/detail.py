"""The page of an entry: its state, the entries linked with it, and the recalls it was served in."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories import entries
from memories.admin.files.addresses import index_url
from memories.admin.files.card import card_of
from memories.admin.recall_traces.events import found_events
from memories.admin.sources import source_lines
from memories.choices import LinkKind, Verification
from memories.entries.evidence import evidence_of
from memories.models import Entry, Evidence, Link, Policy, RecallTrace
from memories.models.state import state_of

LINKS_SHOWN = 20
TRACES_SHOWN = 10
#: How far back traces are looked through: an entry nobody recalled lately must not cost a scan of them all.
TRACES_READ = 5_000

#: How the other entry relates to this one: as the link's end, and as its beginning.
_RELATIONS = {
    LinkKind.SOURCE_OF: (_("became"), _("rests on")),
    LinkKind.SUPERSEDES: (_("replaced"), _("replaced by")),
    LinkKind.ALIKE: (_("resembles"), _("resembles")),
    LinkKind.MERGED_FROM: (_("merged from"), _("merged into")),
}


def entry_context(entry: Entry, *, now: datetime) -> dict[str, Any]:
    """For the page of an entry: its state, its relatives and its traces."""
    policies = Policy.objects.of(entry.workspace_id)
    return {
        "entry": entry,
        "state": state_of(entry, policies.end_of(entry), now),
        "ends_at": policies.end_of(entry),
        "access": getattr(entry, "access", None),
        "verification": Verification(entry.verification).label if entry.verification else "",
        "evidence": quote_lines([entry.pk], entry.workspace_id).get(entry.pk, []),
        "contradiction": entries.contradiction_of(entry),
        "sources": source_lines(entry.workspace_id, entry.origins),
        "relatives": _relatives(entry),
        "traces": _traces(entry),
        "file_card": card_of(entry),
        "index_url": index_url(),
    }


@dataclass(frozen=True)
class QuoteLine:
    """Words an entry rests on, with the page of the conversation they stand in, where it is still there."""

    quote: Evidence
    url: str


def quote_lines(entries: Collection[int], workspace_id: int) -> dict[int, list[QuoteLine]]:
    """The words entries rest on, in the order they were said."""
    quotes = evidence_of(entries, workspace_id)
    found = found_events(workspace_id, sorted({quote.origin for rows in quotes.values() for quote in rows}))
    return {
        pk: [QuoteLine(quote, found[quote.origin].url if quote.origin in found else "") for quote in rows]
        for pk, rows in quotes.items()
    }


def _relatives(entry: Entry) -> list[tuple[Any, Entry]]:
    """The linked entries, each with its relation to this one."""
    links = Link.objects.filter(Q(from_entry=entry) | Q(to_entry=entry), workspace_id=entry.workspace_id)
    related: list[tuple[Any, Entry]] = []
    for link in links.select_related("from_entry__scope", "to_entry__scope").order_by("-id")[:LINKS_SHOWN]:
        is_from = link.from_entry_id == entry.pk
        related.append(
            (_RELATIONS[LinkKind(link.kind)][0 if is_from else 1], link.to_entry if is_from else link.from_entry)
        )
    if entry.superseded_by:
        related.append((_("replaced by"), entry.superseded_by))
    return [(how, other) for how, other in related if other.workspace_id == entry.workspace_id]


def _traces(entry: Entry) -> list[RecallTrace]:
    """The newest answers that served it, among the last TRACES_READ of its workspace."""
    recent = RecallTrace.objects.filter(workspace_id=entry.workspace_id).order_by("-created_at", "-id")
    served_it = recent.filter(pk__in=recent.values("pk")[:TRACES_READ], served__contains=[entry.pk])
    return list(served_it.only("message", "created_at", "session_key")[:TRACES_SHOWN])
