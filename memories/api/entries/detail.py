"""One entry: read, change, take out, bring back, and its history (F2, A15)."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories import entries
from memories.api import fields
from memories.api.authentication import caller_of
from memories.api.calls import Call
from memories.api.clock import check_ahead, now_of
from memories.api.entries.answers import (
    CopyAnswer,
    EntryAnswer,
    EntryWithCopies,
    EntryWithLineage,
    Relative,
    entry_answer,
)
from memories.api.idempotency import repeatable
from memories.api.preconditions import etag, expected_version
from memories.choices import Category, LinkKind, Permission
from memories.models import Entry, EntryAccess, Link, Policy
from memories.models.state import state_of
from memories.visibility import entry_for

#: Relatives told of, newest first; more than these no batch names.
MOST = 200
#: Seen from the entry a link begins at: what the other one is.
_FROM = {LinkKind.MERGED_FROM: "sources", LinkKind.SUPERSEDES: "sources", LinkKind.SOURCE_OF: "became"}
_OTHER = {"sources": "became", "became": "sources"}
COPIES = ("all", "none")
_DAYS_MAX = 36_500


class EntryChange(fields.StrictSerializer):
    """What is to change; what is not named stays. A slot is taken away by null."""

    content = fields.Text(required=False, max_length=8_000)
    category = fields.Word(required=False, choices=Category.choices, allow_blank=True)
    project = fields.Text(required=False, max_length=100, allow_blank=True)
    topic = fields.Text(required=False, max_length=100, allow_blank=True)
    importance = fields.Number(required=False, min_value=0, max_value=1)
    pinned = fields.YesNo(required=False)
    expires_at = fields.Moment(required=False, allow_null=True)
    review_at = fields.Moment(required=False, allow_null=True)
    slots = fields.SlotChanges(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError(_("There is nothing to change."))
        return attrs


class CopiesChoice(fields.StrictSerializer):
    """Whether the copies of a statement go with it; left out: those of a person's own words do."""

    copies = fields.Word(required=False, choices=COPIES)


class Term(fields.StrictSerializer):
    """For how long an entry is brought back; null: for as long as its policy says."""

    term_days = fields.Whole(min_value=1, max_value=_DAYS_MAX, allow_null=True, default=None)
    copies = fields.Word(
        choices=COPIES, default="all", help_text="Whether what was taken out together with it comes back, too."
    )


class Wanted(fields.StrictSerializer):
    """The version whose words, attributes and slots are to hold again."""

    version = fields.Whole(min_value=1, max_value=2**31 - 1)
    only = serializers.ListField(
        child=serializers.CharField(max_length=70),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=60,
        help_text="Only these: columns by name, slots as slots.env. Without it, everything.",
    )


class EntryView(Call):
    """Read an entry, change it, or take it out of use."""

    required = {"GET": Permission.READ, "PATCH": Permission.WRITE, "DELETE": Permission.WRITE}
    versioned = ("PATCH", "DELETE")
    tagged = ("GET", "PATCH", "DELETE")
    queried = {"DELETE": CopiesChoice}

    @extend_schema(operation_id="read_entry", responses=EntryWithLineage)
    def get(self, request: Request, uid: UUID) -> Response:
        entry = entry_for(caller_of(request), uid)
        return shown(request, entry, EntryWithLineage, **_lineage(entry))

    @extend_schema(operation_id="change_entry", request=EntryChange, responses=EntryAnswer)
    @repeatable
    def patch(self, request: Request, uid: UUID) -> Response:
        asked = EntryChange(data=request.data)
        asked.is_valid(raise_exception=True)
        check_ahead("expires_at", asked.validated_data.get("expires_at"), now_of(request))
        entry = entry_for(caller_of(request), uid)
        columns = {name: asked.validated_data[name] for name in entries.FORM_FIELDS if name in asked.validated_data}
        wanted = entries.Edit(columns=columns, slots=asked.validated_data.get("slots", {}))
        return shown(request, entries.update(entry, wanted, **_by(request)))

    @extend_schema(
        operation_id="delete_entry",
        description="Take an entry out of use, with its copies in the other memories its words were written to. It "
        "stays out until it is restored, and nothing but saving it on purpose writes it again.",
        parameters=[CopiesChoice],
        request=None,
        responses={200: EntryWithCopies},
    )
    @repeatable
    def delete(self, request: Request, uid: UUID) -> Response:
        told = CopiesChoice(data=request.data)
        told.is_valid(raise_exception=True)
        caller = caller_of(request)
        entry = entry_for(caller, uid)
        along = once(self.asked, told.validated_data).get("copies")
        gone, copies = entries.expire_with_copies(
            entry,
            along=entries.is_own_statement(entry) if along is None else along == "all",
            reach=caller.may_reach,
            **_by(request),
        )
        return _with_copies(request, gone, copies)


class RestoreView(Call):
    """Bring an entry back into use."""

    required = {"POST": Permission.WRITE}
    versioned = ("POST",)
    tagged = ("POST",)

    @extend_schema(operation_id="restore_entry", request=Term, responses=EntryWithCopies)
    @repeatable
    def post(self, request: Request, uid: UUID) -> Response:
        asked = Term(data=request.data)
        asked.is_valid(raise_exception=True)
        days = asked.validated_data["term_days"]
        term = None if days is None else timedelta(days=days)
        caller, along = caller_of(request), asked.validated_data["copies"] == "all"
        back, copies = entries.restore_with_copies(
            entry_for(caller, uid), term=term, along=along, reach=caller.may_reach, **_by(request)
        )
        return _with_copies(request, back, copies)


class RevertView(Call):
    """Give an entry back the words, attributes and slots of an earlier version."""

    required = {"POST": Permission.WRITE}
    versioned = ("POST",)
    tagged = ("POST",)

    @extend_schema(operation_id="revert_entry", request=Wanted, responses=EntryAnswer)
    @repeatable
    def post(self, request: Request, uid: UUID) -> Response:
        asked = Wanted(data=request.data)
        asked.is_valid(raise_exception=True)
        entry = entry_for(caller_of(request), uid)
        wanted = asked.validated_data
        return shown(request, entries.revert(entry, wanted["version"], only=wanted.get("only"), **_by(request)))


def shown(request: Request, entry: Entry, kind: type[EntryAnswer] = EntryAnswer, **more: Any) -> Response:
    """An entry as an answer, with its version as ETag."""
    policies = Policy.objects.of(entry.workspace_id)
    return Response(entry_answer(entry, policies, now_of(request), kind, **more), headers=etag(entry))


def _by(request: Request) -> dict[str, Any]:
    """Who changes it, when, and which version they have seen."""
    return {"now": now_of(request), "actor": caller_of(request).actor, "expected_version": expected_version(request)}


def _lineage(entry: Entry) -> dict[str, Any]:
    """Sources and successors of its scope with their kinds and dates, its messages, and how often it was recalled."""
    relatives: dict[str, list[Any]] = {"sources": [], "became": []}
    ends = Q(from_entry=entry) | Q(to_entry=entry)
    links = Link.objects.filter(ends, workspace_id=entry.workspace_id, kind__in=_FROM)
    for link in links.select_related("from_entry", "to_entry").order_by("-created_at", "-pk")[:MOST]:
        begins = link.from_entry_id == entry.pk
        side, other = _FROM[LinkKind(link.kind)], link.to_entry if begins else link.from_entry
        if other.scope_id == entry.scope_id:
            relatives[side if begins else _OTHER[side]].append(Relative.of(other, kind=link.kind, at=link.created_at))
    access = EntryAccess.objects.filter(pk=entry.pk, workspace_id=entry.workspace_id).first()
    return relatives | {
        "times_recalled": access.access_count if access else 0,
        "last_recalled_at": access.last_accessed if access else None,
        "times_repeated": access.repeat_count if access else 0,
    }


def _with_copies(request: Request, entry: Entry, copies: Sequence[Entry]) -> Response:
    """An entry as an answer, with its copies by name."""
    policies, now = Policy.objects.of(entry.workspace_id), now_of(request)
    named = [CopyAnswer.of(copy, state=state_of(copy, policies.end_of(copy), now)) for copy in copies]
    return Response(entry_answer(entry, policies, now, EntryWithCopies, copies=named), headers=etag(entry))


def once(query: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """What stands in the query string or in the body, never in both."""
    twice = sorted(query.keys() & body.keys())
    if twice:
        raise serializers.ValidationError({name: [_("This is given twice.")] for name in twice})
    return {**query, **body}
