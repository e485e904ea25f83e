"""What calls about memories answer, for the schema only: answers themselves are plain dicts, which are quicker."""

from typing import Any

from rest_framework import serializers

from memories.choices import BatchState, BatchVerb, Category, ChangeState, EntryType, Outcome, Source

ENTRY_STATES = ("live", "due", "expired", "archived", "superseded", "suppressed")


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
    importance = serializers.FloatField()
    source = serializers.ChoiceField(choices=Source.choices)  # type: ignore[assignment]
    state = serializers.ChoiceField(choices=ENTRY_STATES)
    pinned = serializers.BooleanField()
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    stated_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    expired_at = serializers.DateTimeField(allow_null=True)
    archived_at = serializers.DateTimeField(allow_null=True)


class SavedEntry(EntryAnswer):
    """A memory as it stands after it was saved, and what became of what was sent."""

    outcome = serializers.ChoiceField(choices=Outcome.choices)
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


class FeedbackAnswer(serializers.Serializer[Any]):
    """What is now known about a recall."""

    recall_id = serializers.UUIDField()
    used = serializers.ListField(child=serializers.UUIDField())
    note = serializers.CharField()


class BatchAnswer(serializers.Serializer[Any]):
    """A bundle of changes made by one run or one action."""

    id = serializers.UUIDField()
    scope = serializers.CharField(allow_null=True)
    name = serializers.CharField()
    run = serializers.CharField()
    by = serializers.CharField()
    reason = serializers.CharField()
    state = serializers.ChoiceField(choices=BatchState.choices)
    held_because = serializers.CharField()
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
    expected_version = serializers.IntegerField(allow_null=True)
    state = serializers.ChoiceField(choices=ChangeState.choices)
    note = serializers.CharField()


class BatchChangePage(Page):
    """The changes of a batch, in their order."""

    results = BatchChangeAnswer(many=True)


class BatchWithChanges(BatchAnswer):
    """A batch and a page of its changes."""

    changes = BatchChangePage()
