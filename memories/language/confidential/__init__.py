"""Secrets that people say in a conversation: found by their form, by a checksum, or by the words around them.

`find_secrets` names the characters, `mask` takes them out, `asked_kinds` says which kinds of secret a question asks
for, `asks_which` whether it asks for the value of a certain one. What it goes by, in English and in Chinese:
1. forms that nothing else has: keys of vendors, JWTs, private keys, passwords in addresses, headers and settings;
2. numbers with a checksum: cards, IBANs, Chinese identity numbers, where no other word says what they are;
3. a word for a secret (`confidential.txt`) with a value beside it, whose form the kind of secret decides.

Each step looks at a bounded number of characters around a word, so that a text is read in a time that grows as it does.
"""

import re
from collections.abc import Iterable

from memories.language.confidential.asking import (
    asked_kinds,
    asks_for_several,
    asks_which,
    is_value_alone,
    named_kinds,
)
from memories.language.confidential.forms import by_checksum, by_form, vendors_of
from memories.language.confidential.kinds import MASKED, FoundSecret, SecretKind, fold
from memories.language.confidential.words import by_use, by_words

__all__ = [
    "MASKED",
    "FoundSecret",
    "SecretKind",
    "asked_kinds",
    "asks_for_several",
    "asks_which",
    "find_secrets",
    "is_masked_form",
    "is_value_alone",
    "mask",
    "named_kinds",
    "secret_spans",
    "vendors_of",
    "without",
]
#: Of what is masked wherever it stands again: a shorter one stands in many a word.
_AGAIN_CHARS = 4
#: Where a secret was taken out before, here or of what a tool was given.
_HOLES = (MASKED, "[not stored]")


def find_secrets(said: str) -> list[FoundSecret]:
    """What of a text is a secret, in its order; none overlap."""
    folded = fold(said)
    for hole in _HOLES:
        folded = folded.replace(hole, "·" * len(hole))
    spans = [*by_form(folded), *by_checksum(folded)]
    spans += [*by_words(folded), *by_use(folded)]
    found: list[FoundSecret] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if found and start < found[-1].end:
            if end > found[-1].end:
                found[-1] = FoundSecret(found[-1].start, end, found[-1].kind, said[found[-1].start : end])
        else:
            found.append(FoundSecret(start, end, kind, said[start:end]))
    return found


def mask(said: str, also: Iterable[str] = ()) -> str:
    """A text without its secrets, and without `also`, secrets that were found beside it."""
    return without(said, secret_spans(said, also))


def secret_spans(said: str, also: Iterable[str] = ()) -> list[tuple[int, int]]:
    """Where `mask` takes something out: the secrets of a text, and where one of them or of `also` stands again."""
    found = find_secrets(said)
    spans = [(secret.start, secret.end) for secret in found]
    values = {value.strip("!.,;:?") for value in (*(secret.value for secret in found), *also)}
    again = sorted((value for value in values if len(value) >= _AGAIN_CHARS), key=len, reverse=True)
    for value in again:
        if value in said:
            for match in re.finditer(rf"(?<![A-Za-z\d]){re.escape(value)}(?![A-Za-z\d])", said):
                if all(match.end() <= start or end <= match.start() for start, end in spans):
                    spans.append(match.span())
    return sorted(spans)


def without(said: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text with `[secret]` in the place of these spans, which are in their order."""
    parts, at = [], 0
    for start, end in spans:
        parts += [said[at:start], MASKED]
        at = end
    return "".join([*parts, said[at:]])


def is_masked_form(masked: str, said: str) -> bool:
    """Whether a text is what another one becomes without its secrets."""
    if MASKED not in masked:
        return masked == said
    first, *others = masked.split(MASKED)
    if not said.startswith(first) or not said.endswith(others[-1]):
        return False
    at = len(first)
    for part in others[:-1]:
        if (at := said.find(part, at)) < 0:
            return False
        at += len(part)
    return at <= len(said) - len(others[-1])
