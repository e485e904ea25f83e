"""A long turn in few words (A11): what was cut is stored and answered at once, a model's summary takes its place later.

Where the model is off, fails, is too slow, invents, or says nothing shorter, the turn stays as it was stored; and so it
does when anybody changed it meanwhile.
"""

from collections.abc import Sequence
from datetime import datetime

import structlog

from memories import grounding, llm, prompts, store, text
from memories.conf import conf
from memories.exceptions import EntryNotFound, PlatformError, ScopeFrozen, VersionConflict
from memories.llm.schemas import TurnSummary
from memories.models import Entry, Workspace
from memories.store import Edit

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
    try:
        answer = llm.ask(workspace, PURPOSE, told, TurnSummary, now=now, model=conf.LLM_SUMMARY_MODEL)
    except PlatformError as problem:  # off, failing, spent, unusable
        log.info("shortening.left", workspace=workspace.pk, problem=type(problem).__name__)
        return 0
    summary = answer.value.summary
    if not _is_better(summary, stored, f"{user}\n{assistant}"):
        return 0
    return sum(_replace(entry, summary, now) for entry in entries)


def _unchanged(workspace: Workspace, entry_ids: Sequence[int], stored: str) -> list[Entry]:
    live = Entry.objects.live().filter(workspace_id=workspace.pk, pk__in=entry_ids, content=stored)
    return list(live.select_related("scope").order_by("pk"))


def _is_better(summary: str, stored: str, said: str) -> bool:
    """Whether it tells of the turn, and saves room or holds what had to be cut."""
    was_cut = text.ELLIPSIS in stored
    is_shorter = text.count_tokens(summary) < text.count_tokens(stored)
    return grounding.share(summary, [said]) >= conf.GROUNDING and (is_shorter or was_cut)


def _replace(entry: Entry, summary: str, now: datetime) -> bool:
    """Through the door, which keeps what was there in the history and has it found by its new words."""
    wanted = Edit(columns={"content": summary})
    try:
        store.edit(entry, wanted, now=now, actor=ACTOR, expected_version=entry.version)
    except (VersionConflict, EntryNotFound, ScopeFrozen) as problem:
        log.info("shortening.discarded", entry=str(entry.uid), problem=type(problem).__name__)
        return False
    return True
