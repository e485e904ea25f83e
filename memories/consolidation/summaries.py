"""Summaries of a model, sentence by sentence: what nobody said is left out, and the rest stands (A11, B3, C10, D5).

Two things speak against a sentence: it names a number, date, code or name nobody said, or the second reading finds it
contradicted or not stated. Where a reader believes decoys, nothing is left of the summary: whoever asked for it goes on
without a model.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memories.choices import Reading
from memories.consolidation import reading
from memories.consolidation.reading import Claim, ReadingResult, Sources
from memories.language.sentences import joined, spoken_sentences
from memories.models import Workspace
from memories.verification import claims
from memories.verification.claims import Conversation, Message


@dataclass(frozen=True)
class CheckedSummary:
    """The sentences of a summary, paragraph by paragraph; those that name what nobody said need a reader to stand."""

    paragraphs: Sequence[Sequence[str]]
    doubted: frozenset[str] = frozenset()
    left_out: int = 0

    @classmethod
    def of(cls, written: str, conversation: Conversation) -> "CheckedSummary":
        """A model's text with the doubts of the checks."""
        found = [list(filter(None, spoken_sentences(part))) for part in written.split("\n\n")]
        doubted = {one for part in found for one in part if claims.invention(one, conversation) is not None}
        return cls([part for part in found if part], frozenset(doubted))

    def claims(self) -> list[Claim]:
        """Its sentences, for a second reading: each rests on all that was said."""
        return [Claim(one) for part in self.paragraphs for one in part]

    def read(self, result: ReadingResult, begin: int = 0) -> "CheckedSummary":
        """What a reader leaves of it; `begin` is the position of its first claim.

        A sentence that was doubted stands only where the reader, which is believed, says that it is entailed.
        """
        if result.is_fooled:
            return CheckedSummary([], left_out=self.left_out + len(self.claims()))
        verdicts = (result.of(n) for n in range(begin, begin + len(self.claims())))
        kept = [[one for one in part if self._stands(one, next(verdicts))] for part in self.paragraphs]
        lost = len(self.claims()) - sum(map(len, kept))
        return CheckedSummary([part for part in kept if part], left_out=self.left_out + lost)

    def _stands(self, sentence: str, verdict: Reading) -> bool:
        return verdict is Reading.ENTAILED or (verdict is Reading.UNSURE and sentence not in self.doubted)

    def without_doubted(self) -> str:
        """Its text without the sentences that need a reader."""
        return "\n\n".join(joined([one for one in part if one not in self.doubted]) for part in self.paragraphs)

    @property
    def text(self) -> str:
        return "\n\n".join(map(joined, self.paragraphs))


def sources_of(messages: Sequence[Message]) -> Sources:
    """What was said, as a second reader is shown it."""
    shown = {one.id: {"speaker": one.speaker, "on": one.on.isoformat(), "text": one.content} for one in messages}
    return Sources(shown, {one.speaker for one in messages if one.speaker and not one.is_answer})


def checked(
    written: str, conversation: Conversation, workspace: Workspace, *, now: datetime, seconds: float | None = None
) -> tuple[str, Counter[str]]:
    """What is left of a summary of these messages by the checks and a second reading; and counts of both.

    Asked outside any transaction. Without a reader, or where it fails, by the checks alone.
    """
    sound = CheckedSummary.of(written, conversation)
    result = reading.read(sound.claims(), sources_of(conversation.messages), workspace, now=now, seconds=seconds)
    left = sound.read(result)
    return left.text, Counter(left_out=left.left_out, **result.counts)
