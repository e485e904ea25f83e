"""Conversations as clients see them."""

from typing import Any

from rest_framework import serializers

from memories.api.answers import Answer, page_of
from memories.choices import EntryType, Origin, Outcome
from memories.entries import WriteResult
from sessions_app.api.serializers import ROLES
from sessions_app.models import SPOKEN, EventKind, Session

#: Whose messages can be read by their path.
READ_ROLES = [kind.value for kind in EventKind if kind in SPOKEN]


class SessionAnswer(Answer):
    """A chat's running conversation."""

    id = serializers.UUIDField(source="uid")
    key = serializers.CharField()
    platform = serializers.CharField()
    account = serializers.CharField()
    chat = serializers.CharField(source="chat_id")
    peer = serializers.CharField()
    is_group = serializers.BooleanField()
    user_scope = serializers.CharField(allow_null=True)
    chat_scope = serializers.CharField(allow_null=True)
    conversation = serializers.IntegerField(help_text="The open one; 1 is the first.")
    is_empty = serializers.BooleanField(help_text="It has no message yet.")
    tokens = serializers.IntegerField(help_text="Of its history, as it is handed out.")
    max_tokens = serializers.IntegerField()
    cycle = serializers.IntegerField(help_text="Rises with each compaction.")
    flushed_to = serializers.IntegerField(help_text="A position.")
    summarised_to = serializers.IntegerField(source="compacted_to", help_text="A position.")
    last_position = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()


def session_answer(session: Session) -> dict[str, Any]:
    """A session as clients see it."""
    return SessionAnswer.of(
        session,
        user_scope=session.user_scope.key if session.user_scope else None,
        chat_scope=session.chat_scope.key if session.chat_scope else None,
        is_empty=session.next_position == 1,
        max_tokens=session.max_tokens(),
        last_position=session.next_position - 1,
    )


SessionPage = page_of(SessionAnswer, "Sessions, the last active first.")


class SessionEventAnswer(Answer):
    """A message of a session."""

    id = serializers.IntegerField(source="pk")
    conversation = serializers.IntegerField()
    position = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=EventKind.choices)
    sender = serializers.CharField(source="sender_id")
    content = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    tokens = serializers.IntegerField()
    at = serializers.DateTimeField()
    trust = serializers.ChoiceField(choices=Origin.choices, help_text="Whose words it is, the least trusted of them.")


SessionEventPage = page_of(SessionEventAnswer, "Messages, the oldest first.")


class ReadEventAnswer(Answer):
    """One message, unabridged; without content when there is none that may be shown."""

    path = serializers.CharField()
    found = serializers.BooleanField()
    scope = serializers.CharField()
    role = serializers.ChoiceField(choices=READ_ROLES, allow_null=True, help_text="null: not found.")
    sender = serializers.CharField()
    content = serializers.CharField(help_text="Empty when there is no such message.")
    at = serializers.DateTimeField(allow_null=True)


class DirectiveAnswer(Answer):
    """What the bot is to do next."""

    kind = serializers.CharField()
    instruction = serializers.CharField()


class AppendedAnswer(Answer):
    """The messages that were appended, without those that were there already."""

    session = SessionAnswer(allow_null=True, help_text="null: only the database knows.")
    events = SessionEventAnswer(many=True)
    directives = DirectiveAnswer(many=True)
    degraded = serializers.ListField(
        child=serializers.CharField(),
        help_text="`database`: accepted, and in the database once that is back; `files`: the channel's files have it.",
    )


class HistoryMessageAnswer(Answer):
    """One message of a history."""

    position = serializers.IntegerField()
    role = serializers.ChoiceField(choices=ROLES, source="kind")
    sender = serializers.CharField(source="sender_id")
    content = serializers.CharField()
    data = serializers.DictField()  # type: ignore[assignment]
    at = serializers.DateTimeField()


class SessionHistoryAnswer(Answer):
    """The open conversation as it goes to a model: a summary of older turns, if there is one, and the newest."""

    session = SessionAnswer()
    messages = HistoryMessageAnswer(many=True)
    tokens = serializers.IntegerField()
    is_cut = serializers.BooleanField(help_text="Older messages did not fit, and no summary stands for them yet.")


class ResetAnswer(Answer):
    """A conversation that was closed."""

    session = SessionAnswer()
    reply = serializers.CharField(help_text="To be given to the user.")


class CandidateAnswer(Answer):
    """What became of a candidate; without an id it was left out, and `reason` says why."""

    id = serializers.UUIDField(allow_null=True)
    type = serializers.ChoiceField(choices=EntryType.choices, allow_null=True)
    scope = serializers.CharField(allow_null=True)
    outcome = serializers.ChoiceField(choices=Outcome.choices, allow_null=True)
    reason = serializers.CharField(allow_null=True, help_text="no_scope, out_of_reach, taken_out")


def candidate_answer(result: WriteResult | None, reason: str) -> dict[str, Any]:
    """What became of a candidate; without a result it was skipped for this reason."""
    if result is None:
        return CandidateAnswer.of(id=None, type=None, scope=None, outcome=None, reason=reason)
    entry = result.entry
    return CandidateAnswer.of(result, id=entry.uid, type=entry.type, scope=entry.scope.key)


class FlushAnswer(Answer):
    """A flush that is recorded."""

    session = SessionAnswer()
    id = serializers.UUIDField(
        allow_null=True, help_text="Null: there was nothing the platform could flush, or it is still to come."
    )
    up_to = serializers.IntegerField(help_text="The position of the last message it knew.")
    counts = serializers.DictField(child=serializers.IntegerField())
    candidates = CandidateAnswer(many=True)
    queued = serializers.BooleanField(help_text="The worker will flush what is left.")


class CompactAnswer(Answer):
    """The worker will compact the conversation."""

    session = SessionAnswer()
    queued = serializers.BooleanField(help_text="False: there is nothing to compact.")
