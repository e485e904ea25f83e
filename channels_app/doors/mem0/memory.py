"""One memory, or some of them by name: read, changed, out of use, its history."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.response import Response

from channels_app.doors.mem0.answers import history_answers, memory_answers
from channels_app.doors.mem0.calls import Ignored, Mem0Call, Unsupported, parsed_id
from channels_app.doors.mem0.filters import live_entries, span
from channels_app.doors.mem0.ids import metadata_of, slot_name, slots_of_metadata
from memories import entries
from memories.api import fields
from memories.api.calls import Method
from memories.choices import Permission
from memories.exceptions import EntryNotFound
from memories.models import Entry

MOST_DELETED, MOST_CHANGED = 500, 100


class Changes(fields.StrictSerializer):
    """New words, other metadata in place of the old, another end; null: none."""

    text = fields.Text(required=False, max_length=8_000)
    metadata = serializers.DictField(required=False, allow_null=True)
    expiration_date = fields.Text(required=False, allow_null=True, max_length=10)
    timestamp = Unsupported()


class NamedMemory(fields.StrictSerializer):
    """A memory by its id."""

    memory_id = fields.Text(max_length=100)


class NamedChanges(Changes, NamedMemory):
    """Changes of a memory."""


class NamedMemories(fields.StrictSerializer):
    """Memories by their ids."""

    memories = serializers.ListField(child=NamedMemory(), allow_empty=False, max_length=MOST_DELETED)


class ManyChanges(fields.StrictSerializer):
    """Changes of several memories."""

    memories = serializers.ListField(child=NamedChanges(), allow_empty=False, max_length=MOST_CHANGED)


class DeleteQuery(fields.StrictSerializer):
    """An older memory that was superseded does not come back when the newer one goes."""

    delete_linked = Ignored()


class OneMemory(Mem0Call):
    """What is done with a memory by its id."""

    def change(self, memory_id: str, given: dict[str, Any]) -> Entry:
        """Change what is named of a memory."""
        entry, columns, slots = self.entry(memory_id), {}, dict[str, str | None]()
        if "text" in given:
            columns["content"] = given["text"]
        if "expiration_date" in given:
            ends = given["expiration_date"]
            columns["expires_at"] = span(ends, self.caller.zone)[1] if ends else None
            fields.check_ahead("expiration_date", columns["expires_at"], self.now)
        if given.get("metadata") is not None:
            slots = {slot_name(name): None for name in metadata_of(entry.slots.all())}
            slots |= slots_of_metadata(given["metadata"])
        edit = entries.Edit(columns=columns, slots=slots)
        return entries.update(entry, edit, now=self.now, actor=self.caller.actor)

    def told(self, entry: Entry) -> dict[str, Any]:
        return memory_answers([Entry.objects.get(pk=entry.pk, workspace_id=entry.workspace_id)], self.caller)[0]


class MemoryView(OneMemory):
    """Read a memory, change it, take it out of use."""

    @Method("mem0_get", Permission.READ, None)
    def get(self, memory_id: str) -> Response:
        return Response(self.told(self.entry(memory_id)))

    @Method("mem0_update", Permission.WRITE, None, body=Changes)
    def put(self, memory_id: str) -> Response:
        return Response(self.told(self.change(memory_id, self.body)))

    @Method("mem0_delete", Permission.WRITE, None, query=DeleteQuery)
    def delete(self, memory_id: str) -> Response:
        entry = self.entry(memory_id)
        along, reach = entries.is_own_statement(entry), self.caller.may_reach
        entries.expire_with_copies(entry, along=along, reach=reach, now=self.now, actor=self.caller.actor)
        return Response({"message": _("The memory is out of use.")})


class HistoryView(OneMemory):
    """What became of a memory since it was added."""

    @Method("mem0_history", Permission.READ, None)
    def get(self, memory_id: str) -> Response:
        return Response(history_answers(self.entry(memory_id), self.caller))


class BatchView(OneMemory):
    """Several memories by their ids: all of them, or none."""

    @Method("mem0_batch_update", Permission.WRITE, None, body=ManyChanges)
    def put(self) -> Response:
        with transaction.atomic():
            for given in self.body["memories"]:
                self.change(given["memory_id"], given)
        return Response({"message": _("%(n)d memories are changed.") % {"n": len(self.body["memories"])}})

    @Method("mem0_batch_delete", Permission.WRITE, None, body=NamedMemories)
    def delete(self) -> Response:
        ids = {parsed_id(given["memory_id"]) for given in self.body["memories"]}
        rows = live_entries(self.caller, self.now).filter(uid__in=ids)
        if rows.count() != len(ids):
            raise EntryNotFound
        self.expire(rows)
        return Response({"message": _("%(n)d memories are out of use.") % {"n": len(ids)}})
