"""POST /context: everything a bot needs before it answers."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from channels_app import addresses
from channels_app.api.fields import AddressField, session_events_by_default
from channels_app.api.recall import NeedAnswer, RecalledEventAnswer, event_json, memories_json
from channels_app.context import Context, context_for
from channels_app.history import HistoryMessage
from memories.api import fields
from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.api.clock import now_of
from memories.api.recall_traces.answers import RecalledMemory
from memories.choices import Category, NeedMode, Permission
from memories.conf import conf
from memories.models import Policy
from memories.recall import Query
from memories.recall.core_context import Note
from memories.recall.speakers import name_in
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Resolved
from sessions_app.api.answers import Directive
from sessions_app.api.serializers import ROLES, TOKENS
from sessions_app.lifecycle import conversations
from sessions_app.models import Session, SessionEvent
from sessions_app.visibility import visible_sessions


def _budget() -> int:
    """The budget of everything when a bot names none."""
    return conf.CONTEXT_BUDGET


class ContextRequest(fields.StrictSerializer):
    """A message that is about to be answered."""

    address = AddressField()
    message = fields.LongText(allow_blank=True)
    token_budget = fields.Whole(min_value=0, max_value=1_000_000, default=_budget)
    limit = fields.Whole(min_value=1, max_value=50, allow_null=True, default=None)
    need = fields.Word(choices=NeedMode.choices, default=NeedMode.AUTO)
    include_session_events = fields.YesNo(default=session_events_by_default)
    max_tokens = fields.Whole(**TOKENS, allow_null=True, default=None, help_text="Budget of the history.")


class ContextSession(serializers.Serializer[Any]):
    """The conversation the message belongs to; without an id it has not been heard of."""

    id = serializers.UUIDField(allow_null=True)
    key = serializers.CharField()
    conversation = serializers.IntegerField()
    tokens = serializers.IntegerField(help_text="Of all of its history.")
    max_tokens = serializers.IntegerField()
    is_first_turn = serializers.BooleanField()


class CoreFact(serializers.Serializer[Any]):
    """A line of the profile."""

    id = serializers.UUIDField()
    scope = serializers.CharField()
    category = serializers.ChoiceField(choices=Category.choices, allow_blank=True)
    content = serializers.CharField()


class DayNote(serializers.Serializer[Any]):
    """What is noted of one local day."""

    date = serializers.DateField()
    scope = serializers.CharField()
    content = serializers.CharField()
    cut = serializers.BooleanField(help_text="There is more of that day.")


class ChatMessage(serializers.Serializer[Any]):
    """A message of the group that was not meant for the bot."""

    sender = serializers.CharField()
    sender_name = serializers.CharField(allow_null=True)
    content = serializers.CharField()
    at = serializers.DateTimeField()


class ContextMessage(serializers.Serializer[Any]):
    """One message of the history."""

    position = serializers.IntegerField()
    role = serializers.ChoiceField(choices=ROLES)
    sender = serializers.CharField()
    sender_name = serializers.CharField(allow_null=True)
    content = serializers.CharField()
    at = serializers.DateTimeField()


class ContextAnswer(serializers.Serializer[Any]):
    """Everything that was found worth a place in the prompt; never more than the budget."""

    recall_id = serializers.UUIDField(allow_null=True)
    session = ContextSession()
    need = NeedAnswer()
    evidence = serializers.ChoiceField(choices=["found", "weak", "none"])
    in_history = serializers.BooleanField(help_text="What bears on the message best is said by `history` itself.")
    profile = CoreFact(many=True)
    memories = RecalledMemory(many=True)
    events = RecalledEventAnswer(many=True)
    notes = DayNote(many=True, help_text="At the first turn of a conversation only.")
    recent_chat = ChatMessage(many=True, help_text="Of groups only.")
    history = ContextMessage(many=True)
    directives = Directive(many=True)
    reply = serializers.CharField(allow_null=True, help_text="To be given to the user: the message is a command.")
    text = serializers.CharField(help_text="Ready-made system text: all but the history.")
    tokens = serializers.IntegerField(help_text="Of the text and the history.")
    degraded = serializers.ListField(child=serializers.CharField())


class ContextView(Call):
    """A bot asks for all it needs at once, and then asks its model."""

    required = {"POST": Permission.READ}

    @extend_schema(operation_id="context", request=ContextRequest, responses=ContextAnswer)
    def post(self, request: Request) -> Response:
        asked = ContextRequest(data=request.data)
        asked.is_valid(raise_exception=True)
        caller, data = caller_of(request), asked.validated_data
        resolved = addresses.resolve_address(caller, data["address"])
        policies = Policy.objects.of(caller.workspace_id)
        query = addresses.recall_query(
            caller,
            resolved,
            message=data["message"],
            limit=data["limit"] or int(policies.weight("MAX_RECALLS")),
            need=data["need"],
            token_budget=data["token_budget"],
            include_session_events=data["include_session_events"],
            cache=True,
        )
        session = _session(caller, resolved)
        given = context_for(
            caller, query, resolved, session, policies, now=now_of(request), max_tokens=data["max_tokens"]
        )
        told = {"session": _session_json(given, session, resolved), "profile": _profile(given, query)}
        return Response(told | _answer(given, query))


def _session(caller: Caller, resolved: Resolved) -> Session | None:
    """The session of an address; that of a chat with somebody else is nobody's business."""
    place = {"platform": resolved.session_platform, "account": resolved.session_account}
    session = visible_sessions(caller).filter(**place, key=resolved.session_key).first()
    return session if session and conversations.matches(session, resolved) else None


def _session_json(given: Context, known: Session | None, resolved: Resolved) -> dict[str, Any]:
    """The conversation as the next message will find it: what has ended is not told of."""
    open_one = given.session
    ended = known.conversation if known and not open_one and known.next_position > 1 else 0
    return {
        "id": str(known.uid) if known else None,
        "key": resolved.session_key,
        "conversation": ended + 1 if ended else known.conversation if known else 1,
        "tokens": open_one.tokens if open_one else 0,
        "max_tokens": given.max_tokens or resolved.rules.max_tokens or conf.SESSION_MAX_TOKENS,
        "is_first_turn": given.is_first_turn,
    }


def _profile(given: Context, query: Query) -> list[dict[str, Any]]:
    scopes = {scope.pk: scope.key for scope in query.scopes}
    return [
        {"id": str(fact.uid), "scope": scopes[fact.scope_id], "category": fact.category, "content": fact.content}
        for fact in given.profile
    ]


def _answer(given: Context, query: Query) -> dict[str, Any]:
    found = given.recall
    return {
        "recall_id": str(found.trace.uid) if found.trace else None,
        "need": {"retrieve": found.need.retrieve, "rule": found.need.rule},
        "evidence": found.answerability.verdict,
        "in_history": found.in_history,
        "memories": memories_json(given.memories, found.weights),
        "events": [event_json(event) for event in given.events],
        "notes": [_note(note) for note in given.notes],
        "recent_chat": [_chat(said, query) for said in given.recent_chat],
        "history": [_message(said, query) for said in given.history],
        "directives": [vars(directive) for directive in given.directives],
        "reply": given.reply,
        "text": given.text,
        "tokens": given.tokens,
        "degraded": found.degraded,
    }


def _name(sender: str, query: Query) -> str | None:
    """What people call a sender where this is asked."""
    return next(filter(None, (name_in(scope, sender) for scope in query.scopes)), None)


def _note(note: Note) -> dict[str, Any]:
    return {"date": note.on, "scope": note.scope, "content": note.content, "cut": note.is_cut}


def _chat(said: SessionEvent, query: Query) -> dict[str, Any]:
    return {
        "sender": said.sender_id,
        "sender_name": _name(said.sender_id, query),
        "content": said.content,
        "at": said.at,
    }


def _message(said: HistoryMessage, query: Query) -> dict[str, Any]:
    event = said.event
    return {
        "position": event.position,
        "role": event.kind,
        "sender": event.sender_id,
        "sender_name": _name(event.sender_id, query),
        "content": said.content,
        "at": event.at,
    }
