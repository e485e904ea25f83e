"""The retrieval gate: whether a message needs memory at all (D3).

By rules alone, in Chinese and English, well under a millisecond; every rule has a name, and the answer says which one
decided. First what needs none whatever it says (thanks, code), then the signs of a need, then what needs none though
it asks for something: small talk, commands, questions about the world. What is somebody's own decides there: «write a
poem» is for anybody, «write a poem for my wife» is not. Words and patterns are in `memories/language/data`:
`signs.txt`, `gate.txt`, `small_talk.txt`; Chinese ones are in simplified script.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from memories.language.confidential import asks_which
from memories.language.text import ENGLISH_STOPWORDS, has_han, simplified
from memories.language.word_lists import deferred, pattern, phrases, source, words

MIN_BYTES = 5  # UTF-8: «好» is too short, «年糕» is not
#: What is looked at, so that no message takes long: its ends, the first of its lines, a greeting's length.
LOOK_CHARS = 1_000
LOOK_LINES = 30

_FENCE = deferred(r"```.*?(?:```|\Z)", re.DOTALL)
#: A line no person would write to another: keywords alone prove nothing («if you remember, …», «from Paris, …»).
_CODE_LINE = deferred(
    r"\s*+(?:(?:(?:async\s+)?def|class)\s+\w+.*[:{]|(?:if|elif|else|for|while|try|with|except)\b[^,，。]*[:{]|import\s+[\w.{*]+.*"
    r"|from\s+\S+\s+import\b.*|return\b.*[;()\[\]{}]|return(?:\s+[\w.]+)?|(?:const|let|var)\s+\w+\s*=.*"
    r"|(?:public|private|static|package|func|function|export)\s.*[{};)]|(?-i:SELECT|INSERT INTO|UPDATE|DELETE FROM|FROM|WHERE)\s.*"
    r"|[{}()\[\],;]+|</?\w++[^>]*+>(?!\s*[:：]).*|#include\b.*|#!.*|//.*|\"[\w-]+\"\s*:\s.+|[\w.\[\]\"']+\s*[-+:]?=\s*\S.*|[\w.]+\([^，。]*\)[;:,]?"
    r"|(?:\$|>>>)\s.+)\s*",
    re.IGNORECASE,
)
#: One line of it that nobody would say.
_STATEMENT = deferred(
    r"select\s+(?:distinct\s|\*|[\w.]+\s*[,(]).*\sfrom\s.*|select\s.*\sfrom\s.*;|insert\s+into\s.*\bvalues\b.*|update\s+\w+\s+set\s+\w+\s*=.*"
    r"|delete\s+from\s+\w+(?:\s+where\s.*)?;?|(?:create|alter|drop)\s+(?:table|index|database)\s.*|(?:def|class)\s+\w+\(.*\):.*|console\.log\(.*|(?:sudo|git|docker|kubectl|npm|pip3?|apt|brew|curl|ssh|chmod|grep)\s+[-\w./:]+(?:\s+[-\w./:=~@|]+){0,8}",
    re.IGNORECASE,
)

#: Traditional characters that stand in these patterns, as simplified ones.
_SIMPLIFIED = simplified("questions")


# -- what asks for nothing personal: helpers between a person and what they want

_VERB_FOR_ME = pattern("gate", "verb_for_me", re.IGNORECASE)
_HELPERS = pattern("gate", "helpers", re.IGNORECASE)
_ANYBODY = pattern("gate", "anybody", re.IGNORECASE)
_ANYONES = pattern("gate", "anyones", re.IGNORECASE)
_QUOTED = pattern("gate", "quoted")
_GIVEN = pattern("gate", "given", re.IGNORECASE)
_MINE = pattern("gate", "mine", re.IGNORECASE)
_GIVEN_AFTER = pattern("gate", "given_after")

# -- what is somebody's own: with one of these, no command and no question is general

_PERSONAL = pattern("gate", "personal", re.IGNORECASE)
_DEFINITE_LOCAL = pattern("gate", "definite_local", re.IGNORECASE)
_ANY_LOCAL = deferred(rf"\b(?:{source('gate', 'local')})\b", re.IGNORECASE)
_CHINESE_LOCAL = pattern("gate", "zh_local")
_INDEFINITE = pattern("gate", "indefinite", re.IGNORECASE)
_NAME = pattern("gate", "name", re.IGNORECASE)
_POSSESSIVE = pattern("gate", "possessive", re.IGNORECASE)

# -- a command on a text that is given, or for something anybody may have

_COMMAND = pattern("gate", "command", re.IGNORECASE)
_MANNER = pattern("gate", "manner", re.IGNORECASE)
_IN_OTHER_LANGUAGE = pattern("gate", "in_other_language", re.IGNORECASE)
_TO_SOMEBODY = pattern("gate", "to_somebody", re.IGNORECASE)
_MADE_TO_MEASURE = pattern("gate", "made_to_measure", re.IGNORECASE)
_ALL_OF_US = pattern("gate", "all_of_us", re.IGNORECASE)

# -- messages that leave out whose they are: «broke up with jake», 快递到了没, «roll back the release»

#: A sentence without its subject, or a question without its thing.
_UNFINISHED = pattern("gate", "unfinished", re.IGNORECASE)
#: Something to be done about a certain thing, or for a certain person.
_ERRAND = pattern("gate", "errand", re.IGNORECASE)

# -- thanks, small talk, and what is asked of a text

ACKNOWLEDGEMENT_CHARS = 60
SMALL_TALK_CHARS = 80
LINE_CHARS = 120  # a command beside the text it is given
_MOST_CHARS = 400  # of a message that gives no text; longer ones tell something

_PARTICLE = "[啊呀吧啦哦喔噢哈呢嘞滴哒的了呐嘛哟咯喽哇～~]"
_ENGLISH_UNIT = (
    rf"(?:(?:{source('gate', 'goodbye')}|{source('gate', 'praise')}|{phrases(words('gate', 'thanks'))}"
    r"|(?:ha){2,15}h?|(?:he){2,15}|a+ha+|lo+l|o+k+|ye+s+|no+|hm+|wo+w|so+|th+x)(?![a-z0-9]))"
)
_CHINESE_UNIT = (
    rf"(?:(?:谢谢|感谢|多谢)(?:你|您|大家|你们)的\w{{1,6}}|(?:{phrases(words('gate', 'zh_thanks'))}){_PARTICLE}{{0,4}})"
)
#: Units in a row, between whatever is no word and no question; longest first and never taken back, so it stays linear.
ACKNOWLEDGEMENT = deferred(
    rf"[^\w?？]*+(?>(?:{_ENGLISH_UNIT}|{_CHINESE_UNIT})[^\w?？]*+)++".replace("'", "['’]?"), re.IGNORECASE
)
SMALL_TALK = pattern("gate", "small_talk", re.IGNORECASE)
#: Thanks with a reason, praise, promises to try, good wishes.
_SOCIAL = tuple(pattern("small_talk", name, re.IGNORECASE) for name in ("en_social", "zh_social"))
#: Questions to the bot about itself, the hour or the weather.
_ABOUT_THE_BOT = tuple(pattern("small_talk", name, re.IGNORECASE) for name in ("en_bot", "zh_bot", "weather"))

# -- questions about things of a kind

_GENERAL_CHARS, _GENERAL_CHINESE = 90, 24  # longer questions tell of a life

_OF_A_KIND = pattern("gate", "general_of_a_kind", re.IGNORECASE)
_ATTRIBUTE = pattern("gate", "general_attribute", re.IGNORECASE)
_ONE_FOR_ALL = pattern("gate", "general_one_for_all", re.IGNORECASE)
_CERTAIN = pattern("gate", "general_certain", re.IGNORECASE)
_SOMEBODY = pattern("gate", "general_somebody")
_LIVED = pattern("gate", "general_lived", re.IGNORECASE)
_EASY_IT = pattern("gate", "general_easy_it", re.IGNORECASE)
_TECHNICAL = pattern("gate", "general_technical", re.IGNORECASE)

_ZH_OF_A_KIND = pattern("gate", "general_zh_of_a_kind")
_ZH_CERTAIN = pattern("gate", "general_zh_certain")
_ZH_CONDITION = pattern("gate", "general_zh_condition")
_HOW_OF_TECHNOLOGY = pattern("gate", "general_how_of_technology", re.IGNORECASE)

# -- about the world: what stands in books

_WORLD_CHARS, _WORLD_CHINESE = 110, 32  # longer questions tell of a life
_WORLD_ENGLISH = pattern("gate", "world_english", re.IGNORECASE)
_WORLD_GENERIC = pattern("gate", "world_english_generic", re.IGNORECASE)
_WORLD_THINGS = pattern("gate", "world_english_things", re.IGNORECASE)
_LIFE = pattern("gate", "world_life", re.IGNORECASE)
_WORLD_CHINESE_QUESTION = pattern("gate", "world_chinese", re.IGNORECASE)
_ZH_THINGS = pattern("gate", "world_zh_things")
_ZH_LIFE = pattern("gate", "world_zh_life")
_WORLD_SOMEBODY = pattern("gate", "world_somebody", re.IGNORECASE)


@dataclass(frozen=True)
class GateDecision:
    """Whether to search, and the rule that decided it."""

    retrieve: bool
    rule: str


@dataclass(frozen=True)
class _Rule:
    """A sign that memory may help: any of its words or phrases in `signs.txt`, or the pattern."""

    name: str
    pattern: re.Pattern[str] | None = None
    english: bool = True
    chinese: bool = True

    def matches(self, folded: str, english_text: str, words: set[str]) -> bool:
        """`folded` is the text in lower case, `english_text` its English words in order between spaces, `words` their set."""
        own_words, phrases, chinese = self._signs
        return (
            not own_words.isdisjoint(words)
            or any(phrase in english_text for phrase in phrases)
            or any(sign in folded for sign in chinese)
            or (self.pattern is not None and self.pattern.search(folded) is not None)
        )

    @cached_property
    def _signs(self) -> tuple[frozenset[str], list[str], list[str]]:
        """Its English words, the phrases among them between spaces, and its Chinese words."""
        english = frozenset(words("signs", f"{self.name}_english") if self.english else ())
        phrases = [f" {phrase.replace('_', ' ')} " for phrase in english if "_" in phrase]
        return english, phrases, words("signs", f"{self.name}_chinese") if self.chinese else []


#: In this order; the first that matches names the answer.
_POSITIVE = (
    _Rule("remember"),
    _Rule("time", pattern("signs", "time")),
    _Rule("question", pattern("signs", "question")),
    _Rule("preference"),
    _Rule("pronoun"),
    _Rule("personal", _PERSONAL),
    _Rule("unfinished", _UNFINISHED, english=False),
    _Rule("local", _CHINESE_LOCAL, english=False),
    _Rule("errand", _ERRAND, english=False, chinese=False),
)
_WORD = deferred(r"[a-z\d]+")

# -- search queries

_SEARCH = pattern("signs", "search")
_SEARCH_WORDS = 8
_TOPICS = frozenset(words("signs", "search_topics_english"))
_ROW = deferred(r"[\w' -]+")
_SPOKEN = ENGLISH_STOPWORDS - frozenset({"and", "or"})
_CHINESE_TOPICS = deferred(rf"(?:(?:{phrases(words('signs', 'search_topics_chinese'))})[\s、，,]*){{2,8}}")


#: Rules that go by a message alone: they do not know of whom and what memories are.
NAMELESS = frozenset({"no_sign", "world_knowledge", "command"})

#: Rules by which a message is too little for a sign: it may be a search in a few words.
MAY_BE_NOTE = frozenset({"no_sign", "too_short"})
_NOTE_WORDS, _NOTE_CHINESE = 7, 16
_NOTE = deferred(r"(?=.*(?:[^\W\d_]{3}|[^\W\d_a-zA-Z]{2}))[\w'’&/+#-]+(?:[ .、·:]+[\w'’&/+#-]+)*")


def decide(message: str, *, projects: Iterable[str] = (), names: Iterable[str] = ()) -> GateDecision:
    """Whether a message needs memory. `projects` and `names` are those of its scopes, names folded."""
    text = _ends(message.strip())
    if len(text.encode(errors="surrogatepass")) < MIN_BYTES:
        return GateDecision(False, "too_short")
    plain = text.translate(_SIMPLIFIED)
    if len(text) <= ACKNOWLEDGEMENT_CHARS and any(form.fullmatch(plain) for form in (ACKNOWLEDGEMENT, *_SOCIAL)):
        return GateDecision(False, "acknowledgement")  # all of it is thanks, consent, laughter or a greeting
    if _is_mostly_code(text):
        return GateDecision(False, "code")
    if any(names_project(text, project) for project in projects):
        return GateDecision(True, "project")
    folded = text.casefold()
    if any(name in folded and name not in ENGLISH_STOPWORDS and names_project(folded, name) for name in names):
        return GateDecision(True, "name")
    rule = next(_signs(text), "search" if _is_search(text) else "name" if _NAME.search(text) else None)
    if rule is None:
        return GateDecision(False, "no_sign")
    reason = _reason(text)
    return GateDecision(not reason, reason or rule)


def may_be_note(message: str) -> bool:
    """Whether a message without a sign of need may be a search in few words: «animals at home», 籍贯.

    It may be a remark as well («long day»): what is found tells.
    """
    text = message.strip()
    plain = text.translate(_SIMPLIFIED)
    is_short = len(text) <= _NOTE_CHINESE if has_han(text) else len(_WORD.findall(text.casefold())) <= _NOTE_WORDS
    forms = (ACKNOWLEDGEMENT, SMALL_TALK, *_SOCIAL, *_ABOUT_THE_BOT)
    is_row = is_short and len(text) <= SMALL_TALK_CHARS and _NOTE.fullmatch(text) is not None
    return is_row and not _COMMAND.match(plain) and not any(form.fullmatch(plain) for form in forms)


def is_question_about_past(message: str) -> bool:
    """Whether a message is a question about what was: only then is «yesterday» the day before it is asked."""
    signs = set(_signs(_ends(message.strip())))
    return "question" in signs and not signs.isdisjoint({"time", "remember"})


def asks_of_memory(message: str) -> bool:
    """Whether a message asks something: only then is a day it names, or counts back to, the day that is meant."""
    signs = set(_signs(_ends(message.strip())))
    return not signs.isdisjoint({"question", "remember"})


def _signs(text: str) -> Iterator[str]:
    """The rules that match, in their order."""
    folded = text.casefold()
    words = _WORD.findall(folded)
    english_text = f" {' '.join(words)} "
    distinct = set(words)
    return (rule.name for rule in _POSITIVE if rule.matches(folded, english_text, distinct))


def _ends(text: str) -> str:
    """The beginning and the end of a long message, where people say what they want."""
    return text if len(text) <= 2 * LOOK_CHARS else f"{text[:LOOK_CHARS]}\n{text[-LOOK_CHARS:]}"


def names_project(text: str, project: str) -> bool:
    """Whether a project's name occurs as a word of its own: «go» is not in «good»; Chinese has no gaps to ask for."""
    name = re.escape(project.strip())
    return bool(name) and re.search(rf"(?<![a-z\d_]){name}(?![a-z\d_])", text, re.IGNORECASE) is not None


def _is_mostly_code(text: str) -> bool:
    """Whether more than half of what is looked at stands in code."""
    fenced = sum(len(block) for block in _FENCE.findall(text))
    if _STATEMENT.fullmatch(text):
        return True
    rest = _FENCE.sub("", text)
    lines = [line for line in rest.splitlines() if line.strip()][:LOOK_LINES]
    code = sum(len(line) for line in lines if _CODE_LINE.fullmatch(line)) if len(lines) > 1 or fenced else 0
    return (fenced + code) * 2 > fenced + sum(map(len, lines))


def _is_search(text: str) -> bool:
    """Whether a text is a search query as a model writes it, and no sentence."""
    folded = text.casefold()
    if _SEARCH.match(folded):
        return True
    if has_han(folded):
        return _CHINESE_TOPICS.fullmatch(folded.translate(_SIMPLIFIED)) is not None
    words = _WORD.findall(folded)
    if len(words) <= _SEARCH_WORDS and sum(word in _TOPICS for word in words) * 2 > len(words):
        return True
    # nouns in a row, one of them a thing to look up, are no sentence
    is_row = 1 < len(words) <= _SEARCH_WORDS and _ROW.fullmatch(text.strip()) and not _COMMAND.match(text)
    return bool(is_row) and not _TOPICS.isdisjoint(words) and _SPOKEN.isdisjoint(words)


def _reason(text: str) -> str:
    """Why a message with a sign of need needs no memory after all; empty: it does."""
    plain = text.translate(_SIMPLIFIED).strip()
    if len(plain) <= SMALL_TALK_CHARS and any(form.fullmatch(plain) for form in (SMALL_TALK, *_ABOUT_THE_BOT)):
        return "small_talk"
    request = _asked(plain)
    if len(request) > _MOST_CHARS:
        return ""
    # without what stands between a person and what they want: «can you», «for me», 帮我
    bare = " ".join(_HELPERS.sub(" ", _VERB_FOR_ME.sub(r"\1", request)).split())
    if _COMMAND.match(bare):
        # about somebody's own things, or for a certain person
        own = _CHINESE_LOCAL.search(bare) and not _INDEFINITE.search(bare)
        is_for_somebody = _is_of_somebody(bare) or own or _TO_SOMEBODY.search(bare) or _MADE_TO_MEASURE.search(bare)
        return "" if is_for_somebody else "command"
    if _MANNER.search(request):
        return ""
    anyones = _ANYONES.sub("a person", _ALL_OF_US.sub(r"\1 do people ", bare))
    if _is_general(anyones):
        return "" if asks_which(bare) else "world_knowledge"
    general = _ANYBODY.sub("how do you", anyones)
    if _is_of_somebody(general) or _CHINESE_LOCAL.search(general):
        return ""
    return "world_knowledge" if _is_about_the_world(general) and not asks_which(bare) else ""


def _asked(text: str) -> str:
    """What is asked, without the text it is asked of: that stands in quotes, behind a colon or on other lines."""
    first, _, rest = text.partition("\n")
    head = _GIVEN_AFTER.split(first, maxsplit=1)[0]
    if (rest.strip() or head != first) and _works_on_text(head):
        return _MINE.sub(" ", head)
    last = rest.strip().rpartition("\n")[2]
    alone = last if _works_on_text(last) else text

    def in_short(match: re.Match[str]) -> str:
        parts = match.groupdict("")
        return f"{parts['before'] or parts['verb']} x{parts['after'] or parts['into']}"

    return _IN_OTHER_LANGUAGE.sub(in_short, _QUOTED.sub(" x ", alone)) if len(alone) <= _MOST_CHARS else alone


def _works_on_text(line: str) -> bool:
    return len(line) <= LINE_CHARS and _GIVEN.search(line) is not None


def _is_of_somebody(text: str) -> bool:
    return any(pattern.search(text) for pattern in (_PERSONAL, _POSSESSIVE, _DEFINITE_LOCAL))


def _is_general(text: str) -> bool:
    """Whether a question, in simplified script and without its helpers, is about things of a kind.

    «Does honey go bad» asks of all honey, «is the honey gone» of a certain jar: bare nouns, «a …», «you» and «how to»
    are general; names, pronouns, «the …», what has happened and what is left are somebody's own.
    """
    if _PERSONAL.search(text):
        return False
    if _HOW_OF_TECHNOLOGY.search(text):
        return _ZH_CERTAIN.search(text) is None and "the " not in text.casefold()
    if has_han(text):
        if len(text) > _GENERAL_CHINESE or _CHINESE_LOCAL.search(text):
            return False
        question = _ZH_CONDITION.sub("", text)
        return _ZH_OF_A_KIND.search(question) is not None and _ZH_CERTAIN.search(question) is None
    if len(text) > _GENERAL_CHARS or _ANY_LOCAL.search(text):
        return False
    if _ONE_FOR_ALL.search(text) or (_ATTRIBUTE.search(text) and not _LIVED.search(text)):
        return _SOMEBODY.search(text) is None
    if _NAME.search(text) or _POSSESSIVE.search(text):
        return _TECHNICAL.search(text) is not None and _SOMEBODY.search(text) is None
    if _CERTAIN.search(_EASY_IT.sub("", text)):
        return False
    return _OF_A_KIND.search(text) is not None or _TECHNICAL.search(text) is not None


def _is_about_the_world(text: str) -> bool:
    """Whether a question without anything of somebody's own is about what stands in books.

    It is looked for in what is left of a message without its helpers.
    """
    if len(text) > (_WORLD_CHINESE if has_han(text) else _WORLD_CHARS):
        return False
    if _WORLD_SOMEBODY.search(text):
        return False
    if _WORLD_ENGLISH.search(text) or _WORLD_CHINESE_QUESTION.search(text):
        return True
    if _WORLD_GENERIC.search(text) and not _ANY_LOCAL.search(text):
        return True
    if _WORLD_THINGS.search(text):
        return _LIFE.search(text) is None
    return _ZH_THINGS.search(text) is not None and _ZH_LIFE.search(text) is None
