"""GET and POST /batches, GET /batches/{id}: what was changed together, by whom and why, row by row (F3)."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.response import Response

from memories import batches, tasks
from memories.api import fields
from memories.api.batches.answers import BatchPage, BatchWithChanges, batch_answer, change_answer
from memories.api.calls import Call, Method
from memories.api.entries.detail import DAYS_MAX, ChangedAttributes
from memories.api.pagination import PAGE_SIZE, LimitQuery, PageQuery, PositionCursor, first_rows, page_answer, paginated
from memories.batches import bulk_actions
from memories.batches.bulk_actions import MOST, VERBS
from memories.choices import BatchState, BatchVerb, ChangeState, Permission
from memories.exceptions import EntryNotFound
from memories.models import BatchChange, Entry, Scope
from memories.visibility import batch_for, scope_for, visible_batches

#: Fields that belong to one verb alone.
_OWN_FIELDS = {name: verb for verb, declared in VERBS.items() for name in declared.takes}


def _with_verb(*verbs: BatchVerb) -> dict[str, Any]:
    """A shape of a batch: one of these verbs, and of the fields that belong to one only theirs."""
    others = [{"required": [name]} for name, verb in _OWN_FIELDS.items() if verb not in verbs]
    pattern = verbs[0].value if len(verbs) == 1 else f"(?:{'|'.join(verb.value for verb in verbs)})"
    return {"properties": {"verb": {"type": "string", "pattern": f"^{pattern}$"}}, "not": {"anyOf": others}}


class BatchQuery(PageQuery):
    """What a list of batches may be narrowed by."""

    scope = serializers.CharField(required=False, max_length=255)
    state = serializers.ChoiceField(required=False, choices=BatchState.choices)


class ChangesQuery(LimitQuery):
    """Which of a batch's changes are wanted: those after that position, of one state or verb."""

    cursor = PositionCursor(default=0)
    state = serializers.ChoiceField(required=False, choices=ChangeState.choices)
    verb = serializers.ChoiceField(required=False, choices=BatchVerb.choices)


class NewBatch(fields.StrictSerializer):
    """What is to become of entries of one scope."""

    #: Each verb with what belongs to it: `merge` with an entry that stays, `change` with something to change.
    together: ClassVar[dict[str, Any]] = {
        "oneOf": [
            _with_verb(BatchVerb.EXPIRE, BatchVerb.ARCHIVE),
            _with_verb(BatchVerb.RESTORE),
            {**_with_verb(BatchVerb.MERGE), "required": ["into"]},
            {
                **_with_verb(BatchVerb.CHANGE),
                "anyOf": [
                    {"properties": {name: {"type": "object", "minProperties": 1}}, "required": [name]}
                    for name in ("columns", "slots")
                ],
            },
        ]
    }

    scope = fields.Text(max_length=255)
    verb = fields.Word(choices=[(verb.value, verb.label) for verb in VERBS])
    entries = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=MOST)
    into = serializers.UUIDField(required=False, help_text="Of merge: the entry that stays.")
    content = fields.Text(required=False, max_length=8_000, help_text="Of merge: what it is to say then.")
    columns = ChangedAttributes(required=False, help_text="Of change.")
    slots = fields.SlotChanges(required=False, help_text="Of change; null takes a slot away.")
    term_days = fields.Whole(
        required=False, min_value=1, max_value=DAYS_MAX, allow_null=True, help_text="Of restore; null: as the policy."
    )
    reason = fields.Text(max_length=500, allow_blank=True, default="")
    dry_run = fields.YesNo(default=False, help_text="Plan only: the batch waits for somebody to approve it.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        verb = attrs["verb"]
        for name, owner in _OWN_FIELDS.items():
            if name in attrs and verb != owner:
                raise serializers.ValidationError({name: [_("This is of no use with this verb.")]})
        if missing := VERBS[BatchVerb(verb)].lacks(attrs):
            raise serializers.ValidationError({name: [text] for name, text in missing.items()})
        return attrs


class BatchesView(Call):
    """Batches, newest first; change many entries at once."""

    @Method("list_batches", Permission.READ, BatchPage, query=BatchQuery, description="Batches, newest first.")
    def get(self) -> Response:
        rows = visible_batches(self.caller, self.query.get("scope"))
        if "state" in self.query:
            rows = rows.filter(state=self.query["state"])
        return paginated(self, rows, partial(map, batch_answer))

    @Method(
        "make_batch",
        Permission.WRITE,
        {201: BatchWithChanges},
        body=NewBatch,
        description="Change many entries of one scope at once, as a batch that can be undone.",
    )
    def post(self) -> Response:
        data = self.body
        fields.check_ahead("columns.expires_at", data.get("columns", {}).get("expires_at"), self.now)
        scope = scope_for(self.caller, data["scope"])
        entries = _entries(scope, data["entries"])
        if "into" in data:
            (into,) = _entries(scope, [data["into"]])
            data = {**data, "into": into}
        plan = bulk_actions.propose(
            scope,
            entries,
            VERBS[BatchVerb(data["verb"])].build(data),
            now=self.now,
            actor=self.caller.actor,
            reason=data["reason"],
        )
        if not data["dry_run"]:
            tasks.apply_or_queue(plan, now=self.now)  # as many as may be chosen are carried out at once
        return with_changes(self, plan.uid, status=201)


class BatchView(Call):
    """One batch with its changes, in their order."""

    @Method("read_batch", Permission.READ, BatchWithChanges, query=ChangesQuery)
    def get(self, uid: UUID) -> Response:
        return with_changes(self, uid, **self.query)


def with_changes(
    call: Call, uid: UUID, *, status: int = 200, cursor: int = 0, limit: int = PAGE_SIZE, **only: str
) -> Response:
    """A batch as it is now, with a page of its changes."""
    batch = batch_for(call.caller, uid)
    changes = BatchChange.objects.filter(workspace_id=batch.workspace_id, batch=batch, position__gt=cursor, **only)
    page, has_more = first_rows(changes.order_by("position").select_related("entry", "event"), limit)
    answers = [change_answer(row, call.caller) for row in batches.describe(batch, page)]
    undone_by = list(batch.undone_by.order_by("pk").values_list("uid", flat=True))
    listed = page_answer(call, answers, str(page[-1].position) if has_more else None)
    return Response(batch_answer(batch, BatchWithChanges, undone_by=undone_by, changes=listed), status=status)


def _entries(scope: Scope, uids: Sequence[UUID]) -> list[Entry]:
    """The entries with these ids, all in this scope: otherwise EntryNotFound."""
    by_uid = {entry.uid: entry for entry in Entry.objects.in_scope(scope).filter(uid__in=uids)}
    if by_uid.keys() != set(uids):
        raise EntryNotFound
    return [by_uid[uid] for uid in dict.fromkeys(uids)]
