"""One entry: read, change, take out, bring back, revert (F2, A15)."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.response import Response

from memories import entries
from memories.api import fields
from memories.api.calls import Call, Method
from memories.api.entries.answers import (
    CopyAnswer,
    EntryAnswer,
    EntryWithCopies,
    EntryWithLineage,
    Relative,
    entry_answer,
)
from memories.api.headers import etag, expected_version
from memories.choices import Category, LinkKind, Permission
from memories.models import Entry, EntryAccess, Link, Policy
from memories.models.state import state_of
from memories.visibility import entry_for

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

    content = fields.Text(required=False, max_length=8_000)
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
        gone, copies = entries.expire_with_copies(
            entry,
            along=entries.is_own_statement(entry) if along is None else along == "all",
            reach=self.caller.may_reach,
            **self.change(),
        )
        return self.answer_with_copies(gone, copies)


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
