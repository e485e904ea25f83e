"""A session reads as a conversation in the admin, and an operator may flush, close and reset it (F1)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memories.models import Change, Entry, Workspace
from sessions_app import compaction
from sessions_app.admin.conversation import PAGE
from sessions_app.models import Flush, Session, SessionEvent
from tests.conftest import NOW, TELEGRAM
from tests.memories.admin.conftest import enter, make_user
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
GROUP = {**TELEGRAM, "chat": "g1", "is_group": True}


@pytest.fixture
def alice(workspace: Workspace) -> Client:
    return enter(make_user("alice", workspace=workspace, is_staff=True))


def page(client: Client, session: Session, **asked: Any) -> Any:
    response = client.get(reverse("admin:sessions_app_session_change", args=[session.pk]), asked)
    assert response.status_code == 200
    return response


def bubbles(response: Any) -> list[tuple[str, str]]:
    return [
        (bubble.event.kind, bubble.event.content) for day in response.context["talk"].days for bubble in day.bubbles
    ]


def do(client: Client, session: Session, what: str, *, confirmed: bool = True) -> Any:
    address = reverse(f"admin:sessions_app_session_{what}", args=[session.pk])
    return client.post(address, {"confirmed": "yes"}) if confirmed else client.get(address)


@pytest.mark.thorough
def test_days_begin_where_the_workspace_is(talk: Talk, workspace: Workspace, alice: Client) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(time_zone="Asia/Shanghai")
    late = NOW.replace(hour=15, minute=59)
    talk.say("今天", at=late)
    talk.say("已经明天", at=late + timedelta(minutes=2))
    response = page(alice, Session.objects.get())
    assert [str(day.on) for day in response.context["talk"].days] == ["2026-03-01", "2026-03-02"]
    shown = response.content.decode()
    assert "2026-03-02" in shown and ">23:59<" in shown and ">00:01<" in shown


def test_each_speaker_has_a_face_and_ambient_talk_is_told_apart(talk: Talk, alice: Client) -> None:
    talk.say("I bring the cake", address={**GROUP, "peer": "ann"})
    session = Session.objects.get()
    talk.log(session, "ambient: coffee is out")
    talk.say("我带酒", address={**GROUP, "peer": "ben"})
    response = page(alice, session)
    ann, bot, _ambient, ben, _bot = response.context["talk"].days[0].bubbles
    assert (ann.initial, ben.initial) == ("A", "B") and ann.hue != ben.hue and bot.event.kind == "assistant"
    assert "not said to the bot" in response.content.decode()


def test_each_message_says_whose_words_it_is(talk: Talk, alice: Client) -> None:
    talk.say("I bring the cake", address={**GROUP, "peer": "ann"})
    session = Session.objects.get()
    assert [event.trust for event in session.events.order_by("position")] == ["member", "bot"]
    SessionEvent.objects.filter(kind="assistant").update(data={"tool_calls": [{"name": "search"}]})
    assert [event.trust for event in session.events.order_by("position")] == ["member", "tool"]
    shown = page(alice, session).content.decode()
    assert "· Another member" in shown and "· A tool or page" in shown


def test_each_message_stands_under_the_name_its_sender_had(talk: Talk, alice: Client) -> None:
    for name in ("Ben", "Boss", "assistant"):
        talk.say("lunch?", address={**GROUP, "peer": "u77"}, sender_name=name)
    response = page(alice, Session.objects.get())
    of_user = [bubble for bubble in response.context["talk"].days[0].bubbles if bubble.event.kind == "user"]
    assert [(item.name, item.initial, item.is_first) for item in of_user] == [
        ("Ben", "B", True),
        ("Boss", "B", True),
        ("", "U", True),
    ]
    assert 'Ben <span class="text-subtle">u77</span>' in response.content.decode()


@pytest.mark.thorough
def test_an_earlier_life_is_one_click_away(talk: Talk, alice: Client) -> None:
    talk.say("the first life")
    talk.say("/reset")
    talk.say("the second life")
    session = Session.objects.get()
    response = page(alice, session)
    assert [(life.number, life.is_open) for life in response.context["talk"].lives] == [(2, True), (1, False)]
    assert bubbles(response)[0] == ("user", "the second life")
    assert bubbles(page(alice, session, life=1))[0] == ("user", "the first life")
    for odd in ("99", "x", "-1", "²", "9" * 30):
        assert bubbles(page(alice, session, life=odd))[0] == ("user", "the second life")


@pytest.mark.thorough
def test_a_long_conversation_is_read_page_by_page_and_costs_the_same(talk: Talk, alice: Client) -> None:
    def queries(session: Session) -> int:
        with CaptureQueriesContext(connection) as captured:
            page(alice, session)
        return len(captured)

    talk.say("message 0", "answer 0")
    session = Session.objects.get()
    queries(session)
    few = queries(session)
    for n in range(1, 80):
        talk.say(f"message {n}", f"answer {n}")
    assert queries(session) == few
    latest = page(alice, session)
    earlier = page(alice, session, before=latest.context["talk"].earlier)
    assert len(bubbles(latest)) == PAGE and len(bubbles(earlier)) == 60
    assert bubbles(earlier)[0] == ("user", "message 0") and bubbles(earlier)[-1] == ("assistant", "answer 29")
    assert earlier.context["talk"].earlier is None


def test_a_turn_shows_which_memories_were_served_for_it(talk: Talk, alice: Client) -> None:
    talk.say("my cat is called Mochi")
    answer = talk.post("recall", {"address": TELEGRAM, "message": "what is my cat called?"}).json()
    talk.say("what is my cat called?", "Mochi.", recall_id=answer["recall_id"])
    shown = page(alice, Session.objects.get())
    served = [bubble.served for bubble in shown.context["talk"].days[0].bubbles]
    assert [len(item) for item in served] == [0, 0, 1, 0]
    assert (
        [str(entry.uid) for entry, _then in served[2][0].entries]
        == [memory["id"] for memory in answer["memories"]]
        != []
    )
    assert "1 memory was served" in shown.content.decode()


def test_summaries_and_flushes_stand_where_they_were_made(talk: Talk, alice: Client) -> None:
    for n in range(3):
        talk.say(f"thing number {n}")
    session = Session.objects.get()
    talk.do(session, "flush", {"version": 1, "continue": "Three things, in short."})
    session.refresh_from_db()
    assert compaction.compact(session.pk, 1, 1, 1_000, now=NOW, is_asked=True)
    shown = page(alice, session)
    marked = [(n, len(one.markers)) for n, one in enumerate(shown.context["talk"].days[0].bubbles) if one.markers]
    assert marked == [(3, 1), (5, 1)]  # the last turn stays; the flush knew all
    assert "Three things, in short." in shown.content.decode() and "flushed by bot bot" in shown.content.decode()


@pytest.mark.thorough
def test_what_people_took_out_is_shown_as_left_out(talk: Talk, alice: Client) -> None:
    for n in range(3):
        talk.say(f"thing number {n}")
    session = Session.objects.get()
    assert compaction.compact(session.pk, 1, 1, 1_000, now=NOW, is_asked=True)
    entry = Entry.objects.get(type="chat_turn", content__contains="number 1")
    assert talk.request("DELETE", f"entries/{entry.uid}").status_code == 200
    shown = page(alice, session)
    shown_bubbles = shown.context["talk"].days[0].bubbles
    assert [item.is_redacted for item in shown_bubbles] == [False, False, True, True, False, False]
    assert "thing number 1" in shown.content.decode() and "tells of what people took out" in shown.content.decode()
    assert talk.post(f"entries/{entry.uid}/restore").status_code == 200
    again = page(alice, session)
    assert not any(bubble.is_redacted for bubble in again.context["talk"].days[0].bubbles)
    assert "tells of what people took out" not in again.content.decode()


def test_what_was_said_is_shown_as_text(talk: Talk, alice: Client) -> None:
    talk.say("<script>alert(1)</script>", "<b>bold</b>", tool_calls=[{"name": "<i>x</i>", "arguments": {"a": "<u>"}}])
    shown = page(alice, Session.objects.get()).content.decode()
    for markup in ("<script>alert", "<b>bold", "<i>x", "<u>"):
        assert markup not in shown


@pytest.mark.thorough
@pytest.mark.parametrize("what", ["flush", "close", "reset"])
def test_an_action_asks_first_and_is_in_the_history_of_who_did_it(what: str, talk: Talk, alice: Client) -> None:
    talk.say("hello there")
    session = Session.objects.get()
    assert do(alice, session, what, confirmed=False).status_code == 200
    assert Session.objects.get().conversation == 1 and not Flush.objects.exists()
    assert do(alice, session, what).status_code == 302
    assert Session.objects.get().conversation == (1 if what == "flush" else 2)
    kept = list(Entry.objects.filter(type="auto_capture").values_list("subtype", flat=True))
    assert kept == {"flush": ["session_flush"], "close": ["session_expired"], "reset": []}[what]
    if what == "flush":
        assert Flush.objects.get().actor == "user:alice"
    else:
        assert Change.objects.filter(table_name="sessions_app_session", op="U", actor="user:alice").exists()


def test_an_empty_conversation_offers_nothing_to_do(talk: Talk, alice: Client) -> None:
    talk.post("sessions", {"address": TELEGRAM})
    session = Session.objects.get()
    assert "/reset/" not in page(alice, session).content.decode()
    assert do(alice, session, "close").status_code == 302
    assert Session.objects.get().conversation == 1


@pytest.mark.parametrize("what", ["flush", "close", "reset"])
def test_nobody_ends_a_conversation_of_another_workspace(
    what: str, talk: Talk, alice: Client, stranger: Workspace
) -> None:
    talk.say("hello there")
    charlie = enter(make_user("charlie", workspace=stranger, is_staff=True))
    session = Session.objects.get()
    for confirmed in (False, True):
        assert do(charlie, session, what, confirmed=confirmed).status_code == 404
    assert Session.objects.get().conversation == 1 and not Flush.objects.exists()


def test_words_are_found_in_all_conversations_and_lead_to_their_message(talk: Talk, alice: Client) -> None:
    talk.say("My dog is called Biscuit", at=NOW)
    talk.say("It rains", at=NOW + timedelta(days=40))
    session = Session.objects.get()
    found = page(alice, session, words="BISCUIT").context["talk"].hits
    assert [hit.excerpt for hit in found] == ["My dog is called Biscuit"]
    target = alice.get(found[0].url)
    assert ("user", "My dog is called Biscuit") in bubbles(target) and "#m" in found[0].url
    assert "No message has these words." in page(alice, session, words="parrot").content.decode()
    assert page(alice, session).context["talk"].hits == []


def test_what_surrounds_a_word_is_cut_where_it_stands(talk: Talk, alice: Client) -> None:
    """Of some letters two are made where they become small: İ."""
    talk.say("İ" * 100 + " my dog Biscuit " + "x" * 200, at=NOW)
    hit = page(alice, Session.objects.get(), words="biscuit").context["talk"].hits[0]
    begin, end = hit.excerpt.split("Biscuit")
    assert begin.startswith("… İ") and len(begin) - 2 == len(end) - 2


def test_a_secret_that_is_not_shown_is_not_found_by_its_words(talk: Talk, alice: Client) -> None:
    talk.say("The gate opens with rosebud", at=NOW)
    session = Session.objects.get()
    event = session.messages().get(kind="user")
    event.data = {"hidden": [[20, 27]]}
    event.save(update_fields=["data"])
    assert page(alice, session, words="rosebud").context["talk"].hits == []
    assert len(page(alice, session, words="gate").context["talk"].hits) == 1


def test_a_day_leads_to_its_first_message_or_to_the_next_one(talk: Talk, alice: Client) -> None:
    talk.say("first", at=NOW)
    talk.say("later", at=NOW + timedelta(days=3))
    session = Session.objects.get()
    address = reverse("admin:sessions_app_session_change", args=[session.pk])
    last = SessionEvent.objects.get(session=session, content="later")
    for day in (NOW + timedelta(days=3), NOW + timedelta(days=1)):
        answer = alice.get(address, {"on": day.date().isoformat()})
        assert answer.status_code == 302 and answer.headers["Location"].endswith(f"#m{last.position}")
    for nothing in ("2031-01-01", "yesterday", "9999-99-99"):
        assert alice.get(address, {"on": nothing}).headers["Location"] == address
