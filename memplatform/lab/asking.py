"""A question of the lab: asked once by the workspace's policies, and once by those that are tried. Nothing is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from channels_app import addresses
from memories.admin.recall_traces.candidates import CandidateRow
from memories.admin.recall_traces.labels import CHANGES, RULES, STEPS, query_label
from memories.choices import Permission, PolicyKind
from memories.entries.history import ServedVersion
from memories.exceptions import ScopeNotFound
from memories.models import RecallTrace, Workspace
from memories.models.policy import Policies, Subject
from memories.recall import Query, Recall, recall, traces
from memories.recall.ranking import Ranked
from memories.tenancy.resolver import Address
from memplatform.lab.form import WEIGHT_LABELS
from sessions_app.models import Session

EMBED_SECONDS = 3.0  # people wait longer than bots do
#: What an answer's weights are called there, beside their names in a policy.
_WEIGHTS = WEIGHT_LABELS | {
    "boost": WEIGHT_LABELS["speaker_boost"],
    "floor": WEIGHT_LABELS["min_similarity"],
}


@dataclass(frozen=True)
class LabAnswer:
    """One answer, as the page shows it."""

    result: Recall
    served: list[CandidateRow]
    left_out: list[CandidateRow]
    context: str

    @property
    def rule(self) -> Any:
        """In words, why memory was or was not searched."""
        return RULES.get(self.result.need.rule, self.result.need.rule)

    @property
    def weights(self) -> list[tuple[Any, float]]:
        """The weights of the answer, by what they weigh."""
        return [(_WEIGHTS.get(name, name), value) for name, value in self.result.weights.items()]

    @property
    def highest(self) -> float:
        return max((row.score or 0.0 for row in (*self.served, *self.left_out)), default=0.0) or 1.0

    @property
    def steps(self) -> list[tuple[Any, float]]:
        took = self.result.timings
        return [(STEPS.get(name, name), took[name]) for name in took if name not in ("total", "trace")]

    @property
    def signs(self) -> str:
        return query_label({k: v for k, v in self.result.answerability.as_json().items() if k != "verdict"})

    @property
    def is_reranked(self) -> bool:
        return any(row.line.rerank for row in (*self.served, *self.left_out))


@dataclass(frozen=True)
class Move:
    """One memory and its place in both answers."""

    row: CandidateRow
    before: int | None
    now: int | None
    label: Any
    color: str | None
    score_before: float | None
    score_now: float | None


def query_of(workspace: Workspace, actor: str, asked: Mapping[str, Any], *, need: str, now: datetime) -> Query:
    """The query of a filled form. Raises ScopeNotFound, InvalidAddress."""
    caller = workspace.caller(actor, permissions=[Permission.READ])
    options = {
        "message": asked["message"],
        "now": now,
        "mode": asked["mode"],
        "need": need,
        "as_of": asked["at"],
        "explain": True,
        "include_session_events": True,
    }
    address = _address(workspace, asked)
    if address is not None:
        return addresses.recall_query(caller, addresses.resolve_address(caller, address), **options)
    if not asked["whom"]:
        raise ScopeNotFound
    return addresses.scope_query(caller, asked["whom"], **options)


def _address(workspace: Workspace, asked: Mapping[str, Any]) -> Address | None:
    """The address that is filled in, or that of the session with this key."""
    if asked["platform"]:
        return Address(**{name: asked[name] for name in ("platform", "account", "peer", "chat", "is_group")})
    session = Session.objects.filter(workspace=workspace, key=asked["whom"]).order_by("-last_at").first()
    if session is None:
        return None
    return Address(
        platform=session.platform,
        account=session.account,
        peer=asked["peer"] or session.peer,
        chat=session.chat_id,
        is_group=session.is_group,
    )


def query_of_trace(trace: RecallTrace, asked: Mapping[str, Any], *, need: str) -> Query:
    """The query of a trace with what was changed of it on the page."""
    told = {"message": asked["message"], "mode": asked["mode"], "as_of": asked["at"], "need": need}
    return replace(traces.query_of(trace), **told)


def ask(query: Query, workspace: Workspace, *, now: datetime) -> LabAnswer:
    """The answer, of which nothing is kept: no trace, no figure. Raises InvalidMoment."""
    result = recall(query, now=now, zone=workspace.zone(), embed_seconds=EMBED_SECONDS, recorded=False)
    left_out = [item for item in _all(result) if item.reason != "served"]
    return LabAnswer(
        result,
        [_row(item, result.weights) for item in result.served],
        [_row(item, result.weights) for item in left_out],
        result.context,
    )


def _all(result: Recall) -> list[Ranked]:
    return [*result.ranked, *result.excluded]


def _row(item: Ranked, weights: Mapping[str, float]) -> CandidateRow:
    record, entry = traces.record_of(item), item.entry
    return CandidateRow(
        line=record,
        entry=entry,
        then=ServedVersion(entry.version, entry.content, False, entry.stated_at),
        state=None,
        is_served=item.reason == "served",
        boosts=traces.boosts(record, weights),
    )


def moves(now: LabAnswer, changed: LabAnswer) -> list[Move]:
    """What is served by the other numbers in its order, then what no longer is."""
    before = {row.entry_id: place for place, row in enumerate(now.served, start=1)}
    after = {row.entry_id: place for place, row in enumerate(changed.served, start=1)}
    rows = {row.entry_id: row for row in (*now.served, *changed.served)}
    old = {row.entry_id: row.score for row in (*now.left_out, *now.served)}
    new = {row.entry_id: row.score for row in (*changed.left_out, *changed.served)}
    found = []
    for entry in dict.fromkeys([*after, *before]):
        change = traces.RankChange(entry, before.get(entry), after.get(entry))
        label, color = CHANGES[change.change]
        found.append(Move(rows[entry], change.before, change.now, label, color, old.get(entry), new.get(entry)))
    return found


def tried(changes: Mapping[Subject, float | None], query: Query) -> Query:
    """The same query by other policies."""
    most = changes.get((PolicyKind.WEIGHT.value, "", "", "max_recalls"))
    by_others = partial(_changed, changes=changes)
    return replace(query, limit=int(most or query.limit), adjusted=by_others)


def _changed(policies: Policies, changes: Mapping[Subject, float | None]) -> Policies:
    return Policies.of_values({**policies.values, **changes})
