"""Fitting what turns questions towards the statements that answer them (memories.recall.relevance.Background).

An embedder puts a question beside texts that look like it. Two matrices, one for questions and one for statements, are
learned from the pairs in evals/data/answering: the statement that answers has to be nearer than those of the other
questions of a batch, and than two that are easily taken for it (InfoNCE, van den Oord et al. 2018). Both begin with
nothing added and are held near that, so that what no pair tells stays as the embedder has it.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.relevance import DATA, LANGUAGES, Embed, as_text, read
from memories.recall.relevance import QUESTION, STATEMENT, TURN, Array, Background

KINDS = ("personal", "named", "talk", "remarks")
#: Of these one statement in four is embedded as a turn with an answer.
AS_TURNS = frozenset({"personal", "remarks"})
ROUNDS, BATCH, STEP, DECAY, TEMPERATURE, DROPPED = 8, 512, 1e-3, 0.1, 0.07, 0.1
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8  # of Adam


@dataclass(frozen=True)
class Pairs:
    """Questions with the statement that answers each, and two others; all centred, a row a text."""

    questions: Array
    statements: Array  # questions × dimensions
    others: Array  # 2 × questions × dimensions
    groups: NDArray[np.int64]  # which questions have one statement


def read_pairs(embed: Embed, background: Background, folder: Path = DATA) -> Pairs:
    """The pairs of both languages."""
    questions: list[Array] = []
    statements: list[Array] = []
    others: list[Array] = []
    groups: list[NDArray[np.int64]] = []
    count = 0
    for language, script in LANGUAGES.items():
        for kind in KINDS:
            rows = read(f"answering/{kind}.{language}.jsonl", folder)
            queries = [question for row in rows for question in row["questions"]]
            places = [n for n, row in enumerate(rows) for _ in row["questions"]]
            forms = [TURN if kind in AS_TURNS and n % 4 == 0 else STATEMENT for n in range(len(rows))]
            trios = [
                [as_text(one, form, language) for one in (row["statement"], *row["others"])]
                for row, form in zip(rows, forms, strict=True)
            ]
            query_vectors, trio_vectors = embed(queries, True), embed([one for texts in trios for one in texts], False)
            scripts = [script] * len(rows)
            centred = [
                background.centred(np.stack([trio_vectors[texts[n]] for texts in trios]), scripts, forms)[places]
                for n in range(3)
            ]
            vectors = np.stack([query_vectors[one] for one in queries])
            questions.append(background.centred(vectors, [script] * len(queries), [QUESTION] * len(queries)))
            statements.append(centred[0])
            others.append(np.stack(centred[1:]))
            groups.append(np.array(places) + count)
            count += len(rows)
    return Pairs(
        np.concatenate(questions), np.concatenate(statements), np.concatenate(others, axis=1), np.concatenate(groups)
    )


@dataclass
class _Map:
    """A matrix that is learned, by Adam."""

    matrix: Array
    first: Array = field(init=False)
    second: Array = field(init=False)
    steps: int = 0

    def __post_init__(self) -> None:
        self.first, self.second = np.zeros_like(self.matrix), np.zeros_like(self.matrix)

    def turned(self, rows: Array) -> tuple[Array, Array]:
        """Rows with what is added to them, of length 1, and the length they had."""
        sums = rows + rows @ self.matrix
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return sums / lengths, lengths

    def slope(self, rows: Array, turned: Array, lengths: Array, of_turned: Array) -> Array:
        """The slope of the loss by the matrix, from that by the rows that were turned."""
        of_moved = (of_turned - (of_turned * turned).sum(axis=1, keepdims=True) * turned) / lengths
        return np.asarray(rows.T @ of_moved, np.float32)

    def step(self, slope: Array, size: float) -> None:
        self.steps += 1
        self.first += (1 - _FIRST) * (slope - self.first)
        self.second += (1 - _SECOND) * (slope**2 - self.second)
        likely = self.first / (1 - _FIRST**self.steps)
        spread = np.sqrt(self.second / (1 - _SECOND**self.steps)) + _TINY
        self.matrix -= size * (likely / spread + DECAY * self.matrix)


def fit_maps(pairs: Pairs, *, seed: int = 1, rounds: int = ROUNDS) -> tuple[Array, Array]:
    """What is added to questions and to statements: two matrices, dimensions × dimensions."""
    lot = np.random.default_rng(seed)
    size = pairs.questions.shape[1]
    of_questions, of_statements = (_Map(np.zeros((size, size), np.float32)) for _ in range(2))
    count = len(pairs.questions)
    steps, step = rounds * -(-count // BATCH), 0
    for _ in range(rounds):
        order = lot.permutation(count)
        for begin in range(0, count, BATCH):
            rows = order[begin : begin + BATCH]
            step += 1
            pace = STEP * min(1.0, step / 50) * max(0.02, (1 + np.cos(np.pi * step / steps)) / 2)
            _learn(pairs, rows, of_questions, of_statements, lot, float(pace))
    return of_questions.matrix, of_statements.matrix


def _learn(
    pairs: Pairs,
    rows: NDArray[np.int64],
    of_questions: _Map,
    of_statements: _Map,
    lot: np.random.Generator,
    pace: float,
) -> None:
    """One step by the questions at these rows."""
    count = len(rows)
    # some of each question is left out, so that no single direction is relied on
    mask = (lot.random((count, pairs.questions.shape[1])) >= DROPPED).astype(np.float32) / np.float32(1 - DROPPED)
    questions = pairs.questions[rows] * mask
    statements = np.concatenate([pairs.statements[rows], pairs.others[0][rows], pairs.others[1][rows]])
    turned, lengths = of_questions.turned(questions)
    answers, answer_lengths = of_statements.turned(statements)
    scores = turned @ answers.T / TEMPERATURE
    groups = pairs.groups[rows]
    same = groups[:, None] == groups[None, :]
    np.fill_diagonal(same, val=False)
    scores[:, :count][same] = -np.inf
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    likely[np.arange(count), np.arange(count)] -= 1
    likely /= count * TEMPERATURE
    slopes = (
        of_questions.slope(questions, turned, lengths, likely @ answers),
        of_statements.slope(statements, answers, answer_lengths, likely.T @ turned),
    )
    for one, slope in zip((of_questions, of_statements), slopes, strict=True):
        one.step(slope.astype(np.float32), pace)
