"""Messages of chat platforms for a bot that asks for them, and its answers: no address of its own is needed."""

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.response import Response

from channels_app.addresses import find_channel
from channels_app.api.turns import TurnAnswer, turn_answer
from channels_app.platforms import answering, intake
from memories.api import fields
from memories.api.answers import Answer
from memories.api.calls import Call, Method
from memories.choices import Permission
from memories.exceptions import ConnectionNotFound, MessageNotFound


class NextMessage(fields.StrictSerializer):
    """Of which connection the next message is wanted."""

    platform = fields.Name(max_length=40)
    account = fields.Name(max_length=200, allow_blank=True, default="")


class MessageAddress(Answer):
    """Where a message was written: to be given back as it is with calls about it."""

    platform = serializers.CharField()
    account = serializers.CharField()
    peer = serializers.CharField()
    chat = serializers.CharField()
    is_group = serializers.BooleanField()
    thread = serializers.CharField()


class HistoryLine(Answer):
    """One message of the history, as models take it."""

    role = serializers.CharField()
    content = serializers.CharField()


class MessageContext(Answer):
    """What memory knows on a message, as POST /context tells it."""

    recall_id = serializers.UUIDField(allow_null=True)
    text = serializers.CharField(help_text="Ready-made system text: all but the history.")
    history = HistoryLine(many=True)


class OfferedMessage(Answer):
    """A message that waits for an answer."""

    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    address = MessageAddress()
    sender_name = serializers.CharField()
    message = serializers.CharField()
    context = MessageContext()  # type: ignore[assignment] # a name of the wire


class NextMessageAnswer(Answer):
    """The next message, if there is one."""

    message = OfferedMessage(allow_null=True)


class MessageReply(fields.StrictSerializer):
    """The bot's answer; empty: it says nothing."""

    text = fields.LongText(allow_blank=True)


class NextMessageView(Call):
    """Take the next message of a connection that is answered by a bot which asks, with what memory knows on it."""

    @Method("next_message", Permission.WRITE, NextMessageAnswer, body=NextMessage)
    def post(self) -> Response:
        platform, _channel = find_channel(
            self.caller.workspace_id, self.body["platform"], self.body["account"], inside=""
        )
        offer = answering.take_offered(self.caller, platform, self.body["account"], now=self.now)
        if offer is None:
            if not answering.is_asked(self.caller, platform, self.body["account"]):
                raise ConnectionNotFound
            return Response(NextMessageAnswer.of(message=None))
        message, context = offer
        offered_message = OfferedMessage.of(
            id=message.row.uid,
            at=message.incoming.sent_at,
            address=MessageAddress.of(message.address),
            sender_name=message.incoming.name,
            message=message.incoming.text,
            context=MessageContext.of(
                recall_id=message.row.recall,
                text=context.text,
                history=[HistoryLine.of(role=item.event.kind, content=item.content) for item in context.history],
            ),
        )
        return Response(NextMessageAnswer.of(message=offered_message))


class MessageReplyView(Call):
    """Answer a message that was taken: it is sent, and the turn is remembered."""

    @Method("answer_message", Permission.WRITE, {201: TurnAnswer}, body=MessageReply)
    def post(self, uid: UUID) -> Response:
        message = answering.offered_message(self.caller, uid)
        try:
            result: Any = answering.store_turn(message, self.body["text"], recall=message.row.recall, now=self.now)
        except answering.AlreadyAnswered:
            raise MessageNotFound from None
        intake.wake()
        return Response(turn_answer(result), status=201)
