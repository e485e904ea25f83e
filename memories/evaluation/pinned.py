"""Pinned tests, run: each question is asked as its chat or person, and its answer compared with what it has to hold.

    failing = run_pinned(workspace, policies=those_to_come, now=now)

asks all of them by policies nobody has saved yet; nothing is kept.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db.models import Q

from memories.models import Entry, PinnedState, PinnedTest, Policy, Scope, Workspace
from memories.models.policy import Policies
from memories.recall import Query, SearchScope, recall, traces
from memories.tenancy.resolver import ScopeRef

#: What those asked that were pinned before it was kept: memories alone, as many as the policy says.
_ASKED_BEFORE = {"limit": 0, "quotas": True, "include_session_events": False}
#: Pinned tests of one workspace that are run.
MOST = 200
EMBED_SECONDS = 3.0
#: Codes of problems; the labels are on the page (memories.admin.pinned_tests).
MISSING, UNWANTED, NO_WORDS, WORDS, ERASED, NO_SCOPE, DEGRADED = (
    *("missing", "unwanted", "no_words", "words", "erased", "no_scope", "degraded"),
)


@dataclass(frozen=True)
class PinnedRun:
    """What came of one test: problems, each a code with the entry or the words it is about."""

    test: PinnedTest
    problems: list[tuple[str, Any]] = field(default_factory=list)
    served: Sequence[int] = ()

    @property
    def state(self) -> PinnedState:
        """Broken where it cannot tell any more what it was made to tell."""
        if not self.problems:
            return PinnedState.PASSING
        broken = all(code in (ERASED, NO_SCOPE, DEGRADED) for code, _about in self.problems)
        return PinnedState.BROKEN if broken else PinnedState.FAILING


def whom_of(query: Query, label: str) -> dict[str, Any]:
    """As whom a query is asked, as a pinned test keeps it; `said` is what people call that."""
    places = [
        {"key": place.ref.key, "kind": place.ref.kind, "only_chat": place.ref.only_chat, "in_group": place.ref.in_group}
        for place in query.places
    ]
    return {"said": label, "asker": query.asker, "session": query.session_key, "places": places}


def asked_of(query: Query, workspace: Workspace) -> dict[str, Any]:
    """What is asked besides the message and as whom; how many memories, where it is not as many as the policy says."""
    is_default = query.limit == int(Policy.objects.of(workspace.pk).weight("MAX_RECALLS"))
    parameters = traces.asked_json(replace(query, limit=0 if is_default else query.limit))
    return {name: value for name, value in parameters.items() if name not in ("mode", "need", "heard", "asker")}


def run_pinned(workspace: Workspace, policies: Policies | None = None, *, now: datetime) -> list[PinnedRun]:
    """The pinned tests of a workspace that fail or cannot be run; with `policies`, as if those had been saved."""
    return [run for run in runs_of(workspace, policies, now=now) if run.state != PinnedState.PASSING]


def runs_of(workspace: Workspace, policies: Policies | None = None, *, now: datetime) -> list[PinnedRun]:
    """All pinned tests of a workspace, run, of which nothing is kept."""
    tests = list(PinnedTest.objects.filter(workspace=workspace).order_by("pk")[:MOST])
    return [run_one(test, workspace, policies, now=now) for test in tests]


@dataclass(frozen=True)
class NewlyFailing:
    """Pinned tests that pass by the policies there are, and would not by others."""

    runs: list[PinnedRun]
    asked: int  # of `tests`; fewer where the time was up
    tests: int


def newly_failing(workspace: Workspace, policies: Policies, *, now: datetime, seconds: float) -> NewlyFailing:
    """What saving these policies would break; tests that fail anyway are not among it. For about so many seconds."""
    tests = list(PinnedTest.objects.filter(workspace=workspace).order_by("pk")[:MOST])
    end, failing, count = time.monotonic() + seconds, [], 0
    for test in tests:
        if time.monotonic() > end:
            break
        count += 1
        run = run_one(test, workspace, policies, now=now)
        if run.problems and not run_one(test, workspace, now=now).problems:
            failing.append(run)
    return NewlyFailing(failing, count, len(tests))


def run_one(test: PinnedTest, workspace: Workspace, policies: Policies | None = None, *, now: datetime) -> PinnedRun:
    """One pinned test, run. It leaves no trace and counts for nothing."""
    refs = [ScopeRef(**place) for place in test.whom["places"]]
    scopes = {row.key: row for row in Scope.objects.in_workspace(workspace.pk).filter(key__in=[r.key for r in refs])}
    places = [SearchScope(scopes[ref.key], ref) for ref in refs if ref.key in scopes]
    adjusted: Mapping[str, Any] = {} if policies is None else {"adjusted": lambda _now: policies}
    query = traces.query_from(
        (test.asked or _ASKED_BEFORE) | {"mode": test.mode, "need": test.need},
        served_pks=[pk for pk, _version in test.answer or ()],
        workspace_id=workspace.pk,
        language=workspace.language,
        places=places,
        message=test.message,
        asker=test.whom["asker"],
        session_key=test.whom["session"],
        as_of=traces.moment_from(test.asked.get("as_of")),
        **adjusted,
    )
    if not query.places:
        return PinnedRun(test, [(NO_SCOPE, ", ".join(test.scope_keys))])
    result = recall(query, now=now, zone=workspace.zone(), embed_seconds=EMBED_SECONDS, recorded=False)
    served_pks = [item.entry.pk for item in result.served]
    texts = [item.entry.content for item in result.served] + [event.content for event in result.events]
    answer = "\n".join(texts).casefold()
    named_pks = {*test.must_entries, *test.must_not_entries}
    there = set(Entry.objects.filter(workspace=workspace, pk__in=named_pks).values_list("pk", flat=True))
    problems: list[tuple[str, Any]] = [(ERASED, pk) for pk in sorted(named_pks - there)]
    problems += [(MISSING, pk) for pk in test.must_entries if pk in there and pk not in served_pks]
    problems += [(UNWANTED, pk) for pk in test.must_not_entries if pk in served_pks]
    problems += [(NO_WORDS, words) for words in test.must_words if words.casefold() not in answer]
    problems += [(WORDS, words) for words in test.must_not_words if words.casefold() in answer]
    if problems and "embedding" in result.degraded:  # nobody knows what it would be with the embedder
        problems = [problem for problem in problems if problem[0] == ERASED] + [(DEGRADED, None)]
    return PinnedRun(test, problems, served_pks)


def check_all(workspace_id: int, *, now: datetime, is_dry: bool = False) -> dict[str, int]:
    """Run all pinned tests of a workspace and keep what came of each, or nothing; how many there are, and fail."""
    runs = runs_of(Workspace.objects.get(pk=workspace_id), now=now)
    for run in () if is_dry else runs:
        keep(run, now=now)
    return {"tests": len(runs), "failing": sum(run.state != PinnedState.PASSING for run in runs)}


def keep(run: PinnedRun, *, now: datetime) -> None:
    """Write down what came of a test."""
    PinnedTest.objects.filter(pk=run.test.pk).update(state=run.state, problems=run.problems, run_at=now)


def failing_pinned_tests(workspaces: Iterable[int] | None = None) -> Any:
    """The pinned tests of these workspaces (None: of all) that failed when they were last run, or could not be."""
    failing = Q(state__in=(PinnedState.FAILING, PinnedState.BROKEN))
    rows = PinnedTest.objects.filter(failing).order_by("-run_at", "-pk")
    return rows if workspaces is None else rows.filter(workspace_id__in=workspaces)
