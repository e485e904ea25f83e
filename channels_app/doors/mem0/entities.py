"""Whose memories there are, by mem0's client, and what is no memory: exports, feedback, a ping."""

import ast
import json
from datetime import timedelta
from typing import Any

from django.core import signing
from django.db.models import Count, Max, Min
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.response import Response

from channels_app.doors.mem0.answers import IDS, memory_answers
from channels_app.doors.mem0.calls import Ids, Ignored, Mem0Call, Mem0Method, Tolerant
from channels_app.doors.mem0.filters import added_here, filtered, ids_filter
from memories.api import fields
from memories.api.requests import check_values
from memories.choices import Permission
from memories.exceptions import NotServed
from memories.models import Entry, RecallTrace, Slot
from memories.recall.traces import record_feedback

_SUFFIX = "_id"
_FILTER_CHARS = 2_000


class FilterText(fields.Text):
    """A filter in an address: JSON, or as Python writes a dict, which is what that client sends."""

    def to_internal_value(self, data: Any) -> Any:
        text = super().to_internal_value(data)
        for read in (json.loads, ast.literal_eval):
            try:
                tree = json.loads(json.dumps(read(text)))
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                continue
            check_values(tree)
            return tree
        raise ValidationError(_("This is no filter."))


#: What clients send with every call, and what says nothing of which memories are meant.
_BESIDE = ("org_id", "project_id", "org_name", "project_name", "source", "version", "output_format", "api_version")


class WhoseQuery(Ids):
    """Whose memories: all of them go, so a field that is not known is refused."""

    harmless = frozenset(
        {*_BESIDE, "async_mode", "enable_graph", "delete_linked", "page", "page_size", "limit", "top_k"}
    )

    filters = FilterText(required=False, max_length=_FILTER_CHARS)  # type: ignore[assignment]


class EntitiesView(Mem0Call):
    """Everybody a memory in use was added for."""

    @Mem0Method("mem0_users", Permission.READ, None)
    def get(self) -> Response:
        rows = Slot.objects.filter(entry__in=added_here(self.caller, self.now), name__in=IDS)
        counts = rows.values("name", "value").annotate(
            memories=Count("pk"), begun=Min("entry__created_at"), changed=Max("entry__updated_at")
        )
        results = [
            {
                "id": f"{row['name']}:{row['value']}",
                "type": row["name"].removesuffix(_SUFFIX),
                "name": row["value"],
                "total_memories": row["memories"],
                "created_at": row["begun"],
                "updated_at": row["changed"],
            }
            for row in counts.order_by("name", "value")
        ]
        return Response({"count": len(results), "next": None, "previous": None, "results": results})


class EntityView(Mem0Call):
    """All memories of one of them, out of use; with a user those of every agent and run, with an agent any user's."""

    @Mem0Method("mem0_delete_entity", Permission.WRITE, None)
    def delete(self, kind: str, name: str) -> Response:
        if (field := kind + _SUFFIX) not in IDS:
            raise NotFound
        name = name.removeprefix(f"{field}:")  # its id, as some clients have it, is of both
        whose = [{field: name}] if field == IDS[0] else [{field: name}, {"user_id": "*", field: name}]
        return self.clear({"OR": whose})


MOST = 5_000
_SALT = "channels_app.mem0.exports"


class NewExport(Ids):
    """Which memories are to be exported."""

    schema = serializers.JSONField()
    export_instructions, metadata = Ignored(), Ignored()


class WhichExport(Ids):
    """An export by its id, or by its filter."""

    memory_export_id = fields.Text(required=False, allow_null=True, max_length=20_000)


class ExportsView(Mem0Call):
    """An export under an id, which holds its filter."""

    @Mem0Method("mem0_export", Permission.READ, None, body=NewExport)
    def post(self) -> Response:
        tree = ids_filter(self.body)
        filtered(self.caller, tree, self.now)
        return Response({"message": _("The export is ready."), "id": signing.dumps(tree, salt=_SALT, compress=True)})


class ExportView(Mem0Call):
    """What an export holds: what is in use now and the key may see."""

    @Mem0Method("mem0_get_export", Permission.READ, None, body=WhichExport)
    def post(self) -> Response:
        tree = ids_filter(self.body)
        if name := self.body.get("memory_export_id"):
            try:
                tree = signing.loads(name, salt=_SALT)
            except signing.BadSignature:
                raise NotFound from None
        rows = filtered(self.caller, tree, self.now).order_by("-created_at", "-id")
        entries = list(rows[: MOST + 1])
        if len(entries) > MOST:
            raise ValidationError({"filters": [_("More than %(most)d memories; name fewer.") % {"most": MOST}]})
        return Response({"count": len(entries), "memories": memory_answers(entries, self.caller)})


#: How long ago the search may have been.
LOOK_BACK = timedelta(days=1)
POSITIVE = "POSITIVE"


class NewFeedback(Tolerant):
    """A memory, what it was worth, and why; null: nothing is said of it any more."""

    memory_id = fields.Text(max_length=100)
    feedback = fields.Word(choices=(POSITIVE, "NEGATIVE", "VERY_NEGATIVE"), allow_null=True, default=None)
    feedback_reason = fields.Text(max_length=2_000, allow_null=True, allow_blank=True, default=None)


class FeedbackView(Mem0Call):
    """A memory that helped was used by the search that handed it out; one that did not was not."""

    @Mem0Method("mem0_feedback", Permission.WRITE, None, body=NewFeedback)
    def post(self) -> Response:
        entry, rating = self.entry(self.body["memory_id"]), self.body["feedback"]
        # The bot's last search that handed the memory out
        mine = RecallTrace.objects.filter(workspace_id=entry.workspace_id, bot=self.caller.bot_id)
        recent = mine.filter(created_at__gt=self.now - LOOK_BACK, served__contains=[entry.pk])
        trace = recent.order_by("-created_at", "-id").first()
        if trace is None:
            raise NotServed(field="memory_id")
        used_uids = dict(
            Entry.objects.filter(workspace_id=entry.workspace_id, pk__in=trace.used or []).values_list("pk", "uid")
        )
        used_uids.pop(entry.pk, None)
        if rating == POSITIVE:
            used_uids[entry.pk] = entry.uid
        note = ": ".join(filter(None, (rating, self.body["feedback_reason"])))
        record_feedback(trace, list(used_uids.values()), note)
        return Response({"id": trace.uid, "feedback": rating, "feedback_reason": self.body["feedback_reason"]})


class PingView(Mem0Call):
    """The workspace of a key; with no address of a person, by which that client would tell others who uses it."""

    @Mem0Method("mem0_ping", Permission.READ, None)
    def get(self) -> Response:
        workspace = str(self.caller.workspace_id)
        return Response({"status": "ok", "org_id": workspace, "project_id": workspace, "user_email": None})
