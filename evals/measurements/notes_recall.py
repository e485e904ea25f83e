"""Recall of the texts of a set as lines of files, beside the same as entries: `notes_recall DIR`."""

import argparse
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.files import files_root
from evals import dataset
from evals.dataset import CorpusText
from evals.report import AnswerScore, figures
from evals.run import ask_all
from evals.workspace import UNDATED, IngestedScope, index_all, ingest
from memories.choices import ScopeKind
from memories.evaluation import throwaway_workspace
from memories.files.layout import scope_folder
from memories.models import Entry, Scope, Workspace
from memories.notes.index import sync_scope


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path)


def main(options: argparse.Namespace) -> None:
    data, now = dataset.load(options.folder), datetime.now(UTC)
    with throwaway_workspace() as workspace:
        _tell("as entries", ask_all(data.questions, workspace, ingest(data, workspace, now=now, say=print)))
    with files_root(), throwaway_workspace() as workspace:
        memories = {name: _written(workspace, name, rows, now) for name, rows in data.scopes.items()}
        index_all(workspace, now, say=print)
        _tell("as lines of files", ask_all(data.questions, workspace, memories))


def _written(workspace: Workspace, name: str, rows: list[CorpusText], now: datetime) -> IngestedScope:
    """A scope whose texts were written into the file of their day, each a line that names its speaker."""
    scope = Scope.objects.create(workspace=workspace, key=name[:255], kind=ScopeKind.USER)
    memory, at = IngestedScope(scope), UNDATED
    folder = scope_folder(workspace.folder, scope.key)
    days: defaultdict[str, list[CorpusText]] = defaultdict(list)
    for row in rows:
        at = row.at or at
        days[folder.daily(at.date())].append(row)
        memory.last_at = max(memory.last_at, at)
    for path, texts in days.items():
        lines = [_line(row) for row in texts]
        (folder.workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (folder.workspace / path).write_text("".join(f"- {line}\n" for line in lines))
    sync_scope(scope, now=now)
    for entry, path, line in Entry.objects.in_scope(scope).live().values_list("pk", "path", "line_from"):
        row = days[path][line - 1]
        memory.texts[entry].add(row.doc_id)
        memory.entries.append((row.seq, entry))
    memory.scope.refresh_from_db()
    return memory


def _line(row: CorpusText) -> str:
    text = f"{row.speaker}: {row.text}" if row.speaker else row.text
    return " ".join(text.split())


def _tell(name: str, answers: list[AnswerScore]) -> None:
    print(name, figures(answers, name)["mean_of_categories"], flush=True)
