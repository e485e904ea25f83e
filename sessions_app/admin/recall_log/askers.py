"""Who asked, and in which chat: as people call them, for the rows of the log."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from memories.models import RecallTrace, Scope
from sessions_app.models import Session


@dataclass(frozen=True)
class Asker:
    """The person a recall was made for, and the chat it was made in; empty where nobody knows."""

    who: str
    chat: str
    session: Session | None


def askers_of(traces: Sequence[RecallTrace]) -> dict[int, Asker]:
    """By the id of each trace: two queries, however many they are."""
    scopes = _scopes(traces)
    sessions = _sessions(traces)
    return {
        trace.pk: _asker(
            trace,
            [scopes[pk] for pk in trace.scopes if pk in scopes],
            sessions.get((trace.workspace_id, trace.session_key), []),
        )
        for trace in traces
    }


def ids_of_people(words: str, workspaces: frozenset[int] | None) -> list[str]:
    """The ids of the people who are called so, or have this id, in some workspaces; None: in all."""
    scopes = Scope.objects.exclude(sender_names={})
    if workspaces is not None:
        scopes = scopes.filter(workspace_id__in=workspaces)
    asked = " ".join(words.split()).casefold()
    called = scopes.filter(sender_names__icontains=asked).values_list("sender_names", flat=True)[:_NAMES_MOST]
    return [words, *{pk for names in called for pk, name in names.items() if name.casefold() == asked}]


_NAMES_MOST = 500  # scopes looked through for a name


def _asker(trace: RecallTrace, scopes: Iterable[Scope], sessions: Iterable[Session]) -> Asker:
    asked_in = list(scopes)
    session = _session_of(trace, sessions)
    person = trace.asker or (session.peer if session else "")
    name = next((scope.sender_names[person] for scope in asked_in if person in scope.sender_names), person)
    return Asker(name, _chat(session, {scope.pk: scope for scope in asked_in}), session)


def _session_of(trace: RecallTrace, sessions: Iterable[Session]) -> Session | None:
    """Of those with its key, on several platforms, the one whose memory was asked."""
    known = list(sessions)
    own = (one for one in known if {one.user_scope_id, one.chat_scope_id} & set(trace.scopes))
    return next(own, known[0] if known else None)


def _chat(session: Session | None, scopes: Mapping[int, Scope]) -> str:
    if session is None:
        return ", ".join(map(str, scopes.values()))
    place = session.platform or session.key
    if not session.is_group:
        return gettext("%(platform)s, direct chat") % {"platform": place}
    scope = scopes.get(session.chat_scope_id or 0)
    named = (scope.label if scope else "") or session.chat_id
    return gettext("%(platform)s, group %(chat)s") % {"platform": place, "chat": named}


def _scopes(traces: Iterable[RecallTrace]) -> dict[int, Scope]:
    wanted = {pk for trace in traces for pk in trace.scopes}
    of = {trace.workspace_id for trace in traces}
    found = Scope.objects.filter(workspace_id__in=of, pk__in=wanted)
    return {scope.pk: scope for scope in found.only("workspace_id", "key", "label", "sender_names")}


def _sessions(traces: Iterable[RecallTrace]) -> dict[tuple[int, str], list[Session]]:
    keys = {trace.session_key for trace in traces if trace.session_key}
    of = {trace.workspace_id for trace in traces}
    by_key: dict[tuple[int, str], list[Session]] = {}
    for session in Session.objects.filter(workspace_id__in=of, key__in=keys).order_by("-last_at"):
        by_key.setdefault((session.workspace_id, session.key), []).append(session)
    return by_key
