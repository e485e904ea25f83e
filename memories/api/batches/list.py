"""GET and POST /batches, GET /batches/{id}: what was changed together, by whom and why, row by row (F3)."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from memories import batches, tasks
from memories.api import fields, pagination
from memories.api.authentication import caller_of
from memories.api.batches import answers
from memories.api.batches.answers import batch_answer, change_answer
from memories.api.calls import Call
from memories.api.clock import check_ahead, now_of
from memories.api.idempotency import repeatable
from memories.batches import bulk_actions
from memories.batches.bulk_actions import MOST, BulkAction
from memories.choices import BatchState, BatchVerb, Category, ChangeState, Permission
from memories.exceptions import EntryNotFound
from memories.models import BatchChange, Entry, Scope
from memories.visibility import batch_for, scope_for, visible_batches

VERBS = [BatchVerb.EXPIRE, BatchVerb.ARCHIVE, BatchVerb.RESTORE, BatchVerb.MERGE, BatchVerb.CHANGE]
_DAYS_MAX = 36_500


class BatchQuery(pagination.PageQuery):
    """What a list of batches may be narrowed by."""

    scope = serializers.CharField(required=False, max_length=255)
    state = serializers.ChoiceField(required=False, choices=BatchState.choices)


class ChangesQuery(fields.StrictSerializer):
    """Which of a batch's changes are wanted: those after that position, of one state or verb."""

    cursor = serializers.IntegerField(
        required=False, min_value=0, max_value=2**31 - 1, default=0, error_messages={"invalid": pagination.NO_CURSOR}
    )
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=pagination.PAGE_SIZE_MAX, default=pagination.PAGE_SIZE
    )
    state = serializers.ChoiceField(required=False, choices=ChangeState.choices)
    verb = serializers.ChoiceField(required=False, choices=BatchVerb.choices)


class Attributes(fields.StrictSerializer):
    """What many entries may be given at once."""

    category = fields.Word(required=False, choices=Category.choices, allow_blank=True)
    project = fields.Text(required=False, max_length=100, allow_blank=True)
    topic = fields.Text(required=False, max_length=100, allow_blank=True)
    importance = fields.Number(required=False, min_value=0, max_value=1)
    pinned = fields.YesNo(required=False)
    expires_at = fields.Moment(required=False, allow_null=True)


class NewBatch(fields.StrictSerializer):
    """What is to become of entries of one scope."""

    scope = fields.Text(max_length=255)
    verb = fields.Word(choices=[(verb.value, verb.label) for verb in VERBS])
    entries = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=MOST)
    into = serializers.UUIDField(required=False, help_text="Of merge: the entry that stays.")
    content = fields.Text(required=False, max_length=8_000, help_text="Of merge: what it is to say then.")
    columns = Attributes(required=False, help_text="Of change.")
    slots = fields.SlotChanges(required=False, help_text="Of change; null takes a slot away.")
    term_days = fields.Whole(
        required=False, min_value=1, max_value=_DAYS_MAX, allow_null=True, help_text="Of restore; null: as the policy."
    )
    reason = fields.Text(max_length=500, allow_blank=True, default="")
    dry_run = fields.YesNo(default=False, help_text="Plan only: the batch waits for somebody to approve it.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        verb = attrs["verb"]
        for name, wanted in _OF_VERB.items():
            if name in attrs and verb != wanted:
                raise serializers.ValidationError({name: [_("This is of no use with this verb.")]})
        if verb == BatchVerb.MERGE and "into" not in attrs:
            raise serializers.ValidationError({"into": [_("Into which entry?")]})
        if verb == BatchVerb.CHANGE and not (attrs.get("columns") or attrs.get("slots")):
            raise serializers.ValidationError({"columns": [_("There is nothing to change.")]})
        return attrs


_OF_VERB = {
    "into": BatchVerb.MERGE,
    "content": BatchVerb.MERGE,
    "columns": BatchVerb.CHANGE,
    "slots": BatchVerb.CHANGE,
    "term_days": BatchVerb.RESTORE,
}


class BatchesView(Call):
    """Batches, newest first; change many entries at once."""

    required = {"GET": Permission.READ, "POST": Permission.WRITE}
    queried = {"GET": BatchQuery}

    @extend_schema(operation_id="list_batches", parameters=[BatchQuery], responses=answers.BatchPage)
    def get(self, request: Request) -> Response:
        batches = visible_batches(caller_of(request), self.asked.get("scope"))
        if "state" in self.asked:
            batches = batches.filter(state=self.asked["state"])
        return pagination.paginated(batches, request, self.asked, batch_answer)

    @extend_schema(operation_id="make_batch", request=NewBatch, responses={201: answers.BatchWithChanges})
    @repeatable
    def post(self, request: Request) -> Response:
        asked = NewBatch(data=request.data)
        asked.is_valid(raise_exception=True)
        data, now = asked.validated_data, now_of(request)
        check_ahead("columns.expires_at", data.get("columns", {}).get("expires_at"), now)
        scope = scope_for(caller_of(request), data["scope"])
        chosen = _entries(scope, data["entries"])
        plan = bulk_actions.propose(
            scope, chosen, _action(scope, data), now=now, actor=caller_of(request).actor, reason=data["reason"]
        )
        if not data["dry_run"]:
            tasks.apply_or_queue(plan, now=now)  # as many as may be chosen are carried out at once
        return shown(request, plan.uid, status=201)


class BatchView(Call):
    """One batch with its changes, in their order."""

    required = {"GET": Permission.READ}
    queried = {"GET": ChangesQuery}

    @extend_schema(operation_id="read_batch", parameters=[ChangesQuery], responses=answers.BatchWithChanges)
    def get(self, request: Request, uid: UUID) -> Response:
        return shown(request, uid, **self.asked)


def shown(
    request: Request, uid: UUID, *, status: int = 200, cursor: int = 0, limit: int = pagination.PAGE_SIZE, **only: str
) -> Response:
    """A batch as it stands now, with a page of its changes."""
    caller = caller_of(request)
    found = batch_for(caller, uid)
    changes = BatchChange.objects.filter(workspace_id=found.workspace_id, batch=found, position__gt=cursor, **only)
    rows = list(changes.order_by("position").select_related("entry", "event")[: limit + 1])
    page = rows[:limit]
    following = str(page[-1].position) if len(rows) > limit else None
    listed = pagination.page_answer(
        request, [change_answer(row, caller) for row in batches.describe(found, page)], following
    )
    undone_by = list(found.undone_by.order_by("pk").values_list("uid", flat=True))
    body = batch_answer(found, answers.BatchWithChanges, undone_by=undone_by, changes=listed.data)
    return Response(body, status=status)


def _entries(scope: Scope, uids: Sequence[UUID]) -> list[Entry]:
    """The entries with these ids, all in this scope: otherwise EntryNotFound."""
    found = {entry.uid: entry for entry in Entry.objects.in_scope(scope).filter(uid__in=uids)}
    if found.keys() != set(uids):
        raise EntryNotFound
    return [found[uid] for uid in dict.fromkeys(uids)]


def _action(scope: Scope, data: dict[str, Any]) -> BulkAction:
    match data["verb"]:
        case BatchVerb.EXPIRE:
            return bulk_actions.expire()
        case BatchVerb.ARCHIVE:
            return bulk_actions.archive()
        case BatchVerb.RESTORE:
            days = data.get("term_days")
            return bulk_actions.restore(None if days is None else timedelta(days=days))
        case BatchVerb.MERGE:
            (into,) = _entries(scope, [data["into"]])
            return bulk_actions.merge(into, data.get("content"))
    return bulk_actions.edit(data.get("columns", {}), data.get("slots"))
