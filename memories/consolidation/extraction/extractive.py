"""What is told of a day without a model: its most telling sentences, as they were said (D5)."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from zoneinfo import ZoneInfo

from memories.choices import ScopeKind
from memories.conf import conf
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages
from memories.entries.daily_events import EventDraft
from memories.index import scope_statistics
from memories.language import summary as summaries
from memories.language import text
from memories.models import Scope


def summarise_days(scoped: ScopeMessages, zone: ZoneInfo) -> Iterator[EventDraft]:
    """For each local day at most one event; none where it held nothing but pleasantries."""
    weigh = _weights(scoped.scope, scoped.messages)
    by_day: dict[date, list[ScopedMessage]] = defaultdict(list)
    for one in scoped.messages:
        by_day[one.message.at.astimezone(zone).date()].append(one)
    for day in sorted(by_day):
        summary = summaries.summarise(
            [_line(one, scoped.scope) for one in by_day[day]], weigh, limit=conf.SUMMARY_CHARS
        )
        if summary.content:
            yield EventDraft(
                scope=scoped.scope,
                local_date=day,
                content=summary.content,
                chats=scoped.chats(summary.origins),
                origins=summary.origins,
            )


def _weights(scope: Scope, messages: Sequence[ScopedMessage]) -> summaries.Weigh:
    """How much a term tells: the rarer it is among the entries of its scope, the more."""
    own = {term for one in messages for term in text.terms(one.message.content)}
    counts = {term: count for (_scope, term), count in scope_statistics.frequencies([scope.pk], own).items()}
    entries = max([scope.entry_count, *counts.values(), 1])

    def weigh(term: int) -> float:
        count = counts.get(term, 0)
        return math.log(1 + (entries - count + 0.5) / (count + 0.5))

    return weigh


def _line(one: ScopedMessage, scope: Scope) -> summaries.Utterance:
    """In a chat's memory people are called by name, in a person's own not at all."""
    is_named = one.is_answer or scope.kind == ScopeKind.CHAT
    return summaries.Utterance(
        content=one.message.content,
        origin=one.message.id,
        label=one.speaker if is_named else "",
        is_answer=one.is_answer,
    )
