"""The texts of a model's answers: on one line, without control characters, with words in them, not too long."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from memories.language import text

FACT_CJK, FACT_WORDS, FACT_CHARS = 100, 60, 600
SUMMARY_CHARS = 200
HISTORY_CHARS = 6_000
TURN_TOKENS = 200
NAME_CHARS = 100  # as Entry.project and Entry.topic

_CONTROL = re.compile("[\\0-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def cleaned(value: str) -> str:
    """A text on one line, without control characters."""
    return " ".join(_CONTROL.sub("", value).split())


def with_words(value: str) -> str:
    """A text with a word in it: small models answer with «…», as the instructions show it. Raises ValueError."""
    if not value:
        raise ValueError("it is empty")
    if not (_WORD.search(value) or _CJK.search(value)):
        raise ValueError("it says nothing")
    return value


def _at_most(value: str, limit: int) -> str:
    if len(value) > limit:
        raise ValueError(f"it has {len(value)} characters, at most {limit} are allowed")
    return value


def _sentence(value: str) -> str:
    sentence = with_words(cleaned(value))
    if not is_one_sentence(sentence):
        raise ValueError(f"it is longer than {FACT_WORDS} words or {FACT_CJK} Chinese characters")
    return sentence


def is_one_sentence(content: str) -> bool:
    """Whether a text is short enough for a fact or a line of a profile."""
    chinese = len(_CJK.findall(content))
    words = len(_WORD.findall(_CJK.sub(" ", content)))
    return chinese * FACT_WORDS + words * FACT_CJK <= FACT_CJK * FACT_WORDS and len(content) <= FACT_CHARS


def _summary(value: str) -> str:
    summary = cleaned(value)
    return _at_most(with_words(summary), SUMMARY_CHARS) if summary else ""


def _paragraphs(value: str) -> str:
    return _at_most("\n\n".join(part for line in value.splitlines() if (part := cleaned(line))), HISTORY_CHARS)


def _turn(value: str) -> str:
    summary = with_words(cleaned(value))
    if text.count_tokens(summary) > TURN_TOKENS:
        raise ValueError("it is longer than 100 words or 200 Chinese characters")
    return summary


def name(fallback: str) -> BeforeValidator:
    """A short name, or the fallback where there is none."""

    def named(value: Any) -> Any:
        return (_at_most(cleaned(value), NAME_CHARS) if isinstance(value, str) else value) or fallback

    return BeforeValidator(named)


Words = Annotated[str, AfterValidator(with_words)]
Sentence = Annotated[str, AfterValidator(_sentence)]
Summary = Annotated[str, AfterValidator(_summary)]
Paragraphs = Annotated[str, AfterValidator(_paragraphs)]
TurnText = Annotated[str, AfterValidator(_turn)]
