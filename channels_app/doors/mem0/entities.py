"""Users, agents, apps and runs: who there are, and all their memories out of use."""

import ast
import json
from typing import Any

from django.db.models import Count, Max, Min
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.response import Response

from channels_app.doors.mem0.calls import Ids, Mem0Call
from channels_app.doors.mem0.filters import filtered, ids_filter, known_here
from channels_app.doors.mem0.ids import IDS
from memories.api import fields
from memories.api.calls import Method
from memories.api.requests import check_values
from memories.choices import Permission
from memories.models import Slot

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


class WhoseQuery(Ids):
    """Whose memories."""

    filters = FilterText(required=False, max_length=_FILTER_CHARS)  # type: ignore[assignment]


class DeleteAllView(Mem0Call):
    """All memories that are named, out of use."""

    @Method("mem0_delete_all", Permission.WRITE, None, query=WhoseQuery)
    def delete(self) -> Response:
        self.expire(filtered(self.caller, ids_filter(self.query), self.now))
        return Response({"message": _("The memories are out of use.")})


class EntitiesView(Mem0Call):
    """Everybody a memory in use was added for."""

    @Method("mem0_users", Permission.READ, None)
    def get(self) -> Response:
        rows = Slot.objects.filter(entry__in=known_here(self.caller, self.now), name__in=IDS)
        counted = rows.values("name", "value").annotate(
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
            for row in counted.order_by("name", "value")
        ]
        return Response({"count": len(results), "next": None, "previous": None, "results": results})


class EntityView(Mem0Call):
    """All memories of one of them, out of use; with a user those of every agent and run, with an agent any user's."""

    @Method("mem0_delete_entity", Permission.WRITE, None)
    def delete(self, kind: str, name: str) -> Response:
        if (field := kind + _SUFFIX) not in IDS:
            raise NotFound
        whose = [{field: name}] if field == IDS[0] else [{field: name}, {"user_id": "*", field: name}]
        self.expire(filtered(self.caller, {"OR": whose}, self.now))
        return Response({"message": _("The memories are out of use.")})
