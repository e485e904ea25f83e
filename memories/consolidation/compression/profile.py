"""The profile, tier 1: a few lines, refreshed as a difference from the facts that count most (D1, D6)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from memories import batches
from memories.batches import PlanRow
from memories.batches.steps import MergeStep, SupersedeStep
from memories.choices import BatchState, BatchVerb, Category, ChangeState, Rewordings
from memories.conf import conf
from memories.consolidation.compression import drafts, merge_policy
from memories.consolidation.compression.facts import as_data, decided_by_people, is_fixed, live_facts, relevance
from memories.consolidation.compression.proposals import Proposals, propose
from memories.kinds import category_rule
from memories.llm import prompts
from memories.llm.run import Clock, ModelRun
from memories.llm.schemas import Given, ProfileLine, ProfileOutput, is_one_sentence
from memories.models import Batch, Entry, Scope
from memories.verification import rewording, verbatim

JOB = "profile"
DOUBTS = "profile-doubts"
ACTOR = "job:compress"
#: Facts a profile may rest on, those that count most.
_FACTS, _LEAST = 200, 0.7


@dataclass
class _ProfilePlan:
    """What is to become of the lines of a profile."""

    room: int
    steps: list[PlanRow] = field(default_factory=list)
    doubts: Proposals = field(default_factory=Proposals)
    counts: Counter[str] = field(default_factory=Counter)


def refresh(scope: Scope, asker: ModelRun, clock: Clock, run: str) -> dict[str, int]:
    """Ask what the profile of a scope is to say; nothing is asked where nothing has changed since."""
    run = batches.run_part(run, JOB)
    begun = Batch.objects.filter(run=run, scope=scope).first()
    if begun is not None:
        return _apply(begun, clock())
    lines, facts = live_facts(scope, tier=1), _facts(scope, clock())
    if not facts or not _has_changed(scope, [*lines, *facts]):
        return {}
    named = {f"p{n}": line for n, line in enumerate(lines, 1)} | {f"f{n}": fact for n, fact in enumerate(facts, 1)}
    own = {pk for pk in named if pk.startswith("p")}
    settled = decided_by_people(scope)
    free = frozenset(pk for pk in own if not is_fixed(named[pk]) and named[pk].pk not in settled)
    answer = asker.ask(_question(named, asker), ProfileOutput, Given(frozenset(named), free))
    if answer is None:
        return {}
    refreshed = _read(answer, named, free, room=conf.PROFILE_LINES - len(lines), now=clock())
    return dict(refreshed.counts) | {"planned": 1} | _apply(_plan(scope, refreshed, asker, clock(), run), clock())


def _facts(scope: Scope, now: datetime) -> list[Entry]:
    """Secrets are nothing to have before one always."""
    important = [
        fact
        for fact in live_facts(scope, tier=2)
        if fact.importance >= _LEAST and not category_rule(fact.category).is_secret
    ]
    return sorted(important, key=lambda fact: (-relevance(fact, now), -fact.pk))[:_FACTS]


def _has_changed(scope: Scope, entries: Sequence[Entry]) -> bool:
    last = Batch.objects.filter(scope=scope, name=JOB).order_by("-created_at", "-pk").first()
    return last is None or any(entry.updated_at > last.created_at for entry in entries)


def _question(named: dict[str, Entry], asker: ModelRun) -> prompts.Prompt:
    rows = as_data(named)
    data = {kind: [row for row in rows if row["id"][0] == kind[0]] for kind in ("profile", "facts")}
    categories = ", ".join(Category.values)
    values: dict[str, int | str] = {"max_lines": conf.PROFILE_LINES, "categories": categories}
    return prompts.prompt("profile", asker.workspace.language, data, **values)


def _read(
    answer: ProfileOutput, named: dict[str, Entry], free: frozenset[str], *, room: int, now: datetime
) -> _ProfilePlan:
    """What is not named is kept, and a line people wrote stays whatever is said of it."""
    refreshed = _ProfilePlan(room=room + len(set(answer.drop)))
    for line in answer.write:
        _write(line, [named[pk] for pk in dict.fromkeys(line.ids)], [named[pk] for pk in free], refreshed)
    for pk in dict.fromkeys(answer.drop):
        kept = [entry for other, entry in named.items() if other not in answer.drop]
        if merge_policy.is_over(named[pk], kept, now):
            refreshed.steps.append(drafts.archive_step(named[pk]))
        else:
            refreshed.doubts.drops.append(named[pk])
            refreshed.room -= 1
    return refreshed


def _write(line: ProfileLine, sources: list[Entry], free: Sequence[Entry], refreshed: _ProfilePlan) -> None:
    """One new line, in words of its sources; it takes the place of the lines it repeats or corrects, and no others."""
    named = [source for source in sources if source in free]
    said = _quote_sources(line.content, sources, named)
    old = {entry: step for entry in named if (step := _replacing_verb(said, entry, sources))}
    why = _objection(line.content, sources, named) or ("" if said else "reworded")
    if why or refreshed.room + len(old) < 1:
        refreshed.counts[f"not_written_{why or 'no_room'}"] += 1
        return
    refreshed.room += len(old) - 1
    naming = [source for source in sources if source not in old]
    refreshed.steps.append(drafts.create_step(drafts.line_draft(sources, said, line.category), sources, naming=naming))
    place = len(refreshed.steps)
    refreshed.steps += [drafts.replace_step(step, entry, place) for entry, step in old.items()]


def _quote_sources(said: str, sources: Sequence[Entry], old: Sequence[Entry]) -> str:
    """A line as its sources have it: a model chooses what belongs into the profile, how it is said people did.

    Empty: of several, which together are no sentence any more.
    """
    contents = [source.content for source in sources if source not in old] or [source.content for source in old]
    if conf.REWORDINGS == Rewordings.APPLY or verbatim.repeats(said, contents):
        return said
    if len(contents) == 1:
        return contents[0]
    joined = verbatim.join_sources(contents)
    return joined if is_one_sentence(joined) else ""


def _replacing_verb(said: str, entry: Entry, sources: Sequence[Entry]) -> type[MergeStep | SupersedeStep] | None:
    """How a line takes the place of an older one: it says it again, or something newer corrects it."""
    applies = conf.REWORDINGS == Rewordings.APPLY and not merge_policy.merge_fault([entry], said)
    if applies or verbatim.contains(said, entry.content):
        return MergeStep
    newer = (source for source in sources if source.pk != entry.pk)
    return SupersedeStep if any(merge_policy.outdates(source, entry) for source in newer) else None


def _objection(said: str, sources: Sequence[Entry], old: Sequence[Entry]) -> str:
    """A line says nothing its sources do not; and takes the place of others only when something newer was said."""
    if rewording.invents([source.content for source in sources], said):
        return merge_policy.MergeFault.INVENTED
    if drafts.secret_among(sources):
        return "secret"
    for entry in old:
        newer = [one for one in sources if one not in old and one.stated_at >= entry.stated_at]
        if merge_policy.merge_fault([entry], said) and not newer:
            return merge_policy.MergeFault.LOST
    return ""


def _plan(scope: Scope, refreshed: _ProfilePlan, asker: ModelRun, now: datetime, run: str) -> Batch:
    with transaction.atomic():
        batches.supersede_proposals(scope, JOB, actor=ACTOR, now=now)
        plan = batches.plan(scope, refreshed.steps, name=JOB, run=run, actor=ACTOR, now=now, judged=True)
        plan.cost = asker.take_cost()
        plan.save(update_fields=["cost"])
        propose(scope, refreshed.doubts, name=DOUBTS, run=run, actor=ACTOR, now=now)
    return plan


def _apply(plan: Batch, now: datetime) -> dict[str, int]:
    done = batches.apply_batch(plan, now=now)
    if done.state == BatchState.PROPOSED:
        return {"held": 1}
    if done.state != BatchState.APPLIED:
        return {}
    gone = sum(done.counts.get(verb, 0) for verb in (BatchVerb.MERGE, BatchVerb.SUPERSEDE, BatchVerb.ARCHIVE))
    written = done.changes.filter(verb=BatchVerb.CREATE, state=ChangeState.APPLIED, note="")  # else it was there
    return {"lines_written": written.count(), "lines_replaced": gone}
