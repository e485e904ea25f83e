"""The sessions in which people speak who go by a name: as operators call them, or as their messages came (F1)."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple, Protocol

from django.conf import settings
from django.db.models import F, Func, Q, QuerySet, TextField, Value
from django.db.models.expressions import RawSQL
from django.utils.module_loading import import_string

from memories.models import Entry, Scope
from memories.tenancy.keys import platform_of_key
from sessions_app.models import Session

#: Scopes looked through for a name, and speakers taken of them.
SCOPES_MOST, SPEAKERS_MOST = 500, 500
_SPOKEN = """
    SELECT e.session_id FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS one (workspace, platform, peer)
    JOIN sessions_app_sessionevent e ON e.workspace_id = one.workspace AND e.sender_id = one.peer AND e.sender_id <> ''
    JOIN sessions_app_session s ON s.id = e.session_id AND (one.platform = '' OR s.platform IN ('', one.platform))
    UNION
    SELECT s.id FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS one (workspace, platform, peer)
    JOIN sessions_app_session s ON s.workspace_id = one.workspace AND s.peer = one.peer
        AND (one.platform = '' OR s.platform IN ('', one.platform))
"""


class Speaker(NamedTuple):
    """Somebody by the id they write with; without a platform on any."""

    workspace: int
    platform: str
    peer: str


class NameFinder(Protocol):
    """A function of MEMORY_NAME_FINDERS: who is called by a part of a name; None: in all workspaces."""

    def __call__(self, words: str, workspaces: frozenset[int] | None) -> Iterable[tuple[int, str, str]]: ...


def with_speakers(sessions: QuerySet[Session], words: str, workspaces: frozenset[int] | None) -> QuerySet[Session]:
    """Those of these sessions in which somebody speaks whose name these words are a part of."""
    found = {
        Speaker(*one) for finder in _finders(tuple(settings.MEMORY_NAME_FINDERS)) for one in finder(words, workspaces)
    }
    speakers = sorted(found | _named_by_messages(words, workspaces))
    columns = [list(column) for column in zip(*speakers, strict=True)] or [[], [], []]
    return sessions.filter(pk__in=RawSQL(_SPOKEN, [*columns, *columns]))  # noqa: S611 (constants)


@cache
def _finders(paths: tuple[str, ...]) -> tuple[NameFinder, ...]:
    return tuple(import_string(path) for path in paths)


def _named_by_messages(words: str, workspaces: frozenset[int] | None) -> set[Speaker]:
    """Whose messages came with such a name: the last one of each, and those that memories still tell."""
    scopes = Scope.objects.annotate(
        called=Func(F("speakers"), Value(" "), function="array_to_string", output_field=TextField())
    )
    if workspaces is not None:
        scopes = scopes.filter(workspace_id__in=workspaces)
    here = scopes.filter(Q(called__icontains=words) | Q(sender_names__icontains=words)).order_by("-pk")[:SCOPES_MOST]
    found = list(here.only("workspace_id", "key", "sender_names"))
    asked = words.casefold()
    latest = {
        Speaker(scope.workspace_id, platform_of_key(scope.key), peer)
        for scope in found
        for peer, name in scope.sender_names.items()
        if asked in name.casefold()
    }
    told = Entry.objects.live().filter(scope__in=[scope.pk for scope in found], speaker__icontains=words)
    earlier = told.exclude(sender_id="").order_by().values_list("workspace_id", "channel", "sender_id").distinct()
    return latest | {Speaker(*one) for one in earlier[:SPEAKERS_MOST]}
