"""Whether a model will do, on six short conversations of ours: form, quotes, reading, time and tokens (D7)."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memories.choices import Reading, Refusal, ScopeKind
from memories.consolidation import reading
from memories.consolidation.buffer import Message
from memories.consolidation.extraction import model as extraction
from memories.consolidation.extraction.findings import Checker, objection_of
from memories.consolidation.extraction.model import ExtractionQuestion
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages
from memories.consolidation.reading import Claim
from memories.evaluation import throwaway_workspace
from memories.exceptions import PlatformError
from memories.llm import client
from memories.models import BufferedTurn, Scope, Workspace

_CONVERSATIONS = Path(__file__).parent / "data" / "model_check.json"
#: Shares from which on a model will do: answers that can be used, quotes found, true statements from false ones.
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

    def as_result(self, reader: str, now: datetime) -> dict[str, Any]:
        """What is kept of it: shares of facts, and verdicts on true and false statements."""
        return {
            "at": now.isoformat(timespec="seconds"),
            "reader": reader,
            "quoted": round(self.quoted, 3),
            **{f"{kind}_read": self.asked[kind] for kind in ("true", "false")},
            **{f"{kind}_right": self.right[kind] for kind in ("true", "false")},
            "is_believed": self.batches_believed == self.batches_read > 0,
        }


def check_model(*, now: datetime, reader: str = "") -> Iterator[ModelCheck]:
    """Check the configured model conversation by conversation, and `reader`, if it is another; the state after each."""
    check = ModelCheck()
    for conversation in json.loads(_CONVERSATIONS.read_text(encoding="utf-8")):
        with throwaway_workspace(conversation["language"]) as workspace:
            began = time.monotonic()
            check.conversations += 1
            check.turns += sum(role == "user" for role, _content in conversation["messages"])
            question, scoped = _question(conversation, workspace)
            checker = Checker(question, [scoped], workspace.zone())
            try:
                answer = extraction.ask_model(question, workspace, now=now, judge=objection_of(checker))
            except PlatformError as problem:
                check.problems.append(f"{type(problem).__name__}: {problem}")
            else:
                check.usable += 1
                check.model = answer.model
                check.tokens.update(prompt=answer.prompt_tokens, completion=answer.completion_tokens)
                candidates = [checker.candidate(fact) for fact in answer.value.facts]
                check.offered += len(candidates) + answer.refused
                check.refused.update(str(candidate.refusal) for candidate in candidates if candidate.refusal)
                check.refused[Refusal.INVALID] += answer.refused
            check.form = client.form_of(check.model)
            # True and false statements, each beside everything its author wrote
            quotes = [
                (name, message.message.content)
                for name, message in checker.question.messages.items()
                if not message.is_answer
            ]
            statements = [(kind, words) for kind in ("true", "false") for words in conversation[kind]]
            claims = [Claim(words, quotes) for _kind, words in statements]
            result = reading.read(claims, checker.sources(), workspace, now=now, reader=reader)
            check.batches_read += 1
            check.batches_believed += result.is_believed
            check.decoys += result.counts.get("decoys", 0)
            check.decoys_passed += result.counts.get("decoys_passed", 0)
            check.tokens.update(reading=result.tokens)
            for (kind, _words), verdict in zip(statements, result.verdicts, strict=True):
                check.asked[kind] += 1
                check.right[kind] += (verdict == Reading.ENTAILED) == (kind == "true")
            check.seconds += time.monotonic() - began
        yield check


def _question(conversation: dict[str, Any], workspace: Workspace) -> tuple[ExtractionQuestion, ScopeMessages]:
    """The conversation as if its scope held it; nothing of it is stored."""
    scope = Scope(workspace=workspace, kind=ScopeKind.USER, key="model-check", speakers=[conversation["speaker"]])
    begin = datetime.fromisoformat(conversation["at"])
    messages = [
        ScopedMessage(
            Message(id=f"check/{n}", role=role, content=content, at=begin + timedelta(minutes=n), sender="check"),
            BufferedTurn(user_scope=scope, place={"speaker": conversation["speaker"]}),
        )
        for n, (role, content) in enumerate(conversation["messages"])
    ]
    scoped = ScopeMessages(scope, tuple(messages))
    return ExtractionQuestion({f"m{n}": message for n, message in enumerate(messages, start=1)}, scoped), scoped
