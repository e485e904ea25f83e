"""/metrics: what is counted, over all web processes, for those who may know."""

import math
import re
import time
import urllib.request
from typing import Any

import pytest
from django.test import Client, override_settings
from django.utils import timezone
from django_q.models import OrmQ

from channels_app.models import Channel, Connection
from memories.models import Workspace
from memories.tenancy.row_level_security import WEB_ROLE
from memplatform.operations.models import Heartbeat
from tests.conftest import TELEGRAM, Api, acting_as
from tests.system.web.conftest import KEY


def scraped(text: str) -> dict[str, float]:
    """Every sample by its name and labels."""
    return {m[1]: float(m[2]) for m in re.finditer(r"^(memplatform_\S+?(?:\{.*\})?) (\S+)$", text, re.MULTILINE)}


def scrape() -> dict[str, float]:
    with override_settings(METRICS_KEY=KEY):
        answer = Client().get("/metrics", headers={"Authorization": f"Bearer {KEY}"})
    assert answer["Content-Type"].startswith("text/plain; version=")
    return scraped(answer.content.decode())


@pytest.mark.django_db
def test_what_bots_do_is_counted(api: Api) -> None:
    before = scrape()
    turn = {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."}
    api.post("turns", turn)
    api.post("turns", turn)
    api.post("recall", {"address": TELEGRAM, "message": "did I move to Hangzhou?"})
    api.post("recall", {"address": TELEGRAM, "message": "ok"})
    after = scrape()
    rose = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    assert rose['memplatform_captures_total{outcome="created"}'] == 1
    assert rose['memplatform_captures_total{outcome="skipped"}'] == 1
    assert rose['memplatform_recalls_total{outcome="found"}'] == 1
    assert rose['memplatform_recalls_total{outcome="not_needed"}'] == 1
    assert rose["memplatform_entries_served_total"] == 1
    assert rose["memplatform_entry_tokens_sum"] > 10
    assert rose['memplatform_recall_seconds_count{step="search"}'] == 1
    route = '{method="POST",route="api/v1/turns",status="201"}'
    assert rose[f"memplatform_request_seconds_count{route}"] == 2


@pytest.mark.django_db
def test_a_recall_is_counted_by_its_verdict_whatever_it_served(api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."})
    before = scrape()
    cities = "Berlin, Paris, Rome, London, Madrid, Vienna, Lisbon, Dublin"
    message = f"which password opens the database servers of {cities}, Hangzhou?"
    answer = api.post("recall", {"address": TELEGRAM, "message": message}).json()
    after = scrape()
    none = 'memplatform_recalls_total{outcome="none"}'
    assert answer["evidence"] == "none" and answer["memories"]
    assert after[none] - before.get(none, 0) == 1


@pytest.mark.django_db
def test_how_things_stand_is_asked_of_the_database(api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."})
    OrmQ.objects.create(key="memplatform", payload="", lock="2026-01-01T00:00:00Z")
    samples = scrape()
    assert samples["memplatform_embedding_backlog"] == 1
    assert samples["memplatform_queue_length"] == 1
    assert samples["memplatform_queue_age_seconds"] > 1_000


@pytest.mark.django_db
def test_a_part_that_should_be_there_and_is_not_is_silent_for_ever(workspace: Workspace, settings: Any) -> None:
    """An alert compares figures: of a part that beats nowhere there was none, and it could not fire."""
    settings.MCP = False
    at = timezone.now()
    Heartbeat.objects.create(name="embedder", pid=1, started_at=at, beat_at=at)
    silence = 'memplatform_heartbeat_age_seconds{process="%s"}'
    samples = scrape()
    assert samples[silence % "worker"] == math.inf
    assert samples[silence % "embedder"] < 30
    assert {silence % "channels", silence % "mcp"}.isdisjoint(samples)
    settings.MCP = True
    channel = Channel.objects.create(workspace=workspace, platform="wecom", account="小助手")
    Connection.objects.create(workspace=workspace, channel=channel)
    with acting_as(WEB_ROLE):
        samples = scrape()
    assert samples[silence % "channels"] == samples[silence % "mcp"] == math.inf


@pytest.mark.django_db
def test_strangers_from_afar_are_not_told() -> None:
    assert Client().get("/metrics", REMOTE_ADDR="203.0.113.9").status_code == 403


@pytest.mark.django_db
def test_labels_hold_routes_and_never_what_callers_wrote(api: Api) -> None:
    api.get("entries/private-thing-of-mine")
    api.get("nowhere/private-thing-of-mine")
    assert not any("private-thing" in name for name in scrape())


def get(url: str) -> str:
    end = time.monotonic() + 40
    while True:
        try:
            request = urllib.request.Request(url, headers={"Authorization": f"Bearer {KEY}"})
            with urllib.request.urlopen(request, timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            assert time.monotonic() < end, "it does not answer"
            time.sleep(0.1)


def test_two_web_processes_count_as_one(web: str) -> None:
    get(f"{web}/livez")
    for _ in range(39):
        get(f"{web}/livez")
    name = 'memplatform_request_seconds_count{method="GET",route="livez",status="200"}'
    assert [scraped(get(f"{web}/metrics"))[name] for _ in range(6)] == [40.0] * 6
