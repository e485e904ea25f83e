"""GET /batches: what jobs and operators changed in bundles (F3)."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from memories.api import answers, fields, pages
from memories.api.authentication import key_of
from memories.api.calls import Call
from memories.api.scopes import scope_for, visible_scopes
from memories.choices import BatchState, Permission
from memories.models import Batch, BatchChange, BotKey


class BatchQuery(pages.Paged):
    """What a list of batches may be narrowed by."""

    scope = serializers.CharField(required=False, max_length=255)
    state = serializers.ChoiceField(required=False, choices=BatchState.choices)


class ChangesQuery(fields.StrictSerializer):
    """Which of a batch's changes are wanted: those after that position."""

    cursor = serializers.IntegerField(
        required=False, min_value=0, max_value=2**31 - 1, default=0, error_messages={"invalid": pages.NO_CURSOR}
    )
    limit = serializers.IntegerField(required=False, min_value=1, max_value=pages.PAGE_MAX, default=pages.PAGE)


class BatchesView(Call):
    """Batches, newest first."""

    required = {"GET": Permission.READ}
    queried = {"GET": BatchQuery}

    @extend_schema(operation_id="list_batches", parameters=[BatchQuery], responses=answers.BatchPage)
    def get(self, request: Request) -> Response:
        batches = visible_batches(key_of(request))
        if "scope" in self.asked:
            batches = batches.filter(scope=scope_for(key_of(request), self.asked["scope"]))
        if "state" in self.asked:
            batches = batches.filter(state=self.asked["state"])
        return pages.page_of(batches, request, self.asked, batch_json)


class BatchView(Call):
    """One batch with its changes, in their order."""

    required = {"GET": Permission.READ}
    queried = {"GET": ChangesQuery}

    @extend_schema(operation_id="read_batch", parameters=[ChangesQuery], responses=answers.BatchWithChanges)
    def get(self, request: Request, uid: UUID) -> Response:
        batch = visible_batches(key_of(request)).filter(uid=uid).first()
        if batch is None:
            raise NotFound
        limit = self.asked["limit"]
        changes = BatchChange.objects.filter(workspace_id=batch.workspace_id, batch=batch)
        changes = changes.filter(position__gt=self.asked["cursor"]).order_by("position").select_related("entry")
        found = list(changes[: limit + 1])
        page = found[:limit]
        cursor = str(page[-1].position) if len(found) > limit else None
        listed = pages.answer(request, [_change_json(change) for change in page], cursor)
        return Response({**batch_json(batch), "changes": listed.data})


def visible_batches(key: BotKey) -> QuerySet[Batch]:
    """The batches a key may see; one of no scope in particular is seen only by keys that reach every scope."""
    batches = Batch.objects.filter(workspace_id=key.workspace_id).select_related("scope", "undoes")
    return batches.filter(scope__in=visible_scopes(key)) if key.scope_patterns else batches


def batch_json(batch: Batch) -> dict[str, Any]:
    """A batch as clients see it."""
    return {
        "id": str(batch.uid),
        "scope": batch.scope.key if batch.scope else None,
        "name": batch.name,
        "run": batch.run,
        "by": batch.actor,
        "reason": batch.reason,
        "state": batch.state,
        "held_because": batch.held_because,
        "counts": batch.counts,
        "cost": batch.cost,
        "undoes": str(batch.undoes.uid) if batch.undoes else None,
        "created_at": batch.created_at,
        "applied_at": batch.applied_at,
        "closed_at": batch.closed_at,
    }


def _change_json(change: BatchChange) -> dict[str, Any]:
    return {
        "position": change.position,
        "verb": change.verb,
        "entry": str(change.entry.uid) if change.entry else None,
        "expected_version": change.expected_version,
        "state": change.state,
        "note": change.note,
    }
