"""What is shipped is listed, under licences somebody allowed, and holds no secret."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests import ROOT

#: Read as bytes by no person, or made of hashes.
UNREAD = (".png", ".npz", ".mo", ".lock", ".po", ".svg")


@pytest.fixture(scope="module")
def inventory() -> ModuleType:
    spec = importlib.util.spec_from_file_location("inventory", ROOT / "deploy" / "inventory.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def licences(inventory: ModuleType) -> dict[str, str]:
    found: dict[str, str] = inventory.licences()
    return found


def test_every_package_that_is_shipped_is_under_a_licence_somebody_allowed(
    inventory: ModuleType, licences: dict[str, str]
) -> None:
    assert len(licences) > 80
    assert list(inventory.not_allowed(licences)) == []


def test_a_licence_nobody_has_read_is_refused(inventory: ModuleType) -> None:
    (refusal,) = inventory.not_allowed({"left-pad": "AGPL-3.0-only", "django": "BSD-3-Clause"})
    assert "left-pad is under AGPL-3.0-only" in refusal
    assert len(list(inventory.not_allowed({"other": "LGPL-3.0-only", "mixed": "MIT AND GPL-2.0-only"}))) == 2


def test_the_page_of_licences_is_of_the_packages_of_the_lock(inventory: ModuleType, licences: dict[str, str]) -> None:
    page = inventory.PAGE.read_text()
    assert [name for name in inventory.locked() if f"\n| {name} |" not in page] == [], "make licences"
    assert [name for name, licence in licences.items() if f"\n| {name} | {licence} |\n" not in page] == []
    assert [what for what in inventory.RULES["inside"] if f"| {what} |" not in page] == []


@pytest.mark.thorough
def test_the_bill_of_materials_is_valid_complete_and_the_same_twice(inventory: ModuleType, tmp_path: Path) -> None:
    first, second = inventory.sbom(tmp_path / "first"), inventory.sbom(tmp_path / "second")
    text = first.read_text()
    assert text == second.read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = json.loads(text)
    assert {part["name"]: part["version"] for part in bill["components"]} == inventory.locked()
    assert all(part["externalReferences"][0]["hashes"] for part in bill["components"])
    assert bill["metadata"]["component"]["name"] == "memplatform"


def secrets_in(files: list[str], folder: Path, baseline: Path) -> subprocess.CompletedProcess[str]:
    """What detect-secrets finds that the baseline does not list; the baseline of the tree stays as it is."""
    copy = baseline.with_name("baseline.json")
    shutil.copy(ROOT / ".secrets.baseline", copy)
    command = [sys.executable, "-m", "detect_secrets.pre_commit_hook", "--baseline", str(copy), *files]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.thorough
def test_no_file_holds_a_secret_that_is_not_listed_as_made_up(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [file for file in listed.split("\0") if file and not file.endswith(UNREAD)]
    assert len(files) > 1000
    outcome = secrets_in(files, ROOT, tmp_path / "x")
    assert "Potential secrets" not in outcome.stdout, outcome.stdout


def test_a_new_secret_is_found(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    token = "gh" + "p_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"
    (tmp_path / "settings.py").write_text(f'TOKEN = "{token}"\n')
    outcome = secrets_in(["settings.py"], tmp_path, tmp_path / "x")
    assert outcome.returncode == 1 and "GitHub Token" in outcome.stdout
