"""What becomes of several facts when they become one: where it belongs, what it rests on, whose it may be told."""

from collections.abc import Mapping, Sequence

from memories.batches import PlanRow
from memories.batches.steps import ArchiveStep, CreateStep, MergeStep, Successor, SupersedeStep
from memories.choices import EntryType, Source
from memories.consolidation.compression.merge_policy import slots_of
from memories.entries.draft import Draft
from memories.entries.fields import COLUMN_SLOTS
from memories.kinds import category_rule, decay
from memories.models import Entry

_LONG = 3_650.0  # days after which what lasts can be told from what fades


def merge_draft(sources: Sequence[Entry], content: str) -> Draft:
    """One fact in place of several: as old as the first, as important as the most important, told where all may be."""
    first = sources[0]
    return _draft(sources, content, tier=2, project=first.project, topic=first.topic, category=_category(sources))


def line_draft(sources: Sequence[Entry], content: str, category: str) -> Draft:
    """One line of a profile; what rests on a secret is one."""
    return _draft(
        sources, content, tier=1, project="_global", topic="_profile", category=secret_among(sources) or category
    )


def _draft(sources: Sequence[Entry], content: str, *, tier: int, project: str, topic: str, category: str) -> Draft:
    known = all(source.chats for source in sources)  # of one that came from nobody knows where, no chat may be told
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
        chats=tuple(dict.fromkeys(chat for source in sources for chat in source.chats)) if known else (),
        origins=tuple(dict.fromkeys(origin for source in sources for origin in source.origins)),
    )


def _slots(sources: Sequence[Entry]) -> Mapping[str, str]:
    """What any of them says; of where it was said, what all of them say."""
    each = [slots_of(source) for source in sources]
    everything = {name: value for slots in each for name, value in slots.items()}
    common = {name for name in everything if all(slots.get(name) == everything[name] for slots in each)}
    return {name: value for name, value in everything.items() if name in common or name not in COLUMN_SLOTS}


def secret_among(sources: Sequence[Entry]) -> str:
    """The category of the first that is a secret; empty when none is."""
    return next((source.category for source in sources if category_rule(source.category).is_secret), "")


def _category(sources: Sequence[Entry]) -> str:
    """A secret stays one; else what lasts longest, and of those what counts most."""
    return secret_among(sources) or max(sources, key=lambda one: (decay(one.category, _LONG), one.importance)).category


def create_step(draft: Draft, sources: Sequence[Entry], *, naming: Sequence[Entry] = ()) -> PlanRow:
    """The row that creates it, unless one of its sources was changed or taken out by then."""
    resting = {source.pk: source.version for source in sources}
    step = CreateStep(draft=draft, rests_on=resting, sources=tuple(source.pk for source in naming))
    return PlanRow(step=step)


def replace_step(kind: type[MergeStep | SupersedeStep], entry: Entry, position: int) -> PlanRow:
    """The row that has an entry become part of, or be followed by, what the row at a position creates."""
    return PlanRow.of(entry, kind(into=Successor(position=position)))


def merge_steps(sources: Sequence[Entry], content: str, *, after: int) -> list[PlanRow]:
    """The rows that make several facts one, behind so many others."""
    made = create_step(merge_draft(sources, content), sources)
    return [made, *(replace_step(MergeStep, source, after + 1) for source in sources)]


def archive_step(entry: Entry) -> PlanRow:
    return PlanRow.of(entry, ArchiveStep())
