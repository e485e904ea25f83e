"""Drafts and steps of facts that are made of several: scope, sources, slots, chats."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memories.batches import PlanRow
from memories.batches.steps import ArchiveStep, CreateStep, MergeStep, Successor, SupersedeStep
from memories.choices import EntryType, Source, Verification
from memories.consolidation.compression.merge_policy import slots_of
from memories.entries.draft import Draft
from memories.entries.fields import COLUMN_SLOTS
from memories.kinds import category_rule, decay
from memories.models import DailyEvent, Entry

_LONG = 3_650.0  # days after which categories that last and those that decay differ


def merge_draft(sources: Sequence[Entry], content: str, verification: str = Verification.NONE) -> Draft:
    """One fact in place of several: as old as the first, as important as the most important, for chats of all."""
    # The category of a secret source; else the one that lasts longest, of the most important source
    first, category = (
        sources[0],
        secret_among(sources) or max(sources, key=lambda one: (decay(one.category, _LONG), one.importance)).category,
    )
    draft = _draft(sources, content, tier=2, project=first.project, topic=first.topic, category=category)
    return replace(draft, verification=verification)


def line_draft(sources: Sequence[Entry], content: str, category: str, verification: str = Verification.NONE) -> Draft:
    """One line of a profile; it is a secret if one of its sources is."""
    draft = _draft(
        sources, content, tier=1, project="_global", topic="_profile", category=secret_among(sources) or category
    )
    return replace(draft, verification=verification)


def _draft(sources: Sequence[Entry], content: str, *, tier: int, project: str, topic: str, category: str) -> Draft:
    return Draft(
        scope=sources[0].scope,
        type=EntryType.FACT,
        tier=tier,
        content=content,
        source=Source.COMPRESSION,
        at=min(source.created_at for source in sources),
        category=category,
        project=project,
        topic=topic,
        importance=max(source.importance for source in sources),
        slots=_slots(sources) if tier == 2 else {},
        chats=chats_of(sources),
        origins=origins_of(sources),
    )


def chats_of(sources: Sequence[Entry] | Sequence[DailyEvent]) -> tuple[str, ...]:
    """The chats of all sources; none where one has none, as then nobody knows where it comes from."""
    chats = tuple(dict.fromkeys(chat for source in sources for chat in source.chats))
    return chats if all(source.chats for source in sources) else ()


def origins_of(sources: Sequence[Entry] | Sequence[DailyEvent]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(origin for source in sources for origin in source.origins))


def _slots(sources: Sequence[Entry]) -> Mapping[str, str]:
    """All slots of the sources; of those in columns, the ones on which all sources agree."""
    each = [slots_of(source) for source in sources]
    merged = {name: value for slots in each for name, value in slots.items()}
    common = {name for name, value in merged.items() if all(slots.get(name) == value for slots in each)}
    return {name: value for name, value in merged.items() if name in common or name not in COLUMN_SLOTS}


def secret_among(sources: Sequence[Entry]) -> str:
    """The category of the first source that is a secret; empty when none is."""
    return next((source.category for source in sources if category_rule(source.category).is_secret), "")


def create_step(draft: Draft, sources: Sequence[Entry], *, naming: Sequence[Entry] = ()) -> PlanRow:
    """A step that creates a fact, unless a source is changed or suppressed by then."""
    resting = {source.pk: source.version for source in sources}
    step = CreateStep(draft=draft, rests_on=resting, sources=tuple(source.pk for source in naming))
    return PlanRow(step=step)


def replace_step(kind: type[MergeStep | SupersedeStep], entry: Entry, position: int) -> PlanRow:
    """A step that merges an entry into, or supersedes it by, what the step at a position creates."""
    return PlanRow.of(entry, kind(into=Successor(position=position)))


def merge_steps(sources: Sequence[Entry], content: str, *, after: int, verification: str) -> list[PlanRow]:
    """The steps that merge several facts, after so many others."""
    made = create_step(merge_draft(sources, content, verification), sources)
    return [made, *(replace_step(MergeStep, source, after + 1) for source in sources)]


def archive_step(entry: Entry) -> PlanRow:
    return PlanRow.of(entry, ArchiveStep())
