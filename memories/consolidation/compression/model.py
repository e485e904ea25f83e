"""Asking the model again and again for one workspace, and knowing when to stop."""

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
#: Is told how far a run is.
Report = Callable[[dict[str, int]], None]
#: Failures in a row after which the endpoint is taken for dead.
_PATIENCE = 2


def silently(_counts: dict[str, int]) -> None:
    """Tell nobody how far a run is."""


class ModelRun:
    """The model, until its budget is spent, it fails twice in a row, or the time of the run is up."""

    def __init__(self, workspace: Workspace, purpose: str, *, clock: Clock, until: datetime) -> None:
        self.workspace = workspace
        self.stopped = "" if llm.is_on() else "no_model"
        self.counts: Counter[str] = Counter()
        self._purpose, self._clock, self._until = purpose, clock, until
        self._failures = 0
        self._spent: Counter[str] = Counter()
        self._model = ""

    def may_ask(self) -> bool:
        if not self.stopped and self._clock() >= self._until:
            self.stopped = "time"
        return not self.stopped

    def ask(self, prompt: Prompt, schema: type[T], given: Given) -> T | None:
        """An answer; None when there was none, and `stopped` says why when no other is to be expected."""
        if not self.may_ask():
            return None
        try:
            answer = llm.ask(self.workspace, self._purpose, prompt, schema, now=self._clock(), given=given)
        except BudgetSpent:
            self.stopped = "budget"
        except ModelOff:
            self.stopped = "no_model"
        except ModelFailed:
            self._failures += 1
            self.stopped = "model_failed" if self._failures >= _PATIENCE else ""
            self.counts["failed"] += 1
        except AnswerInvalid as problem:  # nothing is planned on what could not be read
            self.counts["unreadable"] += 1
            log.warning("compression.unreadable", workspace=self.workspace.pk, purpose=self._purpose, why=str(problem))
        else:
            self._failures = 0
            self._model = answer.model
            self._spent.update(
                calls=answer.calls, prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens
            )
            return answer.value
        return None

    def why(self) -> dict[str, int]:
        """What stopped it, as a count of a run: nothing when nothing did."""
        return {f"stopped_{self.stopped}": 1} if self.stopped else {}

    def take_cost(self) -> dict[str, Any]:
        """What was spent since this was asked last, for the batch it was spent on."""
        spent, self._spent = self._spent, Counter()
        return {"model": self._model, **spent} if spent else {}
