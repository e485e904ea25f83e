"""Is what people told found among many other turns? Facts, things said by the way, and what later remarks bear on.

    python -m evals.measurements many_turns [--language en] [--json]

The sets of evals/data are told as turns, in conversations of ten in the order of a lot, beside a hundred and twenty
turns that tell nothing lasting: 180 to 300 turns a memory.
"""

import argparse
import json
import random
from collections.abc import Sequence

from django.utils import timezone

from evals.dataset import CorpusText, Dataset, Question
from evals.first_minutes import KINDS
from evals.relevance import LANGUAGES, REPLIES, read
from evals.report import figures
from evals.run import evaluate
from memories.evaluation import throwaway_workspace
from memories.language.quoting import turn_of

CONVERSATION = 10
PASSING = 120
#: A question, the place of the text that answers it, and its kind.
Asked = tuple[str, int, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--language", choices=LANGUAGES, action="append", help="only this language")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def main(options: argparse.Namespace) -> None:
    for language in options.language or LANGUAGES:
        for dataset in datasets(language):
            with throwaway_workspace() as workspace:
                report = figures(evaluate(dataset, workspace, now=timezone.now()), dataset.name)
            if options.json:
                print(json.dumps(report, ensure_ascii=False))
                continue
            print(dataset.name, " ".join(f"{name} {value:.3f}" for name, value in report["mean"].items()))


def datasets(language: str) -> list[Dataset]:
    """The sets of one language."""
    passing = [row["text"] for row in read(f"passing.{language}.jsonl")][:PASSING]
    facts = read(f"first_minutes.{language}.jsonl")
    questions = [
        (question, n, kind)
        for n, fact in enumerate(facts)
        for kind, question in zip(KINDS, fact["questions"], strict=True)
    ]
    lasting = read(f"lasting.{language}.jsonl")
    remarks = read(f"remarks.{language}.jsonl")
    earlier = [row["earlier"] for row in remarks]
    others = [other for row in remarks for other in row["others"]]
    return [
        _dataset("facts", language, [fact["fact"] for fact in facts] + passing, questions),
        _dataset(
            "lasting",
            language,
            [row["text"] for row in lasting] + passing,
            [(row["question"], n, "lasting") for n, row in enumerate(lasting)],
        ),
        _dataset(
            "remarks",
            language,
            list(dict.fromkeys(earlier + others)),
            [(row["remark"], n, "remarks") for n, row in enumerate(remarks)],
        ),
    ]


def _dataset(kind: str, language: str, texts: Sequence[str], rows: Sequence[Asked]) -> Dataset:
    name = f"{kind}_{language}"
    order = random.Random(3).sample(range(len(texts)), len(texts))  # noqa: S311 (no secret)
    corpus = [
        CorpusText(f"d{n}", name, f"s{at // CONVERSATION}", "", turn_of(texts[n], REPLIES[language]), at, None)
        for at, n in enumerate(order)
    ]
    questions = [
        Question(f"q{at}", name, question, category, frozenset([f"d{n}"]), (), None, None)
        for at, (question, n, category) in enumerate(rows)
    ]
    return Dataset(name, {name: corpus}, questions)
