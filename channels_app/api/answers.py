"""What calls that start from an address answer, for the schema only."""

from typing import Any

from rest_framework import serializers

from memories.api.recall_traces.answers import LeftOutMemory, RecalledMemory
from memories.choices import EntryType, Outcome
from memories.entries import TAKEN_OUT
from sessions_app.api.answers import Directive


class SessionAnswer(serializers.Serializer[Any]):
    """The session a turn went to."""

    id = serializers.UUIDField()
    key = serializers.CharField()
    conversation = serializers.IntegerField()
    tokens = serializers.IntegerField(help_text="Of the open conversation, as it is handed out.")


class CapturedEntry(serializers.Serializer[Any]):
    """What became of a turn in one scope."""

    id = serializers.UUIDField()
    type = serializers.ChoiceField(choices=EntryType.choices)
    scope = serializers.CharField()
    outcome = serializers.ChoiceField(choices=Outcome.choices)
    reason = serializers.ChoiceField(
        choices=[TAKEN_OUT],
        allow_null=True,
        help_text="Of what is suppressed: people took it out; saving it on purpose brings it back.",
    )


class TurnAnswer(serializers.Serializer[Any]):
    """A turn taken in."""

    session = SessionAnswer()
    entries = CapturedEntry(many=True)
    directives = Directive(many=True)
    reply = serializers.CharField(allow_null=True, help_text="To be given to the user: the turn was a command.")
    degraded = serializers.ListField(child=serializers.CharField())


class ResolvedAnswer(serializers.Serializer[Any]):
    """What an address means."""

    session_key = serializers.CharField()
    user_scope = serializers.CharField(allow_null=True)
    chat_scope = serializers.CharField(allow_null=True)
    recall = serializers.ListField(child=serializers.CharField(), help_text="Scopes, in the order they are asked.")


class NeedAnswer(serializers.Serializer[Any]):
    """Whether the message needed memory, and by which rule."""

    retrieve = serializers.BooleanField()
    rule = serializers.CharField()


class RecalledEvent(serializers.Serializer[Any]):
    """A message that was said, or what is told of a day, with the path that proves it."""

    kind = serializers.ChoiceField(choices=["session_event", "daily_event"])
    path = serializers.CharField(help_text="session_events/<session>/<conversation>/event-<id>, or daily_events/<id>")
    scope = serializers.CharField()
    role = serializers.ChoiceField(choices=["user", "assistant", "summary"])
    sender = serializers.CharField()
    sender_name = serializers.CharField(allow_null=True, help_text="What people call the sender.")
    content = serializers.CharField(help_text="Shortened when it is long.")
    cut = serializers.BooleanField()
    at = serializers.DateTimeField()
    score = serializers.FloatField(help_text="By words, meaning and days; 0.1: said then.")
    words = serializers.FloatField(help_text="Share of the question's telling words it holds.")
    similarity = serializers.FloatField(allow_null=True, help_text="To the question; null: it was not compared.")
    memory = serializers.UUIDField(allow_null=True, help_text="A served memory that rests on it.")


class RecallAnswer(serializers.Serializer[Any]):
    """The memories that bear on a message."""

    recall_id = serializers.UUIDField(allow_null=True)
    need = NeedAnswer()
    evidence = serializers.ChoiceField(choices=["found", "weak", "none"])
    memories = RecalledMemory(many=True)
    events = RecalledEvent(many=True, help_text="Of a question about the past: what was said, word for word.")
    context = serializers.CharField()  # type: ignore[assignment]
    tokens = serializers.IntegerField()
    degraded = serializers.ListField(child=serializers.CharField())
    cached = serializers.BooleanField(help_text="Asked a moment ago; nothing has changed since.")
    left_out = LeftOutMemory(many=True, required=False, help_text="With `explain`.")
