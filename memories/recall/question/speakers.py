"""Who said a memory, as people call them; whether that is the one who asks, and whether they ask about themselves (A5).

What a bot's model reads as «User» it takes for the words of whom it answers. So another's words carry that person's
name, or their id where no name is known.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from memories.choices import ScopeKind
from memories.language import names, quoting
from memories.language.word_lists import pattern
from memories.models import Scope

ASKER = "User"
SOMEBODY = "Somebody"
#: What another's words count for where somebody asks about themselves: one's own come first if they match at all.
OTHERS_FACTOR = 0.25


class HasSender(Protocol):
    """Whatever tells who said it: an entry, or a line of the profile."""

    @property
    def sender_id(self) -> str: ...

    @property
    def speaker(self) -> str: ...


class Authorship(StrEnum):
    """Whose words something is, seen from the one who asks."""

    OWN = "own"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Sender:
    """Who said something; empty where nobody knows."""

    id: str = ""
    name: str = ""
    authorship: Authorship = Authorship.UNKNOWN
    in_chat: bool = False  # said where several people speak
    is_shared: bool = False  # somebody else here goes by the same name

    @property
    def may_be_asker(self) -> bool:
        """Whether these may be the asker's own words: in a person's memory they are, unless it is known better."""
        return self.authorship == Authorship.OWN or (self.authorship == Authorship.UNKNOWN and not self.in_chat)

    @property
    def label(self) -> str:
        """How a model is told who said it; empty where it needs no telling."""
        if self.authorship == Authorship.OWN:
            return ASKER
        name, own_id = quoting.as_name(self.name), quoting.label_of(self.id)
        if name and own_id and self.is_shared:
            return f"{name} ({own_id})"
        return name or own_id


def sender_of(item: HasSender, scope: Scope, asker: str) -> Sender:
    """Who said a memory of this scope."""
    sender, speaker = item.sender_id, item.speaker
    if not sender and speaker in scope.sender_names:  # a fact of somebody whose name nobody knew then
        sender = speaker
    own = speaker if speaker != sender else ""
    latest = scope.sender_names.get(sender) or own or name_in(scope, sender)
    return _sender(sender, latest, scope, asker, called=own)


def sender_with_id(sender: str, scope: Scope, asker: str, *, called: str = "") -> Sender:
    """Who goes by this id in the conversations of a scope; `called` is the name a message of theirs came with."""
    return _sender(sender, name_in(scope, sender), scope, asker, called=called)


def name_in(scope: Scope, sender: str) -> str:
    """What people call a sender: the latest name that came with their messages, else one they gave themselves."""
    if not sender:
        return ""
    if name := scope.sender_names.get(sender):
        return str(name)
    own = names.UNNAMED + sender
    aliases = (alias for alias, who in scope.nicknames.items() if who == own)
    shortest = min(aliases, key=lambda alias: (len(alias), alias), default="")
    return shortest.title() if shortest.isascii() else shortest


def _sender(sender: str, name: str, scope: Scope, asker: str, *, called: str = "") -> Sender:
    """Whose words they are goes by the latest `name` of a sender; the label is what they were `called` at the time."""
    name = name or called
    in_chat = scope.kind == ScopeKind.CHAT
    authorship = (_authorship_in_chat if in_chat else _authorship_in_person)(sender, name, scope, asker)
    label = called or name
    alike = quoting.skeleton(label)
    others = (
        other
        for other, theirs in scope.sender_names.items()
        if other != sender and alike in (quoting.skeleton(theirs), quoting.skeleton(other))
    )
    return Sender(sender, label, authorship, in_chat, is_shared=bool(alike) and any(True for _ in others))


def _authorship_in_chat(sender: str, name: str, scope: Scope, asker: str) -> Authorship:
    """In a chat several people speak: without a sender it is nobody's in particular."""
    if sender:
        return Authorship.OWN if sender == asker else Authorship.OTHER
    if not name:
        return Authorship.UNKNOWN
    own = {names.fold(asker), names.fold(name_in(scope, asker))} - {""}
    return Authorship.OWN if names.fold(name) in own else Authorship.OTHER


def _authorship_in_person(sender: str, name: str, scope: Scope, asker: str) -> Authorship:
    """A person's memory is that person's, by whichever id they write, unless two names speak in it.

    So it is where a conversation of several was imported into one scope, and where one bot has one memory for all.
    """
    if not name or (sender and sender == asker):
        return Authorship.OWN
    own = names.fold(name_in(scope, asker))
    if own:
        return Authorship.OWN if names.fold(name) == own else Authorship.OTHER
    return Authorship.UNKNOWN if not sender and len(scope.speakers) > 1 else Authorship.OWN


LOOK_CHARS = 2_000  # of a long message its end, where people ask

_ENGLISH = re.compile(r"\b(?:i|me|my|mine|myself|i['’](?:m|ve|d|ll)|im|ive)\b", re.IGNORECASE)
#: 我们 and 咱们 are more than the one who asks, and so is who speaks for a company or a country.
_CHINESE = re.compile(r"(?:我|俺|咱|吾|本人|人家|自己)(?![们們国國司党黨军軍厂廠方])")
_ENGLISH_FRAMES = pattern("self_questions", "english_frames", re.IGNORECASE)
_ENGLISH_ANYBODY = pattern("self_questions", "english_anybody", re.IGNORECASE)
_CHINESE_FRAMES = pattern("self_questions", "chinese_frames")
_CHINESE_ANYBODY = pattern("self_questions", "chinese_anybody")


def is_about_asker(message: str, named: Sequence[tuple[int, str]], scopes: Sequence[Scope], asker: str) -> bool:
    """Whether a message asks about whom it comes from, and names nobody else of the speakers (scope and name)."""
    if not asks_about_asker(message):
        return False
    own = {names.fold(name) for scope in scopes for name in (asker, name_in(scope, asker)) if name}
    return all(names.fold(speaker) in own for _scope, speaker in named)


def asks_about_asker(message: str) -> bool:
    """Whether the one who asks is asked about, in English or Chinese, simplified or traditional."""
    rest = names.simplify(message.strip()[-LOOK_CHARS:])
    for other_use in (_ENGLISH_FRAMES, _ENGLISH_ANYBODY, _CHINESE_FRAMES, _CHINESE_ANYBODY):
        rest = other_use.sub(" ", rest)
    return bool(_ENGLISH.search(rest) or _CHINESE.search(rest))
