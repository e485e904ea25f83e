"""What a store was told and what it was asked, in words that are the same for every store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Whose a memory is: any of user_id, agent_id, app_id and run_id.
Whose = Mapping[str, str]
IDS = ("user_id", "agent_id", "app_id", "run_id")


@dataclass(frozen=True)
class Answered:
    """A call the store has answered, by its arguments' names. All of it is to be read, never changed."""

    arguments: Mapping[str, Any]  # those that were given
    answer: Any
    defaults: Mapping[str, Any] = field(default_factory=dict)  # what the store takes where nothing is given


@dataclass(frozen=True)
class Fact:
    """What became of one memory when something was added; event is ADD, UPDATE, DELETE or NONE."""

    id: str
    text: str
    event: str = "ADD"


@dataclass(frozen=True)
class Hit:
    """A memory that was handed out."""

    id: str
    text: str
    score: float | None = None
    whose: Whose = field(default_factory=dict)


@dataclass(frozen=True)
class Added:
    """Something was added. `facts` None: the store has not told what it keeps of the messages."""

    whose: Whose
    facts: Sequence[Fact] | None
    messages: Sequence[Mapping[str, Any]] = ()
    infer: bool = False  # whether the store draws facts from the messages
    metadata: Mapping[str, Any] | None = None
    timestamp: Any = None
    expiration_date: str | None = None
    left_out: Sequence[str] = ()  # options of the store that nothing here answers to


@dataclass(frozen=True)
class Changed:
    """A memory was changed; `changes` has text, metadata and expiration_date where they were given."""

    id: str
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Deleted:
    """A memory was deleted."""

    id: str


@dataclass(frozen=True)
class DeletedAll:
    """All memories of a filter were deleted (ids such as user_id, or as mem0's filters are); or everything."""

    filters: Mapping[str, Any]
    everything: bool = False


@dataclass(frozen=True)
class Asked:
    """The store was asked a question (None: for all there is), and handed these memories out, best first."""

    query: str | None
    filters: Mapping[str, Any]
    hits: Sequence[Hit]
    limit: int | None = None  # how many it was asked for


@dataclass(frozen=True)
class Seen:
    """Memories came to light otherwise; nothing is compared."""

    hits: Sequence[Hit]


Event = Added | Changed | Deleted | DeletedAll | Asked | Seen
