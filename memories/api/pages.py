"""Pages of a list, newest first, that do not shift while rows arrive."""

from typing import Any

from rest_framework.pagination import CursorPagination
from rest_framework.response import Response


class EntryPages(CursorPagination):
    """By time and id; `next` is the address of the following page, `cursor` what to ask it with."""

    ordering = ("-created_at", "-id")
    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200

    def get_paginated_response(self, data: Any) -> Response:
        following = self.get_next_link()
        cursor = following.partition("cursor=")[2].partition("&")[0] if following else None
        return Response({"results": data, "next": following, "cursor": cursor})
