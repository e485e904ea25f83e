"""The tokens of a day hold, however many ask at once, and whoever is killed meanwhile (D7)."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import structlog
from django.conf import settings as django_settings
from django.db import connection
from django.db.models import F, Sum

from memories import llm
from memories.exceptions import BudgetSpent, ModelFailed
from memories.llm import run
from memories.models import Spend, Workspace
from tests import ROOT
from tests.memories.llm.conftest import GOOD, extract
from tests.memories.llm.fake_server import FakeModel, Reply


def spent(workspace: Workspace) -> int:
    """Tokens of a workspace, those reserved included."""
    of_all = F("prompt_tokens") + F("completion_tokens") + F("reserved_tokens")
    return int(Spend.objects.filter(workspace=workspace).aggregate(sum=Sum(of_all))["sum"] or 0)


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What each of so many threads came to; an error of ours is an answer too."""
    start = threading.Barrier(count)

    def alone(n: int) -> Any:
        start.wait()
        try:
            return work(n)
        except (BudgetSpent, ModelFailed) as error:
            return type(error)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(alone, range(count)))


@pytest.mark.django_db(transaction=True)
def test_many_at_once_never_reserve_more_than_there_is(workspace: Workspace, now: datetime, settings: Any) -> None:
    settings.MEMORY_LLM_DAILY_TOKENS = 1_000

    def reserve(n: int) -> str:
        purpose, model = f"purpose{n % 3}", f"model{n % 2}"  # rows of their own: no row's lock would do
        run.reserve(workspace, purpose, model, prompt_tokens=60, completion_tokens=40, now=now)
        return "granted"

    results = at_once(24, reserve)
    assert results.count("granted") == 10
    assert spent(workspace) == 1_000
    assert Spend.objects.aggregate(sum=Sum("refused"))["sum"] == 14


@pytest.mark.django_db(transaction=True)
def test_many_questions_at_once_stay_within_the_budget(
    model: FakeModel, workspace: Workspace, now: datetime, settings: Any
) -> None:
    settings.MEMORY_LLM_CALLS = 4
    settings.MEMORY_LLM_MAX_TOKENS = 500
    extract(workspace, now)
    answer = spent(workspace)
    settings.MEMORY_LLM_DAILY_TOKENS = answer * 6
    model.seconds = 0.02
    results = at_once(12, lambda n: extract(workspace, now, purpose=f"purpose{n % 3}"))
    assert BudgetSpent in results
    answered = [result for result in results if result is not BudgetSpent]
    assert answered
    assert model.calls == 1 + len(answered)
    assert model.tokens <= spent(workspace) <= settings.MEMORY_LLM_DAILY_TOKENS
    assert Spend.objects.aggregate(sum=Sum("reserved_tokens"))["sum"] == 0


@pytest.mark.django_db(transaction=True)
def test_only_so_many_ask_at_the_same_time(
    model: FakeModel, workspace: Workspace, now: datetime, settings: Any
) -> None:
    settings.MEMORY_LLM_CALLS = 3
    model.seconds = 0.5
    results = at_once(6, lambda n: extract(workspace, now))
    assert ModelFailed not in results
    assert (model.calls, model.most_at_once) == (6, 3)


@pytest.mark.django_db(transaction=True)
def test_whoever_finds_no_place_in_time_is_told_and_costs_nothing(
    model: FakeModel, workspace: Workspace, now: datetime, settings: Any
) -> None:
    settings.MEMORY_LLM_CALLS = 1
    model.seconds = 1.0
    patient = threading.Thread(target=lambda: (extract(workspace, now), connection.close()))
    patient.start()
    until = time.monotonic() + 5
    while not model.calls and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(ModelFailed, match="busy"):
        extract(workspace, now, seconds=0.3)
    patient.join()
    assert model.calls == 1
    assert Spend.objects.get().calls == 1


@pytest.mark.django_db(transaction=True)
def test_a_killed_process_gives_back_its_place_and_its_reservation_lapses_with_the_day(
    model: FakeModel, workspace: Workspace, now: datetime, settings: Any
) -> None:
    settings.MEMORY_LLM_CALLS = 1
    model.script = [Reply(GOOD, seconds=3)]
    child = subprocess.Popen([sys.executable, "-c", _CHILD], cwd=ROOT, env=_environment(model, workspace, now))
    until = time.monotonic() + 30
    while not model.calls and time.monotonic() < until:
        time.sleep(0.02)
    assert model.calls == 1
    child.send_signal(signal.SIGKILL)
    child.wait()
    left = spent(workspace)
    assert left > 4_096
    begun = time.monotonic()
    assert extract(workspace, now).calls == 1  # its place is free
    assert time.monotonic() - begun < 2
    settings.MEMORY_LLM_DAILY_TOKENS = left + 1_000
    with pytest.raises(BudgetSpent):  # today it counts: the question was sent
        extract(workspace, now)
    assert extract(workspace, now + timedelta(days=1)).calls == 1


_CHILD = """
import os, django
from datetime import datetime
django.setup()
from django.conf import settings
settings.DATABASES["default"]["NAME"] = os.environ["TRIAL_DATABASE"]
from memories.models import Workspace
from tests.memories.llm.conftest import extract
extract(Workspace.objects.get(pk=int(os.environ["TRIAL_WORKSPACE"])), datetime.fromisoformat(os.environ["TRIAL_NOW"]))
"""


def _environment(model: FakeModel, workspace: Workspace, now: datetime) -> dict[str, str]:
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "memplatform.settings",
        "MEMORY_LLM_BASE_URL": model.url,
        "MEMORY_LLM_MODEL": "small",
        "MEMORY_LLM_CALLS": "1",
        "TRIAL_DATABASE": str(django_settings.DATABASES["default"]["NAME"]),
        "TRIAL_WORKSPACE": str(workspace.pk),
        "TRIAL_NOW": now.isoformat(),
    }


@pytest.mark.django_db
def test_what_is_refused_is_counted_logged_and_never_sent(
    model: FakeModel, workspace: Workspace, now: datetime, settings: Any
) -> None:
    settings.MEMORY_LLM_DAILY_TOKENS = 0
    with structlog.testing.capture_logs() as lines, pytest.raises(BudgetSpent):
        extract(workspace, now)
    (line,) = [line for line in lines if line["event"] == "llm.budget_spent"]
    assert (line["workspace"], line["purpose"], line["date"]) == (workspace.pk, "extraction", "2026-03-01")
    spend = Spend.objects.get()
    assert (spend.refused, spend.calls, spend.reserved_tokens, model.calls) == (1, 0, 0, 0)


@pytest.mark.django_db
def test_corrections_and_retries_are_paid_for_too(
    model: FakeModel, workspace: Workspace, now: datetime, settings: Any
) -> None:
    settings.MEMORY_LLM_MAX_TOKENS = 100
    settings.MEMORY_LLM_CORRECTIONS = 50
    settings.MEMORY_LLM_DAILY_TOKENS = 6_000
    model.otherwise = "no"
    with pytest.raises(BudgetSpent):
        extract(workspace, now)
    assert 2 <= model.calls < 12
    assert model.tokens <= spent(workspace) <= 6_000


@pytest.mark.django_db
def test_a_day_begins_at_the_workspaces_own_midnight(
    model: FakeModel, workspace: Workspace, stranger: Workspace, settings: Any
) -> None:
    workspace.time_zone = "Asia/Shanghai"
    evening = datetime(2026, 3, 1, 15, 59, tzinfo=UTC)
    extract(workspace, evening)
    settings.MEMORY_LLM_DAILY_TOKENS = spent(workspace)
    with pytest.raises(BudgetSpent):
        extract(workspace, evening)
    settings.MEMORY_LLM_DAILY_TOKENS = 1_000_000
    extract(workspace, evening + timedelta(minutes=2))
    extract(stranger, evening)
    days = Spend.objects.filter(calls=1).order_by("pk").values_list("workspace_id", "local_date")
    assert list(days) == [
        (workspace.pk, date(2026, 3, 1)),
        (workspace.pk, date(2026, 3, 2)),
        (stranger.pk, date(2026, 3, 1)),
    ]


@pytest.mark.django_db
def test_one_workspace_does_not_spend_for_another(
    model: FakeModel, workspace: Workspace, stranger: Workspace, now: datetime, settings: Any
) -> None:
    settings.MEMORY_LLM_DAILY_TOKENS = 8_000
    for _time in range(9):
        try:
            extract(workspace, now)
        except BudgetSpent:
            break
    else:
        pytest.fail("the budget has no end")
    assert extract(stranger, now).calls == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 10**18, "completion_tokens": 10**18},
        {"prompt_tokens": -5, "completion_tokens": -5},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": None},
        {},
    ],
)
def test_a_server_that_cannot_count_is_not_believed(
    usage: dict[str, Any], model: FakeModel, workspace: Workspace, now: datetime
) -> None:
    model.script = [Reply(GOOD, usage=usage, has_usage=bool(usage))]
    extract(workspace, now)
    spend = Spend.objects.get()
    assert 100 < spend.prompt_tokens <= 10_000_000
    assert 10 < spend.completion_tokens <= 10_000_000


@pytest.mark.django_db
def test_places_are_given_back_after_a_failure(
    model: FakeModel, workspace: Workspace, now: datetime, settings: Any
) -> None:
    settings.MEMORY_LLM_CALLS = 1
    model.otherwise = Reply(status=500)
    with pytest.raises(ModelFailed):
        extract(workspace, now)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            [5 << 24],
        )
        assert cursor.fetchone() == (0,)
    with run.permit(time.monotonic() + 1):
        assert llm.is_on()
