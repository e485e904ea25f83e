"""Where the sentences of a text begin and end, and what kind of sentence one is, in English and Chinese."""

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from itertools import chain

from memories.language import text
from memories.language.text import begins_with_han, has_han
from memories.language.word_lists import pattern, word_set, words

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKUP = re.compile(r"^[\s>#*•·\-–—]+|^\d+[.)、]\s+|\*\*|__|`", re.MULTILINE)
#: Where a sentence ends: after Chinese marks at once, after Western ones before a space; a point in 3.5 ends nothing.
_ENDS = re.compile(r"(?<=[。！？；…])|(?<=[.!?;])\s+|\n+")
#: As it was written, with lists and abbreviations: only . ! ? and the end of a line end a sentence, «;» and «…» do not.
_SPOKEN = re.compile(r"[^。！？!?\n]+?(?:[。！？!?]+|\.(?=\s|$)|\n|$)")
#: Where one of these ends; «3.» begins one, at the beginning of a line.
_SPOKEN_END = re.compile(r"[。！？!?]+|(?<!\b\d)(?<!\b\d\d)\.(?=\s)")
#: What stands before the first word of a sentence, or of what is quoted.
_BEGINS_AFTER = frozenset('.!?。！？:"“')


def sentences(content: str) -> list[str]:
    """The sentences of a message, without its blocks of code and its markup."""
    return _ENDS.split(_MARKUP.sub("", _FENCE.sub("\n", content)))


def begins_a_sentence(before: str, marks: frozenset[str] = _BEGINS_AFTER) -> bool:
    """Whether what follows this text begins a sentence: after one of these marks, or on a line of its own."""
    bare = before.rstrip()
    return not bare or bare[-1] in marks or "\n" in before[len(bare) :]


def is_pleasantry(sentence: str) -> bool:
    """Whether a sentence greets, thanks or agrees, and tells nothing."""
    return _empty_words().issuperset(text.words(sentence))


def spoken_sentences(content: str) -> list[str]:
    """The sentences of a message with their marks and whatever else was typed, each on one line."""
    return [" ".join(match.group().split()) for match in _SPOKEN.finditer(content)]


def nearest_sentence(content: str, texts: Iterable[str]) -> str:
    """The sentence of some texts that shares most words with another; of equal ones the first, of none nothing."""
    own = set(text.terms(content))
    candidates = [sentence for other in texts for sentence in spoken_sentences(other) if sentence]
    return max(candidates, key=lambda sentence: len(own.intersection(text.terms(sentence))), default="")


def joined(parts: Iterable[str]) -> str:
    """Sentences as a text: Chinese ones follow without a space."""
    return "".join(sentence if begins_with_han(sentence) else f" {sentence}" for sentence in parts).strip()


def cut_at_sentence(content: str, max_tokens: int) -> str:
    """The beginning of a text, at most so many tokens; it ends with a sentence, if that keeps a third."""
    beginning = text.first_tokens(content, max_tokens)
    ends = [match.end() for match in _SPOKEN_END.finditer(beginning)] if beginning != content else []
    return beginning[: ends[-1]] if ends and ends[-1] * 3 > len(beginning) else beginning


@cache
def _empty_words() -> frozenset[str]:
    """A sentence of nothing but these is left out."""
    return (
        frozenset(text.words(" ".join(words("summary", "pleasantries"))))
        | text.ENGLISH_STOPWORDS
        | text.CHINESE_STOPWORDS
    )


class Sign(Enum):
    """A sign of a question; its value is the section with its pattern."""

    CLOSING_MARK = "closing_mark"  # a question mark at the end, within quotes or brackets as well
    PARTICLE = "particle"  # 吗 or 呢 at the end
    MARK = "mark"  # a question mark anywhere
    OPENING = "opening"  # an English sentence begins with «what», «do», «is»
    WORD = "word"  # 谁, 什么, 多少 anywhere
    A_NOT_A = "a_not_a"  # 是不是, 有没有
    REQUEST_ENGLISH = "request_english"  # «tell me …», «I wonder …», a question without its mark
    REQUEST_CHINESE = "request_chinese"  # 告诉我, 我忘了, and words of a question


BY_ITS_END = (Sign.CLOSING_MARK, Sign.PARTICLE)
#: Those of a question; a request may be none.
ANY = (*BY_ITS_END, Sign.MARK, Sign.OPENING, Sign.WORD, Sign.A_NOT_A)
_PATTERNS = {sign: pattern("asking", sign.value) for sign in Sign}


def is_question(sentence: str, by: Iterable[Sign] = BY_ITS_END) -> bool:
    """Whether a sentence has one of these signs of a question."""
    return any(_PATTERNS[sign].search(sentence) for sign in by)


_QUOTED = re.compile(r"^[ \t]{0,8}[>＞].*$", re.MULTILINE)
_ORDERED = pattern("wishes", "ordered")
_REQUESTED = pattern("wishes", "requested")
_NOT_FORGET = pattern("wishes", "kept_from_forgetting")
_ENDS_IN_NOT_FORGETTING = pattern("wishes", "at_the_end")
_BEFORE_STATEMENT = pattern("wishes", "before_statement")
_IS_REPORTED = pattern("wishes", "is_reported")
_ORDERED_CHINESE = pattern("wishes", "ordered_chinese")
_REQUESTED_CHINESE = pattern("wishes", "requested_chinese")
_NOT_FORGET_CHINESE = pattern("wishes", "not_forget_chinese")
_NOTHING_NAMED = word_set("wishes", "nothing_named")
_NOTHING_NAMED_CHARS = frozenset("".join(filter(has_han, _NOTHING_NAMED)))


def asks_to_keep(message: str) -> bool:
    """Whether a message asks that something be remembered; what it quotes does not count."""
    return any(map(_asks, _plain_sentences(message)))


def only_asks_to_keep(message: str) -> bool:
    """Whether a message asks that something be remembered, and beside that no question."""
    others = (sentence for sentence in _plain_sentences(message) if not _asks(sentence))
    return asks_to_keep(message) and not any(is_question(sentence, by=ANY) for sentence in others)


def names_what(message: str) -> bool:
    """Whether a request says itself what is to be kept; «please remember that» is about the messages before."""
    words = text.words(" ".join(_plain_sentences(message)))
    return not all(_NOTHING_NAMED_CHARS.issuperset(word) if has_han(word) else word in _NOTHING_NAMED for word in words)


def _plain_sentences(message: str) -> Iterator[str]:
    for sentence in sentences(_QUOTED.sub("", message)):
        if plain := " ".join(sentence.replace("’", "'").casefold().split()):
            yield plain


def _asks(sentence: str) -> bool:
    may_order = not is_question(sentence)
    if has_han(sentence):
        not_forget_chinese = (match for match in _NOT_FORGET_CHINESE.finditer(sentence) if not match["who"])
        if any(not_forget_chinese) or _REQUESTED_CHINESE.search(sentence):
            return True
        if may_order and _ORDERED_CHINESE.search(sentence):
            return True
    requests = chain(_ORDERED.finditer(sentence) if may_order else (), _REQUESTED.finditer(sentence))
    not_forget = chain(_NOT_FORGET.finditer(sentence), _ENDS_IN_NOT_FORGETTING.finditer(sentence))
    own = chain(requests, (match for match in not_forget if not _BEFORE_STATEMENT.search(sentence[: match.start()])))
    return any(not _IS_REPORTED.search(sentence[: match.start()]) for match in own)
