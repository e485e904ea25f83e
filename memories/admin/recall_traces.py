"""The page of a recall trace: why the bot answered as it did, candidate by candidate, none of it in codes (F5)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from memories import recall
from memories.admin.events import event_rows
from memories.admin.files import file_url
from memories.choices import EntryType, NeedMode
from memories.entries.history import ServedVersion, served_versions, word_diff
from memories.models import Entry, Policy, RecallTrace, Scope
from memories.models.state import State, state_of
from memories.recall import traces
from memories.recall.traces import CandidateRecord

#: Labels of the reasons of candidates.
REASONS = {
    "served": _("served"),
    "limit": _("others were better"),
    "rank": _("others were better"),  # of traces before they said so
    "quota": _("its kind had its places"),
    "duplicate": _("said already by another that is served"),
    "floor": _("too far from the question"),
    "unlikely": _("too unlikely to help"),
    "history": _("said by the conversation that was handed out"),
    "echo": _("only asked, or repeated from memory"),
    "expired": pgettext_lazy("reason", "expired"),
    "archived": pgettext_lazy("reason", "archived"),
    "superseded": _("something newer took its place"),
    "quarantined": _("in quarantine"),
    "suppressed": _("taken out by people"),
    "other_scope": _("not for this group to hear"),
    "other_project": _("of another project than was named"),
}
MODES = {
    "hybrid": _("words and meaning"),
    "vector": _("meaning alone"),
    "keyword": _("words as they stand"),
    "fts": _("full text"),
}
STEPS = {
    "need": _("does it need memory?"),
    "policies": _("policies"),
    "words": _("words"),
    "dates": _("days that are named"),
    "embedding": _("embedding"),
    "pending": _("waiting for the newest vectors"),
    "average": _("average of the scope"),
    "history": _("what the conversation says"),
    "search": _("search"),
    "rank": _("weighing"),
    "rerank": _("reranker"),
    "corrections": _("corrections first"),
    "quotas": _("quotas"),
    "evidence": _("is it enough?"),
    "context": _("context text"),
    "events": _("what was said then"),
    "passed_over": _("what may not be served"),
}
FEATURES = {
    "first_person": _("said in the first person"),
    "time_words": _("says when"),
    "own_vector": _("near by its own words"),
    "words_of_others": _("somebody else's words"),
    "answers_previous": _("answers the line before"),
    "mentions_speaker": _("speaks of the one who is asked about"),
    "word_pairs": _("words in the question's order"),
    "vector_rank": _("its place by meaning"),
}
#: What the relevance of a memory is drawn from.
RELEVANCE_SIGNS = {
    "meaning": _("meaning"),
    "answers": _("near as an answer"),
    "relation": _("same matter"),
    "meaning_and_relation": _("both"),
    "words": _("words shared"),
    "rare_word": _("rarest word"),
    "behind": _("behind the best"),
    "ahead": _("ahead of the others"),
    "many": _("among many"),
    "alone": _("alone"),
    "across": _("in another script"),
    "no_number": _("states no number"),
    "matter": _("tells what is asked for"),
    "name": _("about what is named"),
    "sole_name": _("alone about it"),
    "linked_name": _("linked to what is named"),
    "other_name": _("about something else"),
    "says_name": _("says the name"),
    "detail": _("what is asked of it"),
    "whole_name": _("all of it is asked for"),
    "leads": _("leads to the answer"),
    "link": _("tells its other name"),
    "unsaid": _("goes by another name"),
    "beside_best": _("of one name with the best"),
}
SINCE = {
    State.DUE: _("past its time since"),
    State.EXPIRED: _("expired since"),
    State.ARCHIVED: _("archived since"),
    State.SUPERSEDED: _("replaced since"),
    State.QUARANTINED: _("in quarantine since"),
    State.SUPPRESSED: _("taken out since"),
}
CHANGES = {
    "came": (_("new"), "success"),
    "went": (_("gone"), "danger"),
    "up": (_("higher"), "info"),
    "down": (_("lower"), "warning"),
    "stayed": (_("same place"), None),
}
#: What showed that a message needs memory, or that it needs none.
RULES = {
    "remember": _("asks to remember, or whether it is remembered"),
    "time": _("speaks of a time"),
    "question": _("asks a question"),
    "preference": _("speaks of likes and dislikes"),
    "pronoun": _("points at something said before"),
    "personal": _("speaks of the one who asks"),
    "unfinished": _("goes on with something begun"),
    "local": _("asks for something near by"),
    "errand": _("asks for something to be done"),
    "search": _("a search query"),
    "note": _("a few words, and something answers them"),
    "project": _("names a project"),
    "name": _("names somebody"),
    "too_short": _("too short to need memory"),
    "acknowledgement": _("an acknowledgement, which needs no memory"),
    "code": _("mostly code, which needs no memory"),
    "no_sign": _("no sign that it needs memory"),
    "off": _("memory is always asked"),
}
#: What did not answer in time, the graver first, and what answered in its place.
DEGRADED = {
    "embedding": _("words alone"),
    "embedding_pending": _("the newest by words alone"),
    "index_pending": _("files not indexed yet"),
    "disk_full": _("the disk is full"),
    "reembedding": _("words alone, as the embedding model changes"),
    "rerank": _("not reranked"),
}
#: How near in meaning, by similarity: from here on.
_NEARNESS = ((0.8, _("very near in meaning")), (0.5, _("near in meaning")), (0.2, _("somewhat near in meaning")))
#: How much of the question's words it holds, by the score of the keyword retriever: from here on.
_SHARES = ((0.6, _("most of the question’s words")), (0.25, _("some of the question’s words")))
_FADED = 0.6


def _least(value: float | None, steps: tuple[tuple[float, Any], ...]) -> Any:
    return None if value is None else next((label for least, label in steps if value >= least), None)


#: The words of values, by what they are values of.
SERVES = {"likely": _("what is likely to help"), "wide": _("all that may help")}
_VALUES: Mapping[str, Mapping[str, Any]] = {
    "serve": SERVES,
    "mode": MODES,
    "need": {mode.value: mode.label for mode in NeedMode},
    "types": {kind.value: kind.label for kind in EntryType},
}
_TIMES = frozenset({"since", "until", "as_of"})
#: Not for people: it repeats the scopes by their ids, or stands at the top or in a card of its own.
_ELSEWHERE = frozenset({"heard", "events", "cached_from", "verdict", "serve_source", "scope_lines"})
_NAMES = {
    "limit": _("At most"),
    "mode": _("Manner"),
    "need": _("Whether memory is needed"),
    "asker": _("By whom"),
    "resolved": _("Meant by the messages before"),
    "relations": _("Known of people"),
    "quotas": _("Quotas"),
    "token_budget": _("Tokens at most"),
    "filters": _("Only with"),
    "types": _("type"),
    "project": _("project"),
    "since": _("Since"),
    "until": _("Until"),
    "as_of": _("Memory as of"),
    "similarity": _("similarity"),
    "strength": _("Strength of the best"),
    "words": _("Share of the question's words"),
    "lead": _("Lead of the one who is asked about"),
    "entries": _("Memories searched"),
    "speaker": _("Names a speaker"),
    "date": _("Names a day"),
    "days": _("Days read"),
    "about_asker": _("About the one who asks"),
    "relevance": _("Relevance of the best"),
    "unknown_name": _("Names nobody known here"),
    "serve": _("Served"),
    "others": _("Said by somebody else"),
    "topic": _("topic"),
    "nearest": _("The nearest where nothing is near"),
    "narrowed": _("Narrowed by who called"),
    "always_events": _("Messages and days as well"),
}


_NOTHING: tuple[Any, ...] = (None, "", [], {}, False)


def query_label(values: dict[str, Any]) -> str:
    """`At most: 8 · Manner: hybrid`: what says nothing (empty, no, none) is left out."""
    labels = {name: moment_label(value) if name in _TIMES and value else value for name, value in values.items()}
    shown_labels = {name: value for name, value in labels.items() if value not in _NOTHING and name not in _ELSEWHERE}
    order = [*(name for name in _NAMES if name in shown_labels), *(name for name in shown_labels if name not in _NAMES)]
    return " · ".join(
        f"{_NAMES.get(name, name.replace('_', ' '))}: {_value_label(shown_labels[name], _VALUES.get(name, {}))}"
        for name in order
    )


def moment_label(iso: str) -> str:
    """A moment as a trace keeps it, by the clock of the page."""
    return str(date_format(localtime(datetime.fromisoformat(iso)), "DATETIME_FORMAT"))


def _value_label(value: Any, words: Mapping[str, Any]) -> str:
    if value is True:
        return gettext("yes")
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list):
        return ", ".join(_value_label(item, words) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_value_label(inner, words)}" for name, inner in value.items())
    return str(words.get(value, value))


@dataclass(frozen=True)
class CandidateRow:
    """One candidate with its entry, as far as that is still there."""

    line: CandidateRecord
    entry: Entry | None
    then: ServedVersion | None
    state: State | None  # now
    is_served: bool
    boosts: dict[str, float]
    is_named_used: bool = False  # the bot reported that its answer used it
    is_in_answer: bool = False  # the words of the answer point to it

    @property
    def entry_id(self) -> int:
        return self.line.entry

    @property
    def address(self) -> str:
        return reverse("admin:memories_entry_change", args=[self.entry_id])

    @property
    def history(self) -> str:
        return reverse("admin:memories_entry_history", args=[self.entry_id])

    @property
    def file(self) -> tuple[str, str] | None:
        """The line it is of a file, and where that is shown."""
        entry = self.entry
        if entry is None or not entry.path:
            return None
        place = f"{entry.path}:{entry.line_from}" if entry.line_from else entry.path
        return place, file_url(entry.scope_id, entry.path, entry.line_from)

    @property
    def state_since(self) -> Any:
        """The label of its state, where it is no longer in use."""
        return None if self.state in (None, State.LIVE) else SINCE[State(self.state)]

    @property
    def wording(self) -> list[tuple[str, str]]:
        """What was reworded since, word by word; nothing where it says the same."""
        if self.then is None or self.entry is None or not self.then.is_reworded:
            return []
        return word_diff(self.then.words, self.entry.content)

    @property
    def relevance_signs(self) -> str:
        """What its relevance was drawn from, as it was measured: «meaning 0.42 · same matter 0.61»."""
        measured = (self.line.signs or {}).items()
        return " · ".join(f"{RELEVANCE_SIGNS.get(name, name)} {value:.2f}" for name, value in measured)

    @property
    def signs(self) -> list[Any]:
        """What spoke for it, or against it, in words: its words, its meaning, its age."""
        signs = [_least(self.line.keyword, _SHARES), _least(self.line.similarity, _NEARNESS)]
        faded = _("faded with age") if self.line.decay is not None and self.line.decay < _FADED else None
        return [sign for sign in (*signs, faded) if sign is not None]

    @property
    def features(self) -> list[tuple[Any, float]]:
        """What each feature added, by its label, the largest first."""
        contributions = sorted((self.line.features or {}).items(), key=lambda item: -abs(item[1]))
        return [(FEATURES.get(name, name), value) for name, value in contributions]

    @property
    def score(self) -> float | None:
        return self.line.score

    @property
    def reason(self) -> Any:
        return REASONS["served"] if self.is_served else REASONS.get(self.line.reason, self.line.reason)


def candidate_rows(trace: RecallTrace) -> list[CandidateRow]:
    """What was served first, in order, then what was left out; entries of other workspaces are never read."""
    candidates = {line.entry: line for line in traces.records_of(trace.candidates)}
    order = [*trace.served, *(pk for pk in candidates if pk not in trace.served)]
    here = Entry.objects.filter(workspace_id=trace.workspace_id).select_related("scope")
    entries = here.in_bulk(order)
    then = served_versions(trace, entries, {line.entry: line.version for line in candidates.values() if line.version})
    weights, now = traces.weights_of(trace.candidates), timezone.now()
    policies = Policy.objects.of(trace.workspace_id)
    states = {pk: state_of(entry, policies.end_of(entry), now) for pk, entry in entries.items()}
    return [
        CandidateRow(
            line=line,
            entry=entries.get(pk),
            then=then.get(pk),
            state=states.get(pk),
            is_served=pk in trace.served,
            boosts=traces.boosts(line, weights),
            is_named_used=pk in (trace.used or ()),
            is_in_answer=pk in (trace.overlap or ()),
        )
        for pk, line in ((pk, candidates.get(pk, CandidateRecord(entry=pk))) for pk in order)
    ]


EMBED_SECONDS = 3.0  # people wait longer than bots do


@dataclass(frozen=True)
class ReplayRow:
    """One memory of the same question asked again."""

    entry: Entry | None
    words: str
    before: int | None
    now: int | None
    label: Any
    color: str | None


#: Who said how likely a memory has to be.
SERVE_SOURCES = {"call": _("as the call says"), "channel": _("as the channel says"), "default": _("by default")}


@dataclass(frozen=True)
class Line:
    """How likely a memory had to be to be served, and who said so: of each scope that has its own, else of all."""

    words: Any
    value: float
    source: Any
    own: tuple[tuple[Scope, float], ...]


def line_of(trace: RecallTrace, scopes: Iterable[Scope]) -> Line | None:
    """The line of a recall; None: the trace does not say."""
    value = traces.weights_of(trace.candidates).get("relevance_line")
    if value is None:
        return None
    own, serve = trace.query.get("scope_lines", {}), trace.query.get("serve", "wide")
    return Line(
        words=SERVES.get(serve, ""),
        value=value,
        source=SERVE_SOURCES[trace.query.get("serve_source", "default")],
        own=tuple((scope, own[str(scope.pk)]) for scope in (scopes if own else ()) if str(scope.pk) in own),
    )


def trace_context(trace: RecallTrace) -> dict[str, Any]:
    """The context of the page of a trace."""
    lines, events, cached = candidate_rows(trace), event_rows(trace), trace.evidence.get("cached_from")
    here = RecallTrace.objects.filter(workspace_id=trace.workspace_id)
    scopes = Scope.objects.filter(pk__in=trace.scopes, workspace_id=trace.workspace_id)
    # What was left out by the reason why, in the order in which the reasons first come
    left_out: dict[str, list[CandidateRow]] = {}
    for line in lines:
        if not line.is_served:
            left_out.setdefault(str(line.reason), []).append(line)
    # In the order they were taken, then those of other versions
    steps = [name for name in [*STEPS, *(trace.timings.keys() - STEPS)] if name in trace.timings and name != "total"]
    return {
        "trace": trace,
        "lines": lines,
        "served_lines": [line for line in lines if line.is_served],
        "left_out": list(left_out.items()),
        "uses": "named" if trace.used is not None else "unknown" if trace.overlap is None else "guessed",
        "missing": [DEGRADED.get(part, part) for part in trace.degraded],
        "mode": MODES.get(trace.query.get("mode", "hybrid")),
        "highest": max((line.score or 0.0 for line in lines), default=0.0) or 1.0,
        "event_lines": events,
        "highest_event": max((line.event.score for line in events), default=0.0) or 1.0,
        "is_reranked": any(line.line.rerank for line in lines),
        "weights": traces.weights_of(trace.candidates),
        "steps": [(STEPS.get(name, name), trace.timings[name]) for name in steps],
        "cached_from": here.filter(uid=cached).first() if cached else None,
        "is_purged": trace.is_purged,
        "scopes": scopes,
        "line": line_of(trace, scopes),
    }


def replay_context(trace: RecallTrace, *, now: datetime) -> dict[str, Any]:
    """The same question as of now, leaving no trace of its own; what came, went and moved."""
    result = recall.recall(
        traces.query_of(trace),
        now=now,
        zone=trace.workspace.zone(),
        embed_seconds=EMBED_SECONDS,
        recorded=False,
    )
    moves = traces.rank_changes(trace, result.served)
    entries = Entry.objects.filter(workspace_id=trace.workspace_id).in_bulk([move.entry_id for move in moves])
    then, again = served_versions(trace, entries), []
    for move in moves:
        # In the words it is served with now; what is gone from the answer in those it was served with
        entry, version = entries.get(move.entry_id), then.get(move.entry_id)
        words = version.words if version and move.now is None else entry.content if entry else ""
        again.append(ReplayRow(entry, words, move.before, move.now, *CHANGES[move.change]))
    return {
        "again": again,
        "again_is_the_same": all(move.change == "stayed" for move in moves),
        "again_evidence": result.answerability.verdict,
        "again_degraded": result.degraded,
    }
