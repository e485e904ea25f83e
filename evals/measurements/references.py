"""Are questions answered that leave out what they are about? Forty cases of our own, by the real embedder.

    python -m evals.measurements references [--without]

`--without` is without the messages before, and without what memory knows of people.

Every case has a memory of its own with the lines of its case. Counted is whether the right one comes first.
"""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from django.utils import timezone

from memories import entries
from memories.choices import EntryType, ScopeKind, Source
from memories.entries.draft import Draft
from memories.index import worker
from memories.language.persons import ASSISTANT, USER, RecentMessage
from memories.models import Scope, Workspace
from memories.recall import Query, SearchScope, recall
from memories.tenancy.resolver import ScopeRef

CASES = Path(__file__).parents[1] / "data" / "references.txt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--without", action="store_true", help="as if nothing were resolved")


def cases() -> list[tuple[str, list[str], list[str], str]]:
    """The kind, the memories, the messages before, and the question of each case."""
    lines = [line.split("|") for line in CASES.read_text("utf-8").splitlines() if line and line[0] != "#"]
    return [(kind.strip(), _parts(memories), _parts(before), words.strip()) for kind, memories, before, words in lines]


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(" / ") if part.strip()]


def main(options: argparse.Namespace) -> None:
    workspace, now = Workspace.objects.create(name="references"), timezone.now()
    first: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for number, (kind, memories, before, question) in enumerate(cases()):
        scope = Scope.objects.begin(workspace.pk, f"case:{number}", ScopeKind.USER)
        for content in memories:
            draft = Draft(scope=scope, content=content, type=EntryType.USER_EXPLICIT, source=Source.TOOL, at=now)
            entries.remember_many([draft], now=now, actor="benchmark")
        worker.drain(now=now)
        scope.refresh_from_db()
        if options.without:
            scope.nicknames = {}
        more: dict[str, Any] = {"recent": messages(before)} if before and not options.without else {}
        places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
        query = Query(workspace_id=workspace.pk, places=places, message=question, limit=8, **more)
        result = recall(query, now=now, embed_seconds=10, recorded=False)
        best = [item.entry.content for item in result.served]
        total[kind] += 1
        first[kind] += best[:1] == memories[:1]
        if best[:1] != memories[:1]:
            print(f"  {question}  ->  {best[0] if best else '-'}")
    for kind in total:
        print(f"{kind}: {first[kind]} of {total[kind]} right memories first")


def messages(before: list[str]) -> list[RecentMessage]:
    """Messages of a user and a bot in turn."""
    return [RecentMessage(ASSISTANT if n % 2 else USER, content) for n, content in enumerate(before)]
