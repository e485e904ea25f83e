"""Every night the days before become facts, once; without a model they wait (D6)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import entries
from memories.choices import Source
from memories.consolidation import compression
from memories.entries import evidence
from memories.entries.daily_events import mark_compressed
from memories.models import Batch, DailyEvent, Entry, RefusedFact, Scope, Workspace
from tests.conftest import NOW, make_scope
from tests.memories.consolidation.compression.conftest import facts, live, past_event
from tests.memories.llm.fake_server import Asked, FakeModel, credulous

pytestmark = pytest.mark.django_db(transaction=True)


def compress(scope: Scope, run: str = "compress-days:1:2026-03-01", days: int = 0) -> dict[str, int]:
    return compression.compress_days(scope.workspace_id, clock=lambda: NOW + timedelta(days=days), run=run)


def test_it_works(scope: Scope, model: FakeModel) -> None:
    event = past_event(scope, "米娅的猫叫年糕。", chats=("c1",), origins=("m1", "m2"))
    assert compress(scope)["facts"] == 1
    fact = Entry.objects.get()
    assert (fact.content, fact.tier, fact.source) == ("米娅的猫叫年糕。", 2, Source.COMPRESSION)
    assert (fact.chats, fact.origins, fact.created_at) == (["c1"], ["m1", "m2"], event.created_at)
    event.refresh_from_db()
    assert event.compressed_at == NOW
    assert Batch.objects.get().name == "compress-days"


def test_all_days_up_to_yesterday_and_not_today(scope: Scope, model: FakeModel) -> None:
    past_event(scope, "Mia moved to Hamburg.", days_ago=40)
    past_event(scope, "The cat is called Niangao.")
    past_event(scope, "Today says nothing yet.", days_ago=0)
    counts = compress(scope)
    assert (counts["days"], counts["waiting"]) == (2, 0)
    assert live(scope) == {"Mia moved to Hamburg.", "The cat is called Niangao."}


def test_again_it_finds_nothing_to_do(scope: Scope, model: FakeModel) -> None:
    past_event(scope, "Mia moved to Hamburg.")
    compress(scope)
    assert compress(scope)["days"] == 0 and compress(scope, run="next", days=1)["days"] == 0
    assert model.calls == 1 and Entry.objects.count() == 1


def test_without_a_model_all_of_them_wait(scope: Scope, settings: Any) -> None:
    settings.MEMORY_LLM_BASE_URL = ""
    past_event(scope, "Mia moved to Hamburg.", days_ago=2)
    past_event(scope, "米娅搬家了。")
    assert compress(scope) == {"scopes": 0, "days": 0, "facts": 0, "waiting": 2, "stopped_no_model": 1}
    assert not DailyEvent.objects.filter(compressed_at__isnull=False).exists()


def test_when_the_budget_is_spent_the_rest_waits_for_the_next_night(
    scope: Scope, model: FakeModel, settings: Any
) -> None:
    past_event(scope, "Mia moved to Hamburg.")
    settings.MEMORY_LLM_DAILY_TOKENS = 10
    assert compress(scope)["stopped_budget"] == 1
    settings.MEMORY_LLM_DAILY_TOKENS = 1_000_000
    assert compress(scope, run="next", days=1)["days"] == 1


def test_a_model_that_fails_twice_is_not_asked_any_more(scope: Scope, model: FakeModel, settings: Any) -> None:
    settings.MEMORY_LLM_RETRIES = 0
    model.error_rate = 1.0
    for n in range(5):
        past_event(make_scope(scope.workspace, f"telegram:direct_u{n}"), f"Fact number {n} of many.")
    counts = compress(scope)
    assert (counts["failed"], counts["stopped_model_failed"], counts["waiting"]) == (2, 1, 5)


def test_a_number_no_day_holds_is_told_to_the_model_once_and_then_refused(
    scope: Scope, model: FakeModel, settings: Any
) -> None:
    settings.MEMORY_VERIFY = False  # else a reader is asked what it is
    past_event(scope, "The port is 8080.")
    data = {"facts": [_fact("The port is 9090.", "The port is 8080."), _fact("The port is 8080.")]}
    model.otherwise = lambda asked: data
    assert compress(scope)["refused"] == 1
    assert live(scope) == {"The port is 8080."}
    assert model.calls == 2 and "Nobody said a number or date of it." in model.requests[1].texts[-1]
    refused = RefusedFact.objects.get()
    assert (refused.content, refused.reason, refused.purpose) == ("The port is 9090.", "amount", "compress-days")


def test_a_mended_fact_is_kept_and_the_sound_ones_beside_it(scope: Scope, model: FakeModel) -> None:
    past_event(scope, "The port is 8080. Mia likes tea.")
    first = {"facts": [_fact("The port is 8080.", "port 8080"), _fact("Mia likes tea.")]}
    model.script = [first, {"facts": [_fact("The port is 8080.")]}]
    counts = compress(scope)
    assert (counts["facts"], counts["refused"]) == (2, 0)
    assert live(scope) == {"The port is 8080.", "Mia likes tea."}


def test_words_that_stand_in_no_day_bear_nothing_out(scope: Scope, model: FakeModel) -> None:
    past_event(scope, "米娅的猫叫年糕。")
    model.otherwise = lambda asked: {"facts": [_fact("米娅住在上海。")]}
    assert compress(scope)["refused"] == 1
    assert (live(scope), RefusedFact.objects.get().reason) == (set(), "no_quote")


def test_what_a_reader_does_not_find_there_is_refused(scope: Scope, model: FakeModel) -> None:
    """Neither a no that nobody said, nor a wish that came true."""
    words = "Mia likes green tea. Mia wants to move to Oslo."
    past_event(scope, words)
    lies = {"Mia does not like green tea.": "contradicted", "Mia moved to Oslo.": "not_stated"}
    statements = ("Mia likes green tea.", "Mia wants to move to Oslo.")
    model.verdicts = lies
    model.otherwise = lambda asked: {"facts": [_fact(item, words) for item in (*lies, *statements)]}
    counts = compress(scope)
    assert (counts["refused"], counts["facts"], counts["verified"]) == (2, 2, 2)
    assert set(RefusedFact.objects.values_list("content", "reason")) == set(lies.items())
    assert set(Entry.objects.values_list("content", "verification")) == {(item, "verified") for item in statements}


@pytest.mark.parametrize("off", ["no reader", "a reader that believes everything"])
def test_what_nobody_read_is_only_quoted(scope: Scope, model: FakeModel, settings: Any, off: str) -> None:
    settings.MEMORY_VERIFY = off != "no reader"
    model.reader = credulous
    past_event(scope, "米娅的猫叫年糕。")
    model.otherwise = lambda asked: {"facts": [_fact("米娅养了一只叫年糕的猫。", "米娅的猫叫年糕")]}
    counts = compress(scope)
    assert (counts["facts"], counts["verified"], Entry.objects.get().verification) == (1, 0, "quoted")


def test_its_words_stand_beside_it_with_the_day_they_are_of(scope: Scope, model: FakeModel) -> None:
    content = "The oven is new.\n米娅的猫叫年糕。"
    event = past_event(scope, content)
    model.otherwise = lambda asked: {"facts": [_fact("米娅的猫叫年糕。", "猫叫 年糕")]}
    compress(scope)
    fact = Entry.objects.get()
    (words,) = evidence.evidence_of([fact.pk], scope.workspace_id)[fact.pk]
    assert (words.quote, words.origin) == ("猫叫年糕", f"daily/{event.uid}")
    assert content[words.start : words.end] == words.quote


def test_with_the_note_of_the_day_its_words_go(scope: Scope, model: FakeModel) -> None:
    past_event(scope, "米娅的猫叫年糕。", origins=("s/1", "s/2"))
    compress(scope)
    fact = Entry.objects.get()
    DailyEvent.objects.update(expired_at=NOW)
    assert evidence.evidence_of([fact.pk], scope.workspace_id) == {}
    assert evidence.forget(scope.workspace_id, ["s/2"]) == 1


def test_what_is_known_already_is_a_repeat(scope: Scope, model: FakeModel) -> None:
    facts(scope, "The port is 8080.")
    past_event(scope, "The port is 8080.")
    counts = compress(scope)
    assert (counts["facts"], counts["repeated"], Entry.objects.count()) == (0, 1, 1)


def test_a_fact_of_a_relation_is_never_written_as_the_person_s(scope: Scope, model: FakeModel, settings: Any) -> None:
    settings.MEMORY_VERIFY = False
    past_event(scope, "My roommate is allergic to cats.")
    model.otherwise = lambda asked: {"facts": [_fact("The user is allergic to cats.", "My roommate is allergic")]}
    compress(scope)
    assert (live(scope), RefusedFact.objects.get().reason) == (set(), "subject")


def _fact(content: str, quote: str = "", day: str = "d1") -> dict[str, Any]:
    return {"content": content, "project": "_global", "topic": "_general", "category": "config", "importance": 0.5,
            "quote": [{"day": day, "text": quote or content}]}  # fmt: skip


def test_an_answer_nobody_can_read_is_asked_for_again_of_half_as_many_days(
    scope: Scope, model: FakeModel, settings: Any
) -> None:
    settings.MEMORY_LLM_CORRECTIONS = 0
    for content in ("Mia moved to Hamburg.", "poison", "米娅的猫叫年糕。", "Bob plays chess."):
        past_event(scope, content)

    def answer(asked: Asked) -> Any:
        results = [day["said"] for day in asked.data["days"]]
        if "poison" in results:
            return "I am sorry"
        return {"facts": [_fact(one, day=f"d{n}") for n, one in enumerate(results, 1)]}

    model.otherwise = answer
    assert compress(scope)["days"] == 3
    assert [event.content for event in DailyEvent.objects.filter(compressed_at=None)] == ["poison"]


def test_what_is_known_already_is_shown_and_not_from_other_scopes(
    scope: Scope, stranger: Workspace, model: FakeModel
) -> None:
    facts(scope, "Mia likes tea.")
    facts(make_scope(stranger), "Charlie likes gin.")
    past_event(scope, "Mia drank tea.")
    compress(scope)
    assert model.requests[0].data["known"] == ["Mia likes tea."]


def test_what_people_took_out_is_not_written_again(scope: Scope, model: FakeModel) -> None:
    (fact,) = facts(scope, "Mia moved to Hamburg.", origins=("m1",))
    past_event(scope, "Mia moved to Hamburg.", origins=("m2",))
    entries.expire(fact, now=NOW, actor="user:ann", expected_version=None)
    compress(scope)
    assert live(scope) == set()


def test_a_day_somebody_changed_meanwhile_is_asked_about_again(scope: Scope, model: FakeModel) -> None:
    event = past_event(scope, "Mia moved to Hamburg.")
    stale = DailyEvent.objects.get()
    DailyEvent.objects.filter(pk=event.pk).update(content="Mia moved to Bremen.")
    assert not mark_compressed([stale], now=NOW, actor="t")
    assert compress(scope)["days"] == 1 and live(scope) == {"Mia moved to Bremen."}


def test_a_frozen_scope_is_left_as_it_is(scope: Scope, model: FakeModel) -> None:
    past_event(scope, "Mia moved to Hamburg.")
    Scope.objects.update(frozen=True)
    assert compress(scope)["frozen"] == 1
    assert (model.calls, DailyEvent.objects.filter(compressed_at=None).count()) == (0, 1)
