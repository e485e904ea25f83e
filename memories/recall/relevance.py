"""How likely each memory is to answer a question: what it goes by, and the sum that was fitted to it (C3).

A memory is compared with the question and with what the embedder makes of texts that have nothing to do with each
other, so a memory of one entry is judged as one of a thousand is. A *relation* is a kind of thing people tell and ask
of themselves: where somebody lives, whom they are married to. A question and a statement of one relation meet without a
word in common. What texts of each relation look like is in data/background/, one file a model, made from
data/relations.jsonl and fitted, together with the weights in data/relevance.toml, by `manage.py relevance --fit`.
"""

import json
import math
import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memories.language import text
from memories.language.names import proper_names
from memories.language.quoting import sides_of
from memories.language.text import has_han
from memories.language.word_lists import pattern

Array = NDArray[np.float32]

DATA = Path(__file__).parent / "data"
RELATIONS = DATA / "relations.jsonl"
WEIGHTS = DATA / "relevance.toml"
#: What a text is to an embedder: a question, a turn of a conversation with the bot's answer, or a statement alone.
QUESTION, TURN, STATEMENT = "question", "turn", "statement"
SCRIPTS = ("latin", "cjk")
#: How a score of a relation becomes a probability; fitted on data/relations.jsonl.
TEMPERATURE = 8.0
#: What meaning, a relation and shared words count for beside nearness as an answer where memories are compared with
#: each other.
MEANING_SHARE, RELATION_SHARE, WORDS_SHARE, MATTER_SHARE = 0.5, 0.3, 0.3, 0.3
MOST_GAP = 0.5
#: How near the best stands where it tells what the question describes.
NEAR_STANDING = 0.5
#: The rarity of a word in no text of the background, about; rarities are given as shares of it.
RAREST = 8.0
READ_TEXTS = 4_096


def background_path(model: str) -> Path:
    """Where the background of an embedding model is kept."""
    return DATA / "background" / f"{re.sub(r'[^a-z0-9.-]+', '-', model.casefold())}.npz"


@dataclass(frozen=True)
class Shift:
    """What is added to the vector of a question, and what a statement that has nothing to do with it gains by that."""

    added: list[float]
    gained: float


@dataclass(frozen=True)
class Background:
    """What a model makes of texts that have nothing to do with each other, and of those of each relation."""

    means: Mapping[str, Array]  # by script and form, «latin question»
    directions: Array  # relations × dimensions
    offsets: Array
    names: tuple[str, ...]  # of the relations
    of_questions: Array | None = None  # what is added to a question, and to a statement, so that those that
    of_statements: Array | None = None  # answer lie near: dimensions × dimensions (evals.answering)

    def centred(self, vectors: Array, scripts: Sequence[str], forms: Sequence[str]) -> Array:
        """Vectors less the mean of texts of their script and form, each of length 1; one a row."""
        means = np.stack([self.means[f"{script} {form}"] for script, form in zip(scripts, forms, strict=True)])
        deltas = vectors - means
        return np.asarray(deltas / np.maximum(np.linalg.norm(deltas, axis=1, keepdims=True), 1e-6), dtype=np.float32)

    def relations(self, centred: Array) -> Array:
        """The square root of the probability of each relation, one row a text: the product of two rows is likeness."""
        scores = (centred @ self.directions.T + self.offsets) / TEMPERATURE
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(np.sqrt(scores / scores.sum(axis=1, keepdims=True)), dtype=np.float32)

    def towards_answers(self, questions: Array) -> Array:
        """Centred questions, turned towards the statements that answer them; of length 1, a row each."""
        return _with_added(questions, self.of_questions)

    def as_answers(self, statements: Array) -> Array:
        """Centred statements, to be compared with `towards_answers` of a question."""
        return _with_added(statements, self.of_statements)

    def shift(self, question: Sequence[float], script: str, share: float) -> "Shift":
        """What moves the vector of a question, of length 1, a share of the way towards what answers it."""
        delta = np.array(question, np.float32) - self.means[f"{script} {QUESTION}"]
        length = float(np.linalg.norm(delta))
        centred = delta / max(length, 1e-6)
        turned = self.towards_answers(centred[None])[0]
        if self.of_statements is not None:  # statements are searched as they are, so theirs is moved to the question
            turned = turned + self.of_statements @ turned
        step = share * length * (turned / max(float(np.linalg.norm(turned)), 1e-6) - centred)
        mean = (self.means[f"{script} {TURN}"] + self.means[f"{script} {STATEMENT}"]) / 2
        return Shift(step.tolist(), float(step @ mean))

    def save(self, path: Path) -> None:
        """Keep it in a file; half precision is enough."""
        path.parent.mkdir(exist_ok=True)
        parts: dict[str, Any] = {f"mean {name}": mean.astype(np.float16) for name, mean in self.means.items()}
        parts |= {"directions": self.directions.astype(np.float16), "offsets": self.offsets, "names": list(self.names)}
        for name in _MAPS:
            if (matrix := getattr(self, name)) is not None:
                parts[name] = matrix.astype(np.float16)
        np.savez_compressed(path, **parts)


#: Of a background, what not every file holds.
_MAPS = ("of_questions", "of_statements")


def _with_added(rows: Array, matrix: Array | None) -> Array:
    if matrix is None:
        return rows
    sums = rows + rows @ matrix
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6), dtype=np.float32)


@cache
def background_of(model: str) -> Background | None:
    """The background of a model; None where nobody has made one."""
    path = background_path(model)
    if not path.exists():
        return None
    with np.load(path) as file:
        means = {name.removeprefix("mean "): file[name].astype(np.float32) for name in file if name.startswith("mean ")}
        maps = {name: file[name].astype(np.float32) for name in _MAPS if name in file}
        names = tuple(file["names"].tolist())
        return Background(means, file["directions"].astype(np.float32), file["offsets"], names, **maps)


def read_relations() -> list[dict[str, Any]]:
    """The relations: `relation`, and by language `statements` and `questions`."""
    return [json.loads(line) for line in RELATIONS.read_text("utf-8").splitlines() if line]


@cache
def _word_counts() -> tuple[Mapping[int, int], int]:
    """In how many texts of the relations each term stands, and of how many of one language."""
    counts: dict[int, int] = {}
    rows = [row[language] for row in read_relations() for language in ("en", "zh")]
    texts = [one for row in rows for one in (*row["statements"], *row["questions"])]
    for one in texts:
        for term in set(text.terms(one)):
            counts[term] = counts.get(term, 0) + 1
    return counts, len(texts) // 2


def warm_up() -> None:
    """Count and read what a first recall would wait for."""
    _word_counts()
    fitted_weights()


def rarity(term: int) -> float:
    """How rare a term is in what people tell and ask a bot, 0–1; as inverse document frequency has it."""
    counts, texts = _word_counts()
    count = min(counts.get(term, 0), texts)
    return math.log(1 + (texts - count + 0.5) / (count + 0.5)) / RAREST


_FOR_ALL = pattern("questions", "about_all", re.IGNORECASE)
_FOR_NUMBER = pattern("questions", "asks_number", re.IGNORECASE)
_NUMBER = pattern("questions", "states_number", re.IGNORECASE)
#: What people are asked about most, as they ask and as they tell it.
_MATTERS = [
    (pattern("matters", f"asks_{matter}", re.IGNORECASE), pattern("matters", f"tells_{matter}", re.IGNORECASE))
    for matter in ("address", "manner", "work", "origin", "home", "diet")
]
#: Whom a search query is about says nothing of what is asked: «user home city».
_NOBODY = "user users 用户"


@lru_cache(maxsize=READ_TEXTS)
def words_of(content: str) -> frozenset[int]:
    """The terms of a text, of a turn without its labels."""
    return frozenset(text.terms("\n".join(sides_of(content) or (content,))))


def words_asked(message: str) -> frozenset[int]:
    """The terms of a question."""
    return words_of(message) - words_of(_NOBODY)


# -- names


@lru_cache(maxsize=READ_TEXTS)
def names_in(content: str) -> frozenset[str]:
    """The names a text says, folded."""
    return frozenset(filter(None, map(fold, proper_names("\n".join(sides_of(content) or (content,))))))


@lru_cache(maxsize=READ_TEXTS)
def fold(name: str) -> str:
    """A name without differences of width and case."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


@lru_cache(maxsize=READ_TEXTS)
def _pattern_of(name: str) -> re.Pattern[str]:
    """A name as a word of its own, in the plural or the possessive as well; Chinese has no gaps to ask for."""
    if has_han(name):
        return re.compile(re.escape(name))
    return re.compile(rf"(?<![a-z\d]){re.escape(name)}(?:e?s|'s|’s)?(?![a-z\d])")


@lru_cache(maxsize=READ_TEXTS)
def _one_letter_wrong(word: str) -> re.Pattern[str]:
    """A word with a letter too many, too few, changed, or two of them exchanged; the first is right."""
    forms = []
    for n in range(1, len(word)):
        before, after = re.escape(word[:n]), re.escape(word[n + 1 :])
        forms += [f"{before}{after}", f"{before}[a-z]{after}", f"{before}[a-z]{re.escape(word[n:])}"]
        if n + 1 < len(word):
            forms.append(f"{before}{re.escape(word[n + 1])}{re.escape(word[n])}{re.escape(word[n + 2 :])}")
    return re.compile(rf"(?<![a-z\d])(?:{'|'.join(dict.fromkeys(forms))}|{re.escape(word)}[a-z])(?![a-z\d])")


LEAST_TO_MISSPELL = 5
#: From which rarity on a word of a name stands for it.
NAME_RARITY = 0.85


def says(folded: str, name: str) -> bool:
    """Whether a folded text says a folded name."""
    return _pattern_of(name).search(folded) is not None


def misspells(folded: str, name: str) -> bool:
    """Whether a folded text says a folded name of one word with one letter wrong."""
    if len(name) < LEAST_TO_MISSPELL or not name.isalpha() or not name.isascii():
        return False
    return _one_letter_wrong(name).search(folded) is not None


def parts_of(name: str) -> list[str]:
    """The words of a name by which it is said in short."""
    words = name.split()
    return [word for word in words if len(word) > 2 and word not in text.ENGLISH_STOPWORDS] if len(words) > 1 else []


#: Of a name that is looked up: its words, or its characters, and the part of a message it is looked for in.
_LONGEST_NAME, _LONGEST_HAN_NAME, _LOOKED_UP = 3, 6, 400


def possible_names(message: str) -> list[str]:
    """What of a message may be a name as memories keep them: its words and Chinese, alone and in a row."""
    folded = fold(message[:_LOOKED_UP])
    words = [word.removesuffix("'s") for word in re.findall(r"[a-z\d][a-z\d.'_-]*", folded.replace("’", "'"))]
    rows = [" ".join(words[n : n + size]) for size in range(1, _LONGEST_NAME + 1) for n in range(len(words) - size + 1)]
    forms = {row for row in rows if row not in text.ENGLISH_STOPWORDS and len(row) > 1}
    forms |= {row.removesuffix("s") for row in forms}
    forms |= {f"{row}'s" for row in forms}
    for run in re.findall(f"[{text.HAN}]+", folded):
        forms |= {run[n : n + size] for size in range(2, _LONGEST_HAN_NAME + 1) for n in range(len(run) - size + 1)}
    return sorted(forms)


def names_asked(question: str, names: Iterable[str]) -> set[str]:
    """Which of these folded names a question says: whole, or else in part, or else with one letter wrong."""
    folded, names = fold(question), list(names)
    whole = {name for name in names if says(folded, name)}
    # «Redis the pianist» is no other Redis, where a longer name is said that holds the shorter
    whole -= {name for name in whole if any(name != other and name in other for other in whole)}
    shared = {part for name in whole for part in (name, *parts_of(name))}
    # of «on-call phone» the phone is no name where somebody is named
    is_short = (lambda part: all(rarity(term) >= NAME_RARITY for term in text.terms(part))) if whole else bool
    in_part = {
        name
        for name in names
        if name not in whole
        and any(part not in shared and is_short(part) and says(folded, part) for part in parts_of(name))
    }
    matches = whole | in_part
    if matches:
        return matches
    return {name for name in names if any(misspells(folded, part) for part in (name, *parts_of(name)))}


# -- the features


@dataclass(frozen=True)
class Memory:
    """What is known of a memory for its relevance."""

    content: str
    terms: Collection[int]
    vector: Array | None  # of its text alone, of length 1; None: not embedded yet
    form: str  # TURN or STATEMENT
    is_cjk: bool
    names: frozenset[str] = frozenset()  # that it is about, folded, as they were given
    origins: frozenset[str] = frozenset()  # the messages it rests on

    def is_one_with(self, other: "Memory") -> bool:
        """Whether both are copies of one text, or one is a turn and the other was drawn from it."""
        is_drawn = self.is_turn != other.is_turn and bool(self.origins & other.origins)
        return is_drawn or self.content == other.content

    @cached_property
    def is_turn(self) -> bool:
        return sides_of(self.content) is not None

    @cached_property
    def names_in_text(self) -> frozenset[str]:
        return names_in(self.content)

    @cached_property
    def script(self) -> str:
        return SCRIPTS[self.is_cjk]


@dataclass(frozen=True)
class Asked:
    """A question as its relevance is looked at."""

    message: str
    terms: Collection[int]
    vector: Array | None
    is_cjk: bool
    meant: str = ""  # the name of whom it calls «my wife»

    @cached_property
    def script(self) -> str:
        return SCRIPTS[self.is_cjk]


@dataclass(frozen=True)
class Features:
    """The features of some memories, one row a memory, a column a feature by its name."""

    names: tuple[str, ...]
    values: Array = field(repr=False)

    def of(self, place: int) -> dict[str, float]:
        """Those of one memory, by name."""
        return {name: round(float(value), 4) for name, value in zip(self.names, self.values[place], strict=True)}


def features(query: Asked, memories: Sequence[Memory], background: Background | None, *, entries: int) -> Features:
    """What is seen of each memory for a question, in a scope of so many entries.

    - `meaning`: cosine of both, less what unrelated texts have; `answers` the same, turned towards what answers
    - `relation`: likeness of what is asked and what is told, by the relations; `meaning_and_relation` their product
    - `words`: share of the question's words that are in it, by how rare they are; `rare_word` the rarest of them
    - `behind`, `ahead`: how far it stands behind the best of the others, or before it; `many`: among how many it is
    - `across`: it is in another script than the question; `no_number`: a number is asked for, and it states none
    - `matter`: it tells, by its form, what the question asks for by its own
    - `name`: it is about what the question names; `sole_name` more the fewer are; `linked_name`: it shares a name with
      one that is; `other_name`: it is about something else; `says_name`: its text says a name of the question
    - of what is about what is named, or linked to it: `detail`: share of the question's words beside the names;
      `whole_name`: all that is known of it is asked for; `leads`: its other name stands for what answers; `link`: it
      says both the name that is asked and the one by which the best of them goes; `unsaid`: it says no name asked for
    - `beside_best`: it shares a name with the best, of what the question describes and does not name
    """
    meaning, relation, answers = _signs_of_vectors(query, memories, background)
    rarities = {term: rarity(term) for term in query.terms}
    total = sum(rarities.values()) or 1.0
    shared = [rarities.keys() & set(one.terms) for one in memories]
    words = np.array([sum(rarities[term] for term in terms) / total for terms in shared], np.float32)
    rare = np.array([max((rarities[term] for term in terms), default=0.0) for terms in shared], np.float32)

    matter = _matter(query, memories)
    standing = nearness(meaning, answers, relation) + WORDS_SHARE * words + MATTER_SHARE * matter
    gap = np.clip(_gaps(standing, memories), -MOST_GAP, MOST_GAP)

    about = _names_of(query, memories, standing)
    asks_number = _FOR_NUMBER.search(query.message) is not None
    said_names = names_asked(query.message, {name for one in memories for name in one.names_in_text})
    columns = {
        "meaning": meaning,
        "answers": answers,
        "relation": relation,
        "meaning_and_relation": meaning * relation,
        "words": words,
        "rare_word": rare,
        "behind": np.minimum(gap, 0),
        "ahead": np.maximum(gap, 0),
        "many": np.full(len(memories), math.log(max(entries, 1)) / 3),
        "alone": np.full(len(memories), float(entries <= 1)),
        "across": np.array([one.is_cjk != query.is_cjk for one in memories], np.float32),
        "no_number": np.array([asks_number and not states_number(one.content) for one in memories], np.float32),
        "matter": matter,
        "says_name": np.array([bool(said_names & one.names_in_text) for one in memories], np.float32),
        **about,
    }
    return Features(tuple(columns), np.stack(list(columns.values()), axis=1).astype(np.float32))


def _gaps(standing: Array, memories: Sequence[Memory]) -> Array:
    """How far each stands before the best of the others, or behind it; a turn is one with what was drawn from it."""
    order = np.argsort(-standing, kind="stable").tolist()
    gaps = np.zeros(len(memories), np.float32)
    for place, one in enumerate(memories):
        rival = next((n for n in order if n != place and not one.is_one_with(memories[n])), None)
        gaps[place] = 0.0 if rival is None else standing[place] - standing[rival]
    return gaps


def nearness(meaning: Any, answers: Any, relation: Any) -> Any:
    """How near a memory is to a question by all that its vector tells; of one or of an array of them."""
    return MEANING_SHARE * meaning + answers + RELATION_SHARE * relation


def _matter(query: Asked, memories: Sequence[Memory]) -> Array:
    """1 for each memory that tells, by its form, what a question asks for by its own."""
    forms = [tells for asks, tells in _MATTERS if asks.search(query.message)]
    matter = np.zeros(len(memories), np.float32)
    for place, one in enumerate(memories if forms else ()):
        words = (sides_of(one.content) or (one.content,))[0]
        matter[place] = any(tells.search(words) for tells in forms)
    return matter


@lru_cache(maxsize=READ_TEXTS)
def states_number(content: str) -> bool:
    """Whether a text has a number in it, in digits or words."""
    return _NUMBER.search(content) is not None


def _signs_of_vectors(
    query: Asked, memories: Sequence[Memory], background: Background | None
) -> tuple[Array, Array, Array]:
    """How near each memory is by meaning, by relation, and as an answer; zeros where a vector is missing."""
    vectors = [one.vector for one in memories if one.vector is not None]
    if background is None or query.vector is None or len(vectors) < len(memories):
        nothing = np.zeros(len(memories), np.float32)
        return nothing, nothing, nothing
    question = background.centred(query.vector[None], [query.script], [QUESTION])
    scripts, forms = [one.script for one in memories], [one.form for one in memories]
    centred = background.centred(np.stack(vectors), scripts, forms)
    return (
        centred @ question[0],
        background.relations(centred) @ background.relations(question)[0],
        background.as_answers(centred) @ background.towards_answers(question)[0],
    )


def _names_of(query: Asked, memories: Sequence[Memory], standing: Array) -> dict[str, Array]:
    """What the names each memory is about tell of it, for a question and how near each stands to it."""
    names = names_asked(
        f"{query.message} {query.meant}".strip(), sorted({name for one in memories for name in one.names})
    )
    others = {name for one in memories if names & one.names for name in one.names} - names
    is_named = np.array([bool(names & one.names) for one in memories])
    is_linked = ~is_named & np.array([bool(others & one.names) for one in memories])
    has_names = np.array([bool(one.names) for one in memories])

    # what is asked of it, beside its names
    rarities = {term: rarity(term) for term in set(query.terms) - words_of(" ".join(sorted(names)))}
    total = sum(rarities.values()) or 1.0
    detail = np.zeros(len(memories), np.float32)
    for place in np.flatnonzero(is_named | is_linked).tolist():
        detail[place] = sum(rarities[term] for term in rarities.keys() & set(memories[place].terms)) / total

    # «JJ is what we call Jonas» leads from the name that is asked to the one by which the answer goes
    leads = np.zeros(len(memories), np.float32)
    for place in np.flatnonzero(is_named).tolist() if is_linked.any() else ():
        behind = [
            float(standing[n]) for n in np.flatnonzero(is_linked).tolist() if memories[n].names & memories[place].names
        ]
        if behind:
            gap = max(behind) - standing[is_named].max()
            leads[place] = np.clip(gap, -MOST_GAP, MOST_GAP) + MOST_GAP

    link, unsaid = _links(names, memories, standing, np.flatnonzero(is_named).tolist())
    return {
        "link": link,
        "unsaid": unsaid,
        "name": is_named.astype(np.float32),
        "sole_name": is_named / np.float32(max(int(is_named.sum()), 1)),
        "linked_name": is_linked.astype(np.float32),
        "other_name": (has_names & ~is_named & ~is_linked).astype(np.float32) * bool(names),
        "detail": detail,
        "whole_name": is_named.astype(np.float32) * asks_for_all(query.message),
        "leads": leads,
        "beside_best": _beside_best(memories, standing, names, within=~(is_named | is_linked)),
    }


def _links(
    names: Collection[str], memories: Sequence[Memory], standing: Array, places: Sequence[int]
) -> tuple[Array, Array]:
    """1 for each memory that tells by which other name the best goes, and 1 for each that says no name asked for."""
    link, unsaid = np.zeros(len(memories), np.float32), np.zeros(len(memories), np.float32)
    parts = {part for name in names for part in (name, *parts_of(name))}
    in_text = {n: {name for name in memories[n].names if says(fold(memories[n].content), name)} for n in places}
    for n in places:
        unsaid[n] = not (in_text[n].intersection(names) or any(says(fold(memories[n].content), part) for part in parts))
    if places and unsaid[best := max(places, key=lambda n: float(standing[n]))]:
        for n in places:
            link[n] = bool(not unsaid[n] and in_text[n] & in_text[best])
    return link, unsaid


def _beside_best(
    memories: Sequence[Memory], standing: Array, names: Collection[str], within: NDArray[np.bool_]
) -> Array:
    """Of those `within`, which share a name nobody asked for with what stands first: the more, the fewer do.

    Less where that does not stand near either.
    """
    beside = np.zeros(len(memories), np.float32)
    if not len(memories):
        return beside
    first = int(np.argmax(standing))
    for name in memories[first].names.difference(names):
        sharing = [n for n, one in enumerate(memories) if n != first and name in one.names]
        for place in sharing:
            if within[place]:
                beside[place] = max(float(beside[place]), 1 / len(sharing))
    return beside * np.float32(np.clip(standing[first] / NEAR_STANDING, 0, 1))


@lru_cache(maxsize=READ_TEXTS)
def asks_for_all(message: str) -> bool:
    """Whether a message asks for all that is known of what it names."""
    return _FOR_ALL.search(message) is not None


# -- the sum


@dataclass(frozen=True)
class Weights:
    """A weight a feature, and what is added to their sum."""

    by_feature: Mapping[str, float]
    constant: float

    def relevance(self, signs: Features) -> Array:
        """The probability that each memory answers, 0–1."""
        weights = np.array([self.by_feature.get(name, 0.0) for name in signs.names], np.float32)
        return np.asarray(1 / (1 + np.exp(-(signs.values @ weights + self.constant))), dtype=np.float32)


@cache
def fitted_weights() -> Mapping[str, Weights]:
    """The weights of data/relevance.toml: with vectors, and by words alone."""
    tables = tomllib.loads(WEIGHTS.read_text("utf-8"))
    return {
        name: Weights(
            {key: float(value) for key, value in table.items() if key != "constant"}, float(table["constant"])
        )
        for name, table in tables.items()
        if isinstance(table, dict)
    }
