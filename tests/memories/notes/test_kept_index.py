"""An index that was kept through many edits is the one that is made anew of the same files (C12, E6)."""

import random
from pathlib import Path

import pytest

from memories.models import Entry, Scope, Workspace
from memories.notes.index import sync_scope
from tests.conftest import NOW, make_scope
from tests.memories.notes.test_index import write

WORDS = ["port", "Nina", "cello", "八点", "杭州", "kettle", "blue", "fuse", "茶", "Tuesday", "moved", "会议"]
PATHS = ("LONG_TERM.md", "2026-02-27.md", "2026-02-28.md", "projects/alpha.md")
COMPARED = ("path", "line_from", "line_to", "content", "heading", "created_at", "stated_at", "terms", "fingerprint")


def edited(text: str, chance: random.Random) -> str:
    """A text after one edit somebody might make."""
    lines = text.splitlines()
    at = chance.randrange(len(lines) + 1)
    match chance.randrange(6):
        case 0 | 1:
            lines.insert(at, "- " + " ".join(chance.choices(WORDS, k=5)))
        case 2 if lines:
            lines[at - 1] = lines[at - 1] + " " + chance.choice(WORDS)
        case 3 if lines:
            del lines[at - 1]
        case 4:
            lines.insert(at, f"## {chance.choice(WORDS)}")
        case 5:
            chance.shuffle(lines)
    return "\n".join(lines) + "\n"


def state(scope: Scope) -> list[dict[str, object]]:
    live = Entry.objects.in_scope(scope).live().order_by("path", "line_from", "content")
    return list(live.values(*COMPARED))


@pytest.mark.parametrize("seed", range(3))
def test_after_many_edits_a_kept_index_is_as_a_fresh_one(
    files: Path,
    scope: Scope,
    stranger: Workspace,
    seed: int,
) -> None:
    chance = random.Random(seed)
    base = "memory/scopes/telegram:direct_u42"
    for path in PATHS:
        write(files, f"{base}/{path}", "".join(f"- {chance.choice(WORDS)} {n}\n" for n in range(15)))
    for _edit in range(60):
        path = f"{base}/{chance.choice(PATHS)}"
        before = (files / path).read_text() if (files / path).exists() else ""
        write(files, path, edited(before, chance))
        if chance.random() < 0.05:
            (files / path).unlink()
        sync_scope(scope, now=NOW, force=chance.random() < 0.2)
    Workspace.objects.filter(pk=stranger.pk).update(folder="another")
    files.rename(files.with_name("another"))
    fresh = make_scope(Workspace.objects.get(pk=stranger.pk), scope.key)
    sync_scope(fresh, now=NOW)
    assert state(scope) == state(fresh)
    assert len(state(fresh)) > 20
