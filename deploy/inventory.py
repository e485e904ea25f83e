"""What an installation is made of: every package of the lock with its licence, and both as a CycloneDX SBOM.

`python deploy/inventory.py page` writes docs/reference/licences.md, `sbom FOLDER` writes the SBOM of this version.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "deploy" / "requirements.lock"
PAGE = ROOT / "docs" / "reference" / "licences.md"
RULES = tomllib.loads((ROOT / "deploy" / "licences.toml").read_text())
HEAD = """# Licences

memplatform is under Apache-2.0. What an installation brings beside it, by `deploy/requirements.lock`; `make licences`
writes this page, and `make check` refuses a package under a licence that `deploy/licences.toml` does not allow.
"""


def locked() -> dict[str, str]:
    """Name and version of every package of the lock."""
    return dict(re.findall(r"^([a-z0-9][\w.-]*)==([^\s;]+)", LOCK.read_text(), re.MULTILINE))


def licences() -> dict[str, str]:
    """The licence of each locked package that is installed here, as pip-licenses reads it."""
    command = [sys.executable, "-W", "ignore", "-m", "piplicenses", "--from", "mixed", "--format", "json"]
    text = subprocess.run([*command, "--with-system"], capture_output=True, text=True, check=True).stdout
    by_name = {re.sub("[-_.]+", "-", row["Name"]).lower(): row["License"] for row in json.loads(text)}
    return {name: by_name[name] for name in locked() if name in by_name}


def not_allowed(by_name: dict[str, str]) -> Iterator[str]:
    """One sentence a package whose licence nobody has allowed; of several, joined by any word, each has to be."""
    alone: dict[str, list[str]] = RULES["of_these_alone"]
    for name, licence in by_name.items():
        for part in re.split(r" AND | OR |; ", licence):
            if part not in RULES["allowed"] and name not in alone.get(part, []):
                yield f"{name} is under {part}: read it, then allow it in deploy/licences.toml"


def page(by_name: dict[str, str]) -> str:
    """The page of licences; packages for other systems keep the line they had."""
    before = dict(re.findall(r"^\| ([a-z0-9][\w.-]*) \| (.+) \|$", PAGE.read_text() if PAGE.exists() else "", re.M))
    rows = [f"| {name} | {by_name.get(name) or before.get(name, 'for other systems')} |" for name in sorted(locked())]
    inside = [f"| {what} | {licence} |" for what, licence in RULES["inside"].items()]
    table = "| package | licence |\n|---|---|\n"
    parts = [HEAD, table + "\n".join(rows), "\n## Inside these packages\n", table.replace("package", "part")]
    return "\n".join(parts) + "\n".join(inside) + "\n"


def sbom(folder: Path) -> Path:
    """The bill of materials of this version: packages with versions, hashes and licences, the same from one lock."""
    command = [sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements", str(LOCK), "--output-reproducible"]
    environment = {"SOURCE_DATE_EPOCH": _committed_at(), **os.environ}
    command += ["--pyproject", str(ROOT / "pyproject.toml")]
    text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    bill: dict[str, Any] = json.loads(text)
    by_name = licences()
    for component in bill["components"]:
        component["description"] = component["description"].partition(" --hash")[0].strip()
        for reference in component.get("externalReferences", []):
            reference["url"] = component["purl"]  # who installs says from which index
        if licence := by_name.get(component["name"]):
            component["licenses"] = [{"license": {"name": licence}}]
    version = bill["metadata"]["component"]["version"]
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"memplatform-{version}.cdx.json"
    target.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n")
    return target


def _committed_at() -> str:
    process = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    return process.stdout.strip() or "1700000000"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["page"]:
            PAGE.write_text(page(licences()))
        case ["sbom", folder_name]:
            print(sbom(Path(folder_name)))
        case _:
            sys.exit("usage: inventory.py page | sbom FOLDER")
