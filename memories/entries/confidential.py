"""A memory that holds a secret is a credential, whichever way it comes in, and says which kinds of secret it holds.

By its category it is masked in the admin, kept from groups, profiles, merges and webhooks; by its kinds a question is
answered with it that asks for one of them, and no other.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from memories.choices import Category, EntryType, SecretsRule, Source
from memories.conf import conf
from memories.entries.draft import Draft, UnscopedDraft
from memories.kinds import category_rule
from memories.language.confidential import SecretKind, find_secrets, mask
from memories.models.entry import SECRET_SUBTYPE, Entry

D = TypeVar("D", bound=UnscopedDraft)
#: What the rule of a channel has been applied to already (memories.consolidation.told_apart).
_CAPTURED = (Source.CONVERSATION_CAPTURE, Source.MEMORY_CAPTURE)


def subtype_of(kinds: Iterable[SecretKind]) -> str:
    """The subtype of a memory with secrets of these kinds."""
    named = sorted(set(kinds), key=list(SecretKind).index)
    subtype = SECRET_SUBTYPE + ",".join(named)
    while len(subtype) > 40:  # the rarest ones have to do without
        named.pop()
        subtype = SECRET_SUBTYPE + ",".join(named)
    return subtype


def guarded(draft: Draft) -> Draft:
    """A draft as it is stored: with a secret in it a credential, or without the secret where none are to be kept.

    A line of a file stays as it stands there.
    """
    is_settled = draft.source in _CAPTURED and draft.type != EntryType.FACT
    if conf.SECRETS == SecretsRule.OFF or is_settled or draft.subtype.startswith(SECRET_SUBTYPE):
        return draft
    kinds = {secret.kind for secret in find_secrets(draft.content)}
    if not kinds:
        return draft
    if conf.SECRETS == SecretsRule.MASK and not draft.path:
        return replace(draft, content=mask(draft.content))
    return as_credential(draft, kinds)


def as_credential(draft: D, kinds: Iterable[SecretKind]) -> D:
    """A draft that holds secrets of these kinds, marked as what it is."""
    importance = draft.importance if category_rule(draft.category).is_secret else None
    return replace(
        draft, category=Category.CREDENTIAL, subtype=draft.subtype or subtype_of(kinds), importance=importance
    )


def marks_of(entry: Entry, content: str) -> dict[str, str]:
    """The columns that change when an entry gets these words: with a secret among them it becomes a credential."""
    if conf.SECRETS == SecretsRule.OFF or category_rule(entry.category).is_secret:
        return {}
    kinds = {secret.kind for secret in find_secrets(content)}
    if not kinds:
        return {}
    return {"category": Category.CREDENTIAL.value, "subtype": entry.subtype or subtype_of(kinds)}
