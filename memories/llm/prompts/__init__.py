"""Prompts: instructions from files, and data in a JSON block that no text in it can close (D7).

Whatever people wrote, their names included, stands in the data. A placeholder of the instructions takes only numbers
and words of ours.
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
#: What could end the block or pass for a control token: angle brackets, and words such as [INST] or [/INST].
_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]|\\[(?=/?[A-Z_]{2,}\\])")
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


class PromptBroken(ValueError):
    """A prompt and its values do not fit together: a mistake of ours, never of a user."""


@dataclass(frozen=True)
class Prompt:
    """The instructions of a question, and the data it is about."""

    name: str
    language: str
    instructions: str
    data: str

    def messages(self) -> list[dict[str, str]]:
        """The messages of the chat protocol: the instructions, then the data."""
        return [{"role": "system", "content": self.instructions}, {"role": "user", "content": self.data}]


def prompt(name: str, language: str, data: Any, **values: int | str) -> Prompt:
    """A prompt in a workspace's language, else in English. Raises PromptBroken."""
    language = language if language in LANGUAGES else "en"
    return Prompt(name, language, fill(name, language, values), as_data(data))


def fill(name: str, language: str, values: Mapping[str, int | str]) -> str:
    """The text of a file with its placeholders filled. Raises PromptBroken for a value too few or too many."""
    text = template(name, language)
    placeholders = set(_PLACEHOLDER.findall(text))
    if placeholders != set(values):
        raise PromptBroken(f"{name}.{language} takes {sorted(placeholders)}, and was given {sorted(values)}.")
    return _PLACEHOLDER.sub(lambda place: str(values[place.group(1)]), text)


@cache
def template(name: str, language: str) -> str:
    path = FOLDER / f"{name}.{language}.txt"
    if not path.is_file():
        raise PromptBroken(f"There is no {path.name}.")
    return path.read_text(encoding="utf-8").strip()


def as_data(data: Any) -> str:
    """The data between two tags, as JSON in which neither these nor a model's control tokens can occur."""
    json_text = json.dumps(data, ensure_ascii=False, allow_nan=False, default=str)
    as_escapes = _ESCAPED.sub(lambda sign: f"\\u{ord(sign.group()):04x}", json_text)
    return f"<data>\n{as_escapes}\n</data>"
