"""The profile, tier 1: a few lines, refreshed by a diff from the facts that count most (D1, D6)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from memories import batches
from memories.batches.steps import MergeStep, SupersedeStep
from memories.choices import BatchState, BatchVerb, Category, ChangeState, Rewordings
from memories.conf import conf
from memories.consolidation.compression import drafts, merge_policy
from memories.consolidation.compression.facts import as_data, decided_by_people, is_fixed, live_facts, relevance
from memories.consolidation.compression.plan import ScopePlan
from memories.kinds import category_rule
from memories.llm import prompts
from memories.llm.answer_texts import is_one_sentence
from memories.llm.run import Clock, ModelRun
from memories.llm.schemas import Given, ProfileLine, ProfileOutput
from memories.models import Batch, Entry, Scope
from memories.verification import rewording, verbatim

JOB = "profile"
#: The most facts a profile may rest on, and their least importance.
_FACTS, _LEAST = 200, 0.7


@dataclass
class ProfilePlan(ScopePlan):
    """The plan for the lines of a profile, and for how many more there is room."""

    room: int = 0


def refresh(scope: Scope, model: ModelRun, clock: Clock, run: str) -> dict[str, int]:
    """Ask for the diff of a scope's profile, and apply it; nothing where no line or fact has changed since."""
    run = batches.run_part(run, JOB)
    begun = Batch.objects.filter(run=run, scope=scope).first()
    if begun is not None:
        return _apply(begun, clock())
    lines, facts = live_facts(scope, tier=1), _facts(scope, clock())
    if not facts or not _has_changed(scope, [*lines, *facts]):
        return {}
    shown = {f"p{n}": line for n, line in enumerate(lines, 1)} | {f"f{n}": fact for n, fact in enumerate(facts, 1)}
    settled = decided_by_people(scope)
    free = frozenset(pk for pk, line in shown.items() if pk[0] == "p" and not is_fixed(line) and line.pk not in settled)
    question = prompts.prompt(
        "profile",
        model.workspace.language,
        {"profile": as_data(shown, "p"), "facts": as_data(shown, "f")},
        max_lines=conf.PROFILE_LINES,
        categories=", ".join(Category.values),
    )
    answer = model.ask(question, ProfileOutput, Given(frozenset(shown), free))
    if answer is None:
        return {}
    plan = _plan(answer, shown, free, room=conf.PROFILE_LINES - len(lines), now=clock())
    batch, _merges = plan.save(scope, JOB, run=run, cost=model.take_cost(), now=clock())
    return dict(plan.counts) | {"planned": 1} | _apply(batch, clock())


def _facts(scope: Scope, now: datetime) -> list[Entry]:
    """The most relevant facts that are important; secrets never."""
    important = [
        fact
        for fact in live_facts(scope, tier=2)
        if fact.importance >= _LEAST and not category_rule(fact.category).is_secret
    ]
    return sorted(important, key=lambda fact: (-relevance(fact, now), -fact.pk))[:_FACTS]


def _has_changed(scope: Scope, entries: Sequence[Entry]) -> bool:
    last = Batch.objects.filter(scope=scope, name=JOB).order_by("-created_at", "-pk").first()
    return last is None or any(entry.updated_at > last.created_at for entry in entries)


def _plan(
    answer: ProfileOutput, shown: dict[str, Entry], free: Collection[str], *, room: int, now: datetime
) -> ProfilePlan:
    """Plan what an answer says; lines it does not name, and lines that are not free, are kept."""
    plan = ProfilePlan(room=room + len(set(answer.drop)))
    for line in answer.write:
        _add_line(plan, line, [shown[pk] for pk in dict.fromkeys(line.ids)], [shown[pk] for pk in free])
    kept = [entry for pk, entry in shown.items() if pk not in answer.drop]
    for pk in dict.fromkeys(answer.drop):
        plan.room -= not plan.drop(shown[pk], kept, now)
    return plan


def _add_line(plan: ProfilePlan, line: ProfileLine, sources: list[Entry], free: Sequence[Entry]) -> None:
    """Plan a new line in words of its sources; it takes the place of the free lines it repeats or corrects."""
    named = [source for source in sources if source in free]
    content = _quote_sources(line.content, sources, named)
    replaced = {entry: step for entry in named if (step := _replacing_step(content, entry, sources))}
    fault = _fault(line.content, sources, named) or ("" if content else "reworded")
    if fault or plan.room + len(replaced) < 1:
        plan.counts[f"not_written_{fault or 'no_room'}"] += 1
        return
    plan.room += len(replaced) - 1
    naming = [source for source in sources if source not in replaced]
    plan.steps.append(drafts.create_step(drafts.line_draft(sources, content, line.category), sources, naming=naming))
    position = len(plan.steps)
    plan.steps += [drafts.replace_step(step, entry, position) for entry, step in replaced.items()]


def _quote_sources(written: str, sources: Sequence[Entry], old: Sequence[Entry]) -> str:
    """A line in the words of its sources: the model chooses what belongs into the profile, and does not reword it.

    Empty where they are too long for one sentence together.
    """
    contents = [source.content for source in sources if source not in old] or [source.content for source in old]
    if conf.REWORDINGS == Rewordings.APPLY or verbatim.repeats(written, contents):
        return written
    if len(contents) == 1:
        return contents[0]
    joined = verbatim.join_sources(contents)
    return joined if is_one_sentence(joined) else ""


def _replacing_step(content: str, entry: Entry, sources: Sequence[Entry]) -> type[MergeStep | SupersedeStep] | None:
    """The step by which a line takes the place of an older one: it repeats it, or something newer corrects it."""
    applies = conf.REWORDINGS == Rewordings.APPLY and not merge_policy.merge_fault([entry], content)
    if applies or verbatim.contains(content, entry.content):
        return MergeStep
    newer = (source for source in sources if source.pk != entry.pk)
    return SupersedeStep if any(merge_policy.outdates(source, entry) for source in newer) else None


def _fault(written: str, sources: Sequence[Entry], old: Sequence[Entry]) -> str:
    """Why a line is not written: it invents, is secret, or loses something of a line nothing newer corrects."""
    if rewording.invents([source.content for source in sources], written):
        return merge_policy.MergeFault.INVENTED
    if drafts.secret_among(sources):
        return "secret"
    for entry in old:
        newer = [one for one in sources if one not in old and one.stated_at >= entry.stated_at]
        if merge_policy.merge_fault([entry], written) and not newer:
            return merge_policy.MergeFault.LOST
    return ""


def _apply(batch: Batch, now: datetime) -> dict[str, int]:
    applied = batches.apply_batch(batch, now=now)
    if applied.state == BatchState.PROPOSED:
        return {"held": 1}
    if applied.state != BatchState.APPLIED:
        return {}
    replaced = sum(applied.counts.get(verb, 0) for verb in (BatchVerb.MERGE, BatchVerb.SUPERSEDE, BatchVerb.ARCHIVE))
    written = applied.changes.filter(verb=BatchVerb.CREATE, state=ChangeState.APPLIED, note="")  # else it was there
    return {"lines_written": written.count(), "lines_replaced": replaced}
