"""GET /recalls/comparison: what only the database finds, and what only the files, of channels under dual_write (A4)."""

from typing import Any

from django.db.models import Count, F, Func, IntegerField, Sum
from rest_framework import serializers
from rest_framework.response import Response

from channels_app.models import PathComparison
from memories.api import fields
from memories.api.answers import Answer
from memories.api.calls import Call, Method
from memories.choices import Permission
from memories.exceptions import ScopeNotFound


class ComparisonQuery(fields.StrictSerializer):
    """Which comparisons are wanted."""

    since = fields.Moment(required=False)
    platform = serializers.CharField(required=False, max_length=40)
    account = serializers.CharField(required=False, allow_blank=True, max_length=200)
    examples = serializers.IntegerField(required=False, min_value=0, max_value=100, default=20)


class OnlyInDatabase(Answer):
    """A memory the files did not give."""

    id = serializers.UUIDField()
    path = serializers.CharField(help_text="Of a line of a file; else empty.")
    line = serializers.IntegerField(allow_null=True)
    content = serializers.CharField()


class OnlyInFiles(Answer):
    """A line of a file the database did not give."""

    path = serializers.CharField()
    line = serializers.IntegerField()
    content = serializers.CharField()


class ComparisonExample(Answer):
    """A recall for which the two differ."""

    at = serializers.DateTimeField(source="created_at")
    platform = serializers.CharField()
    account = serializers.CharField()
    recall_id = serializers.UUIDField(source="trace", allow_null=True)
    message = serializers.CharField()
    both = serializers.IntegerField()
    only_database = OnlyInDatabase(many=True)
    only_files = OnlyInFiles(many=True)


class ComparisonAnswer(Answer):
    """How the two ways to recall compare."""

    recalls = serializers.IntegerField(help_text="That were asked of both.")
    differing = serializers.IntegerField(help_text="Recalls for which the two do not give the same.")
    both = serializers.IntegerField(help_text="Memories both found.")
    only_database = serializers.IntegerField()
    only_files = serializers.IntegerField()
    examples = ComparisonExample(many=True, help_text="Of the differing ones, the newest.")


class ComparisonView(Call):
    """What only the database finds, and what only the files find, of channels under `dual_write`."""

    @Method("compare_paths", Permission.ADMIN, ComparisonAnswer, query=ComparisonQuery, only_reads=True)
    def get(self) -> Response:
        if not self.caller.reaches_everything:  # examples quote memories of any scope
            raise ScopeNotFound
        named: dict[str, Any] = {name: self.query[name] for name in ("platform", "account") if name in self.query}
        if "since" in self.query:
            named["created_at__gte"] = self.query["since"]
        rows = PathComparison.objects.filter(workspace_id=self.caller.workspace_id, **named)
        differing = rows.exclude(only_database=[], only_files=[])
        examples = differing.order_by("-created_at", "-pk")[: self.query["examples"]]
        answer = ComparisonAnswer.of(
            **rows.aggregate(recalls=Count("pk"), **{name: Sum(count, default=0) for name, count in _COUNTS.items()}),
            differing=differing.count(),
            examples=list(map(ComparisonExample.of, examples)),
        )
        return Response(answer)


def _length(column: str) -> Func:
    return Func(F(column), function="jsonb_array_length", output_field=IntegerField())


_COUNTS: dict[str, Any] = {
    "both": F("both"), "only_database": _length("only_database"), "only_files": _length("only_files")
}  # fmt: skip
