"""The copies of a statement on the wire: whether they go and come with it, and what became of them (A15)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.response import Response

from memories.api import fields
from memories.api.answers import EntryAnswer
from memories.choices import EntryType
from memories.models import Entry, Policy
from memories.models.state import State, state_of

COPIES = ("all", "none")


class Going(fields.StrictSerializer):
    """Whether the copies of a statement go with it; left out: those of a person's own words do."""

    copies = fields.Word(required=False, choices=COPIES)


class CopyAnswer(serializers.Serializer[Any]):
    """Another entry that rests on the same messages, as it stands now."""

    id = serializers.UUIDField()
    scope = serializers.CharField()
    type = serializers.ChoiceField(choices=EntryType.choices)
    state = serializers.ChoiceField(choices=State.choices)


class EntryWithCopies(EntryAnswer):
    """A memory, and the copies of it that went or came with it, or stayed."""

    copies = CopyAnswer(many=True)


def with_copies(answer: Response, copies: Sequence[Entry], now: datetime) -> Response:
    """An answer about an entry, with its copies by name."""
    policies = Policy.objects.of(copies[0].workspace_id) if copies else None
    answer.data["copies"] = [
        {
            "id": str(copy.uid),
            "scope": copy.scope.key,
            "type": copy.type,
            "state": state_of(copy, policies.end_of(copy), now),
        }
        for copy in copies
        if policies
    ]
    return answer


def told_once(query: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """What stands in the query string or in the body, never in both."""
    twice = sorted(query.keys() & body.keys())
    if twice:
        raise serializers.ValidationError({name: [_("This is given twice.")] for name in twice})
    return {**query, **body}
