"""Buttons on the page of a row; Expire and Restore are declared once for what people take out of use and bring back."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action
from unfold.enums import ActionVariant


def row_action(
    label: Any, url_path: str, icon: str, permission: str, variant: ActionVariant = ActionVariant.DEFAULT
) -> Any:
    """Make a method a button on the page of a row, for those who have this permission."""
    return action(description=label, url_path=url_path, icon=icon, permissions=[permission], variant=variant)


class InUseActions:
    """For the admin of a table; it says how rows are expired and restored, and asks first."""

    reach: Any

    @row_action(_("Expire"), "expire", "timer_off", "change", ActionVariant.DANGER)
    def expire(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._expire(request, [self.reach(request, object_id)])

    @row_action(_("Restore"), "restore", "restore", "change", ActionVariant.SUCCESS)
    def restore(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._restore(request, [self.reach(request, object_id)])

    def _expire(self, request: HttpRequest, rows: Any) -> HttpResponse:
        raise NotImplementedError

    def _restore(self, request: HttpRequest, rows: Any) -> HttpResponse:
        raise NotImplementedError
