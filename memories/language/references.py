"""What a question means by «she», «there» or «it», or by naming nothing at all: from the messages just before it.

By rules, no model. What is found is only added to what is searched, so that it may be too much; a question that names
its things itself gets nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import rjieba

from memories.language import persons, text
from memories.language.names import fold, is_person
from memories.language.sentences import begins_a_sentence
from memories.language.text import PRONOUNS, has_han
from memories.language.word_lists import pattern, word_set

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
_NO_NAMES = text.ENGLISH_STOPWORDS | word_set("relations", "no_names") | word_set("references", "empty")
_CAPITAL = re.compile(r"\b[A-Z][\w-]*\w")
_CAPITALS = re.compile(rf"{_CAPITAL.pattern}(?: {_CAPITAL.pattern})*")
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
    if any(persons.mentioned(message)) or any(_is_chinese_person(*pair) for pair in _tagged(message)):
        return ()
    if any(not begins_a_sentence(message[: match.start()]) for match in _capitals(message)):
        return ()
    newest_first = [
        earlier for earlier in reversed(recent[-MOST_MESSAGES:]) if earlier.content.strip() != message.strip()
    ]
    before = [text.smart_truncate(earlier.content, MESSAGE_CHARS) for earlier in newest_first]
    asked = [content for earlier, content in zip(newest_first, before, strict=True) if earlier.role == USER] or before
    words = _content_words(message)
    pointed, referents = "", []
    if match := _PEOPLE.search(message):
        pointed = match.group()
        referents = _newest(before, _people) or _newest(before, _relatives) or _newest(asked, _content_words)
    elif match := _PLACES.search(message):
        pointed, referents = match.group(), _newest(before, _places) or _newest(asked, _content_words)
    elif len(words) <= MOST_OWN_WORDS and (match := _THINGS.search(message)):
        pointed, referents = match.group(), _newest(asked, _content_words)
    elif len(words) <= MOST_OWN_WORDS and not any(map(_may_be_noun, words)):
        pointed, referents = message.strip(), _newest(asked, _content_words)
    own = set(text.words(message))
    added = tuple(dict.fromkeys(earlier for earlier in referents if not own.issuperset(text.words(earlier))))
    return ((pointed, added),) if pointed and added else ()


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
    return [
        word
        for _word, alias in persons.mentioned(content)
        for word in persons.names_of(alias, chinese=has_han(content))[:1]
    ]


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
    return not has_han(word) or rjieba.tag(word)[0][1].startswith(("n", "x", "i", "j", "l"))


def _tagged(content: str) -> list[tuple[str, str]]:
    return rjieba.tag(content) if has_han(content) else []


def _is_chinese_person(word: str, tag: str) -> bool:
    return tag.startswith("nr") and is_person(word) and _PRONOUN_CHARS.isdisjoint(word)


def _capitals(content: str) -> Iterator[re.Match[str]]:
    """Words with a capital that may be names; «Did Tom» is Tom."""
    for run in _CAPITALS.finditer(content):
        for word in _CAPITAL.finditer(content, run.start(), run.end()):
            if fold(word.group()) not in _NO_NAMES and (name := _CAPITALS.match(content, word.start(), run.end())):
                yield name
                break
