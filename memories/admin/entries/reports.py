"""What became of an action on entries, as messages on the next page."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext, ngettext

from memories.admin.batches.detail import batch_url
from memories.batches.bulk_actions import BulkResult

LINKS_SHOWN = 5


def report(request: HttpRequest, result: BulkResult, done: Any) -> None:
    """The result as messages, with links to its batches: undo is two clicks away."""
    if result.changed:
        label = gettext("Look at it or undo it")
        shown = result.batches[:LINKS_SHOWN]
        rows = [(batch_url(row), label if len(result.batches) == 1 else f"{label}: {row.scope}") for row in shown]
        links = format_html_join(" · ", '<a class="mp-link underline" href="{}">{}</a>', rows)
        messages.success(request, format_html("{} {}", done % {"n": result.changed}, links))
    if result.skipped:
        skipped = ngettext(
            "%(n)d was so already, or was changed meanwhile.",
            "%(n)d were so already, or were changed meanwhile.",
            result.skipped,
        )
        messages.info(request, skipped % {"n": result.skipped})
    report_refused(request, result)


def report_refused(request: HttpRequest, result: BulkResult) -> None:
    """The scopes where nothing was done, each with the reason, as messages."""
    for scope, why in result.refused:
        messages.error(request, f"{scope}: {why}")
