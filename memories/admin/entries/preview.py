"""What chosen entries are, in numbers: stands on every page that asks about several."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memories.models import Entry, Policy
from memories.models.state import state_of

#: Values named of one kind; scopes may be many.
NAMED = 6


def counts_of(entries: Sequence[Entry]) -> list[tuple[Any, list[tuple[str, int]], int]]:
    """Of several entries their states, scopes and types, each with its number, and how many values are not named."""
    if len(entries) < 2:
        return []
    now, policies = timezone.now(), Policy.objects.of_each({entry.workspace_id for entry in entries})
    states = (state_of(entry, policies[entry.workspace_id].end_of(entry), now).label for entry in entries)
    return [
        _counted(_("state"), states),
        _counted(_("scope"), (str(entry.scope) for entry in entries)),
        _counted(_("type"), (entry.get_type_display() for entry in entries)),
    ]


def _counted(label: Any, values: Iterable[Any]) -> tuple[Any, list[tuple[str, int]], int]:
    found = Counter(map(str, values))
    return label, found.most_common(NAMED), max(len(found) - NAMED, 0)
