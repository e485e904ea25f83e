"""Pages of the admin that are none of Django's own, in its frame."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse


def own_page(
    request: HttpRequest, template: str, context: Mapping[str, Any], model_admin: Any = None, **options: Any
) -> TemplateResponse:
    """A page with side bar and head; that of a table's admin says whose it is. Like every page here, never cached."""
    request.current_app = admin.site.name
    frame = admin.site.each_context(request) | ({"opts": model_admin.opts} if model_admin else {})
    return TemplateResponse(request, template, {**frame, **context}, **options)
