"""What became of an action on entries, as messages on the next page."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import ngettext

from memories.admin.batches.detail import undo_link
from memories.batches.bulk_actions import BulkResult


def report(request: HttpRequest, result: BulkResult, done: Any) -> None:
    """The result as messages, with links to its batches: undo is two clicks away."""
    if result.changed:
        messages.success(request, format_html("{} {}", done % {"n": result.changed}, undo_link(result.batches)))
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
