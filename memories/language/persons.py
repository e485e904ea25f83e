"""Whom a text speaks of: the speaker, their relations, people by name; and a statement in another person (D1, D5).

By rules, in Chinese and English, without grammar. Who «my sister» is stands among the nicknames of a scope, under the
relation; better none is learnt than a wrong one. Persons are compared as keys: «speaker», «my mother» for a relation by
any of its words, a folded name for anybody else.

What a question means by «she», «there» or «it», or by naming nothing at all, is found in the messages just before it.
What is found is only added to what is searched, so that it may be too much; a question that names its things itself
gets nothing.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from memories.language import text
from memories.language.amounts import DAYS_AND_MONTHS
from memories.language.names import (
    EN_NAME,
    FAMILIAR,
    LOOK_CHARS,
    NAME_CHARS,
    ZH_NAME,
    fold,
    full_name,
    is_person,
    nickname,
    own_side,
    person_at_end,
    proper_names,
    simplify,
)
from memories.language.text import (
    HAN,
    IDEOGRAPHS,
    PRONOUNS,
    begins_a_sentence,
    has_han,
    is_question,
    parts_of_speech,
    spoken_sentences,
)
from memories.language.word_lists import classes, deferred, pattern, word_set, words

#: How a relation begins that is kept among nicknames. No nickname does.
MY = "my "
#: By every word for a relation its first one: a mum and 妈妈 are a mother.
RELATIONS = {word.replace("_", " "): kin.replace("_", " ") for word, kin in classes("relations", "relations").items()}
_PETS = word_set("relations", "pets")
_LONGEST_FIRST = sorted(RELATIONS, key=len, reverse=True)
_ENGLISH = "|".join(word.replace(" ", "[- ]") for word in _LONGEST_FIRST if not has_han(word))
_CHINESE = "|".join(word for word in _LONGEST_FIRST if has_han(word))
_ATTRIBUTES = "|".join(words("relations", "attributes"))
#: Texts without any of these teach no relation; PostgreSQL understands it, too.
TRIGGER = f"([Mm]y|[Oo]ur|[Uu]ser['’]s) ([a-z]+ )?({_ENGLISH})|(我|我们|我們|我家|咱|俺|用户)(家|里)?的?({_CHINESE})"
#: A Chinese name so long is no word like others.
SURE_CHARS = 3
_TRIGGER = deferred(TRIGGER)
_MY_ENGLISH = rf"\b(?:[Mm]y|[Oo]ur|[Uu]ser['’]s) (?:(?:{_ATTRIBUTES}) )?({_ENGLISH})(?![\w-])"
_MY_CHINESE = rf"(?:我|咱|俺|用户)(?:们|們)?(?:家里?)?的?({_CHINESE})(?![们們])"
_CALLED = [
    deferred(
        rf"{_MY_ENGLISH}(?:,? (?:who )?(?:is |was )?(?:called|named)|['’]s (?:first |full )?name is|,?) {EN_NAME}"
    ),
    deferred(rf"{_MY_ENGLISH}(?: is|:) {EN_NAME}(?=\s*(?:[.,;!)]|$|\band\b))"),
]
_IS = deferred(rf"(?<![\w'’-]){EN_NAME} (?:is|was) {_MY_ENGLISH}(?!['’]s)")
_CHINESE_CALLED = deferred(rf"{_MY_CHINESE}(?:的名字)?就?(名叫|叫做?|是|[:：])?\s*(?![他她它你您我了过着]){ZH_NAME}")
_CHINESE_IS = deferred(rf"([{HAN}]{{2,6}}|(?<![\w'’-])[A-Z][\w'’-]*\w)就?是{_MY_CHINESE}(?!的)")
_MENTIONED = deferred(
    rf"\b(?:my|our) (?:(?:{_ATTRIBUTES}) )?({_ENGLISH})(?![\w-])"
    rf"|(?:(?:我|咱|俺)(?:们|們)?(?:家里?)?的?|(?:\A|(?<=[，。！？\s]))(?=[{HAN}]{{2}}))({_CHINESE})(?![们們])",
    re.IGNORECASE,
)
_NO_NAMES = text.ENGLISH_STOPWORDS | word_set("relations", "no_names")


def learn_relations(content: str) -> dict[str, str]:
    """Who a text says a relation of its writer is, under «my …»; nobody where it says it of several."""
    own_words = own_side(content)[:LOOK_CHARS]
    if _TRIGGER.search(own_words) is None:
        return {}
    aliases: dict[str, str] = {}
    for sentence in spoken_sentences(simplify(unicodedata.normalize("NFKC", own_words))):
        for word, raw_name in () if is_question(sentence) else _pairs(sentence):
            name = re.sub(r"['’]s$", "", raw_name)
            if name and len(name) <= NAME_CHARS and not _NO_NAMES & {fold(name), fold(name.split()[0])}:
                alias = _alias(word)
                aliases[alias] = name if aliases.get(alias, name) == name else ""
    return aliases


def _pairs(sentence: str) -> Iterator[tuple[str, str]]:
    for form in _CALLED:
        yield from ((match[1], match[2]) for match in form.finditer(sentence))
    yield from ((match[2], match[1]) for match in _IS.finditer(sentence))
    for match in _CHINESE_CALLED.finditer(sentence):
        # pets have any name; people one that looks like it, the more so where nothing says that it is one: 我妈康复了
        word, verb, rest = match[1], match[2], match[3]
        if verb and RELATIONS[word] in _PETS:
            yield word, nickname(rest)
            continue
        name = full_name(rest)
        is_sure = is_person(name) and (len(name) >= SURE_CHARS or name[0] in FAMILIAR)
        if (verb or is_sure) and not name.endswith("人"):
            yield word, name
    yield from ((match[2], person_at_end(match[1])) for match in _CHINESE_IS.finditer(sentence))


def _alias(word: str) -> str:
    return MY + RELATIONS[fold(word).replace("-", " ")]


def mentioned(message: str) -> Iterator[tuple[str, str]]:
    """The words by which a message speaks of «my sister», and under what it is kept who that is."""
    for match in _MENTIONED.finditer(message):
        yield match.group(), _alias(match[1] or match[2])


def names_of(alias: str, *, chinese: bool) -> list[str]:
    """The words for a relation in one script, «my» before them; in the other where it has none there."""
    own = [word for word in RELATIONS if _alias(word) == alias]
    some = [word for word in own if has_han(word) == chinese] or own
    return [f"我{word}" if has_han(word) else MY + word for word in some]


def without_relations(nicknames: Mapping[str, str]) -> dict[str, str]:
    """The nicknames alone: «my sister» is no name that Lena goes by."""
    return {alias: name for alias, name in nicknames.items() if not alias.startswith(MY)}


SPEAKER = "speaker"
#: How the speaker is called by whoever writes about them.
_SPEAKER_WORDS = frozenset({SPEAKER, "user", "the user", "i", "me", "myself", "用户", "用戶", "我", "本人", "说话人"})
_FIRST = deferred(r"\b(?:i|me|my|mine|myself|we|us|our|ours|i'm|i've|i'd|i'll|we're|we've)\b|[我咱俺]", re.IGNORECASE)
_THE_USER = deferred(r"\b(?:the )?user(?:'s)?\b|用户|用戶", re.IGNORECASE)
#: By every word for a relation its first one; a cat is no person.
_PERSONS = {
    word: first
    for word, first in (classes("persons", "relations") | RELATIONS).items()
    if first not in word_set("relations", "pets")
}
_WORDS = sorted(_PERSONS, key=len, reverse=True)
_EN_KIN = "|".join(word.replace(" ", "[- ]") for word in _WORDS if not has_han(word))
_ZH_KIN = "|".join(word for word in _WORDS if has_han(word) and len(word) > 1)
#: A relation, and the word of possession before it, which does not speak of the speaker alone.
_KIN = deferred(
    rf"\b(?:(?:my|our|the user's) (?:\w+ )?)?(?P<en>{_EN_KIN})(?:s|'s)?\b"
    rf"|(?:我|咱|俺|我们|咱们|用户|我家|咱家)?(?:家|的)?(?P<zh>{_ZH_KIN})"
    rf"|(?:我|咱|俺)(?:家|的)?(?P<short>[{HAN}])(?![{HAN}]{{0,3}}们)",
    re.IGNORECASE,
)
_SHORT = frozenset(word for word in _WORDS if has_han(word) and len(word) == 1)
_NO_PERSONS = word_set("persons", "no_names")


@dataclass(frozen=True)
class People:
    """Those who may be spoken of: the names of the speaker, and other people with all their names."""

    speaker: frozenset[str] = frozenset()  # folded names
    others: Mapping[str, str] = field(default_factory=dict)  # folded name → key

    @classmethod
    def of(
        cls, speaker: Collection[str], others: Collection[str] = (), nicknames: Mapping[str, str] | None = None
    ) -> "People":
        """Among the nicknames, each with the name it means, is «my sister»."""
        own = frozenset(fold(name) for name in speaker if name)
        keys = {fold(name): fold(name) for name in others if name and fold(name) not in own}
        for alias, name in (nicknames or {}).items():
            if alias.startswith(MY):
                keys.setdefault(fold(name), alias)
            elif fold(name) in own:
                own |= {fold(alias)}
            else:
                keys.setdefault(fold(alias), keys.get(fold(name), fold(name)))
        return cls(own, {name: key for name, key in keys.items() if name not in own})

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        names = sorted([*self.speaker, *self.others], key=len, reverse=True)
        return re.compile("|".join(_bounded(name) for name in names), re.IGNORECASE) if names else None

    @cached_property
    def _possessors(self) -> re.Pattern[str]:
        """Whose relation is spoken of: «Amy's roommate» does not speak of Amy."""
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
        if plain in _SPEAKER_WORDS or plain in self.speaker:
            return SPEAKER
        if kin := _KIN.fullmatch(plain):
            return _kin_key(kin)
        return self.others.get(plain, "")

    def other_than_speaker(self, subject: str) -> str:
        """Whom or what a subject names; empty for the speaker."""
        return "" if self.key(subject) == SPEAKER else subject.strip()

    def named(self, content: str, *, writes_of_user: bool) -> set[str]:
        """The keys of all persons a text names; «he» names nobody.

        `writes_of_user`: the text is about the speaker in the third person, else in their own words.
        """
        plain = self._possessors.sub(" ", _plain(content))
        keys: set[str] = set()
        for match in self._pattern.finditer(plain) if self._pattern else ():
            name = fold(match.group())
            keys.add(SPEAKER if name in self.speaker else self.others[name])

        def take_kin(match: re.Match[str]) -> str:
            """Nothing of a relation and its «my», which is noted; all of what is none."""
            if match["short"] and match["short"] not in _SHORT:
                return match.group()
            keys.add(_kin_key(match))
            return " "

        rest = _KIN.sub(take_kin, plain)
        if (_THE_USER if writes_of_user else _FIRST).search(rest) or (writes_of_user and _FIRST.search(rest)):
            keys.add(SPEAKER)
        return keys


def unknown_names(content: str, other: str) -> set[str]:
    """Names of a text that another does not hold; a form of a word that is there (Spanish, Spain) counts as there."""
    there = _plain(other).casefold()
    words = set(re.findall(r"[^\W\d_]{4,}", there))
    unknown: set[str] = set()
    for name in names_in(content):
        # a form begins like the name does, for as long as four letters or all but the name's last two
        stem = name[: max(4, len(name) - 3)]
        has_form = len(name) >= 4 and any(word.startswith(stem) or name.startswith(word) for word in words)
        if name not in there and not has_form:
            unknown.add(name)
    return unknown


def names_in(content: str) -> set[str]:
    """Capitals within a sentence, addresses, paths and quoted words; Chinese names of persons."""
    plain = _plain(content)
    first = {match.group().casefold() for match in re.finditer(r"(?:^|[.!?。！？:：]\s*)[\"“(]?[A-Z][\w'-]*", plain)}
    latin = {name for name in proper_names(plain) if not has_han(name)}
    begins = {re.sub(r"^\W+", "", word).removesuffix("'s") for word in first}
    return {name for name in latin - begins - _NO_PERSONS - DAYS_AND_MONTHS if len(name) > 1}


def _kin_key(match: re.Match[str]) -> str:
    word = match["en"] or match["zh"] or match["short"] or ""
    plain = fold(word).replace("-", " ")
    return MY + _PERSONS[plain] if plain in _PERSONS else ""


def _bounded(name: str) -> str:
    return re.escape(name) if has_han(name) else rf"(?<![^\W{IDEOGRAPHS}]){re.escape(name)}(?![^\W{IDEOGRAPHS}])"


def _plain(content: str) -> str:
    return unicodedata.normalize("NFKC", content).replace("’", "'")


_TO_THIRD = (
    (deferred(r"\bI(?:['’]m| am)\b"), "{name} is"),
    (deferred(r"\bI(?:['’]ve| have)\b"), "{name} has"),
    (deferred(r"\bI\b(?:['’](?:ll|d))?"), "{name}"),
    (deferred(r"\bmy\b", re.IGNORECASE), "{name}'s"),
    (deferred(r"[我俺](?![们們国國司])"), "{name}"),
)
_TO_FIRST = (
    (deferred(r"\byou(?:['’]re| are)\b", re.IGNORECASE), "I am"),
    (deferred(r"\byou(?:['’]ve| have)\b", re.IGNORECASE), "I have"),
    (deferred(r"\byou\b", re.IGNORECASE), "I"),
    (deferred(r"\byour\b", re.IGNORECASE), "my"),
    (deferred(r"[你您](?![们們])"), "我"),
)


def in_third_person(statement: str, name: str) -> str:
    """A statement of somebody of this name, as another would word it."""
    for person, becomes in _TO_THIRD:
        statement = person.sub(becomes.format(name=name).replace("\\", r"\\"), statement)
    return statement


def in_first_person(statement: str) -> str:
    """What a bot tells somebody, as that person would say it."""
    for person, becomes in _TO_FIRST:
        statement = person.sub(becomes, statement)
    return statement


USER, ASSISTANT = "user", "assistant"
MOST_MESSAGES = 10
MESSAGE_CHARS = 600  # of a message just before
QUESTION_CHARS = 200  # what is longer names its things itself
MOST_NAMES = 3
MOST_WORDS = 6
MOST_OWN_WORDS = 2  # of a question that points at a thing; one with more says what it is about

#: By what was pointed at, what it means; in their order.
Additions = tuple[tuple[str, tuple[str, ...]], ...]

_PEOPLE = pattern("references", "people", re.IGNORECASE)
_PLACES = pattern("references", "places", re.IGNORECASE)
_THINGS = pattern("references", "things", re.IGNORECASE)
_NOT_TELLING = text.ENGLISH_STOPWORDS | text.CHINESE_STOPWORDS | word_set("references", "empty", "empty_chinese")
_NO_TOPICS = _NO_NAMES | word_set("references", "empty")
_CAPITAL = deferred(r"\b[A-Z][\w-]*\w")
_CAPITALS = deferred(rf"{_CAPITAL.pattern}(?: {_CAPITAL.pattern})*")
#: Behind a word that begins a sentence: it is somebody's name, most often.
_ACTS = pattern("references", "acts")
_BEFORE_PLACES = pattern("references", "before_places", re.IGNORECASE)
_PRONOUN_CHARS = frozenset(PRONOUNS)


@dataclass(frozen=True)
class RecentMessage:
    """A message just before the one that is asked."""

    role: str
    content: str


def resolve(message: str, recent: Sequence[RecentMessage]) -> Additions:
    """What a message leaves out, as the newest of these messages that fit tell it; nothing where it names it itself."""
    if not recent or len(message) > QUESTION_CHARS:
        return ()
    # what a message points at, it may have named itself
    if any(mentioned(message)) or any(_is_chinese_person(*pair) for pair in _tagged(message)):
        return ()
    if any(not begins_a_sentence(message[: match.start()]) for match in _capitals(message)):
        return ()
    newest_first = [
        earlier for earlier in reversed(recent[-MOST_MESSAGES:]) if earlier.content.strip() != message.strip()
    ]
    before = [text.smart_truncate(earlier.content, MESSAGE_CHARS) for earlier in newest_first]
    by_user = [content for earlier, content in zip(newest_first, before, strict=True) if earlier.role == USER] or before
    words = _content_words(message)
    pointed, referents = "", []
    if match := _PEOPLE.search(message):
        pointed = match.group()
        referents = _newest(before, _people) or _newest(before, _relatives) or _newest(by_user, _content_words)
    elif match := _PLACES.search(message):
        pointed, referents = match.group(), _newest(before, _places) or _newest(by_user, _content_words)
    elif len(words) <= MOST_OWN_WORDS and (match := _THINGS.search(message)):
        pointed, referents = match.group(), _newest(by_user, _content_words)
    elif len(words) <= MOST_OWN_WORDS and not any(map(_may_be_noun, words)):
        pointed, referents = message.strip(), _newest(by_user, _content_words)
    own = set(text.words(message))
    new_referents = tuple(dict.fromkeys(earlier for earlier in referents if not own.issuperset(text.words(earlier))))
    return ((pointed, new_referents),) if pointed and new_referents else ()


def _newest(messages: Iterable[str], kind: Callable[[str], list[str]]) -> list[str]:
    """What the newest of these messages that has any of a kind has."""
    return next(filter(None, map(kind, messages)), [])


def _people(content: str) -> list[str]:
    people = [word for word, tag in _tagged(content) if _is_chinese_person(word, tag)]
    for match in _capitals(content):
        before, after = content[: match.start()], content[match.end() :]
        is_name = _ACTS.match(after) is not None if begins_a_sentence(before) else not _BEFORE_PLACES.search(before)
        people += [match.group()] if is_name else []
    return people[:MOST_NAMES]


def _relatives(content: str) -> list[str]:
    return [word for _word, alias in mentioned(content) for word in names_of(alias, chinese=has_han(content))[:1]]


def _places(content: str) -> list[str]:
    places = [word for word, tag in _tagged(content) if tag in ("ns", "nt")]
    places += [match.group() for match in _capitals(content) if _BEFORE_PLACES.search(content[: match.start()])]
    return places[:MOST_NAMES]


def _content_words(content: str) -> list[str]:
    """The words that tell what a text is about, in their order."""
    telling = (
        word
        for word in text.bare_words(content)
        if word and word not in _NOT_TELLING and (len(word) > 1 or _may_be_noun(word))
    )
    return list(dict.fromkeys(telling))[:MOST_WORDS]


def _may_be_noun(word: str) -> bool:
    return not has_han(word) or parts_of_speech(word)[0][1].startswith(("n", "x", "i", "j", "l"))


def _tagged(content: str) -> list[tuple[str, str]]:
    return parts_of_speech(content) if has_han(content) else []


def _is_chinese_person(word: str, tag: str) -> bool:
    return tag.startswith("nr") and is_person(word) and _PRONOUN_CHARS.isdisjoint(word)


def _capitals(content: str) -> Iterator[re.Match[str]]:
    """Words with a capital that may be names; «Did Tom» is Tom."""
    for run in _CAPITALS.finditer(content):
        for word in _CAPITAL.finditer(content, run.start(), run.end()):
            if fold(word.group()) not in _NO_TOPICS and (name := _CAPITALS.match(content, word.start(), run.end())):
                yield name
                break
