"""What a model was shown, and may name in its answer."""

from dataclasses import dataclass

from pydantic import ValidationInfo

#: In the schema of an id: which of those that were given it may be.
KNOWN = "known"


@dataclass(frozen=True)
class Given:
    """What the model was shown and may name: every id, and those it may drop or replace (None: all of them)."""

    ids: frozenset[str] = frozenset()
    droppable: frozenset[str] | None = None

    @property
    def may_go(self) -> frozenset[str]:
        return self.ids if self.droppable is None else self.ids & self.droppable

    @property
    def sources(self) -> frozenset[str]:
        """What new facts may rest on: not on what they may replace."""
        return self.ids - (self.droppable or frozenset())


def given_of(info: ValidationInfo) -> Given:
    """Without a word of what was given, nothing was."""
    context = info.context
    return context if isinstance(context, Given) else Given()
