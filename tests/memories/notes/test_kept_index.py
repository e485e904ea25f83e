"""An index that was kept through many edits is the one that is made anew of the same files (C12, E6)."""

import random
from pathlib import Path

import pytest

from memories.files.layout import scope_folder
from memories.index import worker
from memories.models import Entry, Scope, Workspace
from memories.notes.freshness import FileIndexer, sync_workspace
from memories.notes.index import sync_scope
from memories.recall import Query, SearchScope, recall, vector
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_scope
from tests.memories.notes.test_index import write

WORDS = ["port", "Nina", "cello", "八点", "杭州", "kettle", "blue", "fuse", "茶", "Tuesday", "moved", "会议"]
PATHS = ("LONG_TERM.md", "2026-02-27.md", "2026-02-28.md", "projects/alpha.md")
PLAN = "memory/scopes/telegram+direct_u42/projects/plan.md"
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


def answers(scope: Scope, questions: list[str]) -> list[list[tuple[object, ...]]]:
    """What each question finds, in its order, with where it stands and its score to six digits."""
    worker.drain(now=NOW)
    vector.forget_centroids()
    scope = Scope.objects.get(pk=scope.pk)
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    results = []
    for question in questions:
        query = Query(
            workspace_id=scope.workspace_id, bot_id=None, places=places, message=question, need="off", limit=10
        )
        served = recall(query, now=NOW).served
        results.append(
            [(item.entry.path, item.entry.line_from, item.entry.content, round(item.score, 6)) for item in served]
        )
    return results


def edit(files: Path, scope: Scope, chance: random.Random, *, edits: int, gone: float, indexed: float = 1.0) -> None:
    """Edit the files at random; after a share of the edits they are indexed."""
    base = scope_folder(scope.workspace.folder, scope.key).base
    for path in PATHS:
        write(files, f"{base}/{path}", "".join(f"- {chance.choice(WORDS)} {n}\n" for n in range(15)))
    for _edit in range(edits):
        path = f"{base}/{chance.choice(PATHS)}"
        before = (files / path).read_text() if (files / path).exists() else ""
        write(files, path, edited(before, chance))
        if chance.random() < gone:
            (files / path).unlink()
        if chance.random() < indexed:
            sync_scope(scope, now=NOW, force=chance.random() < 0.2)


def made_anew(files: Path, scope: Scope, workspace: Workspace) -> Scope:
    """The scope of another workspace that gets the same files at once."""
    Workspace.objects.filter(pk=workspace.pk).update(folder="another")
    files.rename(files.with_name("another"))
    fresh = make_scope(Workspace.objects.get(pk=workspace.pk), scope.key)
    sync_workspace(fresh.workspace, now=NOW, force=True)
    return fresh


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_after_many_edits_a_kept_index_is_as_a_fresh_one(
    files: Path, scope: Scope, stranger: Workspace, seed: int
) -> None:
    edit(files, scope, random.Random(seed), edits=60, gone=0.05)
    fresh = made_anew(files, scope, stranger)
    assert state(scope) == state(fresh)
    assert len(state(fresh)) > 20


@pytest.mark.thorough
def test_after_five_hundred_edits_a_kept_index_answers_as_a_fresh_one(
    files: Path, scope: Scope, stranger: Workspace
) -> None:
    chance = random.Random(500)
    edit(files, scope, chance, edits=500, gone=0.002, indexed=0.25)
    sync_workspace(scope.workspace, now=NOW, force=True)
    fresh = made_anew(files, scope, stranger)
    questions = [" ".join(chance.choices(WORDS, k=chance.randint(1, 4))) for _ in range(30)]
    result = answers(fresh, questions)
    assert answers(scope, questions) == result
    assert sum(map(bool, result)) > 25


def test_the_process_that_indexes_files_counts_their_words_anew(files: Path, scope: Scope) -> None:
    write(files, PLAN, "- kettle\n- blue cello\n")
    indexer = FileIndexer()
    indexer(now=NOW)
    write(files, PLAN, "- blue cello\n")
    sync_scope(scope, now=NOW)
    indexer._waiting = {scope.pk: scope}
    indexer._uncounted = {scope.pk: scope}
    for _look in range(3):
        indexer(now=NOW)
    scope.refresh_from_db()
    assert scope.entry_count == 1
