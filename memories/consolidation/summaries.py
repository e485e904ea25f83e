"""Summaries of a model, sentence by sentence: what no message bears out is left out (A11, B3, C10, D5).

Two things speak against a sentence: it names a number, date, code or name that no message has, or the second reading
finds it contradicted or not stated. Where a reader believes decoys, nothing is left of the summary: whoever asked for
it goes on without a model.

A long turn gets one (A11): what was cut is stored and answered at once, a model's summary takes its place later. Where
the model is off, fails or is too slow, or what is left of its summary says less than what is stored, the turn stays as
it was; and so it does when anybody changed it meanwhile. A summary that is not taken for what it says is an answer that
cannot be used: the model hears why, and it is counted with the failures of its purpose.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import structlog

from memories import entries, llm
from memories.choices import Reading
from memories.conf import conf
from memories.consolidation import reading
from memories.consolidation.reading import Claim, ReadingResult, Sources
from memories.entries import Edit
from memories.exceptions import EntryNotFound, PlatformError, ScopeFrozen, VersionConflict
from memories.language import text
from memories.language.sentences import joined, spoken_sentences
from memories.llm import prompts
from memories.llm.schemas import TurnSummaryOutput
from memories.models import Entry, Workspace
from memories.verification import claims
from memories.verification.claims import Conversation, Message


@dataclass(frozen=True)
class CheckedSummary:
    """The sentences of a summary, paragraph by paragraph; those with what no message has need a reader to stand."""

    paragraphs: Sequence[Sequence[str]]
    doubted: frozenset[str] = frozenset()
    left_out: int = 0

    @classmethod
    def of(cls, written: str, conversation: Conversation) -> "CheckedSummary":
        """A model's text with the doubts of the checks."""
        paragraphs = [list(filter(None, spoken_sentences(part))) for part in written.split("\n\n")]
        sentences = (sentence for part in paragraphs for sentence in part)
        doubted = {sentence for sentence in sentences if claims.invention(sentence, conversation) is not None}
        return cls([part for part in paragraphs if part], frozenset(doubted))

    def claims(self) -> list[Claim]:
        """Its sentences, for a second reading: each rests on the whole conversation."""
        return [Claim(sentence) for part in self.paragraphs for sentence in part]

    def read(self, result: ReadingResult, begin: int = 0) -> "CheckedSummary":
        """What a reader leaves of it; `begin` is the position of its first claim.

        A sentence that was doubted stands only where the reader, which is believed, says that it is entailed.
        """
        count = len(self.claims())
        if result.is_fooled:
            return CheckedSummary([], left_out=self.left_out + count)
        verdicts = (result.of(n) for n in range(begin, begin + count))
        stands = (Reading.ENTAILED,), (Reading.ENTAILED, Reading.UNSURE)
        kept = [
            [sentence for sentence in part if next(verdicts) in stands[sentence not in self.doubted]]
            for part in self.paragraphs
        ]
        lost = count - sum(map(len, kept))
        return CheckedSummary([part for part in kept if part], left_out=self.left_out + lost)

    def without_doubted(self) -> str:
        """Its text without the sentences that need a reader."""
        left = ([sentence for sentence in part if sentence not in self.doubted] for part in self.paragraphs)
        return "\n\n".join(map(joined, left))

    @property
    def text(self) -> str:
        return "\n\n".join(map(joined, self.paragraphs))


def sources_of(messages: Sequence[Message]) -> Sources:
    """A conversation as a second reader is shown it."""
    shown = {
        message.id: {"speaker": message.speaker, "on": message.on.isoformat(), "text": message.content}
        for message in messages
    }
    return Sources(shown, {message.speaker for message in messages if message.speaker and not message.is_answer})


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


log = structlog.get_logger(__name__)
PURPOSE, ACTOR = "turn_summary", "job:shorten"
#: So much of each side is shown to the model, head and tail.
_SHOWN_CHARS = 12_000


def is_wanted(user: str, assistant: str) -> bool:
    """Whether a turn is to have a summary."""
    is_long = len(user.strip()) + len(assistant.strip()) >= conf.LLM_SUMMARY_FROM
    return conf.USE_LLM_SUMMARY and llm.is_on() and is_long


def shorten(
    workspace: Workspace, entry_ids: Sequence[int], user: str, assistant: str, stored: str, *, now: datetime
) -> int:
    """Give the entries that still say what was stored of a turn its summary; how many. One question for all of them."""
    live = Entry.objects.live().filter(workspace_id=workspace.pk, pk__in=entry_ids, content=stored)
    rows = list(live.select_related("scope").order_by("pk"))
    if not rows:
        return 0
    turn = StoredTurn.of(user, assistant, stored, rows[0], workspace)
    prompt = prompts.prompt("turn_summary", workspace.language, turn.shown)
    try:
        answer = llm.ask(
            workspace, PURPOSE, prompt, TurnSummaryOutput, now=now, judge=turn.problem, model=conf.LLM_SUMMARY_MODEL
        )
    except PlatformError as problem:  # off, failing, spent, unusable
        log.info("shortening.left", workspace=workspace.pk, problem=type(problem).__name__)
        return 0
    summary, counts = checked(answer.value.summary, turn.conversation, workspace, now=now)
    if turn.fault(summary):
        log.info("shortening.refused", workspace=workspace.pk, **counts)
        return 0
    shortened = 0
    for entry in rows:
        change = Edit(columns={"content": summary})
        try:
            entries.update(entry, change, now=now, actor=ACTOR, expected_version=entry.version)
        except (VersionConflict, EntryNotFound, ScopeFrozen) as problem:
            log.info("shortening.discarded", entry=str(entry.uid), problem=type(problem).__name__)
        else:
            shortened += 1
    return shortened


class SummaryFault(StrEnum):
    """What is wrong with a summary, in the words for the model that wrote it."""

    LONG = "the summary is no shorter than the turn"
    INVENTED = "the summary holds numbers, dates, codes or names that the turn does not"
    LOST = "the summary leaves out too many numbers, dates, codes or names"


@dataclass(frozen=True)
class StoredTurn:
    """A turn in full, and as it is stored."""

    stored: str
    conversation: Conversation

    @classmethod
    def of(cls, user: str, assistant: str, stored: str, entry: Entry, workspace: Workspace) -> "StoredTurn":
        on = entry.stated_at.astimezone(workspace.zone()).date()
        sides = [
            Message("user", text.smart_truncate(user, _SHOWN_CHARS), entry.speaker, on),
            Message("assistant", text.smart_truncate(assistant, _SHOWN_CHARS), "assistant", on, is_answer=True),
        ]
        return cls(stored, Conversation([side for side in sides if side.content]))

    @property
    def shown(self) -> dict[str, str]:
        sides = {side.id: side.content for side in self.conversation.messages}
        return {"user": sides.get("user", ""), "assistant": sides.get("assistant", "")}

    def problem(self, answer: TurnSummaryOutput) -> str | None:
        """What speaks against an answer, by what the checks leave of it."""
        left = CheckedSummary.of(answer.summary, self.conversation)
        fault = self.fault(left.without_doubted())
        return SummaryFault.INVENTED if fault and left.doubted else fault

    def fault(self, summary: str) -> SummaryFault | None:
        """Why a summary must not take the place of what is stored; one that saves no room has to hold what was cut."""
        is_shorter = text.count_tokens(summary) < text.count_tokens(self.stored)
        if not is_shorter and text.ELLIPSIS not in self.stored:
            return SummaryFault.LONG
        wanted = claims.marks(self.stored)
        is_less = 2 * len(claims.marks(summary) & wanted) < len(wanted)
        return SummaryFault.LOST if is_less or not summary else None
