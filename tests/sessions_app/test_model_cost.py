"""What a model would cost is known before it is switched on, and what waits for a budget can be learnt (D7)."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from memories import entries
from memories.choices import BufferState
from memories.llm.run import record_check
from memories.models import DailyEvent, Entry, ExtractionBatch, Spend, Workspace
from sessions_app import model_cost, unread
from tests.conftest import GROUP, TELEGRAM, Api
from tests.memories.admin.conftest import enter, make_user
from tests.memories.consolidation.buffer.conversations import extract, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.consolidation.extraction.conftest import model as model  # noqa: PLC0414 (a fixture)
from tests.memories.llm.fake_server import Asked, FakeModel

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def ten_conversations(api: Api) -> None:
    for n in range(10):
        say(api, f"I live in street {n}", "Noted.", address={**TELEGRAM, "peer": f"p{n}", "chat": f"c{n}"}, at=NOW)


@pytest.fixture
def alice(workspace: Workspace) -> Client:
    return enter(make_user("alice", workspace=workspace, is_staff=True))


@pytest.mark.usefixtures("ten_conversations")
def test_a_week_is_reckoned_as_it_would_be_read(workspace: Workspace, stranger: Workspace) -> None:
    week = model_cost.forecast(workspace, now=LATER)
    assert [way.cost.calls for way in model_cost.ways(week)] == [12, 20, 10]
    assert week.extraction.tokens < week.verified.tokens < week.verified_alone.tokens
    assert model_cost.forecast(stranger, now=LATER).stretches == []
    assert model_cost.forecast(workspace, now=NOW + timedelta(days=8)).stretches == []


def test_talk_is_cut_where_somebody_was_silent_and_where_one_question_is_full(api: Api, workspace: Workspace) -> None:
    for minute in (0, 2, 4, 9):  # quiet after three minutes
        say(api, "word " * 1_000, "Noted.", at=NOW + timedelta(minutes=minute))
    week = model_cost.forecast(workspace, now=LATER)
    assert [(part.at - NOW).seconds // 60 for part in week.stretches] == [7, 12]
    say(api, "word " * 7_000, "Noted.", at=NOW + timedelta(minutes=30))
    assert len(model_cost.forecast(workspace, now=LATER).stretches) == 4


@pytest.mark.usefixtures("ten_conversations")
def test_the_forecast_is_near_what_it_then_costs(model: FakeModel, workspace: Workspace) -> None:
    week = model_cost.forecast(workspace, now=LATER)

    def answer(asked: Asked) -> Any:
        words = asked.data["messages"][0]["content"]
        return answering(fact(f"The user lives in {words[10:]}.", words))(asked)

    model.script = [answer] * 10
    counts = extract(LATER)
    spent = model_cost.spent_in_week(workspace, now=LATER)
    assert (counts["extraction_batches"], spent.calls) == (10, week.verified.calls)
    assert 0.5 < week.verified.prompt_tokens / spent.prompt_tokens < 2


def test_what_a_model_wrote_on_average_is_taken(workspace: Workspace) -> None:
    day = {"workspace": workspace, "local_date": NOW.date(), "purpose": "extraction", "model": "small"}
    row = Spend.objects.create(**day, calls=19, completion_tokens=19_000)
    assert model_cost.forecast(workspace, now=LATER).answer_tokens is None
    Spend.objects.filter(pk=row.pk).update(calls=20, completion_tokens=20_000)
    assert model_cost.forecast(workspace, now=LATER).answer_tokens == 1_000


@pytest.mark.usefixtures("ten_conversations")
def test_the_page_says_what_each_way_costs_and_may_do(alice: Client, settings: Any) -> None:
    settings.TEST_CLOCK = False
    page = alice.get(reverse("model_cost"), {"price_in": "1000", "price_out": "2000"})
    assert page.status_code == 200
    assert [way.is_configured for way, _money in page.context["ways"]] == [True, False, False]
    assert (page.context["is_on"], page.context["check"]) == (False, None)
    assert "MEMORY_VERIFY=no" in page.content.decode()


def test_a_stranger_sees_no_workspace_of_others(workspace: Workspace, stranger: Workspace) -> None:
    visitor = enter(make_user("mallory", workspace=stranger, is_staff=True))
    page = visitor.get(reverse("model_cost"), {"of": workspace.pk})
    assert page.context["workspace"] == stranger


def test_it_shows_what_the_last_check_found(alice: Client, model: FakeModel) -> None:
    assert "llm check" in alice.get(reverse("model_cost")).content.decode()
    found = {"at": "2026-03-01T12:00:00", "reader": "small", "true_right": 17, "true_read": 18}
    record_check("small", {**found, "false_right": 23, "false_read": 24})
    page = alice.get(reverse("model_cost")).content.decode()
    assert "17 of 18 true statements" in page and "23 of 24 false ones" in page


@pytest.mark.usefixtures("ten_conversations")
def test_what_waits_for_a_budget_is_counted_and_learnt_once_it_is_raised(
    alice: Client, model: FakeModel, workspace: Workspace, settings: Any
) -> None:
    settings.MEMORY_LLM_MONTHLY_TOKENS = 100
    assert extract(LATER)["waiting"] == 10
    waiting = ExtractionBatch.objects.filter(state=BufferState.WAITING)
    assert {batch.due_at for batch in waiting} == {datetime(2026, 4, 1, tzinfo=workspace.zone())}
    page = alice.get(reverse("model_cost"))
    assert (page.context["waiting"], page.context["limits"]) == (10, ("1,000,000", "100"))
    settings.MEMORY_LLM_MONTHLY_TOKENS = 0
    assert extract(LATER)["extraction_batches"] == 0
    alice.post(
        reverse("admin:memories_extractionbatch_changelist"),
        {"action": "extract_now", "_selected_action": [batch.pk for batch in waiting], "confirmed": "yes"},
    )
    model.script = [{"facts": [], "summary": ""}] * 10
    assert extract(datetime.now(UTC))["extraction_batches"] == 10


def test_the_months_limit_holds_over_its_days(workspace: Workspace, model: FakeModel, api: Api, settings: Any) -> None:
    settings.MEMORY_LLM_MONTHLY_TOKENS = 20_000
    day = {"workspace": workspace, "purpose": "extraction", "model": "small"}
    say(api, "I live in Porto", "Noted.", at=NOW)
    row = Spend.objects.create(**day, local_date=NOW.date() - timedelta(days=1), prompt_tokens=19_000)  # of February
    model.script = [{"facts": [], "summary": ""}] * 2
    assert extract(LATER)["extraction_batches"] == 1
    Spend.objects.filter(pk=row.pk).update(local_date=NOW.date(), purpose="compress")
    say(api, "I live in Braga", "Noted.", at=LATER)
    assert extract(LATER + timedelta(minutes=3))["waiting"] == 1


@pytest.mark.usefixtures("ten_conversations")
def test_the_command_says_it_without_a_model(workspace: Workspace, settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(model_cost, "WEEK", datetime.now(UTC) - NOW + timedelta(days=1))
    out = StringIO()
    call_command("llm", "cost", "--workspace", workspace.name, "--price-in", "1000", "--price-out", "2000", stdout=out)
    first, together, alone, once, spent = out.getvalue().splitlines()
    assert first == f"{workspace.name}: 10 conversations in the last week"
    assert together.startswith("  Read twice, conversations together: 12 calls, ")
    assert "20 calls" in alone and "10 calls" in once
    assert float(once.rpartition("about ")[2]) < float(together.rpartition("about ")[2])
    assert spent == "  in the last week it was asked 0 times, with 0 tokens"


def test_what_was_said_before_there_was_a_model_is_learnt_once_there_is_one(
    api: Api, alice: Client, workspace: Workspace, request: pytest.FixtureRequest, settings: Any
) -> None:
    settings.TEST_CLOCK = True
    said_at = datetime.now(UTC) - timedelta(days=2)
    say(api, "I work for Nebula in Hangzhou", "Noted.", at=said_at)
    say(api, "We launch on Friday", "Noted.", address=GROUP, at=said_at)
    extract(said_at + timedelta(minutes=3))
    days = DailyEvent.objects.count()
    page = alice.get(reverse("model_cost"))
    assert page.context["unread"] == 2 and "Have them read now" not in page.content.decode()
    model: FakeModel = request.getfixturevalue("model")
    alice.post(reverse("model_cost"))
    alice.post(reverse("model_cost"))  # a second time there is nothing left to put into the buffer

    def answer(asked: Asked) -> Any:
        words = asked.data["messages"][0]["content"]
        return answering(fact(f"It was told that {words}.", words))(asked)

    model.script = [answer] * 2
    assert extract(datetime.now(UTC))["extraction_batches"] == 2
    facts = (
        Entry.objects.filter(type="fact", source="extraction", content__startswith="It was told")
        .order_by("pk")
        .values_list("scope__kind", "origins__len", "stated_at")
    )
    assert list(facts) == [("user", 1, said_at)] * 2  # of a group, what one person said is that person's
    assert DailyEvent.objects.count() == days  # a day is not described twice
    assert alice.get(reverse("model_cost")).context["unread"] == 0


@pytest.mark.usefixtures("model")
def test_what_was_taken_out_of_use_is_not_read_afterwards(api: Api, workspace: Workspace, settings: Any) -> None:
    said_at = datetime.now(UTC) - timedelta(days=2)
    say(api, "I work for Nebula in Hangzhou", "Noted.", at=said_at)
    ExtractionBatch.objects.all().delete()
    assert unread.count(workspace, now=datetime.now(UTC)) == 1
    entries.expire(Entry.objects.get(), now=datetime.now(UTC), actor="user:alice")
    assert unread.count(workspace, now=datetime.now(UTC)) == 0
    assert unread.buffer_unread(workspace, now=datetime.now(UTC), actor="cli") == 0


def test_a_viewer_has_nothing_read(api: Api, workspace: Workspace) -> None:
    say(api, "I work for Nebula", "Noted.", at=datetime.now(UTC) - timedelta(days=2))
    viewer = enter(make_user("vera", workspace=workspace, role="viewer", is_staff=True))
    assert viewer.post(reverse("model_cost")).status_code == 403
