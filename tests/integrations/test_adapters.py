"""What holds of every adapter, without the package of its framework."""

import pytest

from tests import ROOT
from tests.integrations.__main__ import PAGES, parts_of
from tests.integrations.adapters import ADAPTERS, INTEGRATIONS, Adapter

MOST_LINES, MOST_OF_A_BOT = 200, 25


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.folder)
def test_an_adapter_is_small_and_has_its_licence_its_scenarios_and_a_short_bot(adapter: Adapter) -> None:
    assert (adapter.path / "LICENSE").read_text() == (INTEGRATIONS / "LICENSE").read_text()
    script = adapter.script.read_text()
    assert "another person" in script or "first_scenarios(" in script  # has that among them
    code = [path for path in adapter.path.rglob("*") if path.suffix in (".py", ".js", ".mjs", ".ts")]
    assert code and all(len(path.read_text().splitlines()) <= MOST_LINES for path in code)
    assert 0 <= adapter.lines <= MOST_OF_A_BOT


def test_every_folder_is_an_adapter_that_is_tried() -> None:
    folders = {path.name for path in INTEGRATIONS.iterdir() if path.is_dir() and any(path.glob("*.md"))}
    assert folders == {adapter.folder for adapter in ADAPTERS}


@pytest.mark.parametrize("page", PAGES)
def test_the_page_names_every_adapter_at_the_version_it_was_tried_with(page: str) -> None:
    rows, tried = parts_of(ROOT / page)
    assert set(tried) == {adapter.title for adapter in ADAPTERS}
    for adapter in ADAPTERS:
        cells = [
            cell.strip()
            for cell in rows[f"[{adapter.title}](../../integrations/{adapter.folder}/README.md)"].split("|")
        ]
        assert cells[3] == (adapter.version or "—") and cells[6] == str(tried[adapter.title].count("; ") + 1)
        assert cells[5] == str(adapter.lines or "—")
