"""What a stranger meets in the repository parses, and names words and places there are."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from memplatform.setup.installation import WORDS
from tests import ROOT
from tests.test_contributing import ROWS

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [form for form in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if form.name != "config.yml"]
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
}
TARGETS = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)


def steps(workflow: Path) -> list[dict[str, Any]]:
    parsed = yaml.safe_load(workflow.read_text())
    return [step for job in parsed["jobs"].values() for step in job["steps"]]


@pytest.mark.thorough
@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_file_of_the_forge_is_as_the_forge_wants_it(schema: str) -> None:
    files = [str(file) for file in SCHEMAS[schema]]
    outcome = run("check_jsonschema", "--builtin-schema", schema, *files)
    assert (len(files) > 0, outcome.returncode) == (True, 0), outcome.stdout


def test_no_workflow_gives_a_stranger_more_than_it_must() -> None:
    program = Path(sys.executable).with_name("zizmor")
    outcome = subprocess.run([program, "--offline", "--no-progress", str(GITHUB)], capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout


def test_every_yaml_file_is_well_formed() -> None:
    outcome = run("yamllint", "--strict", ".github", "deploy", ".pre-commit-config.yaml", ".yamllint.yaml")
    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_a_workflow_calls_words_and_places_there_are(workflow: Path) -> None:
    assert TARGETS
    script = "\n".join(step.get("run", "") for step in steps(workflow))
    assert [word for word in re.findall(r"\bmake ([a-z][\w-]*)", script) if word not in TARGETS.group(1).split()] == []
    named = re.findall(r"\b((?:tests|deploy|docs|clients)/[\w./-]+)", workflow.read_text())
    assert [place for place in named if not (ROOT / place).exists()] == []
    for used in (step["uses"] for step in steps(workflow) if "uses" in step):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", used), f"{used} can be moved to other code"


def test_the_matrix_has_every_python_the_package_promises() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = {line.split()[-1] for line in project["classifiers"] if re.search(r"Python :: 3\.\d+$", line)}
    matrix = yaml.safe_load((GITHUB / "workflows" / "tests.yml").read_text())["jobs"]["test"]["strategy"]["matrix"]
    assert promised <= set(matrix["python"]) and len(matrix["python"]) == 4
    assert {entry["word"] for entry in matrix["include"]} | set(matrix["word"]) <= set(WORDS)


def test_a_commit_is_held_to_what_make_check_runs_before_the_tests() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = [hook["entry"] for hook in repository["hooks"]]
    checks = [" ".join(command) for command in WORDS["check"].commands if "pytest" not in command]
    assert len(checks) == 7
    assert [check for check in checks if f"python3 bootstrap.py python {check}" not in entries] == []
    assert all(entry.split()[2] in WORDS for entry in entries)


def test_a_good_first_issue_is_a_row_of_the_table_in_contributing() -> None:
    form = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / "good-first-issue.yml").read_text())
    options = next(part["attributes"]["options"] for part in form["body"] if part["type"] == "dropdown")
    assert [option for option in options if option not in ROWS] == []
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## A first change")[2].partition("\n## ")[0]
    named = re.findall(r"^- \*\*(.+?)\*\*", section, re.MULTILINE)
    assert len(named) >= 5
    assert [name for name in named if name[0].lower() + name[1:] not in ROWS] == []


def test_the_dev_container_installs_with_what_there_is() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    commands = container["postCreateCommand"].split(" && ")
    assert all((ROOT / part).exists() for part in ("bootstrap.py", ".ci/browser"))
    assert commands[0].split()[2] in WORDS and commands[1] == ".ci/browser"
