"""Entries: the list, one of them, its changes and its history; and what a memory is saved with."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.response import Response

from memories import entries
from memories.api import fields
from memories.api.answers import (
    Answer,
    ColumnChange,
    EvidenceAnswer,
    SlotChange,
    evidence_field,
    origin_field,
    page_of,
    slot_changes,
    suspect_field,
    trust_field,
    verification_field,
)
from memories.api.calls import Call, Method
from memories.api.pagination import LimitQuery, PageQuery, PositionCursor, page_answer, paginated
from memories.api.requests import etag, expected_version
from memories.choices import Category, Due, EntryType, LinkKind, Operation, Origin, Outcome, Permission, Source
from memories.entries import CONTRADICTED_BY, ERASED, QUARANTINED, TAKEN_OUT, history
from memories.entries.draft import COLUMN_SLOTS, NAME_CHARS, NAMES_MOST
from memories.entries.evidence import evidence_of
from memories.lifecycle import expiry
from memories.models import Batch, Entry, EntryAccess, Link, Policy
from memories.models.policy import Policies
from memories.models.state import State, in_state, state_of
from memories.visibility import entry_for, reached_chats, visible_entries


class EntryAnswer(Answer):
    """A memory."""

    id = serializers.UUIDField(source="uid")
    scope = serializers.CharField(source="scope.key")
    type = serializers.ChoiceField(choices=EntryType.choices)
    subtype = serializers.CharField()
    tier = serializers.IntegerField(allow_null=True)
    category = serializers.ChoiceField(choices=Category.choices, allow_blank=True)
    project = serializers.CharField()
    topic = serializers.CharField()
    names = serializers.ListField(child=serializers.CharField(), help_text="What it is about, and its other names.")
    content = serializers.CharField()
    slots = serializers.DictField(child=serializers.CharField())
    contradicted_by = serializers.CharField(
        allow_null=True, help_text="The newer memory that makes this line of the profile untrue: it is not handed out."
    )
    verification = verification_field()
    suspect = suspect_field()
    evidence = evidence_field()
    path = serializers.CharField(help_text="Of the file it is a line of; empty: of none.")
    line_from = serializers.IntegerField(allow_null=True)
    line_to = serializers.IntegerField(allow_null=True)
    heading = serializers.CharField(help_text="The headings its line stands under.")
    importance = serializers.FloatField()
    source = serializers.ChoiceField(choices=Source.choices)  # type: ignore[assignment]
    origin, trust = origin_field(), trust_field()
    subject = serializers.CharField(help_text="Whom or what it is about; empty: the person, or nobody knows.")
    state = serializers.ChoiceField(choices=State.choices)
    pinned = serializers.BooleanField()
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    stated_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    review_at = serializers.DateTimeField(allow_null=True)
    expired_at = serializers.DateTimeField(allow_null=True)
    archived_at = serializers.DateTimeField(allow_null=True)


class SavedEntry(EntryAnswer):
    """A memory as it stands after it was saved, and what became of what was sent."""

    outcome = serializers.ChoiceField(choices=Outcome.choices)
    reason = serializers.ChoiceField(
        choices=[TAKEN_OUT, ERASED, QUARANTINED], allow_null=True, help_text="Why it is suppressed."
    )
    linked = serializers.ListField(child=serializers.UUIDField(), help_text="Entries it resembles.")
    brought_back = serializers.BooleanField(help_text="People had taken these words out before.")


EntryPage = page_of(EntryAnswer, "Memories, newest first.")


def entry_answer(
    entry: Entry, policies: Policies, now: datetime, kind: type[EntryAnswer] = EntryAnswer, **more: Any
) -> dict[str, Any]:
    """An entry as clients see it."""
    return entry_answers([entry], policies, now, kind, **more)[0]


def entry_answers(
    rows: Sequence[Entry], policies: Policies, now: datetime, kind: type[EntryAnswer] = EntryAnswer, **more: Any
) -> list[dict[str, Any]]:
    """Entries as clients see them; the words they rest on are read at once, where a model stated any of them."""
    stated = {entry.pk: entry.workspace_id for entry in rows if entry.verification}
    quotes = evidence_of(stated, next(iter(stated.values()))) if stated else {}
    answers = []
    for entry in rows:
        slots = slots_of(entry)
        answer = kind.of(
            entry,
            slots=slots,
            evidence=list(map(EvidenceAnswer.of, quotes.get(entry.pk, ()))),
            contradicted_by=slots.get(CONTRADICTED_BY),
            state=state_of(entry, policies.end_of(entry), now),
            **more,
        )
        answers.append(answer)
    return answers


def slots_of(entry: Entry) -> dict[str, str]:
    """All slots of an entry, those that are columns as well."""
    return with_columns(entry, {slot.name: slot.value for slot in entry.slots.all()})


def with_columns(entry: Entry, slots: Mapping[str, str]) -> dict[str, str]:
    """The slots of an entry that are columns, and these others."""
    return {name: getattr(entry, name) for name in COLUMN_SLOTS if getattr(entry, name)} | dict(slots)


class Relative(Answer):
    """An entry another was made from, or became."""

    id = serializers.UUIDField(source="uid")
    kind = serializers.ChoiceField(choices=[LinkKind.MERGED_FROM, LinkKind.SUPERSEDES, LinkKind.SOURCE_OF])
    content = serializers.CharField()
    at = serializers.DateTimeField()


class EntryWithLineage(EntryAnswer):
    """A memory, what it was made from, and what it became."""

    sources = Relative(many=True, help_text="What it was made from, or replaced.")
    became = Relative(many=True, help_text="What it has become part of, or a source of, or what replaced it.")
    origins = serializers.ListField(
        child=serializers.CharField(),
        help_text="The messages it rests on: `session_events/<session>/<conversation>/event-<id>`.",
    )
    times_recalled = serializers.IntegerField()
    last_recalled_at = serializers.DateTimeField(allow_null=True)
    times_repeated = serializers.IntegerField(help_text="How often it was repeated.")


class CopyAnswer(Answer):
    """Another entry that rests on the same messages, as it stands now."""

    id = serializers.UUIDField(source="uid")
    scope = serializers.CharField(source="scope.key")
    type = serializers.ChoiceField(choices=EntryType.choices)
    state = serializers.ChoiceField(choices=State.choices)


class EntryWithCopies(EntryAnswer):
    """A memory, and the copies of it that went or came with it, or stayed."""

    copies = CopyAnswer(many=True)


class RevisionAnswer(Answer):
    """What somebody changed at once."""

    version = serializers.IntegerField(help_text="The version that began with it, for /revert.")
    at = serializers.DateTimeField()
    by = serializers.CharField(source="actor")
    operation = serializers.ChoiceField(choices=["created", "changed"])
    batch = serializers.UUIDField(allow_null=True)
    run = serializers.CharField()
    changes = ColumnChange(many=True)
    slots = SlotChange(many=True)


RevisionPage = page_of(RevisionAnswer, "The steps of an entry's life, newest first.")


_SLOT = "slot."


def entry_names(**options: Any) -> serializers.ListField:
    """The field of what a memory is about, and its other names."""
    return serializers.ListField(
        child=fields.Text(max_length=NAME_CHARS, trim_whitespace=True),
        max_length=NAMES_MOST,
        help_text='What it is about, and its other names: `["Kubernetes", "k8s"]`.',
        **options,
    )


class NewAttributes(fields.StrictSerializer):
    """What a new memory is filed under."""

    category = fields.Word(choices=Category.choices, allow_blank=True, default="")
    importance = fields.Number(min_value=0, max_value=1, allow_null=True, default=None)
    project = fields.Text(max_length=100, allow_blank=True, default="")
    topic = fields.Text(max_length=100, allow_blank=True, default="")


class EntryQuery(PageQuery):
    """What a list of entries may be narrowed by, beside slots."""

    scope = serializers.CharField(required=False, max_length=255)
    type = serializers.ChoiceField(required=False, choices=EntryType.choices)
    state = serializers.ChoiceField(required=False, choices=State.choices)
    due = serializers.ChoiceField(required=False, choices=Due.choices)
    origin = serializers.ChoiceField(required=False, choices=Origin.choices)
    trust = serializers.ChoiceField(required=False, choices=Origin.choices)
    subject = serializers.CharField(required=False, max_length=100)
    q = serializers.CharField(required=False, max_length=500)


class EntryFilter(EntryQuery):
    """What a list of entries may be narrowed by; slots are written `slot.<name>=<value>`."""

    slot = fields.Slots()

    def to_internal_value(self, data: dict[str, str]) -> Any:
        slots = {name.removeprefix(_SLOT): value for name, value in data.items() if name.startswith(_SLOT)}
        rest = {name: value for name, value in data.items() if not name.startswith(_SLOT)}
        return super().to_internal_value({"slot": slots, **rest})


class EntryListView(Call):
    """What is remembered."""

    @Method(
        "list_entries",
        Permission.READ,
        EntryPage,
        query=EntryFilter,
        parameters=(EntryQuery,),
        description="Entries, newest first. Slots narrow the list as `slot.<name>=<value>`.",
    )
    def get(self) -> Response:
        policies = Policy.objects.of(self.caller.workspace_id)
        query = self.query
        entries = visible_entries(self.caller, query.get("scope"))
        if "type" in query:
            entries = entries.filter(type=query["type"])
        entries = entries.filter(**{name: query[name] for name in ("origin", "trust") if name in query})
        if "subject" in query:
            entries = entries & Entry.objects.about(query["subject"])
        if "state" in query:
            entries = entries.filter(in_state(query["state"], policies.over(self.now)))
        if "due" in query:
            entries = entries.filter(expiry.due(query["due"], self.now, policies.over))
        for word in query.get("q", "").split():
            entries = entries.filter(content__icontains=word)
        for name, value in query["slot"].items():
            if name in COLUMN_SLOTS or name in ("type", "source"):
                entries = entries.filter(**{name: value})
            elif name == "scope":
                entries = entries.filter(scope__kind=value)
            else:
                entries = entries.filter(slots__name=name, slots__value=value)
        entries = entries.select_related("scope").prefetch_related("slots")
        return paginated(self, entries, lambda rows: entry_answers(rows, policies, self.now))


#: Relatives listed, newest first; more than these no batch names.
MOST = 200
#: Seen from the entry a link begins at: what the other one is.
_FROM = {LinkKind.MERGED_FROM: "sources", LinkKind.SUPERSEDES: "sources", LinkKind.SOURCE_OF: "became"}
_OTHER = {"sources": "became", "became": "sources"}
COPIES = ("all", "none")
DAYS_MAX = 36_500


class ChangedAttributes(fields.StrictSerializer):
    """What many entries may be given at once."""

    category = fields.Word(required=False, choices=Category.choices, allow_blank=True)
    project = fields.Text(required=False, max_length=100, allow_blank=True)
    topic = fields.Text(required=False, max_length=100, allow_blank=True)
    importance = fields.Number(required=False, min_value=0, max_value=1)
    pinned = fields.YesNo(required=False)
    expires_at = fields.Moment(required=False, allow_null=True)


class EntryChange(ChangedAttributes):
    """What is to change; what is not named stays. A slot is taken away by null."""

    together: ClassVar[dict[str, Any]] = {"minProperties": 1}

    content = fields.Content(required=False, max_length=8_000)
    names = entry_names(required=False)
    subject = fields.Text(required=False, max_length=100, allow_blank=True)
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

    term_days = fields.Whole(min_value=1, max_value=DAYS_MAX, allow_null=True, default=None)
    copies = fields.Word(
        choices=COPIES, default="all", help_text="Whether what was taken out together with it comes back, too."
    )


class RevertRequest(fields.StrictSerializer):
    """The version whose words, attributes and slots are to hold again."""

    version = fields.Whole(min_value=1, max_value=2**31 - 1)
    only = serializers.ListField(
        child=serializers.CharField(max_length=70),
        required=False,
        allow_null=True,
        allow_empty=False,
        min_length=1,
        max_length=60,
        help_text="Only these: columns by name, slots as slots.env. Without it, everything.",
    )


class EntryCall(Call):
    """What calls about one entry have in common."""

    def change(self) -> dict[str, Any]:
        """Who changes it, when, and which version they have seen."""
        return {"now": self.now, "actor": self.caller.actor, "expected_version": expected_version(self.request)}

    def answer(self, entry: Entry, kind: type[EntryAnswer] = EntryAnswer, **more: Any) -> Response:
        """An entry as an answer, with its version as ETag."""
        policies = Policy.objects.of(entry.workspace_id)
        return Response(entry_answer(entry, policies, self.now, kind, **more), headers=etag(entry))

    def answer_with_copies(self, entry: Entry, copies: Sequence[Entry]) -> Response:
        """An entry as an answer, with its copies by name."""
        policies = Policy.objects.of(entry.workspace_id)
        answers = [CopyAnswer.of(copy, state=state_of(copy, policies.end_of(copy), self.now)) for copy in copies]
        return Response(entry_answer(entry, policies, self.now, EntryWithCopies, copies=answers), headers=etag(entry))


class EntryView(EntryCall):
    """Read an entry, change it, or take it out of use."""

    @Method(
        "read_entry",
        Permission.READ,
        EntryWithLineage,
        tagged=True,
        description="One entry, with what it was made from and what it became.",
    )
    def get(self, uid: UUID) -> Response:
        entry = entry_for(self.caller, uid)
        # Sources and successors of its scope with their kinds and dates, and how often it was recalled and repeated
        relatives: dict[str, list[Any]] = {"sources": [], "became": []}
        ends = Q(from_entry=entry) | Q(to_entry=entry)
        links = Link.objects.filter(ends, workspace_id=entry.workspace_id, kind__in=_FROM)
        for link in links.select_related("from_entry", "to_entry").order_by("-created_at", "-pk")[:MOST]:
            begins = link.from_entry_id == entry.pk
            side, other = _FROM[LinkKind(link.kind)], link.to_entry if begins else link.from_entry
            if other.scope_id == entry.scope_id and other.quarantined_at is None:
                relatives[side if begins else _OTHER[side]].append(
                    Relative.of(other, kind=link.kind, at=link.created_at)
                )
        access = EntryAccess.objects.filter(pk=entry.pk, workspace_id=entry.workspace_id).first()
        return self.answer(
            entry,
            EntryWithLineage,
            **relatives,
            times_recalled=access.access_count if access else 0,
            last_recalled_at=access.last_accessed if access else None,
            times_repeated=access.repeat_count if access else 0,
        )

    @Method(
        "change_entry",
        Permission.WRITE,
        EntryAnswer,
        body=EntryChange,
        versioned=True,
        description="Change an entry; what is not sent stays as it is.",
    )
    def patch(self, uid: UUID) -> Response:
        fields.check_ahead("expires_at", self.body.get("expires_at"), self.now)
        entry = entry_for(self.caller, uid)
        columns = {name: self.body[name] for name in entries.FORM_FIELDS if name in self.body}
        edit = entries.Edit(columns=columns, slots=self.body.get("slots", {}))
        return self.answer(entries.update(entry, edit, **self.change()))

    @Method(
        "delete_entry",
        Permission.WRITE,
        {200: EntryWithCopies},
        query=CopiesChoice,
        body=CopiesChoice,
        versioned=True,
        description="Take an entry out of use, with its copies in the other memories its words were written to. It "
        "stays out until it is restored, and nothing but saving it on purpose writes it again.",
    )
    def delete(self, uid: UUID) -> Response:
        entry = entry_for(self.caller, uid)
        if twice := sorted(self.query.keys() & self.body.keys()):
            raise serializers.ValidationError({name: [_("This is given twice.")] for name in twice})
        along = (self.query | self.body).get("copies")
        expired_entry, copies = entries.expire_with_copies(
            entry,
            along=entries.is_own_statement(entry) if along is None else along == "all",
            reach=self.caller.may_reach,
            **self.change(),
        )
        return self.answer_with_copies(expired_entry, copies)


class RestoreView(EntryCall):
    """Bring an entry back into use."""

    @Method("restore_entry", Permission.WRITE, EntryWithCopies, body=Term, versioned=True)
    def post(self, uid: UUID) -> Response:
        days = self.body["term_days"]
        back, copies = entries.restore_with_copies(
            entry_for(self.caller, uid),
            term=None if days is None else timedelta(days=days),
            along=self.body["copies"] == "all",
            reach=self.caller.may_reach,
            **self.change(),
        )
        return self.answer_with_copies(back, copies)


class RevertView(EntryCall):
    """Give an entry back the words, attributes and slots of an earlier version."""

    @Method("revert_entry", Permission.WRITE, EntryAnswer, body=RevertRequest, versioned=True)
    def post(self, uid: UUID) -> Response:
        entry = entry_for(self.caller, uid)
        return self.answer(entries.revert(entry, self.body["version"], only=self.body.get("only"), **self.change()))


_OPERATIONS = {Operation.INSERT: "created", Operation.UPDATE: "changed"}


class EntryHistoryQuery(LimitQuery):
    """Which page of a history is wanted: the steps before the one with that number, counted from the first."""

    cursor = PositionCursor()


class EntryHistoryView(Call):
    """The life of an entry, the last change first."""

    @Method("entry_history", Permission.READ, RevisionPage, query=EntryHistoryQuery)
    def get(self, uid: UUID) -> Response:
        steps = history.history_of(entry_for(self.caller, uid))
        end = min(self.query.get("cursor", len(steps)), len(steps))
        begin = max(end - self.query["limit"], 0)
        page_steps = steps[begin:end][::-1]
        # The ids clients know of the batches, and of the entries that took the place of this one
        workspace_id = self.caller.workspace_id
        pks = {step.batch_id for step in page_steps if step.batch_id}
        batches = dict(Batch.objects.filter(workspace_id=workspace_id, pk__in=pks).values_list("pk", "uid"))
        newer = {pk for step in page_steps for pk in step.columns.get("superseded_by", ()) if pk}
        rows = Entry.objects.filter(workspace_id=workspace_id, pk__in=newer).values_list("pk", "uid")
        successors = {pk: str(uid) for pk, uid in rows}
        answers = []
        for step in page_steps:
            changes = []
            for name, (old, new) in step.columns.items():
                if name == "superseded_by":
                    old, new = (value and successors.get(value) for value in (old, new))
                elif name == "chats":
                    old, new = (value and reached_chats(self.caller, value) for value in (old, new))
                words = {"diff": step.wording} if name == "content" and step.wording else {}
                changes.append(ColumnChange.of(column=name, old=old, new=new, **words))
            answer = RevisionAnswer.of(
                step,
                operation=_OPERATIONS[step.operation],
                batch=batches.get(step.batch_id) if step.batch_id else None,
                changes=changes,
                slots=slot_changes(step.slots),
            )
            answers.append(answer)
        return Response(page_answer(self, answers, str(begin) if begin else None))
