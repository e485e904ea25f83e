"""`manage.py import` shows what it would bring before it writes, and how memory answers before and after."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from memories.imports.batch import language_of
from memories.models import Batch, Entry, Scope, Workspace
from tests.conftest import NOW

pytestmark = pytest.mark.django_db
KEY = "telegram:direct_u42"
ROWS = [
    {"memory": "Mia teaches ceramics in Porto and sings in a choir"},
    {"memory": "妹妹叫小雨，住在杭州"},
    {"memory": "The password of the studio's router is kiln-4711-Botz"},
    {"memory": "Die Katze heißt Mirabelle und schläft gern"},
    {"memory": "Mia teaches ceramics in Porto and sings in a choir"},
]


def output_of(path: Path, *arguments: str) -> str:
    out = io.StringIO()
    call_command("import", str(path), "--into", KEY, "--now", NOW.isoformat(), *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def path(tmp_path: Path, workspace: Workspace) -> Path:
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps(ROWS))
    return file


def test_before_it_writes_it_says_how_much_of_it_is_new_secret_and_in_which_languages(path: Path) -> None:
    shown = output_of(path)
    before, after = shown.index("It would bring"), shown.index("Memories written")
    assert before < after
    assert "It would bring 4 memories and 0 daily events; 1 are there already." in shown
    assert "Of these, 1 hold secrets. Languages: en 2, zh 1, other 1." in shown


def test_it_asks_memory_before_and_after_what_the_import_says(path: Path) -> None:
    shown = output_of(path)
    assert "Of 4 questions made from it, 0 were answered by it before and 4 are now; 100 %" in shown, shown
    path.write_text(json.dumps([{"memory": "Bob repairs bicycles in Braga"}]))
    score = json.loads(output_of(path, "--json"))["score"]
    assert score == {
        "before": {"memories": 4, "duplicates": 0, "found": 0},
        "after": {"memories": 5, "duplicates": 0, "found": 1},
        "asked": 1,
        "still_served": 1.0,
    }
    assert "score" not in json.loads(output_of(path, "--json", "--no-score"))


def test_a_dry_run_says_the_same_as_data_and_writes_nothing(path: Path) -> None:
    tried = json.loads(output_of(path, "--dry-run", "--json"))
    assert (tried["facts"], tried["already"], tried["secrets"]) == (4, 1, 1)
    assert tried["languages"] == {"en": 2, "zh": 1, "other": 1}
    assert "Of these, 1 hold secrets. Languages: en 2, zh 1, other 1." in output_of(path, "--dry-run")
    assert not Scope.objects.exists()


def test_on_a_terminal_nothing_is_written_until_somebody_says_yes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _question: "n")
    with pytest.raises(CommandError, match="Nothing was written"):
        output_of(path)
    assert not (Scope.objects.exists() or Entry.objects.exists() or Batch.objects.exists())
    assert "Memories written: 4" in output_of(path, "--yes")


@pytest.mark.parametrize(
    ("words", "language"),
    [
        ("Mia is at home", "en"),
        ("她在家", "zh"),
        ("明日は東京に行きます", "ja"),
        ("내일 갑니다", "ko"),
        ("Она дома с утра до вечера", "other"),
    ],
)
def test_the_language_of_a_memory_is_read_from_its_letters_and_commonest_words(words: str, language: str) -> None:
    assert language_of(words) == language
