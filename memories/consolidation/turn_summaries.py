"""A long turn in few words (A11): what was cut is stored and answered at once, a model's summary takes its place later.

Where the model is off, fails or is too slow, or its summary would tell less or something else than what is stored, the
turn stays as it was; and so it does when anybody changed it meanwhile. A summary that is not taken is an answer that
cannot be used: the model is told why, and it is counted with the failures of its purpose.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import structlog

from memories import entries, llm
from memories.conf import conf
from memories.entries import Edit
from memories.exceptions import EntryNotFound, PlatformError, ScopeFrozen, VersionConflict
from memories.language import text
from memories.llm import prompts
from memories.llm.schemas import TurnSummaryOutput
from memories.models import Entry, Workspace
from memories.verification import summaries

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
    entries = _unchanged(workspace, entry_ids, stored)
    if not entries:
        return 0
    said = {"user": text.smart_truncate(user, _SHOWN_CHARS), "assistant": text.smart_truncate(assistant, _SHOWN_CHARS)}
    told = prompts.prompt("turn_summary", workspace.language, said)
    turn = summaries.StoredTurn(**said, stored=stored, instructions=told.instructions)
    judge = partial(_problem, turn)
    try:
        answer = llm.ask(
            workspace, PURPOSE, told, TurnSummaryOutput, now=now, judge=judge, model=conf.LLM_SUMMARY_MODEL
        )
    except PlatformError as problem:  # off, failing, spent, unusable
        log.info("shortening.left", workspace=workspace.pk, problem=type(problem).__name__)
        return 0
    return sum(_replace(entry, answer.value.summary, now) for entry in entries)


def _unchanged(workspace: Workspace, entry_ids: Sequence[int], stored: str) -> list[Entry]:
    live = Entry.objects.live().filter(workspace_id=workspace.pk, pk__in=entry_ids, content=stored)
    return list(live.select_related("scope").order_by("pk"))


def _problem(turn: summaries.StoredTurn, answer: TurnSummaryOutput) -> str | None:
    """What speaks against a summary; one that saves no room holds at least what had to be cut."""
    is_shorter = text.count_tokens(answer.summary) < text.count_tokens(turn.stored)
    if not is_shorter and text.ELLIPSIS not in turn.stored:
        return "the summary is no shorter than the turn"
    return summaries.fault(turn, answer.summary)


def _replace(entry: Entry, summary: str, now: datetime) -> bool:
    """Through the door, which keeps what was there in the history and has it found by its new words."""
    wanted = Edit(columns={"content": summary})
    try:
        entries.update(entry, wanted, now=now, actor=ACTOR, expected_version=entry.version)
    except (VersionConflict, EntryNotFound, ScopeFrozen) as problem:
        log.info("shortening.discarded", entry=str(entry.uid), problem=type(problem).__name__)
        return False
    return True
