"""Calls of mem0's former clients, and of clients of the server people run themselves: other addresses and answers.

`mem0ai` before 2.0 calls `/v1/` and `/v2/`, where a list is bare unless a page or `output_format: v1.1` is asked for.
The server (`/memories`, `/search`, no version) answers with `results` always.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.response import Response

from channels_app.doors.mem0.answers import IDS, added_answer, outcomes_of
from channels_app.doors.mem0.calls import Ids, Ignored, Mem0Call, Mem0Method, NotSupported, Tolerant, Unsupported
from channels_app.doors.mem0.entities import FilterText, WhoseQuery
from channels_app.doors.mem0.filters import added_here, ids_filter
from channels_app.doors.mem0.memories import (
    PAGE_SIZE,
    PAGE_SIZE_MAX,
    Adding,
    Changes,
    Listing,
    ListRequest,
    NewMemories,
    OneMemory,
    Searching,
    SearchRequest,
)
from memories.api import fields
from memories.choices import Category, Permission
from memories.models import Entry, Workspace

NEWEST_SHAPE = "v1.1"
EVENTS_SHOWN = 50


class Page(Tolerant):
    """Which page of a list; none: all of it, up to `limit`."""

    page = serializers.IntegerField(min_value=1, max_value=100_000, required=False)
    page_size = serializers.IntegerField(min_value=1, max_value=PAGE_SIZE_MAX, required=False)
    limit = serializers.IntegerField(min_value=1, required=False)
    top_k = serializers.IntegerField(min_value=1, required=False)


class ListQuery(Page, Ids):
    """Which memories, in an address."""

    filters = FilterText(required=False, max_length=2_000)  # type: ignore[assignment]
    start_date, end_date = fields.Text(required=False), fields.Text(required=False)
    output_format = fields.Text(required=False)


class PagedListRequest(Page, ListRequest):
    """Which memories, and which page of them."""


class AnyList(Listing):
    """A list as former clients read it."""

    def listed(self, data: Mapping[str, Any], *, bare: bool = True) -> Any:
        """The memories that are meant: a page where one is asked for, else what `limit` allows, bare."""
        paging = {name: data.get(name) or self.query.get(name) for name in ("page", "page_size", "limit", "top_k")}
        size = paging["page_size"] or paging["limit"] or paging["top_k"] or PAGE_SIZE
        page = self.page(data, paging["page"] or 1, min(size, PAGE_SIZE_MAX))
        is_paged = paging["page"] or paging["page_size"]
        if is_paged or data.get("output_format") == NEWEST_SHAPE:
            return page
        return page["results"] if bare else {"results": page["results"]}


class MemoriesView(Adding, AnyList):
    """Version 1: add, list, clear."""

    @Mem0Method("mem0_add_v1", Permission.WRITE, None, body=NewMemories)
    def post(self) -> Response:
        answer = added_answer(self.add())
        if self.body.get("output_format") == NEWEST_SHAPE:
            return Response(answer)
        event_fields = {"status": answer["status"], "event_id": answer["event_id"]}
        return Response([{**one, "data": {"memory": one["memory"]}, **event_fields} for one in answer["results"]])

    @Mem0Method("mem0_list_v1", Permission.READ, None, query=ListQuery)
    def get(self) -> Response:
        return Response(self.listed(self.query))

    @Mem0Method("mem0_delete_all", Permission.WRITE, None, query=WhoseQuery)
    def delete(self) -> Response:
        return self.clear(ids_filter(self.query))


class SecondListView(AnyList):
    """Version 2: list."""

    @Mem0Method("mem0_list_v2", Permission.READ, None, query=Page, body=PagedListRequest)
    def post(self) -> Response:
        return Response(self.listed(self.body))


class FormerSearchView(Searching):
    """Versions 1 and 2: search."""

    @Mem0Method("mem0_search_v2", Permission.READ, None, body=SearchRequest, from_replica=True)
    def post(self) -> Response:
        results = self.search()
        return Response({"results": results} if self.body.get("output_format") == NEWEST_SHAPE else results)


class EventView(Mem0Call):
    """What became of an add: it is done when it is answered, so that it has always succeeded."""

    @Mem0Method("mem0_event", Permission.READ, None)
    def get(self, event_id: str) -> Response:
        outcomes = dict(outcomes_of(event_id))
        rows = {entry.uid: entry for entry in added_here(self.caller, self.now).filter(uid__in=outcomes)}
        if outcomes and not rows:
            raise NotFound  # another key's, or all of it is out of use
        return Response(_event(event_id, [(rows[uid], outcome) for uid, outcome in outcomes.items() if uid in rows]))


class EventsView(Mem0Call):
    """What was added last, each memory as an event of its own."""

    @Mem0Method("mem0_events", Permission.READ, None, query=Page)
    def get(self) -> Response:
        newest = added_here(self.caller, self.now).order_by("-created_at", "-id")[:EVENTS_SHOWN]
        results = [
            _event(added_answer([{"id": entry.uid, "event": "ADD"}])["event_id"], [(entry, "ADD")]) for entry in newest
        ]
        return Response({"count": len(results), "next": None, "previous": None, "results": results})


def _event(event_id: str, outcomes: list[tuple[Entry, str]]) -> dict[str, Any]:
    at = max((entry.created_at for entry, _outcome in outcomes), default=None)
    return {
        "id": event_id,
        "event_id": event_id,
        "event_type": "ADD",
        "status": "SUCCEEDED",
        "results": [
            {"id": entry.uid, "memory": entry.content, "data": {"memory": entry.content}, "event": outcome}
            for entry, outcome in outcomes
        ],
        "created_at": at,
        "updated_at": at,
        "started_at": at,
        "completed_at": at,
    }


class ProjectQuery(Tolerant):
    """Which settings of a project; none: all."""

    fields_ = serializers.ListField(child=fields.Text(), required=False)


class ProjectChanges(Tolerant):
    """Settings of a project; what an operator decides here is refused, what has no meaning here is left out."""

    custom_instructions, custom_categories, inclusion_prompt = Unsupported(), Unsupported(), Unsupported()
    exclusion_prompt, memory_depth, usecase_setting = Unsupported(), Unsupported(), Unsupported()
    retrieval_criteria = Unsupported()
    enable_graph, version, multilingual = Ignored(), Ignored(), Ignored()


class ProjectView(Mem0Call):
    """The workspace of a key, as that client's project: it has the name and the categories, and no instructions."""

    lists = frozenset({"fields"})

    @Mem0Method("mem0_project", Permission.READ, None, query=ProjectQuery)
    def get(self, organization: str, project: str) -> Response:
        workspace = Workspace.objects.get(pk=self.caller.workspace_id)
        settings = {
            "id": str(workspace.pk),
            "name": workspace.name,
            "custom_instructions": None,
            "custom_categories": [{category.value: str(category.label)} for category in Category],
            "retrieval_criteria": None,
            "enable_graph": False,
            "multilingual": True,
        }
        names = self.query.get("fields")
        return Response({name: value for name, value in settings.items() if not names or name in names})

    @Mem0Method("mem0_update_project", Permission.WRITE, None, body=ProjectChanges)
    def patch(self, organization: str, project: str) -> Response:
        return Response({"message": _("The settings are the operator's; nothing was changed.")})

    @Mem0Method("mem0_delete_project", Permission.WRITE, None)
    def delete(self, organization: str, project: str) -> Response:
        raise NotSupported


class ServerMemoriesView(Adding, AnyList):
    """The server's: add, list, clear."""

    @Mem0Method("mem0_server_add", Permission.WRITE, None, body=NewMemories)
    def post(self) -> Response:
        return Response({"results": self.add()})

    @Mem0Method("mem0_server_list", Permission.READ, None, query=ListQuery)
    def get(self) -> Response:
        return Response(self.listed(self.query, bare=False))

    @Mem0Method("mem0_server_delete_all", Permission.WRITE, None, query=WhoseQuery)
    def delete(self) -> Response:
        return self.clear(ids_filter(self.query))


class ServerChanges(Changes):
    """New words, under any of the names the server has had for them."""

    data_, memory = fields.Text(required=False, max_length=8_000), fields.Text(required=False, max_length=8_000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        words = next((attrs[name] for name in ("text", "data", "memory") if name in attrs), None)
        return attrs | ({"text": words} if words is not None else {})


class ServerMemoryView(OneMemory):
    """The server's: read, change and delete a memory."""

    @Mem0Method("mem0_server_get", Permission.READ, None)
    def get(self, memory_id: str) -> Response:
        return Response(self.answer(self.entry(memory_id)))

    @Mem0Method("mem0_server_update", Permission.WRITE, None, body=ServerChanges)
    def put(self, memory_id: str) -> Response:
        self.change(memory_id, self.body)
        return Response({"message": _("The memory is changed.")})

    @Mem0Method("mem0_server_delete", Permission.WRITE, None)
    def delete(self, memory_id: str) -> Response:
        self.take_out(self.entry(memory_id))
        return Response({"message": _("The memory is out of use.")})


class ServerResetView(Mem0Call):
    """The server's: all memories its clients added out of use, in batches that can be undone."""

    @Mem0Method("mem0_server_reset", Permission.WRITE, None)
    def post(self) -> Response:
        everybody: list[dict[str, Any]] = [{name: "*"} for name in IDS]
        return self.clear({"OR": everybody})


class ServerSearchView(Searching):
    """The server's: search."""

    @Mem0Method("mem0_server_search", Permission.READ, None, body=SearchRequest, from_replica=True)
    def post(self) -> Response:
        return Response({"results": self.search()})
