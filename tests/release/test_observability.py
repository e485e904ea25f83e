"""Alerts and dashboards ask for figures that are served, and each alert has its part of the runbook."""

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from memories.models import Workspace
from memories.models.batch import Batch
from memplatform.operations.models import Heartbeat
from tests import ROOT
from tests.conftest import NOW

FOLDER = ROOT / "deploy" / "observability"
ALERTS = [rule for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]
DASHBOARDS = sorted((FOLDER / "grafana").glob("*.json"))
RUNBOOKS = {language: ROOT / "docs" / "howto" / f"runbook{language}.md" for language in ("", ".zh-hans")}
KEY = "the key of the metrics"
#: What Prometheus makes of every scrape, and what Patroni 4 serves of each database host.
OF_OTHERS = {"up"} | {
    f"patroni_{name}"
    for name in ("primary", "replica", "xlog_location", "xlog_replayed_location", "postgres_streaming")
}


def panels() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in DASHBOARDS:
        for panel in json.loads(file.read_text())["panels"]:
            yield f"{file.stem}: {panel['title']}", panel


QUERIES = {rule["alert"]: rule["expr"] for rule in ALERTS} | {
    f"{name} {target['refId']}": target["expr"].replace("$__rate_interval", "5m")
    for name, panel in panels()
    for target in panel["targets"]
}


def selected(node: Any) -> Iterator[Any]:
    """Every selector of a parsed query."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
        if child := getattr(node, name, None):
            yield from selected(child)
    for child in getattr(node, "args", None) or []:
        yield from selected(child)


@pytest.fixture
def served(client: Client, workspace: Workspace, settings: Any) -> dict[str, set[str]]:
    """The names /metrics serves, each with its labels."""
    settings.METRICS_KEY = KEY
    Heartbeat.objects.create(name="web", pid=1, started_at=NOW, beat_at=NOW)
    client.get("/livez")
    text = client.get("/metrics", headers={"Authorization": f"Bearer {KEY}"}).content.decode()
    names: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        names.setdefault(f"{family.name}_total" if family.type == "counter" else family.name, set())
        for suffix in ("_bucket", "_count", "_sum") if family.type in ("histogram", "summary") else ():
            names.setdefault(family.name + suffix, set())
        for sample in family.samples:
            names.setdefault(sample.name, set()).update(sample.labels)
    return names


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_can_be_read_and_names_something(name: str) -> None:
    assert list(selected(promql_parser.parse(QUERIES[name]))), QUERIES[name]


@pytest.mark.django_db
def test_every_query_asks_for_a_figure_that_is_served(served: dict[str, set[str]]) -> None:
    asked = {selector.name for query in QUERIES.values() for selector in selected(promql_parser.parse(query))}
    assert len(asked) > 20
    assert sorted(asked - OF_OTHERS - set(served)) == []
    ours = {name for name in served if name.startswith("memplatform_") and not name.endswith("_created")}
    assert {re.sub("_(bucket|count|sum|total)$", "", name) for name in ours - asked} - {
        re.sub("_(bucket|count|sum|total)$", "", name) for name in asked
    } == set(), "no dashboard or alert shows them"


@pytest.mark.django_db
def test_a_batch_that_waits_for_a_person_is_counted_over_all_workspaces(served: Any, client: Client) -> None:
    workspace = Workspace.objects.get()
    reasons = [{"code": "share"}]
    Batch.objects.create(workspace=workspace, name="expire", run="r1", actor="x", held_because=reasons, created_at=NOW)
    Batch.objects.create(workspace=workspace, name="expire", run="r2", actor="x", created_at=NOW)
    text = client.get("/metrics", headers={"Authorization": f"Bearer {KEY}"}).content.decode()
    figures = dict(re.findall(r"^(memplatform_held\w+) (\S+)$", text, re.MULTILINE))
    assert figures["memplatform_held_batches"] == "1.0"
    assert float(figures["memplatform_held_batches_age_seconds"]) > 0


@pytest.mark.parametrize("language", RUNBOOKS)
def test_each_alert_has_its_part_of_the_runbook(language: str) -> None:
    headings = re.findall(r"^## (\w+)$", RUNBOOKS[language].read_text(), re.MULTILINE)
    assert headings == [rule["alert"] for rule in ALERTS]
    for rule in ALERTS:
        assert rule["annotations"]["runbook_url"] == f"docs/howto/runbook.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in ("page", "ticket", "look") and rule["annotations"]["summary"]


@pytest.mark.parametrize("language", RUNBOOKS)
def test_a_part_of_the_runbook_says_what_it_means_and_what_to_do(language: str) -> None:
    parts = RUNBOOKS[language].read_text().split("\n## ")[1:]
    words = {"": ("**Means.**", "**Do.**"), ".zh-hans": ("**含义。**", "**处理。**")}[language]
    assert [part.split("\n")[0] for part in parts if not all(word in part for word in words)] == []


def test_a_dashboard_is_one_that_grafana_takes() -> None:
    assert len(DASHBOARDS) == 2
    for file in DASHBOARDS:
        board = json.loads(file.read_text())
        assert {"uid", "title", "panels", "schemaVersion", "templating", "time"} <= set(board)
        ids = [panel["id"] for panel in board["panels"]]
        assert len(ids) == len(set(ids)) > 5
        for panel in board["panels"]:
            assert panel["description"] and panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
