"""What is told of a day without a model: its most telling sentences, as they were said (D5)."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from zoneinfo import ZoneInfo

from memories.choices import ScopeKind
from memories.conf import conf
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages
from memories.entries.daily_events import EventDraft
from memories.index import scope_statistics
from memories.language import summary as summaries
from memories.models import Scope


def summarise_days(scoped: ScopeMessages, zone: ZoneInfo) -> Iterator[EventDraft]:
    """For each local day at most one event; none where it held nothing but pleasantries."""
    weigh = scope_statistics.term_weights(scoped.scope, (one.message.content for one in scoped.messages))
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


def _line(one: ScopedMessage, scope: Scope) -> summaries.Utterance:
    """In a chat's memory people are called by name, in a person's own not at all."""
    is_named = one.is_answer or scope.kind == ScopeKind.CHAT
    return summaries.Utterance(
        content=one.message.content,
        origin=one.message.id,
        label=one.speaker if is_named else "",
        is_answer=one.is_answer,
    )
