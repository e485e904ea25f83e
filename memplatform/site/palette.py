"""What the palette (Ctrl-K) finds besides pages: memories by their words, scopes and sessions by their keys."""

import time
from collections.abc import Iterator
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.dataclasses import SearchResult

from memories.models import Entry, Scope
from sessions_app.models import Session

EACH = 8
_ICONS = {Entry: "psychology", Scope: "folder_shared", Session: "forum"}


def find(site: Any, request: HttpRequest, asked: str) -> Iterator[SearchResult]:
    """The first rows of each kind that this person may see."""
    for model, icon in _ICONS.items():
        model_admin = site.get_model_admin(model)
        if not model_admin.has_view_permission(request):
            continue
        rows, _is_ambiguous = model_admin.get_search_results(request, model_admin.get_queryset(request), asked)
        for row in rows[:EACH]:
            yield SearchResult(
                title=str(row),
                description=str(model_admin.opts.verbose_name),
                link=reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_change", args=[row.pk]),
                icon=icon,
            )


def answer(request: HttpRequest, results: list[SearchResult], *, begun: float) -> TemplateResponse:
    """The list as the page's script expects it; `begun` is when the search did, by time.perf_counter()."""
    pages = Paginator(results, max(len(results), 1))
    context = {
        "page_obj": pages,
        "results": pages.page(1),
        "page_counter": 0,
        "execution_time": time.perf_counter() - begun,
        "command_show_history": False,
    }
    is_palette = "extended" in request.GET
    template = f"unfold/helpers/{'command' if is_palette else 'search'}_results.html"
    return TemplateResponse(request, template, context, headers={"HX-Trigger": "search"})
