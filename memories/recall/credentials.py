"""What a group never hears (A3): its own credentials and a person's, and copies of their words elsewhere.

A copy is known by the message it rests on, by the words, and by the secret itself: a word of four characters or more
that holds a digit. What says the secret in other words cannot be known.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from memories.choices import ScopeKind
from memories.kinds import SECRET
from memories.language import text
from memories.models import Entry, Scope
from memories.recall.query import Place

_SECRET = re.compile(r"(?<![!-~])(?=[!-/:-~]*+\d)[!-~]++")
_EDGES = "'\"()[]{}<>.,:;!?"
_LEAST_CHARS = 4


def is_group(place: Place) -> bool:
    """Whether several people hear what is served of this scope."""
    return place.ref.in_group or place.scope.kind == ScopeKind.CHAT


@dataclass(frozen=True)
class CredentialGuard:
    """Credentials of some scopes and of what was said in them, as their copies are known."""

    origins: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    secrets: frozenset[str] = frozenset()

    def holds(self, content: str, origins: Sequence[str]) -> bool:
        """Whether a text tells a credential."""
        if not self.origins.isdisjoint(origins) or not self.secrets.isdisjoint(_secrets(content)):
            return True
        said = f" {text.normalise(content)} " if self.words else ""
        return any(words in said for words in self.words)


def credential_guard(workspace_id: int, scopes: Sequence[Scope]) -> CredentialGuard:
    """The guard of what is told where several people hear it; one that holds nothing where nobody else does."""
    chats = [scope.key for scope in scopes if scope.kind == ScopeKind.CHAT]
    if not chats:
        return CredentialGuard()
    told_here = Q(scope__in=[scope.pk for scope in scopes]) | Q(chats__overlap=chats)
    rows = Entry.objects.filter(told_here, workspace_id=workspace_id, category__in=SECRET)
    origins: set[str] = set()
    words: set[str] = set()
    secrets: set[str] = set()
    for content, own in rows.values_list("content", "origins"):
        origins.update(own)
        words.add(f" {text.normalise(content)} ")
        secrets.update(_secrets(content))
    return CredentialGuard(frozenset(origins), tuple(words - {"  "}), frozenset(secrets))


def _secrets(content: str) -> set[str]:
    found = {word.strip(_EDGES) for word in _SECRET.findall(content)}
    return {word for word in found if len(word) >= _LEAST_CHARS}
