"""Known weaknesses of what is installed and of what the clients are built with, by pip-audit and npm.

`python deploy/advisories.py [--osv URL] [--npm-registry URL]` ends with 1 where an advisory is known of a package that
`deploy/advisories.toml` does not name with a reason. Where the list cannot be had, it says so and ends with 0, for
`make check` works without a network; `--strict` ends with 1 there, too.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "deploy" / "requirements.lock"
CLIENT = ROOT / "clients" / "typescript"
SECONDS = 300  # of one tool, at the longest


class NotHad(Exception):
    """Why nothing is known, in a few words."""


def audited(requirements: Path, osv: str | None) -> list[dict[str, Any]]:
    """What pip-audit says of each package of a file of requirements with hashes."""
    command = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner", "off"]
    command += ["--format", "json", "--desc", "off", "-r", str(requirements)]
    command += ["--vulnerability-service", "osv", "--osv-url", osv] if osv else []
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        return list(json.loads(process.stdout)["dependencies"])
    except subprocess.TimeoutExpired as problem:
        raise NotHad(f"no answer within {SECONDS} seconds") from problem
    except ValueError as problem:
        raise NotHad(last_line(process.stderr)) from problem


def of_python(lock: Path, osv: str | None) -> dict[str, str]:
    """By the id of the advisory, what it is about; the first package is asked for alone, lest all are asked in vain."""
    text = lock.read_text()
    first = re.search(r"^[a-z0-9][\w.-]*==(?:.*\\\n)*.*\n", text, re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder) / "first.txt"
        alone.write_text(first.group() if first else text)
        require_answers(audited(alone, osv))
    packages = audited(lock, osv)
    require_answers(packages)
    return {
        weakness["id"]: f"{package['name']} {package['version']}"
        + (f", mended in {', '.join(weakness['fix_versions'])}" if weakness["fix_versions"] else "")
        for package in packages
        for weakness in package["vulns"]
    }


def require_answers(packages: list[dict[str, Any]]) -> None:
    """Raises where anything was asked for in vain: some that are known to be clean do not speak for the others."""
    skipped_packages = [package for package in packages if "skip_reason" in package]
    if skipped_packages or not packages:
        reason = skipped_packages[0]["skip_reason"] if skipped_packages else "nothing was listed"
        raise NotHad(f"{len(skipped_packages)} of {len(packages)} packages could not be asked about ({reason})")


def of_npm(folder: Path, registry: str | None) -> dict[str, str]:
    """The same of the packages a lock file of npm names, from «high» on."""
    if not shutil.which("npm"):
        raise NotHad("npm is not installed")
    command = ["npm", "audit", "--json", "--package-lock-only", *(["--registry", registry] if registry else [])]
    try:
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
        answer = json.loads(process.stdout)
    except subprocess.TimeoutExpired as problem:
        raise NotHad(f"no answer within {SECONDS} seconds") from problem
    except ValueError as problem:
        raise NotHad(last_line(process.stderr)) from problem
    if "vulnerabilities" not in answer:
        raise NotHad(answer.get("message") or answer.get("error", {}).get("summary") or last_line(process.stderr))
    return {
        via["url"].rsplit("/", 1)[-1]: f"{via['name']} {via['range']}, {via['title']}"
        for package in answer["vulnerabilities"].values()
        for via in package["via"]
        if isinstance(via, dict) and via["severity"] in ("high", "critical")
    }


def last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osv", metavar="URL", help="a server of OSV to ask in place of the package index")
    parser.add_argument("--npm-registry", metavar="URL")
    parser.add_argument("--lock", type=Path, default=LOCK)
    parser.add_argument("--client", type=Path, default=CLIENT)
    parser.add_argument("--strict", action="store_true", help="fail, too, where the list cannot be had")
    options = parser.parse_args(words)
    accepted = tomllib.loads((ROOT / "deploy" / "advisories.toml").read_text())["accepted"]
    code = 0
    places: dict[str, Callable[[], dict[str, str]]] = {
        "Python packages": partial(of_python, options.lock, options.osv),
        "npm packages": partial(of_npm, options.client, options.npm_registry),
    }
    for what, ask in places.items():
        try:
            advisories = {name: about for name, about in ask().items() if name not in accepted}
        except NotHad as reason:
            print(f"ADVISORIES NOT LOOKED UP for {what}, so they are not known to be clean: {reason}", file=sys.stderr)
            code = max(code, int(options.strict))
            continue
        for name, about in advisories.items():
            print(f"{name}: {about}", file=sys.stderr)
            code = 1
        print(f"Advisories for {what}: {len(advisories) or 'none'} known.")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
