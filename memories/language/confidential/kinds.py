"""The kinds of secrets, and how a text is read for them: character by character, so that positions stay."""

from dataclasses import dataclass
from enum import StrEnum

#: What stands in a text where a secret stood.
MASKED = "[secret]"


class SecretKind(StrEnum):
    """What a secret is."""

    PASSWORD = "password"  # noqa: S105 (a kind)
    CODE = "code"
    KEY = "key"
    CARD = "card"
    ACCOUNT = "account"
    IDENTITY = "identity"
    PHONE = "phone"
    PHRASE = "phrase"


@dataclass(frozen=True)
class FoundSecret:
    """The characters of a text that are a secret."""

    start: int
    end: int
    kind: SecretKind
    value: str


#: Where a secret begins and ends, and what it is.
Span = tuple[int, int, SecretKind]

#: The marks of Chinese sentences stay: a value ends there.
_PLAIN: dict[int, int | str] = {
    code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in "！，；？（）"
}
_PLAIN |= dict.fromkeys(map(ord, "“”„‟«»「」『』"), '"') | dict.fromkeys(map(ord, "‘’‚‛´"), "'")
_PLAIN |= dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2009\u202f\u3000"), " ")
_PLAIN |= dict.fromkeys(map(ord, "‐‑‒–—−"), "-")


def fold(said: str) -> str:
    """A text of as many characters, in plain ones: of full width, curly quotes, odd spaces and dashes."""
    return said.translate(_PLAIN)
