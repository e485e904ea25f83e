"""Whether the messages a model names say what it says they do; whoever speaks goes by several names (D5)."""

from collections.abc import Collection, Sequence
from zoneinfo import ZoneInfo

from memories.consolidation.extraction.model import Question
from memories.consolidation.extraction.ownership import Said, Share
from memories.language import names
from memories.models import Scope
from memories.verification import grounding
from memories.verification.grounding import SourceMessage


def is_founded(content: str, said: Sequence[Said], home: Share, question: Question, zone: ZoneInfo) -> bool:
    """Whether a fact stands in the messages it rests on; what they answer is read with them, and proves nothing."""
    shown = list(question.said.values())
    messages = [_message(one, zone) for one in _with_questions(said, shown, home)]
    others = {one.speaker for one in shown if not one.is_answer} - {one.speaker for one in said}
    known = [*question.projects, *home.scope.projects]
    told: tuple[dict[str, Collection[str]], ...] = (
        {},
        _also_called(said, home.scope),
    )  # by the name it teaches, somebody is called in the same message
    return any(
        grounding.fault(content, messages, known=known, others=others, also_called=also) is None for also in told
    )


def is_summary(content: str, question: Question, share: Share, zone: ZoneInfo) -> bool:
    """Whether all a summary tells stands in the messages that were shown."""
    shown = list(question.said.values())
    also = _also_called(shown, share.scope)
    messages = [_message(one, zone) for one in shown]
    return grounding.fault_of_summary(content, messages, known=question.projects, also_called=also) is None


def _message(one: Said, zone: ZoneInfo) -> SourceMessage:
    return SourceMessage(one.message.content, one.speaker, one.message.at.astimezone(zone).date(), one.is_answer)


def _with_questions(said: Sequence[Said], shown: Sequence[Said], home: Share) -> list[Said]:
    """These messages in the order they were said, each after the answer it follows, where that may be told here."""
    wanted = {one.message.id for one in said}
    for before, one in zip(shown, shown[1:], strict=False):
        if one in said and not one.is_answer and before.is_answer and home.holds({before.message.id}):
            wanted.add(before.message.id)
    return [one for one in shown if one.message.id in wanted]


def _also_called(said: Sequence[Said], scope: Scope) -> dict[str, Collection[str]]:
    """By what names those who speak go besides, as the memory has learnt, or they say themselves."""
    people = {one.speaker: one.message.sender for one in said if not one.is_answer}
    learnt = dict(scope.nicknames)
    for one in said:
        if not one.is_answer:
            learnt |= names.learn(one.message.content, one.speaker)
    found: dict[str, Collection[str]] = {}
    for speaker, sender in people.items():
        own = {names.fold(speaker), names.fold(f"{names.UNNAMED}{sender}")}
        also = {alias for alias, name in learnt.items() if names.fold(name) in own}
        found[speaker] = also | {*names.given_names(speaker)} | (set(scope.speakers) if len(people) == 1 else set())
    return found
