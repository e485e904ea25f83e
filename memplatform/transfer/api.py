"""GET /export: a scope or a workspace as JSON Lines, the same that `manage.py export` writes (F8)."""

import threading
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, ErrorDetail, ValidationError
from rest_framework.renderers import JSONRenderer

from memories.api.calls import Call, Method
from memories.api.fields import StrictSerializer
from memories.choices import Permission
from memories.models import AuditEvent, AuditRecord, Scope, Workspace
from memories.visibility import scope_for
from memplatform.transfer.stream import ExportStream, Wanted

LINES = "application/x-ndjson"
#: An export keeps a thread, a connection and one moment of the database: one at a time in each web process.
PLACE = threading.BoundedSemaphore(1)


class ExportBusy(APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_detail = _("Another export is being read; try again when it has ended.")
    default_code = "export_busy"
    wait = 30


class ExportQuery(StrictSerializer):
    """What is to be exported."""

    scope = serializers.CharField(
        required=False,
        max_length=255,
        help_text="Absent: the whole workspace. A key bound to scopes names one of them.",
    )
    history = serializers.BooleanField(required=False, default=False, help_text="With every change of every memory.")


class Lines(JSONRenderer):
    """For clients that accept nothing but lines; what goes wrong is one line."""

    media_type = LINES
    format = "lines"


class ExportView(Call):
    """A scope or the workspace as JSON Lines, of one moment. An export without its last line, `end`, is not whole."""

    renderer_classes = (JSONRenderer, Lines)

    @Method("export", Permission.ADMIN, {(200, LINES): OpenApiTypes.STR}, query=ExportQuery, only_reads=True)
    def get(self) -> Any:  # not a Response: nothing of it is rendered
        scope = self._scope()
        workspace = Workspace.objects.get(pk=self.caller.workspace_id)
        wanted = Wanted(self.caller, workspace, scope, self.query["history"], self.now)
        if self.request.method == "HEAD":
            return HttpResponse(content_type=LINES)
        if not PLACE.acquire(blocking=False):
            raise ExportBusy
        AuditRecord.note(
            AuditEvent.EXPORTED,
            actor=self.caller.actor,
            at=self.now,
            workspace_id=workspace.pk,
            about=f"scope {scope.pk}" if scope else str(workspace),
            details={"as": "stream"},
            ip=self.request.META.get("REMOTE_ADDR") or None,
        )
        headers = {"Content-Disposition": 'attachment; filename="memory.jsonl"', "X-Accel-Buffering": "no"}
        return StreamingHttpResponse(ExportStream(wanted, PLACE), content_type=LINES, headers=headers)

    def _scope(self) -> Scope | None:
        """The scope that is named. Raises ScopeNotFound, and ValidationError where a bound key names none."""
        if "scope" in self.query:
            return scope_for(self.caller, self.query["scope"])
        if not self.caller.reaches_everything:
            needed = ErrorDetail(str(_("This key reaches some scopes only; name one of them.")), code="required")
            raise ValidationError({"scope": [needed]})
        return None
