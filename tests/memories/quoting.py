"""Facts of a model with the words they rest on."""

from datetime import datetime, timedelta
from typing import Any

from memories.choices import EntryType, Refusal, Source, Verification
from memories.entries import remember
from memories.entries.draft import QuotedWords
from memories.models import Entry, RefusedFact, Scope, Workspace
from tests.conftest import NOW, make_draft

SESSION = "session_events/0190aaaa-0000-7000-8000-000000000001/1"


def quoted_words(
    quote: str, *, event: int = 1, at: datetime = NOW - timedelta(days=2), speaker: str = ""
) -> QuotedWords:
    return QuotedWords(origin=f"{SESSION}/event-{event}", start=0, end=len(quote), quote=quote, at=at, speaker=speaker)


def fact_of_model(
    scope: Scope, content: str, *quotes: str | QuotedWords, verification: str = Verification.QUOTED, **more: Any
) -> Entry:
    """A fact a model stated, resting on these words of messages 1, 2, …"""
    words = [quoted_words(one, event=n) if isinstance(one, str) else one for n, one in enumerate(quotes, start=1)]
    draft = make_draft(
        scope,
        content,
        type=EntryType.FACT,
        source=Source.EXTRACTION,
        verification=verification,
        evidence=tuple(words),
        **{"tier": 2, "origins": tuple(word.origin for word in words), **more},
    )
    return remember(draft, now=NOW, actor="job:extract").entry


def refuse(workspace: Workspace, content: str, **more: Any) -> RefusedFact:
    """A fact of a model that was not kept."""
    shown = {"model": "qwen3", "purpose": "extract", "run": "extract:1", "reason": Refusal.NO_QUOTE}
    at = more.pop("at", NOW)
    return RefusedFact.objects.create(workspace=workspace, content=content, created_at=at, **(shown | more))
