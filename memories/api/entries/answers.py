"""Entries and their history as clients see them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rest_framework import serializers

from memories.api.answers import (
    Answer,
    ColumnChange,
    SlotChange,
    evidence_answers,
    evidence_field,
    page_of,
    verification_field,
)
from memories.choices import Category, EntryType, LinkKind, Outcome, Source
from memories.entries import CONTRADICTED_BY, ERASED, QUARANTINED, TAKEN_OUT
from memories.entries.evidence import evidence_of
from memories.entries.fields import COLUMN_SLOTS
from memories.models import Entry, Evidence
from memories.models.policy import Policies
from memories.models.state import State, state_of


class EntryAnswer(Answer):
    """A memory."""

    id = serializers.UUIDField(source="uid")
    scope = serializers.CharField(source="scope.key")
    type = serializers.ChoiceField(choices=EntryType.choices)
    subtype = serializers.CharField()
    tier = serializers.IntegerField(allow_null=True)
    category = serializers.ChoiceField(choices=Category.choices, allow_blank=True)
    project = serializers.CharField()
    topic = serializers.CharField()
    content = serializers.CharField()
    slots = serializers.DictField(child=serializers.CharField())
    contradicted_by = serializers.CharField(
        allow_null=True, help_text="The newer memory that makes this line of the profile untrue: it is not handed out."
    )
    verification = verification_field()
    evidence = evidence_field()
    path = serializers.CharField(help_text="Of the file it is a line of; empty: of none.")
    line_from = serializers.IntegerField(allow_null=True)
    line_to = serializers.IntegerField(allow_null=True)
    heading = serializers.CharField(help_text="The headings its line stands under.")
    importance = serializers.FloatField()
    source = serializers.ChoiceField(choices=Source.choices)  # type: ignore[assignment]
    state = serializers.ChoiceField(choices=State.choices)
    pinned = serializers.BooleanField()
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    stated_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    review_at = serializers.DateTimeField(allow_null=True)
    expired_at = serializers.DateTimeField(allow_null=True)
    archived_at = serializers.DateTimeField(allow_null=True)


class SavedEntry(EntryAnswer):
    """A memory as it stands after it was saved, and what became of what was sent."""

    outcome = serializers.ChoiceField(choices=Outcome.choices)
    reason = serializers.ChoiceField(
        choices=[TAKEN_OUT, ERASED, QUARANTINED], allow_null=True, help_text="Why it is suppressed."
    )
    linked = serializers.ListField(child=serializers.UUIDField(), help_text="Entries it resembles.")
    brought_back = serializers.BooleanField(help_text="People had taken these words out before.")


EntryPage = page_of(EntryAnswer, "Memories, newest first.")


def entry_answer(
    entry: Entry, policies: Policies, now: datetime, kind: type[EntryAnswer] = EntryAnswer, **more: Any
) -> dict[str, Any]:
    """An entry as clients see it."""
    return entry_answers([entry], policies, now, kind, **more)[0]


def entry_answers(
    rows: Sequence[Entry], policies: Policies, now: datetime, kind: type[EntryAnswer] = EntryAnswer, **more: Any
) -> list[dict[str, Any]]:
    """Entries as clients see them; the words they rest on are read at once, where a model stated any of them."""
    stated = {entry.pk: entry.workspace_id for entry in rows if entry.verification}
    quotes = evidence_of(stated, next(iter(stated.values()))) if stated else {}
    return [_entry_answer(entry, quotes.get(entry.pk, ()), policies, now, kind, **more) for entry in rows]


def _entry_answer(
    entry: Entry,
    quotes: Sequence[Evidence],
    policies: Policies,
    now: datetime,
    kind: type[EntryAnswer],
    **more: Any,
) -> dict[str, Any]:
    slots = slots_of(entry)
    return kind.of(
        entry,
        slots=slots,
        evidence=evidence_answers(quotes),
        contradicted_by=slots.get(CONTRADICTED_BY),
        state=state_of(entry, policies.end_of(entry), now),
        **more,
    )


def slots_of(entry: Entry) -> dict[str, str]:
    """All slots of an entry, those that are columns as well."""
    return with_columns(entry, {slot.name: slot.value for slot in entry.slots.all()})


def with_columns(entry: Entry, slots: Mapping[str, str]) -> dict[str, str]:
    """The slots of an entry that are columns, and these others."""
    return {name: getattr(entry, name) for name in COLUMN_SLOTS if getattr(entry, name)} | dict(slots)


class Relative(Answer):
    """An entry another was made from, or became."""

    id = serializers.UUIDField(source="uid")
    kind = serializers.ChoiceField(choices=[LinkKind.MERGED_FROM, LinkKind.SUPERSEDES, LinkKind.SOURCE_OF])
    content = serializers.CharField()
    at = serializers.DateTimeField()


class EntryWithLineage(EntryAnswer):
    """A memory, what it was made from, and what it became."""

    sources = Relative(many=True, help_text="What it was made from, or replaced.")
    became = Relative(many=True, help_text="What it has become part of, or a source of, or what replaced it.")
    origins = serializers.ListField(
        child=serializers.CharField(),
        help_text="The messages it rests on: `session_events/<session>/<conversation>/event-<id>`.",
    )
    times_recalled = serializers.IntegerField()
    last_recalled_at = serializers.DateTimeField(allow_null=True)
    times_repeated = serializers.IntegerField(help_text="How often it was repeated.")


class CopyAnswer(Answer):
    """Another entry that rests on the same messages, as it stands now."""

    id = serializers.UUIDField(source="uid")
    scope = serializers.CharField(source="scope.key")
    type = serializers.ChoiceField(choices=EntryType.choices)
    state = serializers.ChoiceField(choices=State.choices)


class EntryWithCopies(EntryAnswer):
    """A memory, and the copies of it that went or came with it, or stayed."""

    copies = CopyAnswer(many=True)


class RevisionAnswer(Answer):
    """What somebody changed at once."""

    version = serializers.IntegerField(help_text="The version that began with it, for /revert.")
    at = serializers.DateTimeField()
    by = serializers.CharField(source="actor")
    operation = serializers.ChoiceField(choices=["created", "changed"])
    batch = serializers.UUIDField(allow_null=True)
    run = serializers.CharField()
    changes = ColumnChange(many=True)
    slots = SlotChange(many=True)


RevisionPage = page_of(RevisionAnswer, "The steps of an entry's life, newest first.")
