"""What the machine's own model is told: texts in files, and the data it is about, which nothing in it can leave (D7).

Instructions are ours alone: what people said, their names, and whatever else they chose stands in the data, a JSON
block no text can close. A placeholder takes only numbers and words of ours.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
LANGUAGES = ("en", "zh-hans")
#: What could end the block or pass for a model's own mark: angle brackets, and words such as [INST] or [/INST].
_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]|\\[(?=/?[A-Z_]{2,}\\])")
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


class PromptBroken(ValueError):
    """A prompt and what is to be put into it do not fit together: a mistake of ours, never of a user's."""


@dataclass(frozen=True)
class Prompt:
    """What a model is told, and the data it is about."""

    name: str
    language: str
    instructions: str
    data: str

    def messages(self) -> list[dict[str, str]]:
        """As the chat protocol takes it: what we say, then the data."""
        return [{"role": "system", "content": self.instructions}, {"role": "user", "content": self.data}]


def prompt(name: str, language: str, data: Any, **values: int | str) -> Prompt:
    """A prompt in a workspace's language (English where there is none in it). Raises PromptBroken."""
    spoken = language if language in LANGUAGES else "en"
    return Prompt(name, spoken, fill(name, spoken, values), as_data(data))


def fill(name: str, language: str, values: Mapping[str, int | str]) -> str:
    """The text of a file with every placeholder taken, and nothing given that it has no place for."""
    text = template(name, language)
    wanted = set(_PLACEHOLDER.findall(text))
    if wanted != set(values):
        raise PromptBroken(f"{name}.{language} takes {sorted(wanted)}, and was given {sorted(values)}.")
    return _PLACEHOLDER.sub(lambda place: str(values[place.group(1)]), text)


@cache
def template(name: str, language: str) -> str:
    path = FOLDER / f"{name}.{language}.txt"
    if not path.is_file():
        raise PromptBroken(f"There is no {path.name}.")
    return path.read_text(encoding="utf-8").strip()


def as_data(data: Any) -> str:
    """The data between two marks, as JSON in which neither mark, nor any model's own, can occur."""
    written = json.dumps(data, ensure_ascii=False, allow_nan=False, default=str)
    return f"<data>\n{_ESCAPED.sub(_by_number, written)}\n</data>"


def _by_number(found: re.Match[str]) -> str:
    """The same character, as JSON may also write it."""
    return f"\\u{ord(found.group()):04x}"
