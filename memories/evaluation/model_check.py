"""Whether a model will do, on six short conversations of ours: form, quotes, reading, time and tokens (D7)."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memories import llm
from memories.choices import Reading, Refusal, ScopeKind
from memories.consolidation import reading
from memories.consolidation.buffer import Message
from memories.consolidation.extraction import model as extraction
from memories.consolidation.extraction.findings import Checker, objection_of
from memories.consolidation.extraction.model import ExtractionQuestion
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages
from memories.consolidation.reading import Claim
from memories.evaluation.throwaway import throwaway_workspace
from memories.exceptions import PlatformError
from memories.llm import client
from memories.models import BufferedTurn, Scope, Workspace

_CONVERSATIONS = Path(__file__).parent / "data" / "model_check.json"
#: Shares from which on a model will do: answers that can be used, quotes found, true and false statements told apart.
USABLE, QUOTED, READ = 1.0, 0.9, 0.85


@dataclass
class ModelCheck:
    """What a model did with the conversations."""

    model: str = ""
    form: str = ""
    conversations: int = 0
    turns: int = 0
    usable: int = 0
    offered: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)  # verdicts on true and on false statements
    asked: Counter[str] = field(default_factory=Counter)
    decoys: int = 0
    decoys_passed: int = 0
    batches_believed: int = 0
    batches_read: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def quoted(self) -> float:
        """The share of the offered facts whose words were found and whose checks passed."""
        return 1 - self.refused.total() / self.offered if self.offered else 0.0

    @property
    def extracts(self) -> bool:
        return self.usable == self.conversations and self.quoted >= QUOTED

    @property
    def reads(self) -> bool:
        rights = (self.right[kind] / self.asked[kind] if self.asked[kind] else 0.0 for kind in ("true", "false"))
        return self.batches_believed == self.batches_read > 0 and min(rights) >= READ


def check_model(*, now: datetime, reader: str = "") -> Iterator[ModelCheck]:
    """Check the configured model conversation by conversation, and `reader`, if it is another; the state after each."""
    found = ModelCheck()
    for one in json.loads(_CONVERSATIONS.read_text(encoding="utf-8")):
        with throwaway_workspace(one["language"]) as workspace:
            began = time.monotonic()
            found.conversations += 1
            found.turns += sum(role == "user" for role, _content in one["messages"])
            question, scoped = _question(one, workspace)
            checker = Checker(question, [scoped], workspace.zone())
            try:
                answer = extraction.ask_model(question, workspace, now=now, judge=objection_of(checker))
            except PlatformError as problem:
                found.problems.append(f"{type(problem).__name__}: {problem}")
            else:
                found.usable += 1
                found.model = answer.model
                found.tokens.update(prompt=answer.prompt_tokens, completion=answer.completion_tokens)
                candidates = [checker.candidate(fact) for fact in answer.value.facts]
                found.offered += len(candidates) + answer.refused
                found.refused.update(str(candidate.refusal) for candidate in candidates if candidate.refusal)
                found.refused[Refusal.INVALID] += answer.refused
            found.form = client.form_of(found.model)
            # True and false statements, each beside everything its author wrote
            quotes = [
                (name, message.message.content)
                for name, message in checker.question.messages.items()
                if not message.is_answer
            ]
            statements = [(kind, said) for kind in ("true", "false") for said in one[kind]]
            claims = [Claim(said, quotes) for _kind, said in statements]
            result = reading.read(claims, checker.sources(), workspace, now=now, reader=reader)
            found.batches_read += 1
            found.batches_believed += result.is_believed
            found.decoys += result.counts.get("decoys", 0)
            found.decoys_passed += result.counts.get("decoys_passed", 0)
            found.tokens.update(reading=result.tokens)
            for (kind, _said), verdict in zip(statements, result.verdicts, strict=True):
                found.asked[kind] += 1
                found.right[kind] += (verdict == Reading.ENTAILED) == (kind == "true")
            found.seconds += time.monotonic() - began
        yield found


def _question(one: dict[str, Any], workspace: Workspace) -> tuple[ExtractionQuestion, ScopeMessages]:
    """The conversation as if its scope held it; nothing of it is stored."""
    scope = Scope(workspace=workspace, kind=ScopeKind.USER, key="model-check", speakers=[one["speaker"]])
    begin = datetime.fromisoformat(one["at"])
    messages = [
        ScopedMessage(
            Message(id=f"check/{n}", role=role, content=content, at=begin + timedelta(minutes=n), sender="check"),
            BufferedTurn(user_scope=scope, place={"speaker": one["speaker"]}),
        )
        for n, (role, content) in enumerate(one["messages"])
    ]
    scoped = ScopeMessages(scope, tuple(messages))
    return ExtractionQuestion({f"m{n}": message for n, message in enumerate(messages, start=1)}, scoped), scoped


def is_possible() -> bool:
    """Whether a model is configured."""
    return llm.is_on()
