"""Real questions with judgements, one a line: written from traces, completed by hand, read again.

The file holds what people asked and what is remembered of them: it is written for its owner's eyes alone, and nothing
of it leaves the machine.
"""

import json
import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from memories.models import Entry, RecallTrace, Scope, Workspace
from memories.models.recall_trace import NOT_LOOKING_BACK

SEED = 5  # the same traces make the same file


class JudgementsError(Exception):
    """This is no file of judgements."""


@dataclass
class JudgedMemory:
    """A memory beside a question: served then, or found by today's ranking."""

    id: str
    text: str
    said_at: str
    used: bool | None = None  # the bot said that its answer rested on it
    pointed_to: bool | None = None  # the words of the answer point to it
    today: bool = False  # not served then


@dataclass
class JudgedQuestion:
    """A question somebody asked, and what was judged of its answer.

    `relevant` is the owner's word: the ids of the memories that help to answer it, [] for a question memory cannot
    answer, null while nobody has judged.
    """

    trace: str
    question: str
    scopes: list[str]
    asked_at: str
    relevant: list[str] | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    evidence: str = ""
    note: str = ""
    served: list[JudgedMemory] = field(default_factory=list)

    @property
    def weakly(self) -> list[str] | None:
        """What the bot said it used; else what the words of its answer point to; None when neither is known."""
        for sign in ("used", "pointed_to"):
            if any(getattr(memory, sign) is not None for memory in self.served):
                return [memory.id for memory in self.served if getattr(memory, sign)]
        return None


def sample_traces(workspace: Workspace, *, since: datetime | None, most: int) -> list[JudgedQuestion]:
    """At most so many recalls of a workspace that looked into memory, drawn by lot, oldest first."""
    traces = RecallTrace.objects.filter(NOT_LOOKING_BACK, workspace_id=workspace.pk).exclude(evidence={})
    traces = traces.order_by("created_at", "pk")
    if since is not None:
        traces = traces.filter(created_at__gte=since)
    return [_question_of(trace) for trace in _sample(traces, most)]


def _sample(traces: QuerySet[RecallTrace], most: int) -> list[RecallTrace]:
    every = list(traces.values_list("pk", flat=True))
    picks = every if len(every) <= most else random.Random(SEED).sample(every, most)  # noqa: S311 (a lot, no secret)
    return list(traces.filter(pk__in=picks))


def _question_of(trace: RecallTrace) -> JudgedQuestion:
    entries = Entry.objects.filter(workspace_id=trace.workspace_id).in_bulk(trace.served)
    scopes = Scope.objects.in_workspace(trace.workspace_id).in_bulk(trace.scopes)
    return JudgedQuestion(
        trace=str(trace.uid),
        question=trace.message,
        scopes=[scopes[pk].key for pk in trace.scopes if pk in scopes],
        asked_at=trace.created_at.isoformat(),
        asked=trace.query,
        evidence=trace.evidence.get("verdict", ""),
        note=trace.note,
        served=[_memory_of(entries[pk], trace) for pk in trace.served if pk in entries],
    )


def _memory_of(entry: Entry, trace: RecallTrace) -> JudgedMemory:
    return JudgedMemory(
        id=str(entry.uid),
        text=entry.content,
        said_at=entry.created_at.isoformat(),
        used=None if trace.used is None else entry.pk in trace.used,
        pointed_to=None if trace.overlap is None else entry.pk in trace.overlap,
    )


def write(path: Path, rows: Iterable[JudgedQuestion]) -> None:
    """Write the file, readable by its owner alone. Raises FileExistsError: what was judged by hand is not replaced."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)


def read(path: Path) -> list[JudgedQuestion]:
    """The questions of a file. Raises JudgementsError, naming the line."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                raw = json.loads(line)
                row = JudgedQuestion(**{**raw, "served": [JudgedMemory(**memory) for memory in raw.get("served", [])]})
                if datetime.fromisoformat(row.asked_at).tzinfo is None:
                    raise ValueError("asked_at: a time without its zone")
                row.relevant = None if row.relevant is None else _ids(row.relevant)
                rows.append(row)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise JudgementsError(f"{path}, line {number}: {error}") from error
    return rows


def _ids(uids: Sequence[str]) -> list[str]:
    if isinstance(uids, str):
        raise TypeError("relevant: a list of ids is expected")
    return [str(UUID(uid)) for uid in uids]
