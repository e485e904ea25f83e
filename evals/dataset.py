"""Reading a set: `corpus.jsonl.gz` and `queries.jsonl.gz` of one folder."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any


class DatasetError(Exception):
    """This folder holds no data set: corpus.jsonl.gz and queries.jsonl.gz are expected in it."""


@dataclass(frozen=True)
class CorpusText:
    """One text of the corpus; `seq` is its place in its scope."""

    doc_id: str
    scope: str
    session_id: str
    speaker: str
    text: str
    seq: int
    at: datetime | None

    @property
    def digest(self) -> str:
        """Tells a text from another that goes by the same name."""
        whole = "\0".join([self.text, self.speaker, self.session_id, str(self.at)])
        return hashlib.sha256(whole.encode(errors="surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True)
class Question:
    """A question and the texts that answer it; of a group of texts any one will do."""

    query_id: str
    scope: str
    query: str
    category: str
    gold: frozenset[str]
    groups: tuple[frozenset[str], ...]
    asked_at: datetime | None
    before_seq: int | None


@dataclass(frozen=True)
class Dataset:
    """A set with its rows in order, by scope."""

    name: str
    scopes: dict[str, list[CorpusText]]
    questions: list[Question]

    @property
    def unasked(self) -> list[Question]:
        """Questions about a scope of which there is no text: nothing can be measured by them."""
        return [question for question in self.questions if question.scope not in self.scopes]


def load(folder: Path) -> Dataset:
    """Read a set. Raises DatasetError when the folder holds none."""
    scopes: dict[str, list[CorpusText]] = {}
    for raw in _lines(folder / "corpus.jsonl.gz"):
        row = CorpusText(
            doc_id=raw["doc_id"],
            scope=raw["scope"],
            session_id=raw.get("session_id") or "",
            speaker=raw.get("speaker") or "",
            text=raw["text"],
            seq=raw["seq"],
            at=parse_time(raw.get("created_at")),
        )
        scopes.setdefault(row.scope, []).append(row)
    for rows in scopes.values():
        rows.sort(key=lambda row: row.seq)
    place = folder.resolve()
    return Dataset(
        place.parent.name if place.name in {"dev", "test", "all"} else place.name,
        scopes,
        [_question(raw) for raw in _lines(folder / "queries.jsonl.gz")],
    )


def _question(raw: dict[str, Any]) -> Question:
    return Question(
        query_id=raw["query_id"],
        scope=raw["scope"],
        query=raw["query"],
        category=raw.get("category") or "all",
        gold=frozenset(raw.get("gold") or ()),
        groups=tuple(frozenset(group) for group in raw.get("gold_groups") or ()),
        asked_at=parse_time(raw.get("asked_at")),
        before_seq=raw.get("before_seq"),
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)
    except (FileNotFoundError, NotADirectoryError, gzip.BadGzipFile) as error:
        raise DatasetError(f"{path}: {DatasetError.__doc__}") from error


def parse_time(text: str | None) -> datetime | None:
    """A time of the set: a day is its beginning, a bare month its last instant; UTC unless it says otherwise."""
    if not text:
        return None
    if len(text) == len("2025-12"):
        year, month = map(int, text.split("-"))
        following = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
        return following - timedelta(microseconds=1)
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)
