"""Batches: what was changed together, by whom and why, row by row, and what may be decided about it (F3, F4)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.response import Response

from memories import batches, tasks
from memories.api import fields
from memories.api.answers import Answer, ColumnChange, SlotChange, WordDiff, page_of, slot_changes
from memories.api.calls import Call, Method
from memories.api.entries import DAYS_MAX, ChangedAttributes
from memories.api.pagination import PAGE_SIZE, LimitQuery, PageQuery, PositionCursor, first_rows, page_answer, paginated
from memories.batches import Description, bulk_actions
from memories.batches.bulk_actions import MOST, VERBS
from memories.choices import BatchState, BatchVerb, ChangeState, Outcome, Permission, SkipReason
from memories.entries import history
from memories.exceptions import EntryNotFound
from memories.models import Batch, BatchChange, Entry, Scope
from memories.tenancy.access import Caller
from memories.visibility import batch_for, reached_chats, scope_for, visible_batches

#: Why a row was left alone, or what became of what it creates.
ROW_NOTES = (*SkipReason.values, Outcome.MERGED.value, Outcome.SKIPPED.value, "note")


class RowNoteDetails(Answer):
    """The note of a row for people, and what to do first."""

    text = serializers.CharField(help_text="The same in a sentence for people, in the language of the request.")
    batches = serializers.ListField(
        child=serializers.CharField(), help_text="Batches to undo before this row can be; empty but for `stands`."
    )


class HeldReason(Answer):
    """Why a batch waits for a person."""

    code = serializers.CharField()
    figures = serializers.DictField(help_text="What the sentence counts.")
    text = serializers.CharField(help_text="A sentence for people.")


class BatchAnswer(Answer):
    """A bundle of changes made by one run or one action."""

    id = serializers.UUIDField(source="uid")
    scope = serializers.CharField(allow_null=True)
    name = serializers.CharField()
    run = serializers.CharField()
    by = serializers.CharField(source="actor")
    reason = serializers.CharField()
    state = serializers.ChoiceField(choices=BatchState.choices)
    held_because = HeldReason(many=True)
    decided_by = serializers.CharField(help_text="Who approved or refused it.")
    counts = serializers.JSONField()
    cost = serializers.JSONField()
    undoes = serializers.UUIDField(allow_null=True)
    created_at = serializers.DateTimeField()
    applied_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)


BatchPage = page_of(BatchAnswer, "Batches, newest first.")


class BatchChangeAnswer(Answer):
    """What one row of a batch does to its entry."""

    position = serializers.IntegerField(source="change.position")
    verb = serializers.ChoiceField(choices=BatchVerb.choices, source="change.verb")
    entry = serializers.UUIDField(allow_null=True)
    event = serializers.UUIDField(allow_null=True, help_text="The event of a day, where the row is about one.")
    expected_version = serializers.IntegerField(allow_null=True, source="change.expected_version")
    state = serializers.ChoiceField(choices=ChangeState.choices, source="change.state")
    note = serializers.ChoiceField(
        choices=ROW_NOTES, allow_null=True, help_text="What became of a row that was not simply made."
    )
    note_details = RowNoteDetails(allow_null=True)
    draft = serializers.JSONField(allow_null=True, help_text="Of what is created or changed.")
    content = serializers.CharField(allow_null=True, source="before", help_text="The words of the entry before.")
    diff = WordDiff(allow_null=True, help_text="Runs of words: = stay, - go, + come. Null where the words stay.")
    changes = ColumnChange(many=True)
    slots = SlotChange(many=True)
    into = serializers.UUIDField(allow_null=True, help_text="The entry that takes its place.")
    into_position = serializers.IntegerField(allow_null=True, help_text="The row that makes what takes its place.")
    sources = serializers.ListField(child=serializers.UUIDField(), help_text="What becomes part of what it makes.")


BatchChangePage = page_of(BatchChangeAnswer, "The changes of a batch, in their order.")


class BatchWithChanges(BatchAnswer):
    """A batch and a page of its changes."""

    undone_by = serializers.ListField(child=serializers.UUIDField(), help_text="Batches that took it back.")
    changes = BatchChangePage()


def batch_answer(batch: Batch, kind: type[BatchAnswer] = BatchAnswer, **more: Any) -> dict[str, Any]:
    """A batch as clients see it."""
    reasons = zip(batch.held_because, batches.approval_reasons(batch), strict=True)  # stored, and in a sentence
    return kind.of(
        batch,
        scope=batch.scope.key if batch.scope else None,
        held_because=[
            HeldReason.of(
                code=reason["code"],
                figures={name: value for name, value in reason.items() if name != "code"},
                text=text,
            )
            for reason, text in reasons
        ],
        undoes=batch.undoes.uid if batch.undoes else None,
        **more,
    )


def change_answer(row: Description, caller: Caller | None = None) -> dict[str, Any]:
    """One row of a batch as the holder of a key sees it, or as the operator at the terminal does."""
    change = row.change
    # No caller is given the words of what is in quarantine, nor words made of them
    entries = (change.entry, row.into, *row.sources)
    is_hidden = caller is not None and any(entry is not None and entry.quarantined_at is not None for entry in entries)
    if is_hidden:
        row = replace(row, before=None, after=None, columns={}, slots={}, into=None, sources=[])
    note, text = row.note or (None, "")
    # How the words change; of what is made of other entries, against their words
    before = row.before
    if before is None:
        before = "\n".join(source.content for source in row.sources)
    # What is created or changed, or the event of a day, with the chats the caller reaches
    draft = None
    if not is_hidden and change.verb in (BatchVerb.CREATE, BatchVerb.CHANGE, BatchVerb.TELL, BatchVerb.POLICY):
        draft = row.step.as_json()
        if caller and draft.get("chats"):
            draft = draft | {"chats": reached_chats(caller, draft["chats"])}
    return BatchChangeAnswer.of(
        row,
        entry=change.entry.uid if change.entry else None,
        event=change.event.uid if change.event else None,
        note=note,
        note_details=RowNoteDetails.of(text=text, batches=batches.blocking_batches(change)) if note else None,
        draft=draft,
        diff=None if row.after is None else history.word_diff(before, row.after),
        changes=[ColumnChange.of(column=name, old=old, new=new) for name, (old, new) in row.columns.items()],
        slots=slot_changes(row.slots),
        into=row.into.uid if row.into else None,
        sources=[source.uid for source in row.sources],
    )


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
    """The entries with these ids, all in this scope and none in quarantine: otherwise EntryNotFound."""
    entries = Entry.objects.in_scope(scope).filter(uid__in=uids, quarantined_at=None)
    by_uid = {entry.uid: entry for entry in entries}
    if by_uid.keys() != set(uids):
        raise EntryNotFound
    return [by_uid[uid] for uid in dict.fromkeys(uids)]


POSITIONS_MAX = 10_000
_QUEUED = "Too large to wait for: the worker carries it out."


class UndoRequest(fields.StrictSerializer):
    """What of a batch is to be taken back, and whether also where others have changed it since."""

    positions = serializers.ListField(
        child=fields.Whole(min_value=1, max_value=2**31 - 1),
        min_length=1,
        max_length=POSITIONS_MAX,
        allow_null=True,
        default=None,
        help_text="Of the rows to take back; null: all.",
    )
    force = fields.YesNo(default=False, help_text="Also take back what was changed since.")
    reason = fields.Text(max_length=500, allow_blank=True, default="")


class RowChange(fields.StrictSerializer):
    """Other words for a row of a plan, or its removal from it."""

    together: ClassVar[dict[str, Any]] = {
        "oneOf": [
            {"required": ["content"], "not": {"required": ["removed"]}},
            {
                "properties": {"removed": {"not": {"type": "boolean", "enum": [False]}}},
                "required": ["removed"],
                "not": {"required": ["content"]},
            },
        ]
    }

    content = fields.Text(required=False, max_length=8_000)
    removed = fields.YesNo(required=False)

    def validate_removed(self, value: bool) -> bool:
        if not value:
            raise serializers.ValidationError(_("What was taken out of a plan is not put back into it."))
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise serializers.ValidationError(_("Either other words, or its removal."))
        return attrs


class ApproveView(Call):
    """Let a proposed batch be applied, though the safety limit held it."""

    @Method(
        "approve_batch",
        Permission.ADMIN,
        {200: BatchWithChanges, 202: BatchWithChanges},
        body=fields.StrictSerializer,
        description=f"Apply what a batch plans. 202: {_QUEUED}",
    )
    def post(self, uid: UUID) -> Response:
        batch = batch_for(self.caller, uid)
        if BatchVerb.PURGE in batch.counts:
            raise PermissionDenied(_("What has no undo is approved by a person, in the admin."))
        if BatchVerb.POLICY in batch.counts:
            raise PermissionDenied(_("What sets policies is approved by a person, in the admin."))
        batches.approve(batch, actor=self.caller.actor, now=self.now)
        return with_changes(self, uid, status=200 if tasks.apply_or_queue(batch, now=self.now) else 202)


class RefuseView(Call):
    """Let a proposed batch never be applied."""

    @Method("refuse_batch", Permission.ADMIN, {200: BatchWithChanges}, body=fields.StrictSerializer)
    def post(self, uid: UUID) -> Response:
        batches.refuse(batch_for(self.caller, uid), actor=self.caller.actor, now=self.now)
        return with_changes(self, uid)


class UndoView(Call):
    """Undo a batch, in whole or in part; the answer is the batch that does so."""

    @Method(
        "undo_batch",
        Permission.ADMIN,
        {201: BatchWithChanges, 202: BatchWithChanges},
        body=UndoRequest,
        description=f"Put back the state before a batch. Itself a batch, which can be undone. 202: {_QUEUED}",
    )
    def post(self, uid: UUID) -> Response:
        batch = batch_for(self.caller, uid)
        if BatchVerb.POLICY in batch.counts:
            raise PermissionDenied(_("What sets policies is undone by a person, in the admin."))
        undo = batches.plan_undo(batch, actor=self.caller.actor, now=self.now, **self.body)
        return with_changes(self, undo.uid, status=201 if tasks.apply_or_queue(undo, now=self.now) else 202)


class RowView(Call):
    """One row of a plan nobody has decided on."""

    @Method("change_batch_row", Permission.ADMIN, {200: BatchChangeAnswer}, body=RowChange)
    def patch(self, uid: UUID, position: int) -> Response:
        batch = batch_for(self.caller, uid)
        rows = batch.changes.filter(position=position).select_related("entry", "event")
        if not rows.exists():
            raise NotFound
        if "content" in self.body:
            batches.edit_step(batch, position, self.body["content"])
        else:
            batches.remove_steps(batch, [position])
        (row,) = batches.describe(batch, list(rows))
        return Response(change_answer(row, self.caller))
