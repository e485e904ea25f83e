"""What `pip install memplatform` brings: all that runs, nothing that is everybody's, and the same twice."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from memplatform_client import __version__ as client_version

from memplatform.environment import PACKAGES
from tests import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DATA = ("*.sql", "*.txt", "*.toml", "*.jsonl", "*.npz", "*.tsv", "*.css", "*.js", "*.svg", "*.html", "*.mo", "*.json")


def requirements(file: str) -> set[str]:
    lines = (line.partition("#")[0].strip() for line in (ROOT / file).read_text().splitlines())
    return {line for line in lines if line}


def build(source: Path, target: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(command, cwd=source, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, check=True)
    (wheel,) = target.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both wheels as they lie in site-packages, in a folder with a space."""
    folder = tmp_path_factory.mktemp("site packages")
    for file in (wheel, build(ROOT / "clients" / "python", tmp_path_factory.mktemp("client"))):
        zipfile.ZipFile(file).extractall(folder)
    return folder


def run(installed: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The script `memplatform` of the wheel, without a checkout, in the home of somebody else."""
    outside = {name: text for name, text in os.environ.items() if not name.startswith(("MEM", "DATABASE", "XDG_"))}
    return subprocess.run(
        [sys.executable, "-P", "-m", "memplatform_client", *arguments],
        cwd=home,
        env={**outside, "PYTHONPATH": str(installed), "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.thorough
def test_two_builds_have_one_hash(wheel: Path, tmp_path: Path) -> None:
    assert build(ROOT, tmp_path).read_bytes() == wheel.read_bytes()


@pytest.mark.thorough
def test_nothing_of_it_is_everybodys(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


@pytest.mark.thorough
def test_every_file_that_runs_read_is_in_it(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    places = [*PACKAGES, "templates", "locale"]
    listed = subprocess.run(["git", "ls-files", "--", *places], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [file for file in listed.stdout.split() if Path(file).match("*.py") or any(map(Path(file).match, DATA))]
    assert len(files) > 500
    wanted = {f"memplatform/{file}" if file.startswith(("templates/", "locale/")) else file for file in files}
    assert wanted - inside == {"memplatform/management/commands/schema.py"}  # it writes a page of docs/


@pytest.mark.thorough
def test_it_needs_what_a_checkout_installs_and_the_client_of_its_version(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
    needs = set(message_from_string(archive.read(name).decode()).get_all("Requires-Dist", []))
    plain = {re.sub(r"\s", "", need) for need in needs if "extra ==" not in need}
    ours = {*requirements("requirements.txt"), *requirements("requirements-embedder.txt")}
    version = PROJECT["project"]["version"]
    assert version == client_version

    def alike(need: str) -> str:
        named, _, rest = need.partition("==")
        name, _, extras = named.partition("[")
        return f"{re.sub('[-_.]+', '-', name).lower()}[{','.join(sorted(extras.rstrip(']').split(',')))}]=={rest}"

    assert set(map(alike, plain)) == set(map(alike, ours)) | {alike(f"memplatform-client=={version}")}


@pytest.mark.thorough
def test_its_files_are_found_and_its_data_is_where_the_system_keeps_data(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "memories.py").write_text("raise SystemExit('the folder a person is in was imported')")
    code = (
        "from django.conf import settings; from django.template.loader import get_template;"
        "from django.utils.translation import gettext, override; get_template('front.html');"
        "print(settings.DATA_DIR);"
        'exec(\'with override("zh-hans"): print(gettext("Everything has stopped."))\')'
    )
    database = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"}  # the shell asks it nothing
    os.environ.update(database)
    try:
        outcome = run(installed, tmp_path, "manage", "shell", "-v", "0", "-c", code)
    finally:
        del os.environ["DATABASE_URL"]
    assert outcome.stderr == ""
    folder, chinese = outcome.stdout.splitlines()
    assert Path(folder) == tmp_path / ".local" / "share" / "memplatform"
    assert chinese and not chinese.isascii()


@pytest.mark.thorough
def test_its_script_has_the_commands_of_people_and_those_of_the_platform(installed: Path, tmp_path: Path) -> None:
    listed = run(installed, tmp_path, "--help").stdout
    assert {"ask", "up", "backup", "manage"} <= {line.split()[0] for line in listed.splitlines() if line.strip()}
    assert run(installed, tmp_path, "manage", "version").stdout.strip().startswith("5.2")
    without = tmp_path / "client alone"
    without.mkdir()
    (without / "memplatform_client").symlink_to(installed / "memplatform_client")
    refusal = run(without, tmp_path, "up")
    assert (refusal.returncode, "pip install memplatform" in refusal.stderr) == (2, True)
    assert " up " not in run(without, tmp_path, "--help").stdout


def test_both_packages_have_the_same_script() -> None:
    client = tomllib.loads((ROOT / "clients" / "python" / "pyproject.toml").read_text())
    assert PROJECT["project"]["scripts"] == client["project"]["scripts"]


def test_the_lock_has_every_package_that_is_named_with_its_hashes() -> None:
    text = (ROOT / "deploy" / "requirements.lock").read_text()
    locked = dict(re.findall(r"^([a-z0-9][\w.-]*)==(\S+)", text, re.MULTILINE))
    for file in (
        *("requirements.txt", "requirements-embedder.txt"),
        *("deploy/requirements-archive.txt", "deploy/requirements-telemetry.txt"),
    ):
        for line in requirements(file):
            name, _, version = re.sub(r"\[.*\]", "", line).partition("==")
            assert locked.get(re.sub("[-_.]+", "-", name).lower()) == version, f"{line}: make lock"
    pins = re.split(r"\n(?=[a-z0-9])", text.strip())
    assert len(pins) > 80
    assert [pin.partition(" ")[0] for pin in pins if "--hash=sha256:" not in pin] == []
