"""The files of deploy/ name what there is."""

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest
from memplatform_client.cli.commands import memplatform

from tests import ROOT
from tests.test_docs import variables_in_code

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_command_there_is_with_settings_there_are(unit: Path) -> None:
    parser = configparser.ConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(unit)
    program, word = parser["Service"]["ExecStart"].split()
    assert Path(program).name == "memplatform"
    assert word in memplatform.commands
    assert parser["Service"]["Environment"].partition("=")[0] in variables_in_code()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_nothing_wrong_with_a_unit(unit: Path, tmp_path: Path) -> None:
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/memplatform/bin/memplatform", "/bin/true"))  # it looks for the file
    outcome = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True)
    assert (outcome.returncode, outcome.stderr) == (0, "")
