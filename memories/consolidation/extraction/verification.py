"""Whether the messages a model names say what it says they do; whoever speaks goes by several names (D5)."""

from collections.abc import Collection, Sequence
from zoneinfo import ZoneInfo

from memories.consolidation.extraction.model import ExtractionQuestion
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages
from memories.language import names, relations
from memories.models import Scope
from memories.verification import grounding
from memories.verification.grounding import SourceMessage


def is_grounded(
    content: str, messages: Sequence[ScopedMessage], owner: ScopeMessages, question: ExtractionQuestion, zone: ZoneInfo
) -> bool:
    """Whether a fact stands in the messages it rests on; what they answer is read with them, and proves nothing."""
    shown = list(question.messages.values())
    sources = [_message(one, zone) for one in _with_questions(messages, shown, owner)]
    others = {one.speaker for one in shown if not one.is_answer} - {one.speaker for one in messages}
    known = [*question.projects, *owner.scope.projects]
    # by the name it teaches, somebody is called in the same message
    readings: list[dict[str, Collection[str]]] = [{}, _also_called(messages, owner.scope)]
    return any(
        grounding.fault(content, sources, known=known, others=others, also_called=also) is None for also in readings
    )


def is_summary_grounded(content: str, question: ExtractionQuestion, scoped: ScopeMessages, zone: ZoneInfo) -> bool:
    """Whether all a summary tells stands in the messages that were shown."""
    shown = list(question.messages.values())
    also = _also_called(shown, scoped.scope)
    sources = [_message(one, zone) for one in shown]
    return grounding.fault_of_summary(content, sources, known=question.projects, also_called=also) is None


def _message(one: ScopedMessage, zone: ZoneInfo) -> SourceMessage:
    return SourceMessage(one.message.content, one.speaker, one.message.at.astimezone(zone).date(), one.is_answer)


def _with_questions(
    messages: Sequence[ScopedMessage], shown: Sequence[ScopedMessage], owner: ScopeMessages
) -> list[ScopedMessage]:
    """These messages in the order they were said, each after the answer it follows, where that may be told here."""
    wanted = {one.message.id for one in messages}
    for before, one in zip(shown, shown[1:], strict=False):
        if one in messages and not one.is_answer and before.is_answer and owner.holds({before.message.id}):
            wanted.add(before.message.id)
    return [one for one in shown if one.message.id in wanted]


def _also_called(messages: Sequence[ScopedMessage], scope: Scope) -> dict[str, Collection[str]]:
    """By what names those who speak go besides, as the memory has learnt, or they say themselves."""
    people = {one.speaker: one.message.sender for one in messages if not one.is_answer}
    learnt = relations.without_relations(scope.nicknames)
    for one in messages:
        if not one.is_answer:
            learnt |= names.learn(one.message.content, one.speaker)
    found: dict[str, Collection[str]] = {}
    for speaker, sender in people.items():
        own = {names.fold(speaker), names.fold(f"{names.UNNAMED}{sender}")}
        also = {alias for alias, name in learnt.items() if names.fold(name) in own}
        found[speaker] = also | {*names.given_names(speaker)} | (set(scope.speakers) if len(people) == 1 else set())
    return found
