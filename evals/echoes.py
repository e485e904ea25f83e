"""A data set as the memory of a bot in use: its questions were asked before, and the turns were captured."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import product
from typing import Any

from evals.comparison import format_comparison, format_latency
from evals.dataset import CorpusText, Dataset, Question
from evals.report import format_unasked
from evals.workspace import IngestedScope
from memories.choices import Echo
from memories.language.quoting import turn_of
from memories.language.text import has_han
from memories.models import Entry, Workspace

#: How the bot replied: it did not know, repeated the right text word for word, or told another one of the scope.
REPLIES = ("unknown", "parrot", "wrong")
_UNKNOWN = {
    "en": ("I'm not sure about that, sorry.", "I don't know that yet.", "Hmm, I can't remember."),
    "zh": ("抱歉，这个我不太清楚。", "我还不知道呢。", "嗯，我不记得了。"),
}
_RECALLED = {"en": "As far as I remember: {}", "zh": "我记得是：{}"}
_NAME = "echo"
_COLUMNS = ("as published", "with echoes")


def with_echoes(dataset: Dataset, questions: Iterable[Question], *, reply: str, times: int) -> Dataset:
    """The set with a turn for each question and time at the end of its scope; the right answers stay as they are.

    The same set gives the same turns. `questions` may be more than those of the set.
    """
    all_questions = list(questions)
    scopes = {
        name: [*rows, *_turns(rows, [question for question in all_questions if question.scope == name], reply, times)]
        for name, rows in dataset.scopes.items()
    }
    return Dataset(dataset.name, scopes, dataset.questions)


def _turns(rows: Sequence[CorpusText], questions: Sequence[Question], reply: str, times: int) -> Iterator[CorpusText]:
    """A turn a second from the last text on; each time all questions are asked is a session."""
    end = max((row.at for row in rows if row.at), default=None)
    for n, (time, question) in enumerate(product(range(1, times + 1), questions), start=1):
        yield CorpusText(
            doc_id=f"{_NAME} {n}",
            scope=question.scope,
            session_id=f"{_NAME} {time}",
            speaker="",
            text=turn_of(question.query, _reply(question, rows, reply, time)),
            seq=rows[-1].seq + n,
            at=end + timedelta(seconds=n) if end else None,
        )


def _reply(question: Question, rows: Sequence[CorpusText], reply: str, time: int) -> str:
    """Where there is nothing to repeat, the bot did not know."""
    language = "zh" if has_han(question.query) else "en"
    lots = random.Random(f"{question.scope}/{question.query_id}/{time}")  # noqa: S311 (a lot, no secret)
    if reply == "parrot":
        texts = [row.text for row in rows if row.doc_id in question.gold][:1]
    elif reply == "wrong":
        texts = [row.text for row in rows if row.doc_id not in question.gold]
    else:
        texts = []
    return _RECALLED[language].format(lots.choice(texts)) if texts else lots.choice(_UNKNOWN[language])


def count_marked(workspace: Workspace, memories: Mapping[str, IngestedScope]) -> int:
    """How many of the turns tell nothing new by the product's own judgement; the others hold a statement."""
    marked_pks = set(Entry.objects.filter(workspace=workspace, echo=Echo.TURN).values_list("pk", flat=True))
    texts = [docs for memory in memories.values() for entry, docs in memory.texts.items() if entry in marked_pks]
    return sum(doc.startswith(f"{_NAME} ") for docs in texts for doc in docs)


def describe(plain: Dataset, echoed: Dataset, *, reply: str, times: int, marked: int) -> dict[str, Any]:
    """What was added to a set, and how many of its questions are asked of a time before that."""
    return {
        "reply": reply,
        "asked": times,
        "turns": sum(len(rows) - len(plain.scopes[name]) for name, rows in echoed.scopes.items()),
        "marked": marked,
        "before": sum(question.before_seq is not None for question in plain.questions),
    }


def format_echoes(report: Mapping[str, Any]) -> str:
    """The figures of the set as it was published and with the turns, and what changed."""
    echoes = report["echoes"]
    often = "once" if echoes["asked"] == 1 else f"{echoes['asked']} times"
    lines = [
        f"{report['dataset']}: {report['questions']} questions, asked {often} before, reply {echoes['reply']}: "
        f"{echoes['turns']} turns more, of which {echoes['marked']} tell nothing new",
        *format_unasked(report),
    ]
    if echoes["before"]:
        lines.append(
            f"{echoes['before']} questions see none of these turns: they are asked of a time before (before_seq)"
        )
    return "\n".join([*lines, "", *format_comparison(report, _COLUMNS), format_latency(report, _COLUMNS)])
