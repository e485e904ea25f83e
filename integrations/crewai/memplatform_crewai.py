"""The `Memory` of CrewAI, kept by a memplatform: asked before a task, told the task and its result after it.

CrewAI's own interface of storage is given vectors and no words, so the memory itself stands here, not a storage below
it: no model reads what is kept, no embedder is needed, and nothing is written to this machine.
"""

import re
from datetime import UTC, datetime
from typing import Any

from crewai.memory.types import MemoryMatch, MemoryRecord, ScopeInfo
from crewai.memory.unified_memory import Memory
from memplatform_client.turns import BotMemory
from pydantic import PrivateAttr

#: How CrewAI writes down what an agent did, for a model to take facts out of it.
DONE = re.compile(r"(?:Task|Input): (.*?)\nAgent: [^\n]*\n(?:Expected result: .*?\n)?Result: (.*)", re.DOTALL)


class Nowhere:
    """A storage that keeps nothing: what CrewAI asks of scopes and categories, which a person's memory has not."""

    def save(self, records: list[MemoryRecord]) -> None:
        """Nothing comes here."""

    def search(self, *args: Any, **kwargs: Any) -> list[tuple[MemoryRecord, float]]:
        """Nothing is found by a vector."""
        return []

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Of any scope: it has nothing."""
        return ScopeInfo(path=scope)

    def list_scopes(self, parent: str = "/") -> list[str]:
        """No scopes."""
        return []

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """No categories."""
        return {}

    def count(self, scope_prefix: str | None = None) -> int:
        """No records."""
        return 0

    def reset(self, scope_prefix: str | None = None) -> None:
        """Of a person's memory nothing is erased by a crew: its owner does that."""


class MemplatformMemory(Memory):
    """The memory of one person, for a crew or an agent; made by `of`."""

    _bot: BotMemory = PrivateAttr()
    _person: str = PrivateAttr(default="")
    _chat: str = PrivateAttr(default="")

    @classmethod
    def of(cls, bot: BotMemory, person: str, chat: str = "", **options: Any) -> "MemplatformMemory":
        """The memory of a person's chat; `read_only=True`: nothing is told to it."""
        memory = cls(storage=Nowhere(), **options)
        memory._bot, memory._person, memory._chat = bot, person, chat
        return memory

    def recall(
        self, query: str, scope: str | None = None, *args: Any, limit: int = 10, **kwargs: Any
    ) -> list[MemoryMatch]:  # type: ignore[override]
        """The memories that bear on some words, the best first."""
        rows = self._bot.search(self._person, query, limit)
        return [MemoryMatch(record=record_of(row), score=row["score"]) for row in rows]

    def extract_memories(self, content: str) -> list[str]:
        """What an agent did, as it is: the platform itself finds what is worth keeping."""
        return [content]

    def remember_many(self, contents: list[str], *args: Any, **kwargs: Any) -> list[MemoryRecord]:
        """Take what an agent did as a turn, and anything else as a sentence to keep."""
        records = [self.remember(content) for content in contents]
        return [record for record in records if record]

    def remember(self, content: str, *args: Any, **kwargs: Any) -> MemoryRecord | None:
        """Keep a sentence, or what an agent did."""
        if self.read_only:
            return None
        record = MemoryRecord(content=content)
        if match := DONE.fullmatch(content):
            self._bot.after(self._person, match[1], match[2], self._chat)
        elif entry_id := self._bot.save(self._person, content, self._chat):
            record.id = entry_id
        return record

    def list_records(self, scope: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """What is remembered of the person, newest first."""
        rows = self._bot.tried("no records are listed", lambda: list(self._rows(limit + offset)), [])
        return [record_of(row) for row in rows[offset:]]

    def forget(self, *args: Any, record_ids: list[str] | None = None, **kwargs: Any) -> int:
        """Forget records by their ids, where they are this person's; how many. Nothing else can be forgotten here."""
        return sum(
            self._bot.tried("a record is not forgotten", lambda one=one: self._delete(one), 0)
            for one in record_ids or ()
        )

    def _rows(self, limit: int) -> Any:
        rows = self._bot.client.list_entries(scope=self._scope(), state="live", limit=min(limit, 200))
        return (row for _number, row in zip(range(limit), rows, strict=False))

    def _delete(self, record: str) -> int:
        if self._bot.client.read_entry(record)["scope"] != self._scope():
            return 0
        self._bot.client.delete_entry(record)
        return 1

    def _scope(self) -> str:
        return str(self._bot.client.resolve_address(address=self._bot.address(self._person))["user_scope"])


def record_of(row: Any) -> MemoryRecord:
    """A memory as CrewAI has it."""
    at = datetime.fromisoformat(str(row["created_at"])).astimezone(UTC).replace(tzinfo=None)
    return MemoryRecord(id=row["id"], content=row["content"], importance=row.get("importance") or 0.5, created_at=at)
