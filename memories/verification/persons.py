"""Whom a text speaks of: the speaker, their relations, people by name. No verbs, no grammar (D5).

Persons are compared as keys: «speaker», «my mother» for a relation by any of its words, a folded name for anybody else.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from memories.language import entities, relations
from memories.language.amounts import DAYS_AND_MONTHS
from memories.language.names import fold
from memories.language.scripts import HAN, IDEOGRAPHS, has_han
from memories.language.word_lists import classes, word_set

SPEAKER = "speaker"
#: How the speaker is called by whoever writes about them.
USER = frozenset({SPEAKER, "user", "the user", "i", "me", "myself", "用户", "用戶", "我", "本人", "说话人"})
_FIRST = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours|i'm|i've|i'd|i'll|we're|we've)\b|[我咱俺]", re.IGNORECASE)
_THE_USER = re.compile(r"\b(?:the )?user(?:'s)?\b|用户|用戶", re.IGNORECASE)
#: By every word for a relation its first one; a cat is no person.
_RELATIONS = {
    word: first
    for word, first in (classes("persons", "relations") | relations.RELATIONS).items()
    if first not in word_set("relations", "pets")
}
_WORDS = sorted(_RELATIONS, key=len, reverse=True)
_EN_KIN = "|".join(word.replace(" ", "[- ]") for word in _WORDS if not has_han(word))
_ZH_KIN = "|".join(word for word in _WORDS if has_han(word) and len(word) > 1)
#: A relation, and the word of possession before it, which does not speak of the speaker alone.
_KIN = re.compile(
    rf"\b(?:(?:my|our|the user's) (?:\w+ )?)?(?P<en>{_EN_KIN})(?:s|'s)?\b"
    rf"|(?:我|咱|俺|我们|咱们|用户|我家|咱家)?(?:家|的)?(?P<zh>{_ZH_KIN})"
    rf"|(?:我|咱|俺)(?:家|的)?(?P<short>[{HAN}])(?![{HAN}]{{0,3}}们)",
    re.IGNORECASE,
)
_SHORT = frozenset(word for word in _WORDS if has_han(word) and len(word) == 1)
_NO_NAMES = word_set("persons", "no_names")


@dataclass(frozen=True)
class People:
    """Those who may be spoken of: the names of the speaker, and other people with all their names."""

    speaker: frozenset[str] = frozenset()  # folded names
    others: Mapping[str, str] = field(default_factory=dict)  # folded name → key

    @classmethod
    def of(
        cls, speaker: Collection[str], others: Collection[str] = (), known: Mapping[str, str] | None = None
    ) -> "People":
        """`known` are nicknames, «my sister» among them, with the name each means."""
        own = frozenset(fold(name) for name in speaker if name)
        found = {fold(name): fold(name) for name in others if name and fold(name) not in own}
        for alias, name in (known or {}).items():
            if alias.startswith(relations.MY):
                found.setdefault(fold(name), alias)
            elif fold(name) in own:
                own |= {fold(alias)}
            else:
                found.setdefault(fold(alias), found.get(fold(name), fold(name)))
        return cls(own, {name: key for name, key in found.items() if name not in own})

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        names = sorted([*self.speaker, *self.others], key=len, reverse=True)
        return re.compile("|".join(_bounded(name) for name in names), re.IGNORECASE) if names else None

    @cached_property
    def _possessors(self) -> re.Pattern[str]:
        """Whose relation is spoken of: of «Amy's roommate» nothing is said of Amy."""
        names = "|".join(_bounded(name) for name in sorted(self.speaker, key=len, reverse=True)) or "(?!)"
        owner = rf"(?:{names}|\b(?:the )?user|\bmy|\bour|用户|我)"
        return re.compile(rf"{owner}(?:'s|的)?\s*(?:家里?的?)?(?=(?:\w+ )?(?:{_EN_KIN}|{_ZH_KIN}))", re.IGNORECASE)

    def without_names(self, content: str) -> str:
        """A text without the names of persons."""
        plain = _plain(content)
        return self._pattern.sub(" ", plain) if self._pattern else plain

    def key(self, subject: str) -> str:
        """The person a subject names; empty for a thing."""
        plain = fold(subject.strip())
        if plain in USER or plain in self.speaker:
            return SPEAKER
        if kin := _KIN.fullmatch(plain):
            return _kin_key(kin)
        return self.others.get(plain, "")

    def named(self, content: str, *, writes_of_user: bool) -> set[str]:
        """The keys of all persons a text names; «he» names nobody.

        `writes_of_user`: the text is about the speaker in the third person, else in their own words.
        """
        plain = self._possessors.sub(" ", _plain(content))
        found: set[str] = set()
        for match in self._pattern.finditer(plain) if self._pattern else ():
            name = fold(match.group())
            found.add(SPEAKER if name in self.speaker else self.others[name])
        rest, kin = _without_kin(plain)
        found |= kin
        if (_THE_USER if writes_of_user else _FIRST).search(rest) or (writes_of_user and _FIRST.search(rest)):
            found.add(SPEAKER)
        return found


def unknown_names(content: str, told: str) -> set[str]:
    """Names of a text that another does not hold; a form of a word that is there (Spanish, Spain) counts as there."""
    there = _plain(told).casefold()
    words = set(re.findall(r"[^\W\d_]{4,}", there))
    return {name for name in names_in(content) if name not in there and not _is_form(name, words)}


def names_in(content: str) -> set[str]:
    """Capitals within a sentence, addresses, paths and quoted words; Chinese names of persons."""
    plain = _plain(content)
    first = {match.group().casefold() for match in re.finditer(r"(?:^|[.!?。！？:：]\s*)[\"“(]?[A-Z][\w'-]*", plain)}
    found = {name for name in entities.names(plain) if not has_han(name)}
    begins = {re.sub(r"^\W+", "", word).removesuffix("'s") for word in first}
    return {name for name in found - begins - _NO_NAMES - DAYS_AND_MONTHS if len(name) > 1}


def _is_form(name: str, words: Collection[str]) -> bool:
    """Whether a word begins like a name does, for as long as four letters or all but the name's last two."""
    stem = name[: max(4, len(name) - 3)]
    return len(name) >= 4 and any(word.startswith(stem) or name.startswith(word) for word in words)


def _kin_key(match: re.Match[str]) -> str:
    word = match["en"] or match["zh"] or match["short"] or ""
    plain = fold(word).replace("-", " ")
    return relations.MY + _RELATIONS[plain] if plain in _RELATIONS else ""


def _without_kin(plain: str) -> tuple[str, set[str]]:
    """A text without its relations and their «my», and the relations."""
    found: set[str] = set()

    def take(match: re.Match[str]) -> str:
        if match["short"] and match["short"] not in _SHORT:
            return match.group()
        found.add(_kin_key(match))
        return " "

    return _KIN.sub(take, plain), found


def _bounded(name: str) -> str:
    return re.escape(name) if has_han(name) else rf"(?<![^\W{IDEOGRAPHS}]){re.escape(name)}(?![^\W{IDEOGRAPHS}])"


def _plain(content: str) -> str:
    return unicodedata.normalize("NFKC", content).replace("’", "'")
