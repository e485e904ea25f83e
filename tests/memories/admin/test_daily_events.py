"""Daily events are corrected in the admin, but for those of a frozen scope, and over nobody's words unseen."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memories.entries import daily_events
from memories.exceptions import ScopeFrozen
from memories.models import DailyEvent, Scope
from tests.conftest import NOW
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db
LIST = "admin:memories_dailyevent_changelist"
BY: dict[str, Any] = {"now": NOW, "actor": "user:ann"}


def page_of(event: DailyEvent, name: str = "change") -> str:
    return reverse(f"admin:memories_dailyevent_{name}", args=[event.pk])


def test_in_a_frozen_scope_days_are_read_only(alice: Client, mine: House) -> None:
    event = DailyEvent.objects.get(workspace=mine.workspace)
    Scope.objects.update(frozen=True)
    assert alice.get(page_of(event)).status_code == 200
    assert alice.post(page_of(event), {"content": "no", "opened_version": event.version}).status_code == 403
    assert alice.post(page_of(event, "expire"), {"confirmed": "yes"}).status_code == 403
    several = {"action": "expire_chosen", "_selected_action": [event.pk], "confirmed": "yes"}
    assert "This scope is frozen" in alice.post(reverse(LIST), several, follow=True).content.decode()
    assert DailyEvent.objects.get(pk=event.pk).version == event.version


def _updated(event: DailyEvent) -> None:
    daily_events.update(event, "bought nothing", **BY)


def _expired(event: DailyEvent) -> None:
    daily_events.expire(DailyEvent.objects.filter(pk=event.pk), **BY)


def _restored(event: DailyEvent) -> None:
    daily_events.restore(DailyEvent.objects.filter(pk=event.pk), **BY)


@pytest.mark.parametrize("change", [_updated, _expired, _restored])
def test_nobody_changes_a_day_of_a_frozen_scope(change: Callable[[DailyEvent], None], mine: House) -> None:
    event = DailyEvent.objects.get(workspace=mine.workspace)
    if change is _restored:
        _expired(event)
        event.refresh_from_db()
    Scope.objects.update(frozen=True)
    with pytest.raises(ScopeFrozen):
        change(event)
    assert DailyEvent.objects.get(pk=event.pk).version == event.version


def test_a_scope_that_is_frozen_while_a_day_is_saved_says_so(alice: Client, mine: House, monkeypatch: Any) -> None:
    event = DailyEvent.objects.get(workspace=mine.workspace)
    monkeypatch.setattr("memories.admin.daily_events.DailyEventAdmin.has_change_permission", lambda *_args: True)
    Scope.objects.update(frozen=True)
    typed = {"content": "bought twice", "opened_version": event.version}
    assert "This scope is frozen" in alice.post(page_of(event), typed, follow=True).content.decode()
    assert DailyEvent.objects.get(pk=event.pk).content == event.content


def test_what_somebody_wrote_of_a_day_meanwhile_is_shown_before_it_is_written_over(alice: Client, mine: House) -> None:
    event = DailyEvent.objects.get(workspace=mine.workspace)
    assert 'name="opened_version"' in alice.get(page_of(event)).content.decode()
    typed = {"content": "bought twice", "opened_version": event.version}
    daily_events.update(event, "bought rhubarb", **BY)
    shown = alice.post(page_of(event), typed)
    assert "Somebody changed this while you were editing it" in shown.content.decode()
    assert "Now it says: bought rhubarb" in shown.content.decode() and "bought twice" in shown.content.decode()
    assert DailyEvent.objects.get(pk=event.pk).content == "bought rhubarb"
    again = typed | {"opened_version": shown.context["adminform"].form["opened_version"].value()}
    assert alice.post(page_of(event), again).status_code == 302
    assert DailyEvent.objects.get(pk=event.pk).content == "bought twice"
