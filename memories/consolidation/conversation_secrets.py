"""Secrets in a conversation: taken out of the messages, and kept apart for whoever gave them away.

What is stored of a turn, its messages, its memories and what a model is shown, holds `[secret]` in their place. The
sentence that holds one is kept as a credential of the speaker, where the channel's rule says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memories.choices import EntryType, SecretsRule, Source
from memories.entries.draft import Draft, as_credential
from memories.language.confidential import FoundSecret, SecretKind, asked_kinds, find_secrets, mask

if TYPE_CHECKING:
    from memories.consolidation.capture import Turn

#: The tier of a fact that is no part of a profile.
_KNOWLEDGE = 2
#: Of a message that holds a secret: all of it, or what stands around.
_WHOLE_CHARS, _AROUND_CHARS = 300, 120


@dataclass(frozen=True)
class SecretStatement:
    """Words of somebody that hold secrets, as they are kept for them."""

    content: str
    kinds: frozenset[SecretKind]
    side: int  # the message it stood in


def without_secrets(
    messages: Sequence[str], rule: str, *, by_user: Sequence[bool]
) -> tuple[list[str], list[SecretStatement]]:
    """Messages of a conversation without their secrets, and what of these is kept apart.

    A bot that repeats a secret, or answers with one it was asked for, tells nothing new.
    """
    if rule == SecretsRule.OFF:
        return list(messages), []
    of_each = [find_secrets(message) for message in messages]
    if not any(of_each):
        return list(messages), []
    values = {secret.value for secrets in of_each for secret in secrets}
    masked = [mask(message, values) for message in messages]
    if rule == SecretsRule.MASK:
        return masked, []
    of_user = [n for n, is_users in enumerate(by_user) if is_users]
    users_values = {secret.value for n in of_user for secret in of_each[n]}
    asked = {kind for n in of_user for kind in asked_kinds(messages[n])}
    kept = []
    for side, (message, secrets, is_users) in enumerate(zip(messages, of_each, by_user, strict=True)):
        new = [secret for secret in secrets if is_users or not (secret.value in users_values or secret.kind in asked)]
        kept += [SecretStatement(content, kinds, side) for content, kinds in _around(message, new)]
    return masked, kept


def _around(message: str, secrets: Sequence[FoundSecret]) -> Iterator[tuple[str, frozenset[SecretKind]]]:
    """The message, or of a long one the lines and words around each secret."""
    if not secrets:
        return
    if len(message) <= _WHOLE_CHARS:
        yield message.strip(), frozenset(secret.kind for secret in secrets)
        return
    begin, end, kinds = -1, -1, set[SecretKind]()
    for secret in secrets:
        if kinds and secret.start - _AROUND_CHARS > end:
            yield message[begin:end].strip(), frozenset(kinds)
            kinds = set()
        if not kinds:  # from a whole word on
            begin = max(0, secret.start - _AROUND_CHARS)
            begin = begin and max(message.find(" ", begin, secret.start) + 1, begin)
        end, kinds = min(len(message), secret.end + _AROUND_CHARS // 2), kinds | {secret.kind}
        space = message.rfind(" ", secret.end, end)
        if end < len(message) and space >= 0:  # to a whole word
            end = space
    yield message[begin:end].strip(), frozenset(kinds)


def of_turn(turn: "Turn", rule: str) -> tuple["Turn", list[SecretStatement]]:
    """A turn without the secrets of its two sides, and what is kept of them."""
    (user, assistant), kept = without_secrets([turn.user, turn.assistant], rule, by_user=[True, False])
    return replace(turn, user=user, assistant=assistant), kept


def drafts_of(secrets: Sequence[SecretStatement], base: Draft, origins: Sequence[str]) -> Iterator[Draft]:
    """What is kept of secrets, beside the memory `base` that was made of the same messages for the same person."""
    for secret in secrets:
        draft = replace(
            base,
            type=EntryType.FACT,
            tier=_KNOWLEDGE,
            source=Source.CONVERSATION_CAPTURE,
            content=secret.content,
            origins=tuple(origins[secret.side : secret.side + 1]),
        )
        yield as_credential(draft, secret.kinds)


def kept_of_messages(
    secrets: Sequence[SecretStatement], base: Draft, origins: Sequence[str], *, at: Sequence[datetime]
) -> Iterator[Draft]:
    """The same of messages that are reported one by one, each with its moment."""
    for secret, draft in zip(secrets, drafts_of(secrets, base, origins), strict=True):
        yield replace(draft, at=at[secret.side])
