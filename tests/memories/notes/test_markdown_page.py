"""What the page «Memory in markdown» says is so: its example, edits on both sides, conflicts, git."""

import json
import re
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memories.files.layout import scope_folder
from memories.files.markdown import blocks
from memories.models import Entry, Scope, Workspace
from memories.notes.index import sync_scope
from tests import ROOT
from tests.conftest import NOW, Api, make_scope

pytestmark = pytest.mark.django_db
PAGES = [ROOT / "docs/howto" / f"memory-in-markdown{language}.md" for language in ("", ".zh-hans")]
IDENTITY = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]


@pytest.fixture
def main(workspace: Workspace, settings: Any, tmp_path: Path) -> Scope:
    settings.MEMORY_FILES_ROOT = tmp_path
    return make_scope(workspace, "main")


@pytest.fixture
def folder(main: Scope) -> Path:
    place = scope_folder(main.workspace.folder, main.key).workspace
    (place / "memory").mkdir(parents=True)
    return place


def index(scope: Scope) -> list[str]:
    """What is remembered of the files now."""
    sync_scope(scope, now=NOW)
    rows = Entry.objects.in_scope(scope).live().order_by("path", "line_from")
    return list(rows.values_list("content", flat=True))


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *IDENTITY, *words], check=True, capture_output=True)


def patch(api: Api, entry: Entry, **columns: str) -> Any:
    return api.request("PATCH", f"entries/{entry.uid}", json.dumps(columns), **{"If-Match": f'"{entry.version}"'})


@pytest.mark.parametrize("page", PAGES, ids=["en", "zh"])
def test_the_example_comes_to_the_blocks_it_speaks_of(page: Path) -> None:
    example = re.search(r"```markdown\n(---\n.*?)```", page.read_text(), re.DOTALL)
    assert example
    result = blocks(example[1])
    assert len(result) == 5
    assert [block.heading.count("›") for block in result] == [0, 1, 1, 1, 2]
    assert result[-1].text.startswith("db.internal | 5432") and result[1].text.endswith("PostgreSQL")


@pytest.mark.parametrize("page", PAGES, ids=["en", "zh"])
def test_the_examples_of_a_stamp_and_of_an_archive_are_what_is_read(page: Path) -> None:
    text = page.read_text()
    lines = text.splitlines()
    line, origin = next(pair for pair in pairwise(lines) if "<!-- ^" in pair[0])
    stamped = blocks(f"{line}\n{origin}\n")
    assert (stamped[0].text, stamped[0].session, stamped[0].scope_key) == (
        "米娅的猫叫年糕",
        "telegram-3f",
        "telegram:direct_u42",
    )
    archive = re.search(r"<!-- archive .*?<!-- /archive -->", text, re.DOTALL)
    assert archive and blocks(archive[0]) == []


def test_an_edit_in_the_file_is_one_of_its_entry(main: Scope, folder: Path, api: Api) -> None:
    file = folder / "MEMORY.md"
    file.write_text("# 家\n\n- 米娅的猫叫年糕\n- the port is 8080\n")
    assert index(main) == ["米娅的猫叫年糕", "the port is 8080"]
    entry = Entry.objects.get(content="the port is 8080")
    file.write_text("# 家\n\n- a new line\n- 米娅的猫叫年糕\n- the port is 9090\n")
    assert index(main) == ["a new line", "米娅的猫叫年糕", "the port is 9090"]
    entry.refresh_from_db()
    assert (entry.content, entry.line_from) == ("the port is 9090", 5)
    file.unlink()
    assert index(main) == []


def test_an_edit_in_the_database_is_one_of_the_line(main: Scope, folder: Path, api: Api) -> None:
    file = folder / "memory" / "2026-03-01.md"
    stamp = "<!-- at=2026-03-01T08:00:00+00:00 session=s1 scope=main -->"
    file.write_bytes(f"\ufeff# Today\r\n\r\n* 买牛奶 {stamp}\r\n* Call Bob\r\n".encode())
    index(main)
    entry = Entry.objects.get(content="买牛奶")
    assert patch(api, entry, content="买牛奶和面包").status_code == 200
    assert file.read_bytes() == f"\ufeff# Today\r\n\r\n* 买牛奶和面包 {stamp}\r\n* Call Bob\r\n".encode()
    other = Entry.objects.get(content="Call Bob")
    assert api.request("DELETE", f"entries/{other.uid}").status_code < 300
    assert "* Call Bob" not in file.read_text().splitlines() and "<!-- expired " in file.read_text()
    assert api.post(f"entries/{other.uid}/restore").status_code < 300
    assert "* Call Bob" in file.read_text("utf-8-sig").splitlines()
    assert index(main) == ["买牛奶和面包", "Call Bob"]


def test_whoever_comes_second_in_the_database_is_refused_with_both_texts(main: Scope, folder: Path, api: Api) -> None:
    file = folder / "MEMORY.md"
    file.write_text("- the port is 8080\n")
    index(main)
    entry = Entry.objects.get()
    file.write_text("- the port is 9090\n")
    refused = patch(api, entry, content="the port is 7070")
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (409, "line_changed")
    assert "8080" in refused.content.decode() and "9090" in refused.content.decode()
    assert (file.read_text(), Entry.objects.get().content) == ("- the port is 9090\n", "the port is 8080")
    assert index(main) == ["the port is 9090"]


def test_a_checkout_is_an_edit_like_any_other(main: Scope, folder: Path, api: Api) -> None:
    git(folder, "init", "-b", "main")
    (folder / "MEMORY.md").write_text("- one\n- 二\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-m", "first")
    (folder / "MEMORY.md").write_text("- one\n- 三\n")
    (folder / "memory" / "2026-03-01.md").write_text("- today\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-m", "second")
    assert index(main) == ["one", "三", "today"]
    git(folder, "checkout", "HEAD~1")
    assert index(main) == ["one", "二"]
    git(folder, "checkout", "main")
    assert index(main) == ["one", "三", "today"]
    gone = Entry.objects.in_scope(main).live().get(content="one")
    assert api.request("DELETE", f"entries/{gone.uid}").status_code < 300
    git(folder, "checkout", "--", ".")  # the line is back in the file; people took it out
    assert index(main) == ["三", "today"]


def test_lines_that_two_machines_added_to_a_day_are_kept_by_a_union(main: Scope, folder: Path) -> None:
    (page,) = {line for page in PAGES for line in re.findall(r"`(memory/\*\*/20\*\.md merge=union)`", page.read_text())}
    git(folder, "init", "-b", "main")
    (folder / ".gitattributes").write_text(f"{page}\n")
    file = folder / "memory" / "2026-03-01.md"
    file.write_text("- one\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-m", "first")
    git(folder, "checkout", "-b", "other")
    file.write_text("- one\n- 那台机器\n")
    git(folder, "commit", "-am", "there")
    git(folder, "checkout", "main")
    file.write_text("- one\n- this machine\n")
    git(folder, "commit", "-am", "here")
    git(folder, "merge", "other", "-m", "both")
    assert sorted(index(main)) == ["one", "this machine", "那台机器"]
