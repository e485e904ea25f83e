"""The TypeScript client, compiled strictly: by itself against a server of its own, and against the running platform."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memories.models import Workspace
from tests import ROOT
from tests.clients.typescript.conftest import CLIENT, output_of
from tests.clients.typescript.test_described import description
from tests.conftest import make_key

EXAMPLE = re.compile(r"^```ts\n(.*?)^```", re.DOTALL | re.MULTILINE)
STRICT = {"strict": True, "target": "ES2022", "module": "NodeNext", "types": ["node"], "skipLibCheck": False}

pytestmark = pytest.mark.thorough
Run = Callable[..., str]


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
