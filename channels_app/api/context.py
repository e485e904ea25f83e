"""POST /context: everything a bot needs before it answers."""

from collections.abc import Sequence

from rest_framework import serializers
from rest_framework.response import Response

from channels_app.api.addresses import AddressField
from channels_app.api.recall import (
    NeedAnswer,
    RecalledEventAnswer,
    RecentMessageField,
    ServeField,
    event_answer,
    memory_answers,
    read_recent,
    recent_messages,
)
from channels_app.cards import cached_session_id, keep_channels
from channels_app.context import context_for
from channels_app.doors.files.answers import context_from_files, place_of
from channels_app.doors.files.comparison import compare
from memories.api import fields
from memories.api.answers import Answer, StaleAnswer
from memories.api.calls import Call, Method
from memories.api.offline import Outage
from memories.api.recall_traces import RecalledMemory
from memories.choices import Category, NeedMode, Permission
from memories.conf import conf
from memories.models import Scope
from memories.recall.people import name_in
from sessions_app.api.answers import DirectiveAnswer
from sessions_app.api.serializers import ROLES, TOKENS
from sessions_app.history.replay import ReplayedMessage
from sessions_app.models import SessionEvent

CLIENT_MESSAGES = 2_000  # of a conversation the bot keeps itself


class ContextRequest(fields.StrictSerializer):
    """A message that is about to be answered."""

    address = AddressField()
    message = fields.LongText(allow_blank=True)
    token_budget = fields.Whole(min_value=0, max_value=1_000_000, default=lambda: conf.CONTEXT_BUDGET)
    limit = fields.Whole(min_value=1, max_value=50, allow_null=True, default=None)
    need = fields.Word(choices=NeedMode.choices, default=NeedMode.AUTO)
    serve = ServeField(
        allow_null=True,
        default=None,
        help_text="What is `likely` to help, all that may, or from which relevance on; null: the channel's, else"
        " likely.",
    )
    include_session_events = fields.YesNo(default=lambda: conf.INCLUDE_SESSION_EVENTS)
    max_tokens = fields.Whole(**TOKENS, allow_null=True, default=None, help_text="Budget of the history.")
    recent = recent_messages()
    client_history = serializers.ListField(
        child=RecentMessageField(),
        max_length=CLIENT_MESSAGES,
        allow_null=True,
        default=None,
        help_text="The messages before this one that the bot keeps and gives its model itself, oldest first: `history`"
        " is empty then, no flush is asked for, and what they say is not told again.",
    )
    tools = fields.YesNo(
        default=False, help_text="The model has the tools of GET /tools: the text tells when to use them."
    )


class ContextSession(Answer):
    """The conversation the message belongs to; without an id it has not been heard of."""

    id = serializers.UUIDField(allow_null=True)
    key = serializers.CharField()
    conversation = serializers.IntegerField(allow_null=True, help_text="null: only the database knows.")
    tokens = serializers.IntegerField(help_text="Of all of its history.")
    max_tokens = serializers.IntegerField()
    is_first_turn = serializers.BooleanField(allow_null=True, help_text="null: only the database knows.")


class ProfileFactAnswer(Answer):
    """A line of the profile."""

    id = serializers.UUIDField(source="uid")
    scope = serializers.CharField()
    category = serializers.ChoiceField(choices=Category.choices, allow_blank=True)
    content = serializers.CharField()


class NoteAnswer(Answer):
    """What is noted of one local day."""

    date = serializers.DateField(source="on")
    scope = serializers.CharField()
    content = serializers.CharField()
    cut = serializers.BooleanField(source="is_cut", help_text="There is more of that day.")


class ChatMessageAnswer(Answer):
    """A message of the group that was not meant for the bot."""

    sender = serializers.CharField(source="sender_id")
    sender_name = serializers.CharField(allow_null=True)
    content = serializers.CharField()
    at = serializers.DateTimeField()


class ContextMessageAnswer(Answer):
    """One message of the history."""

    position = serializers.IntegerField(source="event.position")
    role = serializers.ChoiceField(choices=ROLES, source="event.kind")
    sender = serializers.CharField(source="event.sender_id")
    sender_name = serializers.CharField(allow_null=True)
    content = serializers.CharField()
    at = serializers.DateTimeField(source="event.at")


class ContextAnswer(StaleAnswer):
    """Everything that was found worth a place in the prompt; never more than the budget."""

    recall_id = serializers.UUIDField(allow_null=True)
    session = ContextSession()
    need = NeedAnswer()
    evidence = serializers.ChoiceField(choices=["found", "weak", "none"])
    in_history = serializers.BooleanField(
        source="recall.in_history", help_text="What bears on the message best is said by `history` itself."
    )
    profile = ProfileFactAnswer(many=True)
    memories = RecalledMemory(many=True)
    events = RecalledEventAnswer(many=True)
    notes = NoteAnswer(many=True, help_text="At the first turn of a conversation; of files, those of the last days.")
    recent_chat = ChatMessageAnswer(many=True, help_text="Of groups only.")
    history = ContextMessageAnswer(many=True)
    directives = DirectiveAnswer(many=True)
    reply = serializers.CharField(allow_null=True, help_text="To be given to the user: the message is a command.")
    text = serializers.CharField(help_text="Ready-made system text: all but the history.")
    tokens = serializers.IntegerField(help_text="Of the text and the history.")
    degraded = serializers.ListField(source="recall.degraded", child=serializers.CharField())


def context_of_files(call: Call, outage: Outage) -> Response:
    """The long-term file and the notes of the last days."""
    body, caller = call.body, call.caller
    place = place_of(caller, body["address"], has_database=outage.has_database, now=call.now)
    parameters = {name: body[name] for name in ("token_budget", "tools")}
    page = context_from_files(place, body["message"], **parameters, now=call.now)
    resolution = place.resolved
    answer = ContextAnswer.of(
        recall_id=None,
        session=ContextSession.of(
            id=cached_session_id(caller, resolution.session_key, now=call.now),
            key=resolution.session_key,
            conversation=None,
            tokens=0,
            max_tokens=body["max_tokens"] or resolution.rules.max_tokens or conf.SESSION_MAX_TOKENS,
            is_first_turn=None,
        ),
        need=NeedAnswer.of(retrieve=False, rule="files"),
        evidence="none",
        in_history=False,
        notes=list(map(NoteAnswer.of, page.notes)),
        reply=page.reply,
        text=page.text,
        tokens=page.tokens,
        degraded=outage.degraded,
        **{name: [] for name in ("profile", "memories", "events", "recent_chat", "history")},
        directives=list(map(DirectiveAnswer.of, page.directives)),
    )
    return Response(answer)


class ContextView(Call):
    """A bot asks for all it needs at once, and then asks its model."""

    @Method("context", Permission.READ, ContextAnswer, body=ContextRequest, from_replica=True, offline=context_of_files)
    def post(self) -> Response:
        body = dict(self.body)
        for name in ("recent", "client_history"):
            body[name] = None if body[name] is None else read_recent(body[name])
        context = context_for(self.caller, **body, now=self.now)
        keep_channels(self.caller.workspace_id, now=self.now)
        compare(self.caller, context.query, context.recall, context.resolved, now=self.now)
        recall, scopes = context.recall, context.query.scopes
        keys = {scope.pk: scope.key for scope in scopes}
        # The conversation as the next message will find it; one that has ended is not shown
        latest, current = context.latest_session, context.session
        has_ended = latest is not None and current is None and latest.next_position > 1
        session = ContextSession.of(
            context,
            id=latest.uid if latest else None,
            key=context.resolved.session_key,
            conversation=latest.conversation + has_ended if latest else 1,
            tokens=current.tokens if current else 0,
            max_tokens=context.max_tokens or context.resolved.rules.max_tokens or conf.SESSION_MAX_TOKENS,
        )
        answer = ContextAnswer.of(
            context,
            recall_id=recall.trace.uid if recall.trace else None,
            session=session,
            need=NeedAnswer.of(recall.need),
            evidence=recall.answerability.verdict,
            profile=[ProfileFactAnswer.of(fact, scope=keys[fact.scope_id]) for fact in context.profile],
            memories=memory_answers(context.memories, recall.weights),
            events=list(map(event_answer, context.events)),
            notes=list(map(NoteAnswer.of, context.notes)),
            recent_chat=[
                ChatMessageAnswer.of(message, sender_name=_name(message, scopes)) for message in context.recent_chat
            ],
            history=[
                ContextMessageAnswer.of(message, sender_name=_name(message.event, scopes))
                for message in context.history
            ],
            directives=list(map(DirectiveAnswer.of, context.directives)),
        )
        return Response(answer)


def _name(message: SessionEvent | ReplayedMessage, scopes: Sequence[Scope]) -> str | None:
    """What people called a sender when it was said, else today in the first of these scopes that has a name."""
    today = (name_in(scope, message.sender_id) for scope in scopes)
    return message.sender_name or next(filter(None, today), None)
