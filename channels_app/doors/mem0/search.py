"""POST /v3/memories/search/ and /v3/memories/: memories by a question, or all of them, newest first."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from channels_app.doors.mem0.answers import memory_answers
from channels_app.doors.mem0.calls import Ignored, Mem0Call, Unsupported
from channels_app.doors.mem0.filters import filtered
from memories.api import fields
from memories.api.calls import Method
from memories.choices import NeedMode, Permission
from memories.models import Entry, Scope
from memories.notes.freshness import sync_before_search
from memories.recall import Query, SearchScope, recall
from memories.recall.ranking import Ranked
from memories.tenancy.access import Caller
from memories.tenancy.resolver import ScopeRef

MOST_SCOPES = 200
PAGE_SIZE, PAGE_SIZE_MAX = 100, 200


class Narrowed(fields.StrictSerializer):
    """Which memories are meant."""

    filters = serializers.JSONField(required=False, allow_null=True)
    metadata = serializers.DictField(required=False, allow_null=True)
    categories = serializers.ListField(child=fields.Text(), required=False, allow_null=True)
    fields_ = serializers.ListField(child=fields.Text(), required=False, allow_null=True)
    show_expired = Unsupported()
    latest_only, version, output_format, keyword_search, rerank = Ignored(), Ignored(), Ignored(), Ignored(), Ignored()

    def get_fields(self) -> dict[str, Any]:
        """`fields` is a name of every serializer's own."""
        declared = super().get_fields()
        return {name.rstrip("_"): field for name, field in declared.items()}


class SearchRequest(Narrowed):
    """A question to the memories that are meant."""

    query = fields.LongText()
    top_k = fields.Whole(min_value=1, max_value=100, default=10, allow_null=True)
    threshold = fields.Number(min_value=0, max_value=1, required=False, allow_null=True)
    reference_date = Unsupported()


class ListRequest(Narrowed):
    """All memories that are meant, of a stretch of time."""

    start_date = serializers.JSONField(required=False, allow_null=True)
    end_date = serializers.JSONField(required=False, allow_null=True)


class PageQuery(fields.StrictSerializer):
    """Which page of a list."""

    page = serializers.IntegerField(min_value=1, max_value=100_000, default=1)
    page_size = serializers.IntegerField(min_value=1, max_value=PAGE_SIZE_MAX, default=PAGE_SIZE)


def narrowed(caller: Caller, given: Mapping[str, Any], now: datetime) -> QuerySet[Entry]:
    """The memories a request means."""
    beside = {
        "metadata": given.get("metadata"),
        "categories": given.get("categories"),
        "created_at": {
            operator: given[name] for operator, name in (("gte", "start_date"), ("lte", "end_date")) if given.get(name)
        },
    }
    parts = [given.get("filters") or {}, {name: value for name, value in beside.items() if value}]
    return filtered(caller, {"AND": parts}, now)


class SearchView(Mem0Call):
    """The memories that bear on a question, by the ranking of every recall."""

    @Method("mem0_search", Permission.READ, None, body=SearchRequest)
    def post(self) -> Response:
        asked, least = self.body, self.body.get("threshold") or 0
        found = _search(self.caller, narrowed(self.caller, asked, self.now), asked, self.now)
        served = [item for item in found if item.score >= least]
        found_here = Entry.objects.filter(workspace_id=self.caller.workspace_id)  # a recall reads only what it ranks by
        rows = found_here.in_bulk([item.entry.pk for item in served])
        answers = memory_answers([rows[item.entry.pk] for item in served], self.caller)
        results = [answer | {"score": round(item.score, 4)} for answer, item in zip(answers, served, strict=True)]
        return Response({"results": [_chosen(one, asked.get("fields")) for one in results]})


def _search(caller: Caller, among: QuerySet[Entry], asked: Mapping[str, Any], now: datetime) -> list[Ranked]:
    scopes = list(Scope.objects.filter(pk__in=among.values("scope"))[: MOST_SCOPES + 1])
    if len(scopes) > MOST_SCOPES:
        text = _("More than %(most)d people's memories are meant; name fewer users.") % {"most": MOST_SCOPES}
        raise ValidationError({"filters": [text]})
    is_pending = sync_before_search(caller, [scope.key for scope in scopes], now=now)
    query = Query(
        workspace_id=caller.workspace_id,
        bot_id=caller.bot_id,
        language=caller.language,
        places=[SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind)) for scope in scopes],
        message=asked["query"],
        is_index_pending=is_pending,
        limit=asked["top_k"] or 10,
        need=NeedMode.OFF,
        quotas=False,
        nearest=True,  # as mem0: a search is answered with what is nearest, and `threshold` says what is too far
        token_budget=0,
        among=among,
    )
    return recall(query, now=now, zone=caller.zone).served


def _chosen(answer: dict[str, Any], names: list[str] | None) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if not names or name in ("id", *names)}


class ListView(Mem0Call):
    """All memories that are meant, newest first; or none of them any more."""

    @Method("mem0_list", Permission.READ, None, query=PageQuery, body=ListRequest)
    def post(self) -> Response:
        rows = narrowed(self.caller, self.body, self.now)
        page, size, count = self.query["page"], self.query["page_size"], rows.count()
        shown = list(rows.order_by("-created_at", "-id")[(page - 1) * size : page * size])
        answers = [_chosen(one, self.body.get("fields")) for one in memory_answers(shown, self.caller)]
        before, after = (self._address(page - 1) if page > 1 else None), page * size < count
        following = self._address(page + 1) if after else None
        return Response({"count": count, "next": following, "previous": before, "results": answers})

    def _address(self, page: int) -> str:
        return replace_query_param(self.request.build_absolute_uri(), "page", str(page))
