"""What calls about memories answer, for the schema only: answers themselves are plain dicts, which are quicker."""

from typing import Any

from rest_framework import serializers

from memories.api.row_notes import ROW_NOTES, RowNoteDetails
from memories.choices import BatchState, BatchVerb, Category, ChangeState, EntryType, Outcome, Source
from memories.entries import TAKEN_OUT
from memories.models.state import State


class EntryAnswer(serializers.Serializer[Any]):
    """A memory."""

    id = serializers.UUIDField()
    scope = serializers.CharField()
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
    reason = serializers.ChoiceField(choices=[TAKEN_OUT], allow_null=True, help_text="Why it is suppressed.")
    linked = serializers.ListField(child=serializers.UUIDField(), help_text="Entries it resembles.")
    brought_back = serializers.BooleanField(help_text="People had taken these words out before.")


class Page(serializers.Serializer[Any]):
    """One page of a list; without `next` it is the last one."""

    next = serializers.URLField(allow_null=True)
    cursor = serializers.CharField(allow_null=True)


class EntryPage(Page):
    """Memories, newest first."""

    results = EntryAnswer(many=True)


class ColumnChange(serializers.Serializer[Any]):
    """One column before and after; of the content also word by word."""

    column = serializers.CharField()
    old = serializers.JSONField(allow_null=True)
    new = serializers.JSONField(allow_null=True)
    diff = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2),
        required=False,
        help_text="Runs of words: = stayed, - went, + came.",
    )


class SlotChange(serializers.Serializer[Any]):
    """One slot before and after; null where there was or is none."""

    name = serializers.CharField()
    old = serializers.CharField(allow_null=True)
    new = serializers.CharField(allow_null=True)


class StepAnswer(serializers.Serializer[Any]):
    """What somebody changed at once."""

    version = serializers.IntegerField(help_text="The version that began with it, for /revert.")
    at = serializers.DateTimeField()
    by = serializers.CharField()
    operation = serializers.ChoiceField(choices=["created", "changed"])
    batch = serializers.UUIDField(allow_null=True)
    run = serializers.CharField()
    changes = ColumnChange(many=True)
    slots = SlotChange(many=True)


class HistoryPage(Page):
    """The steps of an entry's life, newest first."""

    results = StepAnswer(many=True)


class Boosts(serializers.Serializer[Any]):
    """What was added because the question names who said it, or when."""

    speaker = serializers.FloatField()
    date = serializers.FloatField()


class Why(serializers.Serializer[Any]):
    """How a memory was ranked; what is not known is null."""

    keyword = serializers.FloatField(allow_null=True)
    keyword_rank = serializers.IntegerField(allow_null=True, help_text="Among what was looked at.")
    vector = serializers.FloatField(allow_null=True)
    vector_rank = serializers.IntegerField(allow_null=True, help_text="Among what was looked at.")
    similarity, date = serializers.FloatField(allow_null=True), serializers.FloatField(allow_null=True)
    speaker_named = serializers.BooleanField()
    boosts = Boosts()
    fused = serializers.FloatField(allow_null=True)
    decay = serializers.FloatField(allow_null=True)
    recency = serializers.FloatField(allow_null=True)
    whose = serializers.FloatField(allow_null=True, help_text="0.25: another's, where one asks about oneself.")
    in_context = serializers.BooleanField(allow_null=True, help_text="Whether the token budget had room for it.")


class RecalledMemory(serializers.Serializer[Any]):
    """A memory that bears on the message."""

    id = serializers.UUIDField()
    type = serializers.ChoiceField(choices=EntryType.choices)
    scope = serializers.CharField()
    content = serializers.CharField()
    sender = serializers.CharField(allow_null=True, help_text="The id of who said it; null: nobody knows.")
    sender_name = serializers.CharField(allow_null=True, help_text="What people call the sender.")
    slots = serializers.DictField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    score = serializers.FloatField()
    why = Why()


class ExplainedMemory(serializers.Serializer[Any]):
    """A memory of a recall; what is gone, or not to be told, is null."""

    id = serializers.UUIDField(allow_null=True)
    type = serializers.ChoiceField(choices=EntryType.choices, allow_null=True)
    scope = serializers.CharField(allow_null=True)
    content = serializers.CharField(allow_null=True)
    sender, sender_name = serializers.CharField(allow_null=True), serializers.CharField(allow_null=True)
    slots = serializers.DictField(child=serializers.CharField(), allow_null=True)
    created_at = serializers.DateTimeField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    why = Why(allow_null=True)


class LeftOutMemory(ExplainedMemory):
    """A memory that was found and not served, and why."""

    reason = serializers.CharField()


class EventAnswer(serializers.Serializer[Any]):
    """What happened on one local day, as far as one conversation tells."""

    id = serializers.UUIDField()
    scope = serializers.CharField()
    date = serializers.DateField(help_text="In the workspace's time zone.")
    content = serializers.CharField()
    source = serializers.ChoiceField(choices=Source.choices)  # type: ignore[assignment]
    chats = serializers.ListField(child=serializers.CharField(), help_text="Where it was said; of a user scope.")
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class EventPage(Page):
    """Events, the latest day first."""

    results = EventAnswer(many=True)


class HeldReason(serializers.Serializer[Any]):
    """Why a batch waits for a person."""

    code = serializers.CharField()
    figures = serializers.DictField(help_text="What the sentence counts.")
    text = serializers.CharField(help_text="A sentence for people.")


class BatchAnswer(serializers.Serializer[Any]):
    """A bundle of changes made by one run or one action."""

    id = serializers.UUIDField()
    scope = serializers.CharField(allow_null=True)
    name = serializers.CharField()
    run = serializers.CharField()
    by = serializers.CharField()
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


class BatchPage(Page):
    """Batches, newest first."""

    results = BatchAnswer(many=True)


class BatchChangeAnswer(serializers.Serializer[Any]):
    """What one row of a batch does to its entry."""

    position = serializers.IntegerField()
    verb = serializers.ChoiceField(choices=BatchVerb.choices)
    entry = serializers.UUIDField(allow_null=True)
    event = serializers.UUIDField(allow_null=True, help_text="The event of a day, where the row tells of one.")
    expected_version = serializers.IntegerField(allow_null=True)
    state = serializers.ChoiceField(choices=ChangeState.choices)
    note = serializers.ChoiceField(
        choices=ROW_NOTES, allow_null=True, help_text="What became of a row that was not simply made."
    )
    note_details = RowNoteDetails(allow_null=True)
    draft = serializers.JSONField(allow_null=True, help_text="Of what is created or changed.")
    content = serializers.CharField(allow_null=True, help_text="What the entry said before.")
    diff = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2),
        allow_null=True,
        help_text="Runs of words: = stay, - go, + come. Null where the words stay.",
    )
    changes = ColumnChange(many=True)
    slots = SlotChange(many=True)
    into = serializers.UUIDField(allow_null=True, help_text="The entry that takes its place.")
    into_position = serializers.IntegerField(allow_null=True, help_text="The row that makes what takes its place.")
    sources = serializers.ListField(child=serializers.UUIDField(), help_text="What becomes part of what it makes.")


class BatchChangePage(Page):
    """The changes of a batch, in their order."""

    results = BatchChangeAnswer(many=True)


class BatchWithChanges(BatchAnswer):
    """A batch and a page of its changes."""

    undone_by = serializers.ListField(child=serializers.UUIDField(), help_text="Batches that took it back.")
    changes = BatchChangePage()
