"""The words of `memplatform` in Chinese, and what completes them in a shell."""

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polib
import pytest

from tests.clients.command_line.conftest import PACKAGE, Person

CATALOG = PACKAGE / "memplatform_client" / "locale" / "zh" / "LC_MESSAGES" / "memplatform.po"
_PLACE = re.compile(r"%\(\w+\)[sd]|`[^`]+`|MEMORY_\w+")


def messages() -> Iterator[str]:
    """Every message that is translated."""
    for file in (PACKAGE / "memplatform_client" / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(func=ast.Name("_"), args=[ast.Constant(str(message))]):
                    yield message


def test_every_message_is_translated_with_all_that_stands_in_it() -> None:
    catalog = {entry.msgid: entry.msgstr for entry in polib.pofile(str(CATALOG)) if not entry.msgid_plural}
    assert len(set(messages())) > 50
    for message in messages():
        assert sorted(_PLACE.findall(catalog.get(message, ""))) == sorted(_PLACE.findall(message)), message
    ours = {entry.msgid for entry in polib.pofile(str(CATALOG)) if entry.comment != "of click"}
    assert ours - set(messages()) == set()


def test_the_compiled_catalog_is_that_of_the_text() -> None:
    def pairs(entries: Any) -> list[tuple[str, str, dict[int, str]]]:
        return sorted((entry.msgid, entry.msgstr, dict(entry.msgstr_plural)) for entry in entries)

    text, compiled = polib.pofile(str(CATALOG)), polib.mofile(str(CATALOG.with_suffix(".mo")))
    assert pairs(text) == pairs(compiled), "polib.pofile(CATALOG).save_as_mofile(...)"


@pytest.mark.thorough
def test_a_person_whose_language_is_chinese_reads_chinese(stranger_at_home: Person) -> None:
    person = stranger_at_home
    assert "向它提问" in person("--help", LANG="zh_CN.UTF-8").output
    assert "没有 http://127.0.0.1:8000 的密钥" in person("ask", "x", LANG="zh_CN.UTF-8").errors
    assert "缺少参数" in person("ask", LC_ALL="zh_SG.UTF-8").errors
    assert "Missing argument" in person("ask", LANG="fr_FR.UTF-8").errors


@pytest.mark.thorough
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_and_flags(stranger_at_home: Person, shell: str) -> None:
    person = stranger_at_home
    script = person("completion", shell)
    assert script.code == 0 and f"_MEMPLATFORM_COMPLETE={shell}_complete" in script.output
    instruction = {"_MEMPLATFORM_COMPLETE": f"{shell}_complete"}
    at = {"bash": "1", "zsh": "1", "fish": "re"}[shell]
    assert "remember" in person(COMP_WORDS="memplatform re", COMP_CWORD=at, **instruction).output
    at = {"bash": "2", "zsh": "2", "fish": "--mo"}[shell]
    assert "--mode" in person(COMP_WORDS="memplatform search --mo", COMP_CWORD=at, **instruction).output
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=script.output, text=True, check=True)  # the shell can read it


@pytest.mark.thorough
def test_bash_completes_once_it_has_read_the_script(stranger_at_home: Person, tmp_path: Path) -> None:
    person = stranger_at_home
    ask = 'eval "$(memplatform completion bash)"; COMP_WORDS=(memplatform st); COMP_CWORD=1'
    ask += '; _memplatform_completion memplatform st memplatform; echo "${COMPREPLY[@]}"'
    path = f"{person.script.parent}:{person.environment['PATH']}"
    environment = person.environment | {"PATH": path}
    done = subprocess.run(["bash", "-c", ask], env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("status\n", "")
