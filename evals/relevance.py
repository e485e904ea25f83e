"""Fitting the relevance of a memory (memories.recall.relevance) on the sets in evals/data, and how true it is.

First the background of the model: what texts of each script and form have in common, and the directions in which those
of each relation differ from all others (linear discriminant analysis, with a covariance shrunk towards a ball, for
there are more dimensions than texts). Then the weights: a logistic regression on questions asked among 1 to 400
memories. No published benchmark is used here: those judge.
"""

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evals import answerable
from memories.language import persons
from memories.language.quoting import turn_of
from memories.recall.relevance import (
    QUESTION,
    SCRIPTS,
    STATEMENT,
    TURN,
    WEIGHTS,
    Array,
    Asked,
    Background,
    Features,
    Memory,
    Weights,
    features,
    fold,
    read_relations,
    words_asked,
    words_of,
)
from memories.recall.vector import is_cjk

DATA = Path(__file__).parent / "data"
LANGUAGES = {"en": "latin", "zh": "cjk"}
REPLIES = {"en": "Noted.", "zh": "好的。"}
#: Of the covariance within relations, what is replaced by the same in all directions.
SHRINKAGE = 0.7
#: How strongly weights are held near nothing.
PENALTY = 1.0
SIZES = (1, 6, 12, 20, 60, 150, 400)
#: As many candidates as a recall looks at.
LOOKED_AT = 50

#: The vectors of texts, by text: of questions, or of passages.
Embed = Callable[[Iterable[str], bool], Mapping[str, Array]]


def read(name: str, folder: Path = DATA) -> list[dict[str, Any]]:
    """The rows of a set."""
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines() if line]


def as_text(statement: str, form: str, language: str) -> str:
    """A statement as it is embedded: as it stands, or as a turn with an answer.

    Of a turn whose answer tells nothing the statement alone is embedded: most of these sets are told so.
    """
    return turn_of(statement, REPLIES[language]) if form == TURN else statement


def make_background(embed: Embed) -> Background:
    """What a model makes of the relations."""
    rows = read_relations()
    means: dict[str, Array] = {}
    texts: list[Array] = []
    relations: list[int] = []
    for language, script in LANGUAGES.items():
        for form in (QUESTION, TURN, STATEMENT):
            part = "questions" if form == QUESTION else "statements"
            labelled = [(as_text(one, form, language), n) for n, row in enumerate(rows) for one in row[language][part]]
            by_text = embed([one for one, _ in labelled], form == QUESTION)
            vectors = np.stack([by_text[one] for one, _ in labelled])
            means[f"{script} {form}"] = mean = vectors.mean(axis=0)
            deviations = vectors - mean
            texts.append(deviations / np.linalg.norm(deviations, axis=1, keepdims=True))
            relations += [n for _, n in labelled]
    points, labels = np.concatenate(texts), np.array(relations)
    # questions and statements count alike, however many there are of each
    centres = np.stack([points[labels == n].mean(axis=0) for n in range(len(rows))])
    within = points - centres[labels]
    covariance = within.T @ within / len(within)
    dimension = len(covariance)
    ball = np.trace(covariance) / dimension * np.eye(dimension)
    precise = np.linalg.inv((1 - SHRINKAGE) * covariance + SHRINKAGE * ball)
    directions = centres @ precise
    offsets = -0.5 * (directions * centres).sum(axis=1)
    names = tuple(row["relation"] for row in rows)
    return Background(means, directions.astype(np.float32), offsets.astype(np.float32), names)


@dataclass(frozen=True)
class Example:
    """A question among some memories: what is seen of each, and which of them answer it."""

    group: str  # what belongs together when a part is kept for checking
    kind: str
    question: str
    entries: int
    seen: Features
    relevant: Array


@dataclass(frozen=True)
class Case:
    """A question among texts with the names they are about, and the places of those that answer it."""

    group: str
    kind: str
    language: str
    question: str
    memories: Sequence[tuple[str, frozenset[str]]]
    relevant: frozenset[int]
    form: str


def cases(folder: Path = DATA, *, seed: int = 1) -> Iterator[Case]:
    """The questions of first_minutes, unanswerable and named, each among memories of several sizes."""
    yield from _answerable_cases()
    lot = random.Random(seed)  # noqa: S311 (no secret)
    nameless: frozenset[str] = frozenset()
    for language in LANGUAGES:
        facts = read(f"first_minutes.{language}.jsonl", folder)
        extra = [fact["text"] for memory in read(f"named.{language}.jsonl", folder) for fact in memory["facts"]]
        for row in read(f"remarks.{language}.jsonl", folder):
            extra += [row["earlier"], *row["others"]]
        for fact in facts:
            for n, question in enumerate(fact["questions"]):
                unclear = {*fact["distractors"], *fact["distractors_by_question"][n]}
                others = [
                    other["fact"]
                    for other in facts
                    if other is not fact and other["id"] not in unclear and fact["id"] not in other["distractors"]
                ]
                for size in SIZES:
                    pool = [fact["fact"], *lot.sample(others, min(size - 1, len(others)))]
                    pool += lot.sample(extra, min(max(size - len(pool), 0), len(extra)))
                    form = TURN if (n + size) % 3 == 0 else STATEMENT
                    yield Case(
                        fact["id"], "first", language, question, [(one, nameless) for one in pool], frozenset([0]), form
                    )
        near = {fact["id"]: fact["fact"] for fact in facts}
        for row in read(f"unanswerable.{language}.jsonl", folder):
            for size in SIZES:
                for with_near in (True, False):
                    rest = [fact["fact"] for fact in facts if fact["id"] != row["near"]]
                    pool = [near[row["near"]]] * with_near + lot.sample(rest, min(size - with_near, len(rest)))
                    pool += lot.sample(extra, min(max(size - len(pool), 0), len(extra)))
                    kind = "near" if with_near else "unanswerable"
                    memories = [(one, nameless) for one in pool]
                    form = TURN if size % 2 else STATEMENT
                    yield Case(row["id"], kind, language, row["question"], memories, frozenset(), form)
        for memory in read(f"named.{language}.jsonl", folder):
            named_facts = [(fact["text"], frozenset(map(bare_name, fact["about"]))) for fact in memory["facts"]]
            places = {fact["id"]: n for n, fact in enumerate(memory["facts"])}
            group = f"named {language} {memory['memory']}"
            for row in memory["questions"]:
                right = frozenset(places[one] for one in row["relevant"])
                yield Case(group, "named", language, row["question"], named_facts, right, STATEMENT)
                bare = [(content, nameless) for content, _ in named_facts]
                yield Case(group, "nameless", language, row["question"], bare, right, STATEMENT)


def _answerable_cases() -> Iterator[Case]:
    """Of evals/data/answerable.txt the half that is for fitting; which text answers is not said there."""
    nameless: frozenset[str] = frozenset()
    for n, young in enumerate(answerable.read()):
        for question, is_answerable in young.questions if young.half == "fit" else ():
            for form in (TURN, STATEMENT):
                kind = "answerable" if is_answerable else "not answerable"
                texts = [(one, nameless) for one in young.texts]
                yield Case(f"answerable {n}", kind, _language_of(question), question, texts, frozenset(), form)


def meant_in(question: str, texts: Iterable[str]) -> str:
    """The names of whom a question calls «my wife», as one of the texts tells them."""
    aliases = dict(persons.mentioned(question))
    learnt: dict[str, str] = {}
    for content in texts if aliases else ():
        for alias, name in persons.learn_relations(content).items():
            learnt[alias] = name if learnt.get(alias, name) == name else ""
    return " ".join(sorted({learnt.get(alias, "") for alias in aliases.values()})).strip()


def _language_of(content: str) -> str:
    return "zh" if is_cjk(content) else "en"


def bare_name(name: str) -> str:
    """A name without what tells two of that name apart, in brackets."""
    return fold(name.split("(")[0].split("（")[0])


def examples(of: Iterable[Case], embed: Embed, background: Background, *, has_vectors: bool = True) -> list[Example]:
    """What is seen of each memory for each question; of many those that a recall would look at."""
    every = list(of)
    questions = embed([case.question for case in every], True)
    passages = embed([as_text(one, case.form, _language_of(one)) for case in every for one, _ in case.memories], False)
    return [_example(case, questions, passages, background, has_vectors) for case in every]


def _example(
    case: Case, questions: Mapping[str, Array], passages: Mapping[str, Array], background: Background, has_vectors: bool
) -> Example:
    vectors = [passages[as_text(one, case.form, _language_of(one))] for one, _ in case.memories]
    scripts = [SCRIPTS[is_cjk(one)] for one, _ in case.memories]
    query = Asked(
        case.question,
        words_asked(case.question),
        questions[case.question],
        case.language == "zh",
        meant_in(case.question, [content for content, _ in case.memories]),
    )
    script = SCRIPTS[query.is_cjk]
    question = background.centred(questions[case.question][None], [script], [QUESTION])[0]
    near = background.centred(np.stack(vectors), scripts, [case.form] * len(vectors)) @ question
    places = np.argsort(-near)[:LOOKED_AT]
    memories = [
        Memory(
            content := case.memories[place][0],
            words_of(content),
            vectors[place],
            case.form,
            is_cjk(content),
            case.memories[place][1],
        )
        for place in places
    ]
    table = features(query, memories, background if has_vectors else None, entries=len(vectors))
    # where only is known that one of them answers, that is the nearest
    right = case.relevant or (places[:1] if case.kind == "answerable" else ())
    relevant = np.array([float(place in right) for place in places], np.float32)
    return Example(case.group, case.kind, case.question, len(vectors), table, relevant)


def fit(of: Sequence[Example]) -> Weights:
    """Logistic regression by Newton's method; every question counts by the square root of its memories."""
    names = of[0].seen.names
    rows = np.concatenate([one.seen.values for one in of]).astype(np.float64)
    right = np.concatenate([one.relevant for one in of]).astype(np.float64)
    counts = np.concatenate([np.full(len(one.relevant), 1 / math.sqrt(len(one.relevant))) for one in of])
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread < 1e-6] = np.inf  # what never differs tells nothing
    inputs = np.c_[(rows - mean) / spread, np.ones(len(rows))]
    penalties = np.r_[np.full(len(names), PENALTY), 1e-6]
    weights = np.zeros(len(penalties))
    for _ in range(40):
        likely = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (counts * (likely - right)) + penalties * weights
        curve = (inputs * (counts * likely * (1 - likely))[:, None]).T @ inputs + np.diag(penalties)
        weights -= np.linalg.solve(curve, slope)
    by_feature = weights[:-1] / spread
    constant = float(weights[-1] - (by_feature * mean).sum())
    return Weights({name: float(value) for name, value in zip(names, by_feature, strict=True)}, constant)


def write_weights(weights: Mapping[str, Weights], path: Path = WEIGHTS) -> None:
    """Write the weights where recall reads them."""
    lines = ["# Weights of the relevance of a memory: manage.py relevance --fit"]
    for name, one in weights.items():
        lines += ["", f"[{name}]", f"constant = {one.constant:.4f}"]
        lines += [f"{feature} = {value:.4f}" for feature, value in one.by_feature.items() if abs(value) >= 0.0001]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def checked(of: Sequence[Example], *, parts: int = 4) -> list[Array]:
    """The relevance of each example by weights that were fitted on other groups than its own."""
    part_of = [sum(map(ord, one.group)) % parts for one in of]
    relevance: list[Array] = [np.zeros(0, np.float32)] * len(of)
    for part in range(parts):
        weights = fit([one for one, at in zip(of, part_of, strict=True) if at != part])
        for n, (one, at) in enumerate(zip(of, part_of, strict=True)):
            if at == part:
                relevance[n] = weights.relevance(one.seen)
    return relevance


def reliability(of: Sequence[Example], relevance: Sequence[Array]) -> list[tuple[float, float, int]]:
    """By tenths: the relevance that was claimed, the share that was right, and of how many memories."""
    claimed, right = np.concatenate(relevance), np.concatenate([one.relevant for one in of])
    rows = []
    for tenth in range(10):
        among = (claimed >= tenth / 10) & (claimed < (tenth + 1) / 10 + (tenth == 9))
        if among.any():
            rows.append((float(claimed[among].mean()), float(right[among].mean()), int(among.sum())))
    return rows


def report(of: Sequence[Example], relevance: Sequence[Array], *, likely: float, found: float) -> list[str]:
    """A table for people: by size what is first, served, and called found; of named memories precision and recall."""
    lines = ["memories  first  likely  found  others | no answer: found  near  likely"]
    for size in sorted({one.entries for one in of if one.kind == "first"}):
        rows = {
            kind: [(one, p) for one, p in zip(of, relevance, strict=True) if one.entries == size and one.kind == kind]
            for kind in ("first", "unanswerable", "near")
        }
        pairs = [(p[one.relevant > 0].max(initial=0.0), p[one.relevant == 0]) for one, p in rows["first"]]
        none = [p.max() for _, p in rows["unanswerable"]]
        near = [p.max() for _, p in rows["near"]]
        shares = (
            np.mean([best >= others.max(initial=0.0) and best > 0 for best, others in pairs]),
            np.mean([best >= likely for best, _ in pairs]),
            np.mean([max(best, others.max(initial=0.0)) >= found for best, others in pairs]),
            np.mean([(others >= likely).sum() for _, others in pairs]),
            np.mean(np.array(none) >= found),
            np.mean(np.array(near) >= found),
            np.mean(np.array(none) >= likely),
        )
        lines.append(f"{size:8}  " + "  ".join(f"{share:5.2f}" for share in shares))
    for kind in ("named", "nameless"):
        among = [(one, p) for one, p in zip(of, relevance, strict=True) if one.kind == kind]
        for line in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6) if among else ():
            total = sum(int((p >= line).sum()) for _, p in among)
            right = sum(float(one.relevant[p >= line].sum()) for one, p in among)
            recall = right / sum(float(one.relevant.sum()) for one, _ in among)
            share = f"precision {right / max(total, 1):.2f}, recall {recall:.2f}, {total / len(among):.1f} served"
            lines.append(f"{kind}, line {line}: {share}")
    return lines
