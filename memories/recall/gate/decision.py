"""Does a message need memory at all? Rules only, in Chinese and English, well under a millisecond (D3).

Every rule has a name, and the answer says which one decided.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from memories.language.word_lists import pattern, words
from memories.recall.gate import exclusions
from memories.recall.gate.vocabulary import CHINESE_LOCAL, ERRAND, NAME, PERSONAL, UNFINISHED

MIN_BYTES = 5  # UTF-8: «好» is too short, «年糕» is not
#: What is looked at, so that no message takes long: its ends, the first of its lines, a greeting's length.
LOOK_CHARS = 1_000
LOOK_LINES = 30


@dataclass(frozen=True)
class GateDecision:
    """Whether to search, and the rule that said so."""

    retrieve: bool
    rule: str


_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
#: A line no person would write to another: keywords alone prove nothing («if you remember, …», «from Paris, …»).
_CODE_LINE = re.compile(
    r"\s*+(?:(?:(?:async\s+)?def|class)\s+\w+.*[:{]|(?:if|elif|else|for|while|try|with|except)\b[^,，。]*[:{]|import\s+[\w.{*]+.*"
    r"|from\s+\S+\s+import\b.*|return\b.*[;()\[\]{}]|return(?:\s+[\w.]+)?|(?:const|let|var)\s+\w+\s*=.*"
    r"|(?:public|private|static|package|func|function|export)\s.*[{};)]|(?-i:SELECT|INSERT INTO|UPDATE|DELETE FROM|FROM|WHERE)\s.*"
    r"|[{}()\[\],;]+|</?\w++[^>]*+>(?!\s*[:：]).*|#include\b.*|#!.*|//.*|\"[\w-]+\"\s*:\s.+|[\w.\[\]\"']+\s*[-+:]?=\s*\S.*|[\w.]+\([^，。]*\)[;:,]?"
    r"|(?:\$|>>>)\s.+)\s*",
    re.IGNORECASE,
)
#: One line of it that nobody would say.
_STATEMENT = re.compile(
    r"select\s+(?:distinct\s|\*|[\w.]+\s*[,(]).*\sfrom\s.*|select\s.*\sfrom\s.*;|insert\s+into\s.*\bvalues\b.*|update\s+\w+\s+set\s+\w+\s*=.*"
    r"|delete\s+from\s+\w+(?:\s+where\s.*)?;?|(?:create|alter|drop)\s+(?:table|index|database)\s.*|(?:def|class)\s+\w+\(.*\):.*|console\.log\(.*|(?:sudo|git|docker|kubectl|npm|pip3?|apt|brew|curl|ssh|chmod|grep)\s+[-\w./:]+(?:\s+[-\w./:=~@|]+){0,8}",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Rule:
    """A sign that memory may help: any of its words or phrases in `signs.txt`, or the pattern."""

    name: str
    pattern: re.Pattern[str] | None = None
    english: bool = True
    chinese: bool = True

    def matches(self, folded: str, spoken: str, words: set[str]) -> bool:
        """`folded` is the text in lower case, `spoken` its English words in order between spaces, `words` their set."""
        return (
            not self._words.isdisjoint(words)
            or any(phrase in spoken for phrase in self._phrases)
            or any(sign in folded for sign in self._chinese)
            or (self.pattern is not None and self.pattern.search(folded) is not None)
        )

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(words("signs", f"{self.name}_english") if self.english else ())

    @cached_property
    def _phrases(self) -> list[str]:
        return [f" {phrase.replace('_', ' ')} " for phrase in self._words if "_" in phrase]

    @cached_property
    def _chinese(self) -> list[str]:
        return words("signs", f"{self.name}_chinese") if self.chinese else []


#: In this order; the first that matches names the answer.
_POSITIVE = (
    _Rule("remember"),
    _Rule("time", pattern("signs", "time")),
    _Rule("question", pattern("signs", "question")),
    _Rule("preference"),
    _Rule("pronoun"),
    _Rule("personal", PERSONAL),
    _Rule("unfinished", UNFINISHED, english=False),
    _Rule("local", CHINESE_LOCAL, english=False),
    _Rule("errand", ERRAND, english=False, chinese=False),
)
_WORD = re.compile(r"[a-z\d]+")


def decide(message: str, *, projects: Iterable[str] = ()) -> GateDecision:
    """Whether a message needs memory. `projects` are the names of projects known in its scopes."""
    text = _ends(message.strip())
    if len(text.encode(errors="surrogatepass")) < MIN_BYTES:
        return GateDecision(False, "too_short")
    if exclusions.is_acknowledgement(text):
        return GateDecision(False, "acknowledgement")
    if _is_mostly_code(text):
        return GateDecision(False, "code")
    if any(names_project(text, project) for project in projects):
        return GateDecision(True, "project")
    rule = next(_signs(text), "name" if NAME.search(text) else None)
    if rule is None:
        return GateDecision(False, "no_sign")
    reason = exclusions.reason(text)
    return GateDecision(not reason, reason or rule)


def is_question_about_past(message: str) -> bool:
    """Whether a message is a question about what was: only then is «yesterday» the day before it is asked."""
    signs = set(_signs(_ends(message.strip())))
    return "question" in signs and not signs.isdisjoint({"time", "remember"})


def is_question(message: str) -> bool:
    """Whether a message asks something: only then is a day it names, or counts back to, the day that is meant."""
    signs = set(_signs(_ends(message.strip())))
    return not signs.isdisjoint({"question", "remember"})


def _signs(text: str) -> Iterator[str]:
    """The rules that match, in their order."""
    folded = text.casefold()
    words = _WORD.findall(folded)
    spoken = f" {' '.join(words)} "
    known = set(words)
    return (rule.name for rule in _POSITIVE if rule.matches(folded, spoken, known))


def _ends(text: str) -> str:
    """The beginning and the end of a long message, where people say what they want."""
    return text if len(text) <= 2 * LOOK_CHARS else f"{text[:LOOK_CHARS]}\n{text[-LOOK_CHARS:]}"


def names_project(text: str, project: str) -> bool:
    """Whether a project's name occurs as a word of its own: «go» is not in «good»; Chinese has no gaps to ask for."""
    name = re.escape(project.strip())
    return bool(name) and re.search(rf"(?<![a-z\d_]){name}(?![a-z\d_])", text, re.IGNORECASE) is not None


def _is_mostly_code(text: str) -> bool:
    """Whether more than half of what is looked at stands in code."""
    fenced = sum(len(block) for block in _FENCE.findall(text))
    if _STATEMENT.fullmatch(text):
        return True
    rest = _FENCE.sub("", text)
    lines = [line for line in rest.splitlines() if line.strip()][:LOOK_LINES]
    code = sum(len(line) for line in lines if _CODE_LINE.fullmatch(line)) if len(lines) > 1 or fenced else 0
    return (fenced + code) * 2 > fenced + sum(map(len, lines))
