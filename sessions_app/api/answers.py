"""What calls about conversations answer, for the schema and for the wire."""

from typing import Any

from rest_framework import serializers

from memories.api.answers import Page
from memories.choices import EntryType, Outcome
from sessions_app.api.serializers import ROLES
from sessions_app.choices import EventKind
from sessions_app.models import Session, SessionEvent


class SessionShown(serializers.Serializer[Any]):
    """A chat's running conversation."""

    id = serializers.UUIDField()
    key = serializers.CharField()
    platform = serializers.CharField()
    account = serializers.CharField()
    chat = serializers.CharField()
    peer = serializers.CharField()
    is_group = serializers.BooleanField()
    user_scope = serializers.CharField(allow_null=True)
    chat_scope = serializers.CharField(allow_null=True)
    conversation = serializers.IntegerField(help_text="The open one; 1 is the first.")
    is_empty = serializers.BooleanField(help_text="Nothing has been said in it yet.")
    tokens = serializers.IntegerField(help_text="Of its history, as it is handed out.")
    max_tokens = serializers.IntegerField()
    cycle = serializers.IntegerField(help_text="Rises with each compaction.")
    flushed_to = serializers.IntegerField(help_text="A position.")
    summarised_to = serializers.IntegerField(help_text="A position.")
    last_position = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()


def session_json(session: Session) -> dict[str, Any]:
    return {
        "id": str(session.uid),
        "key": session.key,
        "platform": session.platform,
        "account": session.account,
        "chat": session.chat_id,
        "peer": session.peer,
        "is_group": session.is_group,
        "user_scope": session.user_scope.key if session.user_scope else None,
        "chat_scope": session.chat_scope.key if session.chat_scope else None,
        "conversation": session.conversation,
        "is_empty": session.next_position == 1,
        "tokens": session.tokens,
        "max_tokens": session.max_tokens(),
        "cycle": session.cycle,
        "flushed_to": session.flushed_to,
        "summarised_to": session.compacted_to,
        "last_position": session.next_position - 1,
        "started_at": session.started_at,
        "last_at": session.last_at,
    }


class SessionPage(Page):
    """Sessions, those that heard something last first."""

    results = SessionShown(many=True)


class SessionEventShown(serializers.Serializer[Any]):
    """A message as it was said."""

    id = serializers.IntegerField()
    conversation = serializers.IntegerField()
    position = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=EventKind.choices)
    sender = serializers.CharField()
    content = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    tokens = serializers.IntegerField()
    at = serializers.DateTimeField()


def event_json(event: SessionEvent) -> dict[str, Any]:
    return {
        "id": event.pk,
        "conversation": event.conversation,
        "position": event.position,
        "kind": event.kind,
        "sender": event.sender_id,
        "content": event.content,
        "data": event.data,
        "tokens": event.tokens,
        "at": event.at,
    }


class SessionEventPage(Page):
    """Messages in the order in which they were said."""

    results = SessionEventShown(many=True)


class Directive(serializers.Serializer[Any]):
    """What the bot is asked to do next."""

    kind = serializers.CharField()
    instruction = serializers.CharField()


class Appended(serializers.Serializer[Any]):
    """What was appended; what was there already is not among it."""

    session = SessionShown()
    events = SessionEventShown(many=True)
    directives = Directive(many=True)


class HistoryMessage(serializers.Serializer[Any]):
    """One message of a history."""

    position = serializers.IntegerField()
    role = serializers.ChoiceField(choices=ROLES)
    sender = serializers.CharField()
    content = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    at = serializers.DateTimeField()


class HistoryShown(serializers.Serializer[Any]):
    """The open conversation as it goes to a model: a summary of older turns, if there is one, and the newest."""

    session = SessionShown()
    messages = HistoryMessage(many=True)
    tokens = serializers.IntegerField()
    is_cut = serializers.BooleanField(help_text="Older messages did not fit, and no summary stands for them yet.")


def message_json(event: SessionEvent) -> dict[str, Any]:
    return {
        "position": event.position,
        "role": event.kind,
        "sender": event.sender_id,
        "content": event.content,
        "data": event.data,
        "at": event.at,
    }


class ResetAnswer(serializers.Serializer[Any]):
    """A conversation that was closed."""

    session = SessionShown()
    reply = serializers.CharField(help_text="To be given to the user.")


class CandidateAnswer(serializers.Serializer[Any]):
    """What became of a candidate; without an id it was left out, and `reason` says why."""

    id = serializers.UUIDField(allow_null=True)
    type = serializers.ChoiceField(choices=EntryType.choices, allow_null=True)
    scope = serializers.CharField(allow_null=True)
    outcome = serializers.ChoiceField(choices=Outcome.choices, allow_null=True)
    reason = serializers.CharField(allow_null=True, help_text="no_scope, out_of_reach, taken_out")


class FlushAnswer(serializers.Serializer[Any]):
    """A flush that is recorded."""

    session = SessionShown()
    id = serializers.UUIDField(
        allow_null=True, help_text="Null: there was nothing the platform could flush, or it is still to come."
    )
    up_to = serializers.IntegerField(help_text="The position of the last message it knew.")
    counts = serializers.DictField(child=serializers.IntegerField())
    candidates = CandidateAnswer(many=True)
    queued = serializers.BooleanField(help_text="The worker will flush, with the platform's model.")


class CompactAnswer(serializers.Serializer[Any]):
    """The worker will compact the conversation."""

    session = SessionShown()
    queued = serializers.BooleanField(help_text="False: there is nothing to compact.")
