"""An upgrade under load, killed in its backup, in a migration and while it builds an index: nothing is lost."""

import shutil
import tempfile
from pathlib import Path

import pytest

from benchmarks import upgrade
from memplatform import postgres


@pytest.mark.thorough
def test_an_upgrade_that_is_killed_again_and_again_loses_nothing_and_can_be_taken_back() -> None:
    top = Path(tempfile.mkdtemp(prefix="upgrade"))
    top.chmod(0o755)
    try:
        newer = upgrade.newer_version(top / "newer", pause=2, delay=0.02)
        assert upgrade.alone(top / "data", newer, turns=80, writers=2) == []
    finally:
        for data in (top / "data", top / "restored"):
            postgres.down(data)
        shutil.rmtree(top)
