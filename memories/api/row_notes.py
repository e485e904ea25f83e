"""What the note of a batch's row may be, for the schema."""

from typing import Any

from rest_framework import serializers

from memories.choices import Outcome, SkipReason

#: Why a row was left alone, or what became of what it creates.
ROW_NOTES = (*SkipReason.values, Outcome.MERGED.value, Outcome.SKIPPED.value, "note")


class RowNoteDetails(serializers.Serializer[Any]):
    """What the note of a row says, for people, and what to do first."""

    text = serializers.CharField(help_text="The same in a sentence for people, in the language of the request.")
    batches = serializers.ListField(
        child=serializers.CharField(), help_text="Batches to undo before this row can be; empty but for `stands`."
    )
