"""An extraction is taken back with what it told of the day, and never with what others rest on since (F3, D5)."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from memories import batches, entries
from memories.choices import BatchState, BatchVerb
from memories.consolidation.compression import days_to_compress
from memories.entries import daily_events
from memories.models import Batch, DailyEvent, Entry
from tests.conftest import NOW, TELEGRAM, Api
from tests.memories.admin.conftest import enter, make_user
from tests.memories.batches.conftest import applied, step
from tests.memories.consolidation.buffer.conversations import QUIET, extract, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.llm.fake_server import FakeModel

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=1)


@pytest.fixture
def talk(api: Api, model: FakeModel) -> Any:
    """Something is said, and the model finds these facts in it; the batch it becomes."""

    def talked(*facts: dict[str, Any], at: Any = NOW) -> Batch:
        words = " ".join(fact["content"] for fact in facts)
        say(api, words, "Noted.", at=at)
        model.script = [answering(*({**fact, "on": (words[:20],)} for fact in facts), summary=words[:200])]
        extract(at + QUIET)
        return Batch.objects.filter(state=BatchState.APPLIED).latest("pk")

    return talked


def undone(made: Batch, **how: Any) -> Batch:
    return batches.apply_batch(batches.plan_undo(made, actor="user:ann", now=LATER, **how), now=LATER)


def live() -> set[str]:
    return set(Entry.objects.live().filter(type="fact").values_list("content", flat=True))


def heard(api: Api) -> list[str]:
    """What bots are told of days: in the list, by recall, and in the context of a question about the past."""
    listed = [event["content"] for event in api.get("events").json()["results"]]
    data = {"address": TELEGRAM, "message": "昨天 what did I tell you yesterday about the bicycle?"}
    clock = {"X-Memplatform-Now": LATER.isoformat()}
    events = api.post("recall", data, **clock).json()["events"]
    assert [event["content"] for event in events if event["path"].startswith("daily_events/")] == listed
    elsewhere = data | {"address": {**TELEGRAM, "chat": "another"}}  # what the history says is not said again
    text = api.post("context", elsewhere, **clock).json()["text"]
    assert ("Notes of today and yesterday" in text) == bool(listed)  # the day, whose words stand there once
    return listed


def waiting_days(made: Batch) -> int:
    return days_to_compress(made.workspace, LATER).count()


@pytest.mark.thorough
def test_its_day_is_out_of_use_everywhere_and_back_when_that_is_undone(talk: Any, api: Api) -> None:
    made = talk(fact("Mia bought a red bicycle."))
    assert made.counts == {"create": 1, "tell": 1}
    results = ["Mia bought a red bicycle."]
    assert (heard(api), waiting_days(made)) == (results, 1)
    undo = undone(made)
    assert (heard(api), waiting_days(made), live()) == ([], 0, set())
    made.refresh_from_db()
    assert (made.state, undo.counts) == (BatchState.UNDONE, {"undo": 2})
    undone(undo)
    assert (heard(api), waiting_days(made), live()) == (results, 1, {"Mia bought a red bicycle."})
    made.refresh_from_db()
    assert made.state == BatchState.APPLIED
    undone(made)
    assert heard(api) == []


def test_without_a_model_a_conversation_is_taken_back_too(api: Api, settings: Any) -> None:
    settings.TEST_CLOCK = True
    say(api, "我昨天买了一辆红色的自行车，在西湖边骑了两个小时。")
    extract()
    made = Batch.objects.get()
    assert (made.name, made.counts) == ("extract", {"tell": 1})
    undone(made)
    assert not DailyEvent.objects.in_use().exists()


def test_one_row_of_it_alone(talk: Any) -> None:
    made = talk(fact("Mia bought a red bicycle."))
    row = made.changes.get(verb=BatchVerb.TELL)
    undone(made, positions=[row.position])
    assert live() == {"Mia bought a red bicycle."}
    assert not DailyEvent.objects.in_use().exists()
    made.refresh_from_db()
    assert made.state == BatchState.APPLIED
    undone(made)
    assert live() == set()


@pytest.mark.thorough
def test_a_day_that_was_made_into_facts_since_goes_all_the_same(talk: Any) -> None:
    made = talk(fact("Mia bought a red bicycle."))
    assert daily_events.mark_compressed([DailyEvent.objects.get()], now=LATER, actor="job:compress-days")
    assert batches.changed_since(made, DailyEvent) == []
    undone(made)
    assert not DailyEvent.objects.in_use().exists()
    made.refresh_from_db()
    assert made.state == BatchState.UNDONE


@pytest.mark.thorough
def test_a_day_that_was_corrected_is_named_and_left_or_taken(talk: Any) -> None:
    made = talk(fact("Mia bought a red bicycle."))
    event = DailyEvent.objects.get()
    daily_events.update(event, "米娅买了一辆蓝色的自行车", now=LATER, actor="user:ann")
    assert batches.changed_since(made, DailyEvent) == [event.pk]
    undo = undone(made)
    row = undo.changes.get(event=event)
    assert (row.state, row.note, live()) == ("left", "changed", set())
    assert DailyEvent.objects.in_use().exists()
    made.refresh_from_db()
    undone(made, force=True)
    assert not DailyEvent.objects.in_use().exists()


@pytest.mark.thorough
def test_the_day_stands_in_the_batch_word_for_word(talk: Any, api: Api) -> None:
    made = talk(fact("Mia bought a red bicycle."))
    event = DailyEvent.objects.get()
    rows = api.get(f"batches/{made.uid}").json()["changes"]["results"]
    assert [(row["verb"], row["event"]) for row in rows] == [("create", None), ("tell", str(event.uid))]
    assert rows[1]["diff"] == [["+", "Mia bought a red bicycle."]]
    answer = api.post(f"batches/{made.uid}/undo", {})
    undo = api.get(f"batches/{answer.json()['id']}").json()["changes"]["results"][1]
    assert (undo["event"], undo["content"]) == (str(event.uid), "Mia bought a red bicycle.")
    assert undo["changes"] == [{"column": "expired", "old": False, "new": True}]


@pytest.mark.thorough
def test_after_its_doubts_were_approved_it_says_what_to_undo_first(talk: Any) -> None:
    talk(fact("小王喝咖啡"))
    made = talk(fact("小王不喝咖啡"), at=LATER)
    doubts = Batch.objects.get(state=BatchState.PROPOSED)
    batches.apply_batch(batches.approve(doubts, actor="user:ann", now=LATER), now=LATER)
    assert live() == {"小王不喝咖啡"}
    ending = f"…{doubts.uid.hex[-8:]}"
    assert list(batches.undo_blockers(made).values()) == [ending]
    for force in (False, True):
        undo = undone(made, force=force)
        row = undo.changes.get(entry__isnull=False)
        assert (row.state, row.note) == ("left", f"stands: {ending}")
        assert ending in (batches.describe(undo, [row])[0].note or ("", ""))[1]
        assert batches.blocking_batches(row) == [ending]
        assert live() == {"小王不喝咖啡"}
        made.refresh_from_db()
    doubts.refresh_from_db()
    undone(doubts)
    assert batches.undo_blockers(made) == {}
    undone(made)
    assert live() == {"小王喝咖啡"}


@pytest.mark.thorough
def test_the_page_that_asks_says_so_too(talk: Any) -> None:
    talk(fact("小王喝咖啡"))
    made = talk(fact("小王不喝咖啡"), at=LATER)
    daily_events.update(DailyEvent.objects.latest("pk"), "小王说了咖啡的事", now=LATER, actor="user:ann")
    doubts = Batch.objects.get(state=BatchState.PROPOSED)
    batches.apply_batch(batches.approve(doubts, actor="user:ann", now=LATER), now=LATER)
    client = enter(make_user("ann", workspace=made.workspace, is_staff=True))
    page = client.get(reverse("admin:memories_batch_undo", args=[made.pk])).content.decode()
    assert "1 memory stays in any case: it has taken the place of others since." in page
    assert doubts.uid.hex[-8:] in page and "小王说了咖啡的事" in page
    shown = client.get(reverse("admin:memories_batch_change", args=[undone(made).pk])).content.decode()
    assert "First undo what had it do so: …" in shown and "Open the day" in shown


@pytest.mark.thorough
def test_taken_back_before_they_were_approved_the_doubts_take_nothing_out(talk: Any) -> None:
    talk(fact("小王喝咖啡"))
    made = talk(fact("小王不喝咖啡"), at=LATER)
    undone(made)
    doubts = Batch.objects.get(state=BatchState.PROPOSED)
    batches.apply_batch(batches.approve(doubts, actor="user:ann", now=LATER), now=LATER)
    assert live() == {"小王喝咖啡"}
    assert doubts.changes.get().note == "no_successor"


@pytest.mark.thorough
def test_what_others_became_part_of_stays_until_that_is_undone(talk: Any) -> None:
    talk(fact("Mia owns a bicycle."))
    made = talk(fact("Mia bought a red bicycle."), at=LATER)
    first, second = Entry.objects.filter(type="fact").order_by("pk")
    merged = applied(second.scope, [step(BatchVerb.MERGE, first, into={"entry": second.pk})])
    undone(made, force=True)
    assert live() == {"Mia bought a red bicycle."}
    undone(merged)
    made.refresh_from_db()
    undone(made)
    assert live() == {"Mia owns a bicycle."}


@pytest.mark.thorough
def test_what_it_replaced_and_people_changed_since_is_not_lost(talk: Any) -> None:
    """The older stays replaced, for it was changed: then what replaced it stays too."""
    talk(fact("The port of staging is 8080."))
    made = talk(fact("The port of staging is 9090.", replaces="8080"), at=LATER)
    was = Entry.objects.get(content="The port of staging is 8080.", type="fact")
    entries.update(was, entries.Edit(columns={"importance": 0.9}), now=LATER, actor="user:ann")
    undo = undone(made)
    assert {row.note for row in undo.changes.filter(entry__isnull=False)} == {"changed"}
    assert live() == {"The port of staging is 9090."}
    made.refresh_from_db()
    undone(made, force=True)
    assert live() == {"The port of staging is 8080."}
