"""What is known against the packages is looked up in `make check`; not looked up does not pass for clean."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from memplatform.setup.installation import WORDS
from tests import ROOT

pytestmark = pytest.mark.thorough
LOCK = "".join(
    f"{name}=={version} \\\n    --hash=sha256:{digit * 64}\n"
    for name, version, digit in (("harmless", "1.0", "a"), ("leaky", "2.1", "b"))
)
PACKAGE: dict[str, Any] = {"name": "shop", "version": "1.0.0", "dependencies": {"leaky-js": "1.0.0"}}
LOCKED = {"": PACKAGE, "node_modules/leaky-js": {"version": "1.0.0", "resolved": "https://example.invalid/1.0.0.tgz"}}
OSV = {
    "id": "PYSEC-2026-123456",
    "summary": "It tells everybody everything.",
    "modified": "2026-11-01T00:00:00Z",
    "affected": [
        {
            "package": {"name": "leaky", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "2.2"}]}],
        }
    ],
}
NPM = {
    "id": 123456,
    "url": "https://advisories.example/GHSA-made-up-0001",
    "title": "Lets anybody in",
    "severity": "high",
    "vulnerable_versions": "<1.0.1",
}


def osv(request: Request) -> Response:
    name = json.loads(request.data)["package"]["name"]
    return Response(json.dumps({"vulns": [OSV] if name == "leaky" else []}), content_type="application/json")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A lock of two packages, and one of npm."""
    (tmp_path / "lock.txt").write_text(LOCK)
    (tmp_path / "package.json").write_text(json.dumps(PACKAGE))
    (tmp_path / "package-lock.json").write_text(json.dumps({**PACKAGE, "lockfileVersion": 3, "packages": LOCKED}))
    return tmp_path


def look_up(shop: Path, url: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "deploy" / "advisories.py"), "--osv", f"{url}/v1/query"]
    command += ["--npm-registry", url, "--lock", str(shop / "lock.txt"), "--client", str(shop), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def serve(server: HTTPServer, advisories: dict[str, Any]) -> None:
    server.expect_request("/v1/query", method="POST").respond_with_handler(osv)
    server.expect_request("/-/npm/v1/security/advisories/bulk", method="POST").respond_with_json(advisories)
    versions = {"1.0.0": {"name": "leaky-js", "version": "1.0.0"}, "1.0.1": {"name": "leaky-js", "version": "1.0.1"}}
    server.expect_request("/leaky-js").respond_with_json({"name": "leaky-js", "versions": versions})


def test_an_advisory_is_found_named_and_fails_the_check(shop: Path, httpserver: HTTPServer) -> None:
    serve(httpserver, {"leaky-js": [NPM]})
    done = look_up(shop, httpserver.url_for("").rstrip("/"))
    assert done.returncode == 1, done.stderr
    assert "PYSEC-2026-123456: leaky 2.1, mended in 2.2" in done.stderr and "harmless" not in done.stderr
    assert "GHSA-made-up-0001: leaky-js <1.0.1, Lets anybody in" in done.stderr
    assert "NOT LOOKED UP" not in done.stderr


def test_packages_nothing_is_known_of_pass(shop: Path, httpserver: HTTPServer) -> None:
    serve(httpserver, {})
    (shop / "lock.txt").write_text(LOCK.partition("leaky")[0])
    done = look_up(shop, httpserver.url_for("").rstrip("/"), "--strict")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("none known") == 2


def test_without_the_list_it_says_so_and_does_not_pass_for_clean(shop: Path) -> None:
    nobody = "http://127.0.0.1:9"
    done = look_up(shop, nobody)
    assert done.returncode == 0
    assert done.stderr.count("NOT LOOKED UP") == 2 and "not known to be clean" in done.stderr
    assert "none known" not in done.stdout
    assert look_up(shop, nobody, "--strict").returncode == 1


def test_make_check_looks_them_up() -> None:
    assert ("deploy/advisories.py",) in WORDS["check"].commands
