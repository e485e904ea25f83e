"""Search, filters and the page that led here survive what is done on the way."""

from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from memories.admin.pages import return_url
from memories.lifecycle.expiry import expire_due
from memories.models import Entry
from tests.memories.admin.conftest import OPEN, House
from tests.memories.admin.test_entries import form_of

pytestmark = pytest.mark.django_db
LIST = "/admin/memories/entry/"
NARROWED = f"{LIST}?q={OPEN}&type__exact=chat_turn"


def test_an_action_of_the_list_leads_back_to_the_list_as_it_was_narrowed(alice: Client, mine: House) -> None:
    rows = [entry.pk for entry in Entry.objects.filter(workspace=mine.workspace)]
    response = alice.post(NARROWED, {"action": "pin_chosen", "_selected_action": rows})
    assert response.context["back"] == NARROWED
    done = alice.post(NARROWED, {"action": "pin_chosen", "_selected_action": rows, "confirmed": "yes", "reason": "x"})
    assert (done.status_code, done.headers["Location"]) == (302, NARROWED)


@pytest.mark.thorough
def test_the_buttons_of_a_page_hand_on_the_filters_and_lead_back_with_them(alice: Client, mine: House) -> None:
    entry = Entry.objects.filter(workspace=mine.workspace, expired_at=None).latest("pk")
    Entry.objects.filter(pk=entry.pk).update(expired_at=None)
    page = reverse("admin:memories_entry_change", args=[entry.pk])
    filters = "_changelist_filters=q%3Dtea%26p%3D2"
    body = alice.get(f"{page}?{filters}").content.decode()
    button = f"/admin/memories/entry/{entry.pk}/{'restore' if 'restore/?' in body else 'expire'}/?{filters}"
    assert button in body
    done = alice.post(button, {"confirmed": "yes", "reason": "wrong"})
    assert (done.status_code, done.headers["Location"]) == (302, f"{page}?{filters}")
    saved = alice.get(done.headers["Location"])
    assert saved.status_code == 200


def test_a_memory_opened_from_a_trace_leads_back_to_it_when_it_is_saved(alice: Client, mine: House) -> None:
    trace = reverse("admin:memories_recalltrace_change", args=[mine.trace.pk])
    entry = Entry.objects.filter(workspace=mine.workspace, expired_at=None).latest("pk")
    page = reverse("admin:memories_entry_change", args=[entry.pk])
    assert f"?_back={trace}" in alice.get(trace).content.decode()
    wanted = form_of(entry, content=f"I like {OPEN} with coffee")
    answer = alice.post(f"{page}?_back={trace}", wanted)
    assert (answer.status_code, answer.headers.get("Location")) == (302, trace)


def test_the_history_and_the_arrow_lead_back_to_where_one_came_from(alice: Client, mine: House) -> None:
    entry = mine.entry
    result = urlencode({"_changelist_filters": f"q={OPEN}&view=live&p=2"})
    page = reverse("admin:memories_entry_change", args=[entry.pk])
    history = alice.get(f"{reverse('admin:memories_entry_history', args=[entry.pk])}?{result}")
    assert history.context["back"] == f"{page}?{result}"
    arrow = alice.get(f"{page}?{urlencode({'_back': '/admin/sessions_app/session/1/change/#m3'})}")
    assert 'href="/admin/sessions_app/session/1/change/#m3"' in arrow.content.decode()
    assert f'href="{LIST}?q={OPEN}&amp;view=live&amp;p=2"' in alice.get(f"{page}?{result}").content.decode()


def test_what_last_night_took_is_restored_from_the_list_and_back_there(alice: Client, mine: House) -> None:
    expire_due(mine.workspace.pk, now=timezone.now() + timedelta(days=400), run="expire:night")
    restored = alice.post(
        f"{reverse('admin:memories_batch_last_night')}?{urlencode({'_back': NARROWED})}",
        {"confirmed": "yes", "reason": "needed", "term": "30"},
    )
    assert (restored.status_code, restored.headers["Location"]) == (302, NARROWED)


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/admin/", "//evil.example/admin/", "/api/v1/", "javascript:x"]
)
def test_nobody_is_led_out_of_the_admin(elsewhere: str) -> None:
    request = RequestFactory().get(f"{LIST}1/change/?_back={elsewhere}")
    assert return_url(request, LIST) == LIST
