"""A run of questions to the model for one piece of work, and when it stops."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import structlog
from pydantic import BaseModel

from memories import llm
from memories.exceptions import AnswerInvalid, BudgetSpent, ModelFailed, ModelOff
from memories.llm.prompts import Prompt
from memories.llm.schemas import Given
from memories.models import Workspace

log = structlog.get_logger(__name__)
T = TypeVar("T", bound=BaseModel)
Clock = Callable[[], datetime]
#: Receives the counts of a run so far.
Report = Callable[[dict[str, int]], None]


class ModelRun:
    """The model, until its budget is spent, the run's time is over, or it fails `patience` times in a row.

    With `is_strict` every problem is a failure; else a spent budget ends the run at once, and an answer that cannot be
    used is only counted, as the next question may fare better.
    """

    def __init__(
        self,
        workspace: Workspace,
        purpose: str,
        *,
        clock: Clock,
        until: datetime | None = None,
        patience: int = 2,
        is_strict: bool = False,
    ) -> None:
        self.workspace = workspace
        self.stopped = "" if llm.is_on() else "no_model"
        self.counts: Counter[str] = Counter()
        self.model = ""  # that answered last
        self.left_out = 0  # items of its last answer that stayed unusable
        self._purpose, self._clock, self._until = purpose, clock, until
        self._patience, self._is_strict = patience, is_strict
        self._failures = 0
        self._spent: Counter[str] = Counter()

    @property
    def now(self) -> datetime:
        return self._clock()

    def may_ask(self) -> bool:
        if not self.stopped and self._until is not None and self._clock() >= self._until:
            self.stopped = "time"
        return not self.stopped

    def ask(
        self, prompt: Prompt, schema: type[T], given: Given | None = None, *, purpose: str = "", **limits: Any
    ) -> T | None:
        """An answer, or None; `stopped` says why when there will be no others."""
        if not self.may_ask():
            return None
        purpose = purpose or self._purpose
        try:
            answer = llm.ask(self.workspace, purpose, prompt, schema, now=self._clock(), given=given, **limits)
        except (ModelOff, ModelFailed, BudgetSpent, AnswerInvalid) as problem:
            if isinstance(problem, BudgetSpent) and not self._is_strict:
                self.stopped = "budget"
            elif isinstance(problem, ModelOff):
                self.stopped = "no_model"
            else:
                is_unreadable = isinstance(problem, AnswerInvalid)
                self.counts["unreadable" if is_unreadable else "failed"] += 1
                self._failures += not is_unreadable or self._is_strict
                self.stopped = "model_failed" if self._failures >= self._patience else ""
            kind, why = type(problem).__name__, str(problem)
            log.warning("model.no_answer", workspace=self.workspace.pk, purpose=purpose, problem=kind, why=why)
            return None
        self._failures = 0
        self.model = answer.model
        self.left_out = answer.refused
        self._spent.update(
            calls=answer.calls, prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens
        )
        return answer.value

    def why(self) -> dict[str, int]:
        """What stopped the run, as a count; empty when nothing did."""
        return {f"stopped_{self.stopped}": 1} if self.stopped else {}

    def take_cost(self) -> dict[str, Any]:
        """What was spent since the last call of this, for the batch it was spent on."""
        spent, self._spent = self._spent, Counter()
        return {"model": self.model, **spent} if spent else {}
