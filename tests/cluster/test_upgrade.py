"""The next version of a rolling upgrade, and the page about it. No host is needed for it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from cluster import throughput, upgrade
from cluster.upgrade import PLANTED, Step, Upgrade
from tests import ROOT
from tests.release.side_by_side import findings_in

ABOUT: dict[str, object] = {"date": "2026-03-01", "machine": "2 processors", "load_average": 3}


@pytest.mark.django_db
def test_what_the_next_version_adds_goes_beside_the_version_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / PLANTED
    shutil.copytree(ROOT / PLANTED, package)
    name = upgrade.plant(tmp_path)
    shutil.move(package, tmp_path / "planted_migrations")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("django.conf.settings.MIGRATION_MODULES", {"sessions_app": "planted_migrations"}, raising=False)
    loader = MigrationLoader(connection)
    key = ("sessions_app", name)
    assert key in loader.graph.leaf_nodes("sessions_app")
    assert findings_in(loader.disk_migrations[key], loader.project_state(key, at_end=False)) == []


def test_an_upgrade_is_well_while_no_write_waits_longer_than_one_host_takes() -> None:
    calm = {"turns": 1.0, "writes": 1.2, "recall": 0.5, "recall_database": 0.5}
    one = Upgrade("abc", "def", [Step("web1", 10, 40), Step("web2", 42, 60)], 90, {**calm, "writes": 29.0}, calm)
    assert one.is_well
    page = upgrade.page_of(one, ABOUT)
    assert "| web1 | 30 |" in page and "| writes | 1.2 | 29.0 |" in page and "Found: nothing." in page
    one.silence["writes"] = 31.0
    assert not one.is_well


def test_rates_stand_beside_the_first_of_their_row() -> None:
    seen = {1: [10.0, 12.0, 2.0], 2: [20.0, 24.0, 19.0], 3: [30.0, 36.0, 30.0]}
    figures = dict.fromkeys((*throughput.CALLS, throughput.STALE), seen)
    page = throughput.page_of(figures, figures)
    assert "| `/recall` | 10.0 (1.00 ×), 2.0 to 12.0 | 20.0 (2.00 ×), 19.0 to 24.0 | 30.0 (3.00 ×), 30.0" in page
    assert "| recall, stale | 10.0 | 20.0 | 30.0 |" in page


def test_the_words_of_the_command_are_all_there() -> None:
    command = [sys.executable, "-m", "cluster", "--help"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert all(word in text for word in ("up", "down", "test", "upgrade", "throughput", "check"))
