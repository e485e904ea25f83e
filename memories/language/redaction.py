"""What is kept of the tools a bot used: their names in order, and their arguments without what looks secret (A6).

What looks secret is not stored anywhere, neither in memories nor in the session's messages:
1. the value of an argument whose name says so: password, token, api_key, authorization, 密码 …
2. in any text what follows such a word (`--token x`, `password=x`, 密码是x), and logins in addresses (`//user:x@`);
3. in any text whatever is recognised as a secret in a conversation, too (memories.language.confidential): keys by their
   form, headers, cookies, passwords of addresses, numbers by their checksum, values by the words beside them;
4. and to be on the safe side 32 and more hexadecimal digits, and 24 and more characters in a row that mix capitals,
   small letters and digits.
A guess to the safe side: a harmless value that looks like a key is lost, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memories.conf import conf
from memories.language import confidential, text
from memories.language.secret_forms import MASKED
from memories.language.word_lists import word_set, words

NOT_STORED = "[not stored]"
ARROW = " → "
_DEPTH = 12
_ARGUMENT_CHARS = 80
_SECRET_WORDS = word_set("secrets", "names")
_SECRET_PAIRS = frozenset(pair.replace("_", " ") for pair in words("secrets", "names_of_two_words"))
_SECRET_CHINESE = words("secrets", "chinese_names")
_PARTS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAMED = r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key)"
_FORMS = (
    re.compile(r"-----BEGIN [A-Z ]*KEY-----.*?(?:-----END [A-Z ]*KEY-----|\Z)", re.DOTALL),
    re.compile(r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"),
    re.compile(r"(?<=\bbearer )[\w.~+/=-]+|(?<=\bbasic )[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(?<![\w-])(?=[\w-]*+\.[\w-])[\w-]*?\beyJ[\w-]++\.[\w-]++\.[\w-]*+"),
    re.compile(
        r"\b(?:sk|pk|rk)[-_][\w-]{12,}|\bgh[a-z]_\w{16,}|\bxox[a-z]-[\w-]{8,}|\bAKIA[A-Z\d]{12,}|\bAIza[\w-]{20,}"
    ),
    re.compile(r"\b[0-9a-f]{32,}\b", re.IGNORECASE),
    re.compile(r"(?<![\w+=-])(?=[\w+=-]*[a-z])(?=[\w+=-]*[A-Z])(?=[\w+=-]*\d)[\w+=-]{24,}"),
)
_PUNCTUATION = "'\"()[]{}<>.,:;!?"
_SECRET_CHARS = 5
#: What mixes letters and digits; days and times do not.
_WITH_DIGIT_AND_LETTER = re.compile(r"(?<![!-~])(?=[!-/:-~]*+\d)(?=[!-@\[-`{-~]*+[A-Za-z])[!-~]++")
_AFTER_A_NAME = re.compile(
    rf"(--?{_NAMED}(?:\s+|=)|\b{_NAMED}[\"']?\s*(?:[=:：]|\bis\b)\s*[\"']?|(?:密码|口令|密钥|令牌|验证码)\s*(?:是|为|[=:：])\s*)"
    r"[^\s\"',;，。；]+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ToolCall:
    """One use of a tool, as a bot reports it."""

    name: str
    arguments: Any = None
    result: Any = None

    def cleaned(self) -> dict[str, Any]:
        """As it is kept with the session's message."""
        return {"name": self.name, **{k: redact_value(getattr(self, k)) for k in ("arguments", "result")}}

    def in_one_line(self) -> str:
        """`deploy(service=billing, env=prod)`; of nested arguments only that they were there."""
        given = redact_value(self.arguments)
        if isinstance(given, dict):
            return f"{self.name}({', '.join(f'{name}={_short(value)}' for name, value in given.items())})"
        return f"{self.name}({'' if given is None else _short(given)})"


def redact_value(value: Any, depth: int = 0) -> Any:
    """A value of JSON without what looks secret, and without what cannot be stored."""
    if depth > _DEPTH:
        return "…"
    if isinstance(value, dict):
        return {
            _storable(str(name)): NOT_STORED if item and is_secret_name(str(name)) else redact_value(item, depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [redact_value(item, depth + 1) for item in value]
    return redact(value) if isinstance(value, str) else value


def is_secret_name(name: str) -> bool:
    """Whether an argument of this name is a secret: `dbPassword`, `api_key`, `X-Auth-Token`, 数据库密码."""
    words = [part.lower() for part in _PARTS_OF_NAME.findall(name)]
    pairs = {" ".join(pair) for pair in zip(words, words[1:], strict=False)}
    return not (_SECRET_WORDS.isdisjoint(words) and _SECRET_PAIRS.isdisjoint(pairs)) or any(
        word in name for word in _SECRET_CHINESE
    )


def redact(content: str) -> str:
    """A text without what looks like a secret in it."""
    content = _AFTER_A_NAME.sub(lambda match: match[1] + NOT_STORED, _storable(content))
    for form in _FORMS:
        content = form.sub(NOT_STORED, content)
    return confidential.mask(content).replace(MASKED, NOT_STORED)


def secret_words(content: str) -> set[str]:
    """The words of a text that look like secrets, as in a credential; of others a guess to the safe side."""
    mixed = {word.strip(_PUNCTUATION) for word in _WITH_DIGIT_AND_LETTER.findall(content)}
    recognised = {secret.value.strip(_PUNCTUATION) for secret in confidential.find_secrets(content)}
    formed = {match[0] for form in _FORMS for match in form.finditer(content)}
    named = {match[0][len(match[1]) :].strip(_PUNCTUATION) for match in _AFTER_A_NAME.finditer(content)}
    return {word for word in mixed | formed if len(word) >= _SECRET_CHARS} | {
        word for word in named | recognised if len(word) > 1
    }


def _storable(content: str) -> str:
    return content if text.is_storable(content) else re.sub("[\\0\ud800-\udfff]", "", content)


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return "…"
    return " ".join(text.smart_truncate(str(value), _ARGUMENT_CHARS).split())


def sequence_of(calls: Sequence[ToolCall]) -> str:
    """The names of the tools in their order, as a slot can hold them; equal for equal sequences only."""
    whole = " > ".join(call.name for call in calls)
    if len(whole) <= conf.SLOT_VALUE_CHARS:
        return whole
    return f"{whole[: conf.SLOT_VALUE_CHARS - 40]}…{text.fingerprint(whole)}"
