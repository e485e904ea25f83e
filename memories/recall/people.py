"""Whom and what a message names (D1), and whose words a memory is (A5).

What a scope learnt acts in that scope alone: its nicknames move no row of another, and no word of the question while
another scope is asked with it that does not know them. What a bot's model reads as «User» it takes for the words of
whom it answers. So another's words carry that person's name, or their id where there is no name.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memories.choices import SESSION_EXPIRED, EntryType, Origin, ScopeKind, Source
from memories.language import names, persons, quoting, text
from memories.language.persons import Additions
from memories.language.quoting import (
    ASSISTANT_LABEL,
    USER_LABEL,
    sides_of,
    spoken_parts,
    telling_sentences,
)
from memories.language.text import HAN, begins_a_sentence, has_han, parts_of_speech
from memories.language.word_lists import pattern, word_set, words
from memories.models import Entry, Scope
from memories.recall.gate import names_project
from memories.recall.relevance import names_in, says

if TYPE_CHECKING:
    from memories.recall.query import ParsedQuery
    from memories.recall.ranking import Ranked

_ORDINARY = text.ENGLISH_STOPWORDS | word_set("names", "also_words")
#: Before a capital word these make a month of «May», and a place of others.
_OF_TIME = re.compile(r"\b(?:in|of|on|since|until|till|by|last|next|this|early|mid|late|every)\s+\Z", re.IGNORECASE)
_ROLES = word_set("features", "roles")
_CLOSE_CHARS = 20  # before a word, in which such a word stands
_SAYS = words("names", "says")
_AFTER_NAMES = word_set("names", "after_names")
_SURE_CHARS = 3  # a Chinese name of so many characters is no part of another word


@dataclass
class People:
    """The people of one scope: every name that means one of them."""

    speakers: dict[str, str] = field(default_factory=dict)  # by a folded name
    own_names: frozenset[str] = frozenset()  # folded names that speakers go by themselves
    others: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of people who never speak: all their names


@dataclass(frozen=True)
class NamedPeople:
    """Whom a message names."""

    named: list[tuple[int, str]]  # scope and speaker
    forms: frozenset[str]  # every folded name of those speakers
    name_terms: frozenset[int]  # terms of names that are no keywords then
    alias_terms: frozenset[int]  # terms of other names of the same people


def people_named(message: str, scopes: Sequence[Scope]) -> NamedPeople:
    """The people a message names in each of these scopes."""
    matcher = _NameMatcher(message)
    named_speakers: list[tuple[int, str]] = []
    forms: set[str] = set()
    name_terms: set[int] = set()
    everywhere: list[tuple[frozenset[int], frozenset[int]]] = []
    for scope in scopes:
        nicknames = persons.without_relations(scope.nicknames)
        people = people_of(scope.pk, scope.version, tuple(scope.speakers), tuple(sorted(nicknames.items())))
        matched = [name for name in people.speakers if matcher.names(name)]
        speakers = dict.fromkeys(people.speakers[name] for name in matched)
        named_speakers += [(scope.pk, speaker) for speaker in speakers]
        forms |= {name for name, speaker in people.speakers.items() if speaker in speakers}
        name_terms |= _terms(name for name in matched if name in people.own_names)
        aliases = (other for name in people.others if matcher.names(name) for other in people.others[name])
        everywhere.append((_terms(matched), _terms(aliases)))
    shared = [frozenset[int].intersection(*sides) for sides in zip(*everywhere, strict=True)] or [frozenset()] * 2
    return NamedPeople(named_speakers, frozenset(forms), frozenset(name_terms) | shared[0], shared[1])


def relations_named(message: str, scopes: Sequence[Scope]) -> Additions:
    """Who «my sister» is, and whose name a message says, as all of these scopes know; of one in which several speak,
    nobody knows whose sister."""
    by_scope: list[dict[str, tuple[str, ...]]] = []
    for scope in scopes:
        meanings: dict[str, tuple[str, ...]] = {}
        by_scope.append(meanings)
        aliases = {alias: name for alias, name in scope.nicknames.items() if alias.startswith(persons.MY) and name}
        if not aliases or (len(scope.speakers) > 1 and len(scope.sender_names) != 1):
            continue
        mentioned = dict(persons.mentioned(message))
        meanings |= {words: (aliases[alias],) for words, alias in mentioned.items() if alias in aliases}
        matcher = _NameMatcher(message)
        for alias, name in aliases.items():
            if alias not in mentioned.values() and matcher.names(names.fold(name)):
                meanings[name] = tuple(persons.names_of(alias, chinese=has_han(message)))
    first = by_scope[0] if by_scope else {}
    return tuple(
        (words, meaning) for words, meaning in first.items() if all(other.get(words) == meaning for other in by_scope)
    )


def without_names(message: str, forms: Iterable[str]) -> str:
    """A message without these folded names and their possessives; the message itself where nothing else is left."""
    names_of = "|".join(sorted(map(re.escape, forms), key=len, reverse=True))
    pattern = rf"(?<![^\W_])(?:{names_of})(?:['’]s)?(?![^\W_])|(?:{names_of})的?(?=[{HAN}])"
    bare = re.sub(pattern, " ", message, flags=re.IGNORECASE)
    bare = " ".join(bare.split())
    return bare if any(map(str.isalnum, bare)) else message


def _terms(forms: Iterable[str]) -> frozenset[int]:
    return frozenset(term for name in forms for term in text.terms(name))


@lru_cache(maxsize=512)
def people_of(scope_id: int, version: int, speakers: tuple[str, ...], nicknames: tuple[tuple[str, str], ...]) -> People:
    """Everybody of a scope in this version: speakers by their names, given names, familiar ones, and learnt ones."""
    exact = {names.fold(speaker): speaker for speaker in speakers}
    by_given_name = exact | _unique(exact, ((short, name) for name in speakers for short in names.given_names(name)))
    familiar = ((short, name) for name in speakers for short in names.familiar_names(name))
    by_own_name = by_given_name | _unique(by_given_name, familiar)
    learnt = {alias: name for alias, name in nicknames if name and alias not in exact}
    given_back = {names.fold(name): alias for alias, name in nicknames if name and alias in exact}
    speakers_by_name = dict(by_own_name)
    for alias, name in (learnt | given_back).items():
        if speaker := by_own_name.get(names.fold(name)):
            speakers_by_name[alias] = speaker
    others: dict[str, list[str]] = {}
    for alias, name in learnt.items():
        if alias not in speakers_by_name:
            others.setdefault(name, [] if name.startswith(names.UNNAMED) else [names.fold(name)]).append(alias)
    return People(
        speakers_by_name, frozenset(exact), {form: tuple(group) for group in others.values() for form in group}
    )


def _unique(exact: Mapping[str, str], forms: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Short names that mean one speaker; those that mean two mean nobody."""
    speakers_by_form: dict[str, set[str]] = {}
    for form, speaker in forms:
        speakers_by_form.setdefault(names.fold(form), set()).add(speaker)
    return {form: min(whose) for form, whose in speakers_by_form.items() if len(whose) == 1 and form not in exact}


class _NameMatcher:
    """A message, and whether it names somebody."""

    def __init__(self, message: str) -> None:
        self.plain = names.simplify(message)
        self.folded = names.fold(message)
        self.words = text.bare_words(self.folded)

    def names(self, name: str) -> bool:
        """Whether a folded name occurs as a name: on the borders of words, and not as a word like others."""
        target = names.words_of_name(name)
        if not target or target not in self.folded.replace(" ", ""):
            return False
        if name.isascii():
            return self._has(target) and (name not in _ORDINARY or self._is_written_as_name(name))
        if len(name) >= _SURE_CHARS and names.is_person(name):
            return name in self.folded
        return self._has(target) and (not is_ordinary(name) or any(name + says in self.folded for says in _SAYS))

    def _has(self, target: str) -> bool:
        if occurs(self.words, target):
            return True
        if any(word[:-1] == target and word[-1] in _AFTER_NAMES for word in self.words):  # «李雷要» of «李雷要去哪»
            return names.is_person(target)
        return (
            target[0] in names.FAMILIAR
            and any(  # «小李有什么» is cut as 小 and 李有
                word + after[:1] == target and len(after) == 2 and after[1] in _AFTER_NAMES
                for word, after in pairwise(self.words)
            )
        )

    def _is_written_as_name(self, name: str) -> bool:
        """Whether it is written as names are, and not because it begins a sentence or is a month."""
        for match in re.finditer(rf"\b{re.escape(name.title())}\b(['’]s\b)?", self.plain):
            before = self.plain[: match.start()]
            if match[1] or not (begins_a_sentence(before) or _OF_TIME.search(before[-_CLOSE_CHARS:])):
                return True
        return False


def occurs(words: Sequence[str], target: str) -> bool:
    """Whether some of these words, one after the other, make up the target."""
    for start in range(len(words)):
        rest, at = target, start
        while rest and at < len(words) and rest.startswith(words[at]):
            rest, at = rest[len(words[at]) :], at + 1
        if not rest:
            return bool(target)
    return False


@lru_cache(maxsize=4_096)
def is_ordinary(name: str) -> bool:
    """Whether a Chinese name is a word of the dictionary that is no noun: 高兴, 明天."""
    tagged = parts_of_speech(name)
    return len(tagged) == 1 and not tagged[0][1].startswith(("n", "x", "i", "j"))


def projects_named(message: str, projects: Iterable[str]) -> list[str]:
    """The projects of these that a message names, across scripts, width and case; what begins with _ is no name."""
    folded = names.fold(message)
    named_projects = []
    for project in (project for project in projects if not project.startswith("_")):
        name = names.fold(project)
        if not names_project(folded, name):
            continue
        # «the project now», «go项目»: a name that is a word like others
        word = re.escape(name)
        is_called = re.search(rf"project {word}\b|\b{word} project|项目{word}|{word}\s?(?:项目|系统|工程)", folded)
        is_part = has_han(name) and len(name) < _SURE_CHARS
        is_word = name not in text.ENGLISH_STOPWORDS and (
            not is_part or occurs(text.words(folded), names.words_of_name(name))
        )
        if is_called or is_word:
            named_projects.append(project)
    return named_projects


ASKER = "User"
SOMEBODY = "Somebody"
#: What another's words count for where somebody asks about themselves: one's own come first if they match at all.
OTHERS_FACTOR = 0.25


class HasSender(Protocol):
    """Whatever has an author: an entry, or a line of the profile."""

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
    """The author of something; empty where nobody knows."""

    id: str = ""
    name: str = ""
    authorship: Authorship = Authorship.UNKNOWN
    in_chat: bool = False  # written where several people speak
    is_shared: bool = False  # somebody else here goes by the same name

    @property
    def may_be_asker(self) -> bool:
        """Whether these may be the asker's own words: in a person's memory, unless something speaks against it."""
        return self.authorship == Authorship.OWN or (self.authorship == Authorship.UNKNOWN and not self.in_chat)

    @property
    def safe_name(self) -> str | None:
        """The name as clients are told it; None where there is none, or it would pass for a part of a prompt."""
        return quoting.safe_name(self.name)

    @property
    def label(self) -> str:
        """The author as a model reads it; empty where it needs none."""
        if self.authorship == Authorship.OWN:
            return ASKER
        name, own_id = quoting.as_name(self.name), quoting.label_of(self.id)
        if name and own_id and self.is_shared:
            return f"{name} ({own_id})"
        return name or own_id


def sender_of(item: HasSender, scope: Scope, asker: str) -> Sender:
    """The author of a memory of this scope."""
    sender, speaker = item.sender_id, item.speaker
    if not sender and speaker in scope.sender_names:  # a fact of somebody whose name nobody knew then
        sender = speaker
    own = speaker if speaker != sender else ""
    latest = scope.sender_names.get(sender) or own or name_in(scope, sender)
    return _sender(sender, latest, scope, asker, name_then=own)


def sender_with_id(sender: str, scope: Scope, asker: str, *, name_then: str = "") -> Sender:
    """Who goes by this id in the conversations of a scope; `name_then` is the name a message of theirs came with."""
    return _sender(sender, name_in(scope, sender), scope, asker, name_then=name_then)


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


def _sender(sender: str, name: str, scope: Scope, asker: str, *, name_then: str = "") -> Sender:
    """Whose words they are goes by the latest `name` of a sender; the label is `name_then`, the one they had then.

    In a chat several people speak: without a sender it is nobody's in particular. A person's memory is that person's,
    by whichever id they write, unless two names speak in it: so it is where a conversation of several was imported into
    one scope, and where one bot has one memory for all.
    """
    name = name or name_then
    in_chat = scope.kind == ScopeKind.CHAT
    is_own: bool | None
    if in_chat and sender:
        is_own = sender == asker
    elif in_chat:
        is_own = names.fold(name) in {names.fold(asker), names.fold(name_in(scope, asker))} - {""} if name else None
    elif not name or (sender and sender == asker):
        is_own = True
    elif own_name := names.fold(name_in(scope, asker)):
        is_own = names.fold(name) == own_name
    else:
        is_own = None if not sender and len(scope.speakers) > 1 else True
    authorship = Authorship.UNKNOWN if is_own is None else Authorship.OWN if is_own else Authorship.OTHER

    label = name_then or name
    alike = quoting.skeleton(label)
    others = (
        other
        for other, theirs in scope.sender_names.items()
        if other != sender and alike in (quoting.skeleton(theirs), quoting.skeleton(other))
    )
    return Sender(sender, label, authorship, in_chat, is_shared=bool(alike) and any(True for _ in others))


_OF_THEMSELVES = (Origin.SELF, Origin.MEMBER)
_BOTS = word_set("features", "bots")
_THE_USER = ("user", "用户")  # whoever a person's memory is of, in the words of tools and of models


def statement_of(entry: Entry) -> str:
    """The words of an entry; of a turn what the user tells."""
    sides = sides_of(entry.content)
    return "\n".join(telling_sentences(sides[0])) if sides else entry.content


def is_bots(entry: Entry) -> bool:
    return entry.speaker.casefold() in _BOTS


def has_words_of_others(items: Sequence["Ranked"]) -> bool:
    """Whether any of these are not the words of the one who asks."""
    return any(not item.sender.may_be_asker for item in items)


def is_of_themselves(item: "Ranked") -> bool:
    """Whether these are words in which a person tells something: not those of a tool, a page, a file or the bot."""
    return item.entry.origin in _OF_THEMSELVES and not is_bots(item.entry) and bool(statement_of(item.entry))


def own_words_and_claims(items: Sequence["Ranked"], parsed: "ParsedQuery") -> tuple[list["Ranked"], list["Ranked"]]:
    """What whoever is asked about says, and what others, tools, pages and files say of them by name."""
    in_scopes = {scope for scope, _speaker in parsed.words.named}
    own: list[Ranked] = []
    others: list[Ranked] = []
    for item in items if in_scopes or parsed.about_asker else ():
        is_unnamed = item.entry.scope_id in in_scopes and not (item.sender.in_chat or item.sender.name)
        is_asked = item.sender.may_be_asker if parsed.about_asker else item.candidate.named or is_unnamed
        (own if is_asked and is_of_themselves(item) else others).append(item)
    forms = {*parsed.words.name_forms, *(names.fold(item.sender.name) for item in own)} - {""}
    own = [item for item in own if not _tells_of_another(statement_of(item.entry), forms)]
    return own, [item for item in others if own and says_name_of(item, forms)]


def _tells_of_another(statement: str, forms: Collection[str]) -> bool:
    """Whether words of somebody with these names speak of another by name, and not of themselves."""
    others = names_in(statement) - set(forms)
    return bool(others) and not (_ENGLISH.search(statement) or _CHINESE.search(statement))


def says_name_of(item: "Ranked", forms: Collection[str]) -> bool:
    """Whether a memory says one of these folded names; in a person's memory they may be «the user»."""
    folded = names.fold("\n".join(sides_of(item.entry.content) or (item.entry.content,)))
    all_forms = (*forms, *(_THE_USER if item.scope_kind == ScopeKind.USER else ()))
    return any(says(folded, name) for name in all_forms)


LOOK_CHARS = 2_000  # of a long message its end, where people ask

_ENGLISH = re.compile(r"\b(?:i|me|my|mine|myself|i['’](?:m|ve|d|ll)|im|ive)\b", re.IGNORECASE)
#: 我们 and 咱们 are more than the one who asks, and so is who speaks for a company or a country.
_CHINESE = re.compile(r"(?:我|俺|咱|吾|本人|人家|自己)(?![们們国國司党黨军軍厂廠方])")
_ENGLISH_FRAMES = pattern("self_questions", "english_frames", re.IGNORECASE)
_ENGLISH_ANYBODY = pattern("self_questions", "english_anybody", re.IGNORECASE)
_CHINESE_FRAMES = pattern("self_questions", "chinese_frames")
_CHINESE_ANYBODY = pattern("self_questions", "chinese_anybody")


def is_about_asker(message: str, speakers: Sequence[tuple[int, str]], scopes: Sequence[Scope], asker: str) -> bool:
    """Whether a message asks about whom it comes from, and names nobody else of the speakers (scope and name)."""
    if not asks_about_asker(message):
        return False
    own = {names.fold(name) for scope in scopes for name in (asker, name_in(scope, asker)) if name}
    return all(names.fold(speaker) in own for _scope, speaker in speakers)


def asks_about_asker(message: str) -> bool:
    """Whether the one who asks is asked about, in English or Chinese, simplified or traditional."""
    rest = names.simplify(message.strip()[-LOOK_CHARS:])
    for other_use in (_ENGLISH_FRAMES, _ENGLISH_ANYBODY, _CHINESE_FRAMES, _CHINESE_ANYBODY):
        rest = other_use.sub(" ", rest)
    return bool(_ENGLISH.search(rest) or _CHINESE.search(rest))


class Attributable(Protocol):
    """Words of somebody, or of several in turn: an entry, a part of one, a line of the profile."""

    @property
    def content(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def subtype(self) -> str: ...

    @property
    def source(self) -> str: ...


class Passage(NamedTuple):
    """The part of an entry that answers."""

    content: str
    type: str
    subtype: str
    source: str


def attributed(entry: Attributable, sender: Sender) -> str:
    """A text on one line, under the name of its author wherever it could be taken for somebody else's.

    Only what the platform wrote down of a conversation has more speakers than one: a turn, or the last turns of one.
    """
    parts: list[tuple[str, str]] = []
    if entry.type == EntryType.CHAT_TURN or entry.source == Source.CONVERSATION_CAPTURE:
        parts = spoken_parts(entry.content)
    elif entry.subtype == SESSION_EXPIRED:
        parts = spoken_parts(entry.content, names=True)
    if parts:
        speaker = sender.label or unnamed(sender)
        labels = {USER_LABEL: speaker, ASSISTANT_LABEL: ASSISTANT_LABEL}
        sides = ((labels.get(label) or quoting.label_of(label), quoting.as_item(words)) for label, words in parts)
        return quoting.BETWEEN_SPEAKERS.join(f"{label}: {words}" for label, words in sides)
    is_plain = not sender.label or (sender.authorship == Authorship.OWN and not sender.in_chat)
    if is_plain:
        return quoting.as_item(entry.content)
    return f"{sender.label}: {quoting.as_item(entry.content.removeprefix(f'{sender.label}:').lstrip())}"


def unnamed(sender: Sender) -> str:
    return SOMEBODY if sender.in_chat else ASKER


def speaks_of_one_of_several(named: Collection[tuple[int, str]], scopes: Iterable[Scope]) -> bool:
    """Whether a question names somebody who speaks in a scope beside others; roles (user, AI) are no people."""
    of_named = (scope for scope in scopes if any(scope.pk == pk for pk, _ in named))
    return any(sum(name.casefold() not in _ROLES for name in scope.speakers) > 1 for scope in of_named)
