"""`manage.py mcp_stdio`, started by the official client as Claude Desktop starts it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from memories.models import Workspace
from memplatform import addresses
from memplatform.processes import stdio
from tests import ROOT
from tests.conftest import make_key


@pytest.mark.django_db(transaction=True)
def test_a_program_that_starts_it_with_a_file_of_a_key_has_memory(
    live_server: Any, workspace: Workspace, settings: Any, tmp_path: Path
) -> None:
    settings.MEMORY_FILES_ROOT = tmp_path / "files"
    file = tmp_path / "key"
    file.write_text(make_key(workspace) + "\n")
    (tmp_path / "data").mkdir()
    addresses.write(tmp_path / "data", live_server.url)  # as the platform does when it is ready
    options = {"--key-file": str(file), "--platform": "telegram", "--sender": "alice"}
    command = ["manage.py", "mcp_stdio", *(part for option in options.items() for part in option)]
    data = {name: value for name, value in os.environ.items() if name != "MEMPLATFORM_PORT"}
    environment = {**data, "MEMPLATFORM_DATA": str(tmp_path / "data")}
    program = StdioServerParameters(command=sys.executable, args=command, cwd=ROOT, env=environment)

    async def talk() -> list[str]:
        with (tmp_path / "errors").open("w") as errors:
            async with Client(stdio_client(program, errlog=errors)) as client:
                saved = await client.call_tool("memory_save", {"content": "The boat is blue."})
                found = await client.call_tool("memory_search", {"query": "the boat"})
                return [answer.content[0].text for answer in (saved, found)]

    saved, found = asyncio.run(talk())
    assert "telegram+direct_alice" in saved and "blue" in found
    assert not (tmp_path / "data" / "postgres").exists()
    assert (tmp_path / "errors").read_text() == ""


def test_a_file_that_is_too_large_for_a_key_is_not_read_on(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(b"k" * 100_000)
    for key_file in (file, Path("/dev/zero")):
        with pytest.raises(CommandError, match="too large"):
            call_command("mcp_stdio", "--key-file", str(key_file))


def test_it_is_a_thin_client_that_loads_no_django(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("mp_key")
    program = (
        "import sys; from memplatform.processes.command_line import main;"
        " main(['manage.py', 'mcp_stdio', '--key-file', sys.argv[1]]);"
        "sys.exit(', '.join({'django', 'psycopg', 'rjieba', 'numpy'} & set(sys.modules)) or 0)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(file)], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr


def test_without_a_word_it_asks_the_platform_that_runs_from_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMPLATFORM_PORT", raising=False)
    monkeypatch.delenv("MEMPLATFORM_HOST", raising=False)
    assert stdio.platform_of(tmp_path) == "http://127.0.0.1:8000"
    addresses.write(tmp_path, "http://127.0.0.1:8417")
    assert stdio.platform_of(tmp_path) == "http://127.0.0.1:8417"
    monkeypatch.setenv("MEMPLATFORM_PORT", "9000")
    assert stdio.platform_of(tmp_path) == "http://127.0.0.1:9000"
    monkeypatch.delenv("MEMPLATFORM_PORT")
    addresses.remove(tmp_path)
    assert stdio.platform_of(tmp_path) == "http://127.0.0.1:8000"
