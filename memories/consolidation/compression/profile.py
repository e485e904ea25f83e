"""The profile, tier 1: a few lines, refreshed by a diff from the facts that count most (D1, D6)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memories import batches, entries
from memories.batches.steps import ArchiveStep, MergeStep, PlanRow, SupersedeStep
from memories.choices import Act, BatchState, BatchVerb, Category, ChangeState, Reading, Verification, category_rule
from memories.conf import conf
from memories.consolidation import proposals
from memories.consolidation.compression import merging
from memories.consolidation.compression.merging import (
    DropOffer,
    Offer,
    ScopePlan,
    as_data,
    is_fixed,
    live_facts,
    relevance,
)
from memories.consolidation.reading import Claim
from memories.language import likeness, text
from memories.llm import prompts
from memories.llm.run import Clock, ModelRun
from memories.llm.schemas import Given, ProfileLine, ProfileOutput
from memories.models import Batch, Entry, Policy, Scope

JOB = "profile"
#: The most facts a profile may rest on, and their least importance.
_FACTS, _LEAST = 200, 0.7


@dataclass
class _Shown:
    """What a model is shown, by the short ids it names it by; which lines it may replace, and which hold no more."""

    entries: dict[str, Entry]
    free: frozenset[str]
    outdated: dict[int, Entry | None]

    def lines(self) -> list[dict[str, Any]]:
        """The present lines, each with what speaks against it since."""
        rows = as_data(self.entries, "p")
        for row in rows:
            newer = self.outdated.get(self.entries[row["id"]].pk)
            row |= {"outdated_by": newer.content} if newer else {}
        return rows

    def of(self, ids: Sequence[str]) -> list[Entry]:
        return [self.entries[pk] for pk in dict.fromkeys(ids)]


@dataclass
class LineOffer(Offer):
    """A line a model would write of facts, in place of older lines it names."""

    line: ProfileLine
    facts: Sequence[Entry]
    old: Sequence[Entry]

    @property
    def sources(self) -> Sequence[Entry]:
        """What the line rests on: facts, or the lines it puts in other words."""
        return self.facts or self.old

    def claims(self) -> list[Claim]:
        """The line beside its facts; each old line beside the facts, and beside the line."""
        beside = [Claim(old.content, merging.as_quotes(self.facts)) for old in self.old if self.facts]
        return [
            Claim(self.line.content, merging.as_quotes(self.sources)),
            *merging.kept_claims(self.old, self.line.content),
            *beside,
        ]

    def worded(self) -> tuple[str, str]:
        """The line as the model words it where a reader agrees, else in the words of one fact; how it is verified."""
        if Reading.ENTAILED in self.verdicts[:1]:
            return self.line.content, Verification.VERIFIED
        if not self.facts:
            return "", Verification.NONE
        own = set(text.terms(self.line.content))
        nearest = max(self.facts, key=lambda fact: len(own.intersection(fact.terms)))
        return nearest.content, nearest.verification

    def is_kept(self, position: int, content: str) -> bool:
        """Whether a line says what an old one says."""
        old = self.old[position]
        if content == self.line.content and self.verdicts[:1] == [Reading.ENTAILED]:
            is_read = self.verdicts[1 + position] is Reading.ENTAILED
            return is_read and not merging.loses(old, content, [old, *self.facts])
        return likeness.contains(content, old.content.rstrip(" .。!！"))

    def differs(self, position: int) -> bool:
        """Whether the facts contradict an old line: the model names both, and words or a reader say so, too."""
        old = self.old[position]
        beside = self.verdicts[1 + len(self.old) :][position : position + 1]
        return Reading.CONTRADICTED in beside or any(merging.outdates(fact, old) for fact in self.facts)


@dataclass
class ProfilePlan(ScopePlan):
    """The plan for the lines of a profile, and for how many more there is room."""

    room: int = 0
    free: Collection[Entry] = ()
    outdated: dict[int, Entry | None] = field(default_factory=dict)

    def write(self, offer: LineOffer) -> None:
        """Plan a new line; it takes the place of the free lines it repeats, or that something newer corrects.

        It is not written where it is secret, nobody read it, or a line that was stated later says otherwise.
        """
        content, verification = offer.worded()
        replaced: dict[Entry, type[MergeStep | SupersedeStep]] = {}
        for n, old in enumerate(offer.old if content else ()):
            is_older = any(fact.stated_at >= old.stated_at for fact in offer.facts)
            if is_older and (offer.differs(n) or old.pk in self.outdated):
                replaced[old] = SupersedeStep
            elif old in self.free and offer.is_kept(n, content):
                replaced[old] = MergeStep
        fixed = {old for old in replaced if old not in self.free}
        self.doubts += [(old, offer.facts[0]) for old in fixed if offer.facts]
        outgoing_lines = {old: step for old, step in replaced.items() if old not in fixed}
        fault = ""
        if merging.secret_among(offer.sources):
            fault = "secret"
        elif not content:
            fault = "unverified"
        elif any(offer.differs(n) for n, old in enumerate(offer.old) if old not in replaced):
            fault = "outdated"
        elif self.room + len(outgoing_lines) < 1:
            fault = "no_room"
        if fault:
            self.counts[f"not_written_{fault}"] += 1
            return
        self.room += len(outgoing_lines) - 1
        resting = [*offer.facts, *(old for old in offer.old if old in outgoing_lines)] or list(offer.old)
        naming = [fact for fact in offer.facts if fact not in outgoing_lines]
        draft = merging.line_draft(resting, content, offer.line.category, verification)
        self.steps.append(merging.create_step(draft, resting, naming=naming))
        position = len(self.steps)
        self.steps += [merging.replace_step(step, old, position) for old, step in outgoing_lines.items()]


def refresh(scope: Scope, model: ModelRun, clock: Clock, run: str) -> dict[str, int]:
    """Ask for the diff of a scope's profile, and apply it; nothing where no line or fact has changed since."""
    run = batches.run_part(run, JOB)
    begun = Batch.objects.filter(run=run, scope=scope).first()
    if begun is not None:
        return _apply(begun, clock())
    # The most relevant facts that are important; secrets never, nor what is only quoted or of a source that may not
    now, policies = clock(), Policy.objects.of(scope.workspace_id)
    important = [
        fact
        for fact in live_facts(scope, tier=2)
        if fact.importance >= _LEAST
        and not category_rule(fact.category).is_secret
        and merging.may_act(fact, policies)
        and policies.may(fact.trust, Act.PROFILE)
    ]
    lines = live_facts(scope, tier=1)
    facts = sorted(important, key=lambda fact: (-relevance(fact, now), -fact.pk))[:_FACTS]
    last = Batch.objects.filter(scope=scope, name=JOB).order_by("-created_at", "-pk").first() if facts else None
    if not facts or (last and not any(entry.updated_at > last.created_at for entry in (*lines, *facts))):
        return {}
    by_id = {f"p{n}": line for n, line in enumerate(lines, 1)} | {f"f{n}": fact for n, fact in enumerate(facts, 1)}
    settled = proposals.decided_by_people(scope)
    free = (pk for pk, line in by_id.items() if pk[0] == "p" and not is_fixed(line) and line.pk not in settled)
    view = _Shown(by_id, frozenset(free), dict(entries.outdated_lines(scope.pk, scope.workspace_id)))
    question = prompts.prompt(
        "profile",
        model.workspace.language,
        {"profile": view.lines(), "facts": as_data(view.entries, "f")},
        max_lines=conf.PROFILE_LINES,
        categories=", ".join(Category.values),
    )
    answer = model.ask(question, ProfileOutput, Given(frozenset(view.entries), view.free))
    if answer is None:
        return {}
    plan = _plan(answer, view, model, clock())
    batch = plan.save(scope, JOB, run=run, cost=model.take_cost(), now=clock())
    counts = dict(plan.counts + plan.read) | {"planned": 1} | _apply(batch, clock())
    proposals.close_settled(scope, now=clock())
    proposals.propose_outdated(scope, run=run, model=model.model, now=clock())
    return counts


def _plan(answer: ProfileOutput, view: _Shown, model: ModelRun, now: datetime) -> ProfilePlan:
    """Plan what an answer says, once it was read; lines it does not name, and lines that are not free, are kept."""
    lines = sum(pk[0] == "p" for pk in view.entries)
    plan = ProfilePlan(room=conf.PROFILE_LINES - lines + len(set(answer.drop)), outdated=view.outdated)
    plan.free = [view.entries[pk] for pk in view.free]
    line_offers = []
    for line in answer.write:
        named_entries = view.of(line.ids)
        tiers = ([entry for entry in named_entries if entry.tier == tier] for tier in (2, 1))
        line_offers.append(LineOffer(line, *tiers))
    kept_entries = [entry for pk, entry in view.entries.items() if pk not in answer.drop]
    policies = Policy.objects.of(model.workspace.pk)
    dropped = [DropOffer(line, merging.rivals_of(line, kept_entries, policies)) for line in view.of(answer.drop)]
    facts = list(view.entries.values())
    scope = facts[0].scope
    sound = [offer for offer in line_offers if not merging.invents(offer.sources, offer.line.content)]
    plan.read += merging.read_offers([*sound, *dropped], facts, scope, model.workspace, now=now)
    for offer in line_offers:
        plan.write(offer)
    for drop in dropped:
        if drop.fact.pk in view.outdated:
            plan.steps.append(PlanRow.of(drop.fact, ArchiveStep()))
        else:
            plan.room -= not plan.drop(drop, now)
    return plan


def _apply(batch: Batch, now: datetime) -> dict[str, int]:
    applied = batches.apply_batch(batch, now=now)
    if applied.state == BatchState.PROPOSED:
        return {"held": 1}
    if applied.state != BatchState.APPLIED:
        return {}
    replaced = sum(applied.counts.get(verb, 0) for verb in (BatchVerb.MERGE, BatchVerb.SUPERSEDE, BatchVerb.ARCHIVE))
    new_lines = applied.changes.filter(verb=BatchVerb.CREATE, state=ChangeState.APPLIED, note="")  # else it was there
    return {"lines_written": new_lines.count(), "lines_replaced": replaced}
