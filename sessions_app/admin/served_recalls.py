"""Which recall stands behind which message of a conversation: by the bot's word, else by the question's words."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from memories.entries.history import ServedVersion, served_versions_by_trace
from memories.models import Entry, RecallTrace
from sessions_app.choices import EventKind
from sessions_app.models import Session, SessionEvent

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: Recalls looked at for a page.
RECALLS = 200
#: A recall comes before the turn it was made for, at most so long.
BEFORE = timedelta(minutes=10)


@dataclass(frozen=True)
class ServedRecall:
    """What a recall served before a turn."""

    trace: RecallTrace
    entries: list[tuple[Entry, ServedVersion]]  # in the words they had then


def served_recalls(session: Session, page: list[SessionEvent]) -> dict[int, list[ServedRecall]]:
    """What recalls served, by the message they were made for: named by the bot, else the same words near by."""
    questions = [event for event in page if event.kind == EventKind.USER]
    if not questions:
        return {}
    between = (questions[0].at - BEFORE, questions[-1].at + BEFORE)
    named = _named_recalls(page)
    here = RecallTrace.objects.filter(workspace_id=session.workspace_id).defer("candidates", "terms")
    near = here.filter(session_key=session.key, created_at__range=between).order_by("-created_at")[:RECALLS]
    traces = sorted({*near, *here.filter(uid__in=named)}, key=lambda trace: (trace.created_at, trace.pk))
    wanted = {pk for trace in traces for pk in trace.served}
    entries = Entry.objects.filter(workspace_id=session.workspace_id).in_bulk(wanted)
    then = served_versions_by_trace(traces, entries)
    by_position: defaultdict[int, list[ServedRecall]] = defaultdict(list)
    for trace in traces:
        position = named.get(str(trace.uid)) or _position_of(trace, questions)
        if position is not None:
            served = [(entries[pk], then[trace.pk, pk]) for pk in trace.served if pk in entries]
            by_position[position].append(ServedRecall(trace, served))
    return by_position


def _named_recalls(page: list[SessionEvent]) -> dict[str, int]:
    """By the recall a bot named with its answer: the position of the question before that answer."""
    named, question = {}, 0
    for event in page:
        question = event.position if event.kind == EventKind.USER else question
        recall = str(event.data.get("recall_id", ""))
        if question and _UUID.fullmatch(recall):
            named[recall] = question
    return named


def _position_of(trace: RecallTrace, questions: list[SessionEvent]) -> int | None:
    """The position of the first question near a recall with the same words."""
    words = trace.message.strip()
    near = (event for event in questions if abs(event.at - trace.created_at) <= BEFORE)
    return next((event.position for event in near if event.content.strip() == words), None)


def recalls_of_answers(
    page: Sequence[SessionEvent], served: Mapping[int, Sequence[ServedRecall]]
) -> dict[int, RecallTrace]:
    """By the position of an answer the recall it was given with: the one it names, else the last of its question."""
    by_uid = {str(one.trace.uid): one.trace for recalls in served.values() for one in recalls}
    answers, asked = {}, 0
    for event in page:
        asked = event.position if event.kind == EventKind.USER else asked
        if event.kind != EventKind.ASSISTANT:
            continue
        of_question = [one.trace for one in served.get(asked, ())]
        found = by_uid.get(str(event.data.get("recall_id"))) or next(reversed(of_question), None)
        if found is not None:
            answers[event.position] = found
    return answers
