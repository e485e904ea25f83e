"""Every night the days before become facts, once; without a model they wait (D6)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import entries
from memories.choices import Source
from memories.consolidation import compression
from memories.entries.daily_events import mark_compressed
from memories.models import Batch, DailyEvent, Entry, Scope, Workspace
from tests.conftest import NOW, make_scope
from tests.memories.consolidation.compression.conftest import facts, live, told
from tests.memories.llm.fake_server import Asked, FakeModel

pytestmark = pytest.mark.django_db(transaction=True)


def compress(scope: Scope, run: str = "compress-days:1:2026-03-01", days: int = 0) -> dict[str, int]:
    return compression.compress_days(scope.workspace_id, clock=lambda: NOW + timedelta(days=days), run=run)


def test_it_works(scope: Scope, model: FakeModel) -> None:
    event = told(scope, "米娅的猫叫年糕。", chats=("c1",), origins=("m1", "m2"))
    assert compress(scope)["facts"] == 1
    fact = Entry.objects.get()
    assert (fact.content, fact.tier, fact.source) == ("米娅的猫叫年糕。", 2, Source.COMPRESSION)
    assert (fact.chats, fact.origins, fact.created_at) == (["c1"], ["m1", "m2"], event.created_at)
    event.refresh_from_db()
    assert event.compressed_at == NOW
    assert Batch.objects.get().name == "compress-days"


def test_all_days_up_to_yesterday_and_not_today(scope: Scope, model: FakeModel) -> None:
    told(scope, "Mia moved to Hamburg.", days_ago=40)
    told(scope, "The cat is called Niangao.")
    told(scope, "Today says nothing yet.", days_ago=0)
    counts = compress(scope)
    assert (counts["days"], counts["waiting"]) == (2, 0)
    assert live(scope) == {"Mia moved to Hamburg.", "The cat is called Niangao."}


def test_again_it_finds_nothing_to_do(scope: Scope, model: FakeModel) -> None:
    told(scope, "Mia moved to Hamburg.")
    compress(scope)
    assert compress(scope)["days"] == 0 and compress(scope, run="next", days=1)["days"] == 0
    assert model.calls == 1 and Entry.objects.count() == 1


def test_without_a_model_all_of_them_wait(scope: Scope, settings: Any) -> None:
    settings.MEMORY_LLM_BASE_URL = ""
    told(scope, "Mia moved to Hamburg.", days_ago=2)
    told(scope, "米娅搬家了。")
    assert compress(scope) == {"scopes": 0, "days": 0, "facts": 0, "waiting": 2, "stopped_no_model": 1}
    assert not DailyEvent.objects.filter(compressed_at__isnull=False).exists()


def test_when_the_budget_is_spent_the_rest_waits_for_the_next_night(
    scope: Scope, model: FakeModel, settings: Any
) -> None:
    told(scope, "Mia moved to Hamburg.")
    settings.MEMORY_LLM_DAILY_TOKENS = 10
    assert compress(scope)["stopped_budget"] == 1
    settings.MEMORY_LLM_DAILY_TOKENS = 1_000_000
    assert compress(scope, run="next", days=1)["days"] == 1


def test_a_model_that_fails_twice_is_not_asked_any_more(scope: Scope, model: FakeModel, settings: Any) -> None:
    settings.MEMORY_LLM_RETRIES = 0
    model.error_rate = 1.0
    for n in range(5):
        told(make_scope(scope.workspace, f"telegram:direct_u{n}"), f"Fact number {n} of many.")
    counts = compress(scope)
    assert (counts["failed"], counts["stopped_model_failed"], counts["waiting"]) == (2, 1, 5)


def test_a_number_no_day_holds_is_invented(scope: Scope, model: FakeModel) -> None:
    told(scope, "The port is 8080.")
    model.otherwise = lambda asked: {"facts": [_fact("The port is 9090."), _fact("The port is 8080.")]}
    assert compress(scope)["invented"] == 1
    assert live(scope) == {"The port is 8080."}


def test_what_no_day_says_is_invented(scope: Scope, model: FakeModel) -> None:
    """Neither a deed nor a no that nobody said, nor a wish that came true; a date of the day itself is none."""
    told(scope, "Mia likes green tea. Mia wants to move to Oslo.", days_ago=1)
    lies = ("Mia does not like green tea.", "Mia robbed a bank.", "Mia moved to Oslo.", "Mia wants to move to Bergen.")
    said = ("Mia likes green tea.", "Mia wants to move to Oslo.")
    model.otherwise = lambda asked: {"facts": [_fact(one) for one in (*lies, *said)]}
    counts = compress(scope)
    assert (counts["invented"], counts["facts"]) == (4, 2)


def _fact(content: str) -> dict[str, Any]:
    return {"content": content, "project": "_global", "topic": "_general", "category": "config", "importance": 0.5,
            "days": ["d1"]}  # fmt: skip


def test_an_answer_nobody_can_read_is_asked_for_again_of_half_as_many_days(
    scope: Scope, model: FakeModel, settings: Any
) -> None:
    settings.MEMORY_LLM_CORRECTIONS = 0
    for content in ("Mia moved to Hamburg.", "poison", "米娅的猫叫年糕。", "Bob plays chess."):
        told(scope, content)

    def answer(asked: Asked) -> Any:
        said = [day["said"] for day in asked.data["days"]]
        if "poison" in said:
            return "I am sorry"
        return {"facts": [_fact(one) | {"days": [f"d{n}"]} for n, one in enumerate(said, 1)]}

    model.otherwise = answer
    assert compress(scope)["days"] == 3
    assert [event.content for event in DailyEvent.objects.filter(compressed_at=None)] == ["poison"]


def test_what_is_known_already_is_shown_and_not_from_other_scopes(
    scope: Scope, stranger: Workspace, model: FakeModel
) -> None:
    facts(scope, "Mia likes tea.")
    facts(make_scope(stranger), "Charlie likes gin.")
    told(scope, "Mia drank tea.")
    compress(scope)
    assert model.requests[0].data["known"] == ["Mia likes tea."]


def test_what_people_took_out_is_not_written_again(scope: Scope, model: FakeModel) -> None:
    (fact,) = facts(scope, "Mia moved to Hamburg.", origins=("m1",))
    told(scope, "Mia moved to Hamburg.", origins=("m2",))
    entries.expire(fact, now=NOW, actor="user:ann", expected_version=None)
    compress(scope)
    assert live(scope) == set()


def test_a_day_somebody_changed_meanwhile_is_asked_about_again(scope: Scope, model: FakeModel) -> None:
    event = told(scope, "Mia moved to Hamburg.")
    stale = DailyEvent.objects.get()
    DailyEvent.objects.filter(pk=event.pk).update(content="Mia moved to Bremen.")
    assert not mark_compressed([stale], now=NOW, actor="t")
    assert compress(scope)["days"] == 1 and live(scope) == {"Mia moved to Bremen."}


def test_a_frozen_scope_is_left_as_it_is(scope: Scope, model: FakeModel) -> None:
    told(scope, "Mia moved to Hamburg.")
    Scope.objects.update(frozen=True)
    assert compress(scope)["frozen"] == 1
    assert (model.calls, DailyEvent.objects.filter(compressed_at=None).count()) == (0, 1)
