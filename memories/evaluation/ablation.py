"""What each ingredient of the ranking adds: the same questions with one of them switched off at a time.

Rows are blended anew from the raw vectors that are stored; nothing is embedded twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings

from memories.evaluation.dataset import Dataset
from memories.evaluation.memory import Memory, blend
from memories.evaluation.run import ask_all
from memories.evaluation.scores import Answer
from memories.models import Workspace

EVERYTHING = 1_000_000
#: What search rows are made by: with another of these they are made anew.
ROW_NUMBERS = {"BM25_K1", "BM25_B", "INDEX_TERMS", "BLEND_REACH", "BLEND_KEYWORDS", "BLEND_VECTOR"}


@dataclass(frozen=True)
class Step:
    """An ingredient, and the settings that switch it off; `rows` are those of them the search rows are made by."""

    name: str
    off: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> dict[str, Any]:
        return {name: value for name, value in self.off.items() if name in ROW_NUMBERS}


STEPS = (
    Step("all of it"),
    Step("- average taken out", {"AVERAGE_SHARE": 0.0}),
    Step("- 15 terms are enough", {"FULL_TERMS": EVERYTHING}),
    Step("- dates", {"DATE_BOOST": 0.0}),
    Step("- days after a date", {"DATE_TAIL": timedelta(0)}),
    Step("- speaker", {"SPEAKER_BOOST": 0.0}),
    Step("- floor of similarity", {"MIN_SIMILARITY": -100.0}),
    Step("- vectors", {"ALPHA": 0.0}),
    Step("- keywords", {"ALPHA": 1.0, "MIN_SIMILARITY": -100.0}),
    Step("- cap on terms", {"INDEX_TERMS": EVERYTHING}),
    Step("- neighbours' words", {"BLEND_KEYWORDS": False}),
    Step("- neighbours' vectors", {"BLEND_VECTOR": 0.0}),
    Step("- neighbours", {"BLEND_REACH": 0}),
    Step(
        "none of it",
        {"BLEND_REACH": 0, "AVERAGE_SHARE": 0.0, "FULL_TERMS": EVERYTHING, "DATE_BOOST": 0.0, "SPEAKER_BOOST": 0.0},
    ),
)


def ablate(
    dataset: Dataset, workspace: Workspace, memories: Mapping[str, Memory], steps: Sequence[Step] = STEPS
) -> Iterator[tuple[str, list[Answer]]]:
    """The answers without each ingredient; the search rows are left as they were."""
    rows_of: Mapping[str, Any] = {}
    try:
        for step in steps:
            with overridden(step.off):
                if step.rows != rows_of:  # steps that share their rows need them made once
                    blend(memories)
                    rows_of = step.rows
                yield step.name, ask_all(dataset, workspace, memories)
    finally:
        if rows_of:
            blend(memories)


@contextmanager
def overridden(numbers: Mapping[str, Any]) -> Iterator[None]:
    """These numbers for the length of a block, in this process."""
    names = {f"MEMORY_{name}": value for name, value in numbers.items()}
    before = {name: getattr(settings, name) for name in names if hasattr(settings, name)}
    for name, value in names.items():
        setattr(settings, name, value)
    try:
        yield
    finally:
        for name in names:
            if name in before:
                setattr(settings, name, before[name])
            else:
                delattr(settings, name)
