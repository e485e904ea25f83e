"""What a recall found of the past, on its trace: who said it, when, why, and the way to its place (C5, F5)."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.models import DailyEvent, RecallTrace
from sessions_app.models import SessionEvent
from tests.conftest import TELEGRAM, Api, make_key
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db
ASKED = "what did I say about marmalade?"


def ask(house: House, message: str = ASKED) -> RecallTrace:
    """A question about the past to a furnished workspace."""
    word = house.word
    address = {**TELEGRAM, "account": word, "peer": f"peer-{word}", "chat": f"chat-{word}"}
    api = Api(make_key(house.workspace, name=f"asks-{word}"))
    answer = api.post("recall", {"address": address, "message": message})
    assert answer.status_code == 200, answer.json()
    return RecallTrace.objects.get(uid=answer.json()["recall_id"])


def page(client: Client, trace: RecallTrace, **headers: Any) -> Any:
    return client.get(reverse("admin:memories_recalltrace_change", args=[trace.pk]), headers=headers)


def test_it_works(alice: Client, mine: House) -> None:
    DailyEvent.objects.update(local_date=timezone.now().date())  # what was told of an old day is past its term
    shown = page(alice, ask(mine))
    event = SessionEvent.objects.get(content__startswith="I like marmalade")
    lines = {line.source.words: line for line in shown.context["event_lines"]}
    line = lines["I like marmalade with tea"]
    assert (line.source.who, line.source.at, line.event.words) == (event.sender_id, event.at, 1.0)
    address = reverse("admin:sessions_app_session_change", args=[event.session_id])
    assert line.source.url.startswith(f"{address}?life=1&before=") and line.source.url.endswith(f"#m{event.position}")
    conversation = alice.get(line.source.url).content.decode()
    assert f'id="m{event.position}"' in conversation and "I like marmalade with tea" in conversation
    day = DailyEvent.objects.get(content="bought marmalade")
    assert lines["bought marmalade"].source.on == day.local_date
    assert alice.get(lines["bought marmalade"].source.url).status_code == 200
    assert "What was said then, word for word" in shown.content.decode()


def test_it_is_said_in_chinese_too(alice: Client, mine: House) -> None:
    words = page(alice, ask(mine), **{"Accept-Language": "zh-hans"}).content.decode()
    assert "当时的原话" in words


def test_what_is_gone_is_said_to_be(alice: Client, mine: House) -> None:
    trace = ask(mine)
    SessionEvent.objects.all().delete()
    shown = page(alice, trace)
    assert [line.source for line in shown.context["event_lines"] if line.event.path.startswith("session")] != []
    assert {line.source for line in shown.context["event_lines"] if line.event.path.startswith("session")} == {None}
    assert "no longer there" in shown.content.decode()


def test_traces_of_before_tell_what_they_know(alice: Client, mine: House) -> None:
    trace = ask(mine)
    results = [row[:3] for row in trace.evidence["events"]]
    RecallTrace.objects.filter(pk=trace.pk).update(evidence=trace.evidence | {"events": results})
    shown = page(alice, trace)
    assert shown.status_code == 200 and {line.event.words for line in shown.context["event_lines"]} == {None}


def test_nothing_of_another_workspace_is_told(alice: Client, mine: House, theirs: House) -> None:
    trace, other = ask(mine), ask(theirs, "what did I say about quillfeather?")
    RecallTrace.objects.filter(pk=trace.pk).update(evidence=trace.evidence | {"events": other.evidence["events"]})
    shown = page(alice, trace)
    assert shown.context["event_lines"] and {line.source for line in shown.context["event_lines"]} == {None}
    assert theirs.word not in shown.content.decode()
