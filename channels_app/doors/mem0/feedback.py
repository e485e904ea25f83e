"""POST /v1/feedback/: what a memory was worth, kept with the search that last handed it out."""

from datetime import timedelta

from rest_framework.response import Response

from channels_app.doors.mem0.calls import Mem0Call
from memories.api import fields
from memories.api.calls import Method
from memories.choices import Permission
from memories.exceptions import NotServed
from memories.models import Entry, RecallTrace
from memories.recall.traces import record_feedback

#: How long ago the search may have been.
LOOK_BACK = timedelta(days=1)
POSITIVE = "POSITIVE"


class NewFeedback(fields.StrictSerializer):
    """A memory, what it was worth, and why; null: nothing is said of it any more."""

    memory_id = fields.Text(max_length=100)
    feedback = fields.Word(choices=(POSITIVE, "NEGATIVE", "VERY_NEGATIVE"), allow_null=True, default=None)
    feedback_reason = fields.Text(max_length=2_000, allow_null=True, allow_blank=True, default=None)


class FeedbackView(Mem0Call):
    """A memory that helped was used by the search that handed it out; one that did not was not."""

    @Method("mem0_feedback", Permission.WRITE, None, body=NewFeedback)
    def post(self) -> Response:
        entry, said = self.entry(self.body["memory_id"]), self.body["feedback"]
        # The bot's last search that handed the memory out
        mine = RecallTrace.objects.filter(workspace_id=entry.workspace_id, bot=self.caller.bot_id)
        recent = mine.filter(created_at__gt=self.now - LOOK_BACK, served__contains=[entry.pk])
        trace = recent.order_by("-created_at", "-id").first()
        if trace is None:
            raise NotServed(field="memory_id")
        used = dict(
            Entry.objects.filter(workspace_id=entry.workspace_id, pk__in=trace.used or []).values_list("pk", "uid")
        )
        used.pop(entry.pk, None)
        if said == POSITIVE:
            used[entry.pk] = entry.uid
        note = ": ".join(filter(None, (said, self.body["feedback_reason"])))
        record_feedback(trace, list(used.values()), note)
        return Response({"id": trace.uid, "feedback": said, "feedback_reason": self.body["feedback_reason"]})
