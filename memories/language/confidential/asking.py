"""Which kinds of secret a question asks for."""

import re

from memories.language.confidential.kinds import SecretKind, fold
from memories.language.confidential.words import nouns_of
from memories.language.word_lists import pattern

#: A question for one of these is answered with secrets of these kinds: people call a PIN a password, and a code a PIN.
_MEANT = {
    SecretKind.PASSWORD: {SecretKind.PASSWORD, SecretKind.CODE, SecretKind.PHRASE, SecretKind.KEY},
    SecretKind.CODE: {SecretKind.CODE, SecretKind.PASSWORD},
    SecretKind.KEY: {SecretKind.KEY, SecretKind.PASSWORD},
    SecretKind.PHRASE: {SecretKind.PHRASE, SecretKind.PASSWORD},
    SecretKind.ACCOUNT: {SecretKind.ACCOUNT, SecretKind.CARD},
}
_ASKED = {kind: pattern("confidential", f"asks_{kind}", re.IGNORECASE) for kind in SecretKind}
_SEVERAL = pattern("confidential", "asks_several", re.IGNORECASE)
_ANY_SECRET = pattern("confidential", "asks_any", re.IGNORECASE)
#: «Which GitHub token does CI use?», 「api密钥是什么？」: a certain one's value; «what is an API key?» asks of all.
_WHICH_BEFORE = pattern("confidential", "which_before", re.IGNORECASE)
_WHICH_AFTER = pattern("confidential", "which_after", re.IGNORECASE)
_IS_WHAT = pattern("confidential", "is_what")
_WHICH_CHARS = 40
_VALUE_ALONE = re.compile(r"(?=[!-~]{0,200}\d)[!-~]{4,200}")


def is_value_alone(question: str) -> bool:
    """Whether nothing but what may be a secret is looked for: who types it, knows it."""
    return _VALUE_ALONE.fullmatch(fold(question).strip()) is not None


def asked_kinds(question: str) -> frozenset[SecretKind]:
    """The kinds of secret a question asks for; none: it is about something else."""
    return frozenset(meant for kind in named_kinds(question) for meant in _MEANT.get(kind, {kind}))


def named_kinds(question: str) -> frozenset[SecretKind]:
    """The kinds of secret a question has words for: of what is asked for, what is most likely meant."""
    folded = fold(question)
    if _ANY_SECRET.search(folded) or is_value_alone(question):
        return frozenset(SecretKind)
    named = {kind for kind, form in _ASKED.items() if form.search(folded)}
    return frozenset(named | {SecretKind(str(noun.lastgroup)) for noun in nouns_of(folded)})


def asks_for_several(question: str) -> bool:
    """Whether all secrets of a kind are asked for: «what are my passwords?»."""
    return _SEVERAL.search(fold(question)) is not None


def asks_which(question: str) -> bool:
    """Whether the value of a certain secret is asked for, and not what such a thing is."""
    folded = fold(question)
    return any(
        _IS_WHAT.match(folded, noun.end())
        or _WHICH_AFTER.match(folded, noun.end())
        and _WHICH_BEFORE.search(folded, max(0, noun.start() - _WHICH_CHARS), noun.start())
        for noun in nouns_of(folded)
    )
