"""POST /v3/memories/add/: messages as turns of a conversation, or each as the memory it is."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.response import Response

from channels_app.doors.files.beside import after_turn
from channels_app.doors.mem0.calls import Ids, Ignored, Mem0Call, NotSupported, Unsupported, plain_ids
from channels_app.doors.mem0.filters import span
from channels_app.doors.mem0.ids import address_of, slots_of_metadata
from channels_app.entries import save
from channels_app.turns import TurnResult, take_turn
from memories.api import fields
from memories.api.calls import Method
from memories.choices import EntryType, Outcome, Permission, ScopeKind, Source
from memories.consolidation.capture import Turn
from memories.entries import WriteResult
from memories.language.text import is_blank
from memories.tenancy.resolver import Address

MOST_MESSAGES = 100
USER, ASSISTANT = "user", "assistant"
_EVENTS = {Outcome.CREATED: "ADD", Outcome.MERGED: "UPDATE", Outcome.SKIPPED: "NONE"}
_CHAT_CHARS = 200  # as the chat of an address


class Words(fields.LongText):
    """What a message says: a text, or parts of which each is a text."""

    def to_internal_value(self, data: Any) -> str:
        if isinstance(data, list):
            if not all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in data):
                raise NotSupported(_("Only texts are remembered, no images or documents."))
            data = "\n".join(part["text"] for part in data)
        return super().to_internal_value(data)


class MessageField(serializers.Serializer[Any]):
    """A message, as bots have them for their model; what a system or a tool said is nobody's memory."""

    role = fields.Text(max_length=40)
    content = Words(allow_blank=True, allow_null=True, default="")

    def validate_content(self, value: str | None) -> str:
        return value or ""


class NewMemories(Ids):
    """Messages to remember, for whom, and how."""

    messages = serializers.ListField(child=MessageField(), allow_empty=False, max_length=MOST_MESSAGES)
    metadata = serializers.DictField(required=False, allow_null=True)
    infer = fields.YesNo(default=True, allow_null=True)
    timestamp = serializers.JSONField(required=False, allow_null=True)
    expiration_date = fields.Text(required=False, allow_null=True, max_length=10)
    async_mode, output_format, version, enable_graph = Ignored(), Ignored(), Ignored(), Ignored()
    custom_categories, custom_instructions, agent_custom_instructions = Unsupported(), Unsupported(), Unsupported()
    structured_data_schema, immutable, includes, excludes = Unsupported(), Unsupported(), Unsupported(), Unsupported()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        address = address_of(plain_ids(attrs))
        if len(address.chat) > _CHAT_CHARS or len(address.peer) > _CHAT_CHARS:
            raise serializers.ValidationError({"filters": [_("These ids are too long.")]})
        return attrs


class AddView(Mem0Call):
    """Remember messages: as turns, from which facts are drawn where a model is configured, or as they are."""

    @Method("mem0_add", Permission.WRITE, None, body=NewMemories)
    def post(self) -> Response:
        ids, given = plain_ids(self.body), self.body
        address = address_of(ids)
        slots = slots_of_metadata(given.get("metadata") or {}) | ids
        at = self.now if given.get("timestamp") is None else span(given["timestamp"], self.caller.zone)[0]
        fields.check_past("timestamp", at, self.now)
        ends = given.get("expiration_date")
        turns: list[tuple[Turn, TurnResult]] = []
        with transaction.atomic():
            if given["infer"] is False:
                expires_at = span(ends, self.caller.zone)[1] if ends else None
                fields.check_ahead("expiration_date", expires_at, self.now)
                written = self._as_they_are(address, slots, at, expires_at)
            elif ends:
                raise NotSupported(_("What is drawn from a conversation has no expiration_date; say infer=False."))
            else:
                turns = self._as_turns(address, slots, at)
                written = [one for _turn, result in turns for one in result.written]
        for turn, result in turns:
            after_turn(self.caller, turn, result, now=self.now)
        kept = [(one, _EVENTS[one.outcome]) for one in written if one.is_kept]
        results = [{"id": one.entry.uid, "memory": one.entry.content, "event": event} for one, event in kept]
        return Response({"results": results, "status": "SUCCEEDED"})

    def _as_they_are(
        self, address: Address, slots: Mapping[str, str], at: datetime, expires_at: datetime | None
    ) -> list[WriteResult]:
        spoken = [message for message in self.body["messages"] if message["role"] in (USER, ASSISTANT)]
        more: dict[str, Any] = {"type": EntryType.USER_EXPLICIT, "source": Source.TOOL, "expires_at": expires_at}
        kind = ScopeKind.CHAT if address.is_group else ScopeKind.USER
        return [
            save(self.caller, address, kind=kind, slots=slots, now=self.now, at=at, content=one["content"], **more)
            for one in spoken
            if not is_blank(one["content"]) or len(spoken) == 1
        ]

    def _as_turns(self, address: Address, slots: dict[str, str], at: datetime) -> list[tuple[Turn, TurnResult]]:
        turns = [
            Turn(address=address, user=user, assistant=assistant, at=at, slots=slots)
            for user, assistant in _turns(self.body["messages"])
        ]
        return [(turn, take_turn(self.caller, turn, now=self.now)) for turn in turns]


def _turns(messages: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """What a user said and what was answered, by turns; either may be missing."""
    user, answers = "", list[str]()
    for message in messages:
        if message["role"] == ASSISTANT:
            answers.append(message["content"])
        elif message["role"] == USER:
            if user or answers:
                yield user, "\n".join(answers)
            user, answers = message["content"], []
    if user or answers:
        yield user, "\n".join(answers)
