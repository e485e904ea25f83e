"""Batches and their rows as clients see them."""

from dataclasses import replace
from typing import Any

from rest_framework import serializers

from memories import batches
from memories.api.answers import Answer, ColumnChange, SlotChange, WordDiff, page_of, slot_changes
from memories.batches import Description
from memories.choices import BatchState, BatchVerb, ChangeState, Outcome, SkipReason
from memories.entries import history
from memories.models import Batch
from memories.tenancy.access import Caller
from memories.visibility import reached_chats

#: Why a row was left alone, or what became of what it creates.
ROW_NOTES = (*SkipReason.values, Outcome.MERGED.value, Outcome.SKIPPED.value, "note")


class RowNoteDetails(Answer):
    """The note of a row for people, and what to do first."""

    text = serializers.CharField(help_text="The same in a sentence for people, in the language of the request.")
    batches = serializers.ListField(
        child=serializers.CharField(), help_text="Batches to undo before this row can be; empty but for `stands`."
    )


class HeldReason(Answer):
    """Why a batch waits for a person."""

    code = serializers.CharField()
    figures = serializers.DictField(help_text="What the sentence counts.")
    text = serializers.CharField(help_text="A sentence for people.")


class BatchAnswer(Answer):
    """A bundle of changes made by one run or one action."""

    id = serializers.UUIDField(source="uid")
    scope = serializers.CharField(allow_null=True)
    name = serializers.CharField()
    run = serializers.CharField()
    by = serializers.CharField(source="actor")
    reason = serializers.CharField()
    state = serializers.ChoiceField(choices=BatchState.choices)
    held_because = HeldReason(many=True)
    decided_by = serializers.CharField(help_text="Who approved or refused it.")
    counts = serializers.JSONField()
    cost = serializers.JSONField()
    undoes = serializers.UUIDField(allow_null=True)
    created_at = serializers.DateTimeField()
    applied_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)


BatchPage = page_of(BatchAnswer, "Batches, newest first.")


class BatchChangeAnswer(Answer):
    """What one row of a batch does to its entry."""

    position = serializers.IntegerField(source="change.position")
    verb = serializers.ChoiceField(choices=BatchVerb.choices, source="change.verb")
    entry = serializers.UUIDField(allow_null=True)
    event = serializers.UUIDField(allow_null=True, help_text="The event of a day, where the row is about one.")
    expected_version = serializers.IntegerField(allow_null=True, source="change.expected_version")
    state = serializers.ChoiceField(choices=ChangeState.choices, source="change.state")
    note = serializers.ChoiceField(
        choices=ROW_NOTES, allow_null=True, help_text="What became of a row that was not simply made."
    )
    note_details = RowNoteDetails(allow_null=True)
    draft = serializers.JSONField(allow_null=True, help_text="Of what is created or changed.")
    content = serializers.CharField(allow_null=True, source="before", help_text="The words of the entry before.")
    diff = WordDiff(allow_null=True, help_text="Runs of words: = stay, - go, + come. Null where the words stay.")
    changes = ColumnChange(many=True)
    slots = SlotChange(many=True)
    into = serializers.UUIDField(allow_null=True, help_text="The entry that takes its place.")
    into_position = serializers.IntegerField(allow_null=True, help_text="The row that makes what takes its place.")
    sources = serializers.ListField(child=serializers.UUIDField(), help_text="What becomes part of what it makes.")


BatchChangePage = page_of(BatchChangeAnswer, "The changes of a batch, in their order.")


class BatchWithChanges(BatchAnswer):
    """A batch and a page of its changes."""

    undone_by = serializers.ListField(child=serializers.UUIDField(), help_text="Batches that took it back.")
    changes = BatchChangePage()


def batch_answer(batch: Batch, kind: type[BatchAnswer] = BatchAnswer, **more: Any) -> dict[str, Any]:
    """A batch as clients see it."""
    reasons = zip(batch.held_because, batches.approval_reasons(batch), strict=True)  # stored, and in a sentence
    return kind.of(
        batch,
        scope=batch.scope.key if batch.scope else None,
        held_because=[
            HeldReason.of(
                code=reason["code"],
                figures={name: value for name, value in reason.items() if name != "code"},
                text=text,
            )
            for reason, text in reasons
        ],
        undoes=batch.undoes.uid if batch.undoes else None,
        **more,
    )


def change_answer(row: Description, caller: Caller | None = None) -> dict[str, Any]:
    """One row of a batch as the holder of a key sees it, or as the operator at the terminal does."""
    change = row.change
    if caller is not None and _is_quarantined(row):
        row = replace(row, before=None, after=None, columns={}, slots={}, into=None, sources=[])
    note, text = row.note or (None, "")
    # How the words change; of what is made of other entries, against their words
    before = row.before
    if before is None:
        before = "\n".join(source.content for source in row.sources)
    return BatchChangeAnswer.of(
        row,
        entry=change.entry.uid if change.entry else None,
        event=change.event.uid if change.event else None,
        note=note,
        note_details=RowNoteDetails.of(text=text, batches=batches.blocking_batches(change)) if note else None,
        draft=None if caller is not None and _is_quarantined(row) else _draft(row, caller),
        diff=None if row.after is None else history.word_diff(before, row.after),
        changes=[ColumnChange.of(column=name, old=old, new=new) for name, (old, new) in row.columns.items()],
        slots=slot_changes(row.slots),
        into=row.into.uid if row.into else None,
        sources=[source.uid for source in row.sources],
    )


def _is_quarantined(row: Description) -> bool:
    """Whether what a row tells of is in quarantine: no caller is given its words."""
    told = (row.change.entry, row.into, *row.sources)
    return any(entry is not None and entry.quarantined_at is not None for entry in told)


def _draft(row: Description, caller: Caller | None) -> dict[str, Any] | None:
    """What is created or changed, or the event of a day, with the chats the caller reaches."""
    if row.change.verb not in (BatchVerb.CREATE, BatchVerb.CHANGE, BatchVerb.TELL):
        return None
    draft = row.step.as_json()
    return draft | {"chats": reached_chats(caller, draft["chats"])} if caller and draft.get("chats") else draft
