"""Exports: the memories of a filter, in one answer; no model fills a schema with them."""

from typing import Any

from django.core import signing
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.response import Response

from channels_app.doors.mem0.answers import memory_answers
from channels_app.doors.mem0.calls import Ids, Ignored, Mem0Call
from channels_app.doors.mem0.filters import filtered, ids_filter
from memories.api import fields
from memories.api.calls import Method
from memories.choices import Permission

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

    @Method("mem0_export", Permission.READ, None, body=NewExport)
    def post(self) -> Response:
        tree = ids_filter(self.body)
        filtered(self.caller, tree, self.now)
        return Response({"message": _("The export is ready."), "id": signing.dumps(tree, salt=_SALT, compress=True)})


class ExportView(Mem0Call):
    """What an export holds: what is in use now and the key may see."""

    @Method("mem0_get_export", Permission.READ, None, body=WhichExport)
    def post(self) -> Response:
        rows = filtered(self.caller, self._tree(), self.now).order_by("-created_at", "-id")
        found = list(rows[: MOST + 1])
        if len(found) > MOST:
            raise ValidationError({"filters": [_("More than %(most)d memories; name fewer.") % {"most": MOST}]})
        return Response({"count": len(found), "memories": memory_answers(found, self.caller)})

    def _tree(self) -> dict[str, Any]:
        if not (name := self.body.get("memory_export_id")):
            return ids_filter(self.body)
        try:
            tree: dict[str, Any] = signing.loads(name, salt=_SALT)
        except signing.BadSignature:
            raise NotFound from None
        return tree
