"""The TypeScript client, compiled strictly: by itself against a server of its own, and against the running platform."""

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memories.models import Workspace
from tests import ROOT
from tests.clients.typescript.test_described import CLIENT, description
from tests.conftest import make_key

EXAMPLE = re.compile(r"^```ts\n(.*?)^```", re.DOTALL | re.MULTILINE)
NO_REGISTRY = re.compile("ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|ENOTCACHED")
STRICT = {"strict": True, "target": "ES2022", "module": "NodeNext", "types": ["node"], "skipLibCheck": False}

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(not shutil.which("npm"), reason="needs Node")]
Run = Callable[..., str]


def output_of(*command: str, cwd: Path, **environment: str) -> str:
    """What a program prints; a failure with its words."""
    asked = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    assert asked.returncode == 0, asked.stdout + asked.stderr
    return asked.stdout


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder of the compiler and the generator, as the lock file names them; the client and its tests are built."""
    with (CLIENT / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several processes one installs
        installed = CLIENT / "node_modules" / ".package-lock.json"
        if not installed.exists() or installed.stat().st_mtime < os.stat(lock.name).st_mtime:
            npm = ["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"]
            install = subprocess.run(npm, cwd=CLIENT, capture_output=True, text=True)
            if install.returncode and NO_REGISTRY.search(install.stderr):
                pytest.skip("npm's packages cannot be reached")
            assert install.returncode == 0, install.stderr
        programs = CLIENT / "node_modules" / ".bin"
        output_of(str(programs / "tsc"), cwd=CLIENT)
        output_of(str(programs / "tsc"), "-p", "tests", cwd=CLIENT)
    return programs


@pytest.fixture
def compiled(tools: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Compiles a program strictly, as somebody who has installed the client."""
    packages = tmp_path / "node_modules"
    (packages / "@types").mkdir(parents=True)
    (packages / "memplatform-client").symlink_to(CLIENT)
    for name in ("@types/node", "undici-types"):
        (packages / name).symlink_to(tools.parent / name)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    options = {**STRICT, "rewriteRelativeImportExtensions": True, "outDir": "build"}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))

    def compile_program(program: str) -> Path:
        (tmp_path / "example.ts").write_text(program)
        output_of(str(tools / "tsc"), cwd=tmp_path)
        return tmp_path / "build" / "example.js"

    return compile_program


@pytest.mark.parametrize("file", ["retries", "lines"])
def test_calls_are_tried_again_and_read_as_the_python_client_does(tools: Path, file: str) -> None:
    report = output_of("node", "--test", "--test-reporter=tap", f"build/tests/{file}.js", cwd=CLIENT)
    assert re.search(r"^# pass [1-9]", report, re.MULTILINE)


@pytest.mark.django_db(transaction=True)
def test_the_client_speaks_with_the_running_platform(tools: Path, live_server: Any, workspace: Workspace) -> None:
    platform = {"MEMORY_URL": live_server.url, "MEMORY_KEY": make_key(workspace)}
    report = output_of("node", "--test", "--test-reporter=tap", "build/tests/platform.js", cwd=CLIENT, **platform)
    assert re.search(r"^# pass [1-9]", report, re.MULTILINE)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("page", ["clients/typescript/README.md", "docs/howto/typescript-client.md"])
def test_what_the_pages_show_compiles_strictly_and_runs_as_it_stands(
    compiled: Callable[[str], Path], live_server: Any, workspace: Workspace, page: str
) -> None:
    program = compiled(EXAMPLE.findall((ROOT / page).read_text())[0])
    platform = {"MEMORY_URL": live_server.url, "MEMORY_KEY": make_key(workspace)}
    assert "I moved to Hangzhou" in output_of("node", str(program), cwd=program.parent, **platform)


@pytest.mark.django_db(transaction=True)
def test_types_of_openapi_typescript_as_it_comes_fit_the_first_example(
    tools: Path, compiled: Callable[[str], Path], live_server: Any, workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(description()))
    output_of(str(tools / "openapi-typescript"), "openapi.json", "-o", "schema.ts", cwd=tmp_path)
    example = EXAMPLE.findall((ROOT / "docs/howto/typescript-client.md").read_text())[1]
    platform = {"MEMORY_URL": live_server.url, "MEMORY_KEY": make_key(workspace)}
    program = compiled(example)
    assert output_of("node", str(program), cwd=program.parent, **platform) == "1\n"
    with pytest.raises(AssertionError, match="Property 'platform' is missing"):
        compiled(example.replace('platform: "telegram", ', ""))


def test_a_package_holds_what_is_built_and_needs_no_other(tools: Path) -> None:
    (packed,) = json.loads(output_of("npm", "pack", "--dry-run", "--json", "--ignore-scripts", cwd=CLIENT))
    files = {file["path"] for file in packed["files"]}
    assert {"dist/index.js", "dist/index.d.ts", "dist/calls.js", "README.md", "package.json"} <= files
    assert not {file for file in files if file.startswith(("tests/", "build/", "node_modules/"))}
    assert "dependencies" not in json.loads((CLIENT / "package.json").read_text())
