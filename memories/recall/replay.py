"""Asking what was asked before, as of now, and what has changed since (F5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memories.choices import ScopeKind
from memories.models import RecallTrace, Scope
from memories.recall.query import Place, Query
from memories.recall.quotas import Ranked
from memories.tenancy.resolver import ScopeRef


@dataclass(frozen=True)
class RankChange:
    """One memory, and its place among the served then and now; None: it is not among them."""

    entry_id: int
    before: int | None
    now: int | None

    @property
    def change(self) -> str:
        """«came», «went», «up», «down» or «stayed»."""
        if self.before is None:
            return "came"
        if self.now is None:
            return "went"
        return "stayed" if self.now == self.before else "up" if self.now < self.before else "down"


def query_of(trace: RecallTrace) -> Query:
    """What a trace says was asked, under the same walls; scopes that are gone are not asked again."""
    asked = trace.query
    return Query(
        workspace_id=trace.workspace_id,
        places=_places(trace),
        message=trace.message,
        limit=asked["limit"],
        mode=asked.get("mode", "hybrid"),
        types=asked.get("types"),
        filters=asked.get("filters", {}),
        project=asked.get("project"),
        topic=asked.get("topic"),
        since=_moment(asked.get("since")),
        until=_moment(asked.get("until")),
        need=asked["need"],
        quotas=asked["quotas"],
        token_budget=asked.get("token_budget", 1_000),
        include_session_events=asked.get("include_session_events", True),
        session_key=trace.session_key,
        scope_keys=trace.scope_keys,
        bot_id=trace.bot_id,
        asker=asked.get("asker", ""),
        explain=True,
    )


def rank_changes(trace: RecallTrace, served: Sequence[Ranked]) -> list[RankChange]:
    """What is served now in its order, then what no longer is."""
    before = {entry: place for place, entry in enumerate(trace.served, start=1)}
    now = {item.entry.pk: place for place, item in enumerate(served, start=1)}
    return [RankChange(entry, before.get(entry), now.get(entry)) for entry in dict.fromkeys([*now, *before])]


def _places(trace: RecallTrace) -> list[Place]:
    scopes = Scope.objects.in_workspace(trace.workspace_id).in_bulk(trace.scopes)
    known = [scopes[pk] for pk in trace.scopes if pk in scopes]
    chat = next((scope.key for scope in known if scope.kind == ScopeKind.CHAT), None)
    return [Place(scope, _ref(scope, trace, chat)) for scope in known]


def _ref(scope: Scope, trace: RecallTrace, chat: str | None) -> ScopeRef:
    """What of a scope was heard; of traces that do not tell, what a group hears by default."""
    heard = trace.query.get("heard")
    if heard is None:
        only_chat = chat if scope.kind == ScopeKind.USER else None
        return ScopeRef(key=scope.key, kind=scope.kind, only_chat=only_chat, in_group=chat is not None)
    guarded = str(scope.pk) in heard
    return ScopeRef(key=scope.key, kind=scope.kind, only_chat=heard.get(str(scope.pk)), in_group=guarded)


def _moment(told: str | None) -> datetime | None:
    return datetime.fromisoformat(told) if told else None
