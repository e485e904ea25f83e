"""Expire and Restore on the page of a row, declared once for what people take out of use and bring back."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action
from unfold.enums import ActionVariant


class InUseActions:
    """For the admin of a table; it says how rows are expired and restored, and asks first."""

    reach: Any

    @action(
        description=_("Expire"),
        url_path="expire",
        icon="timer_off",
        variant=ActionVariant.DANGER,
        permissions=["change"],
    )
    def expire(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._expire(request, [self.reach(request, object_id)])

    @action(
        description=_("Restore"),
        url_path="restore",
        icon="restore",
        variant=ActionVariant.SUCCESS,
        permissions=["change"],
    )
    def restore(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._restore(request, [self.reach(request, object_id)])

    def _expire(self, request: HttpRequest, rows: Any) -> HttpResponse:
        raise NotImplementedError

    def _restore(self, request: HttpRequest, rows: Any) -> HttpResponse:
        raise NotImplementedError
