"""One text as rules read it: who it is about, which relation and value, whether it is denied, over, unsure, new.

A `Statement` looks for each of these when it is first asked, and `read` keeps those of the texts asked about last, for
each is compared with many. What two of them are to each other is judged in `compare.py`. What counts as unsure or as
changed differs from judgement to judgement, by what it costs to be wrong; `statement.txt` holds the words, those of all
judgements first. «Room number 12» and «room number 14» are two rooms (`tells_apart`): a number, an ordinal, a letter or
a name that stands before the verb belongs to the subject, and is no value that another takes the place of (A7). Pure
and deterministic.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from memories.language import text
from memories.language.names import NAME_TAGS, numbers, proper_names
from memories.language.text import HAN, begins_with_han, has_han, parts_of_speech, spoken_sentences
from memories.language.word_lists import deferred, pattern, source, word_set, words

#: Statements that are kept: texts, their sentences and their clauses.
KEPT = 8_192
NAME_WORDS = 4  # longer ones are no names

# -- as `judge` reads it
_NO_FACT = pattern("statement", "unsure_fact")
_NEW_FACT = pattern("statement", "changed_fact")
_DENIAL = pattern("statement", "denial")
_NOW = pattern("statement", "now")
_JUST = pattern("statement", "just")
_LAST_MARK = deferred(r"[,，;；。.!！]?$")

# -- as `outdates` reads it
_CLAUSE = deferred(r"\s*(?:[,.;!?，。；！？\n]+|\band\b|\bbut\b|\bso\b)\s*", re.IGNORECASE)
_NO_NEWS = pattern("statement", "unsure_news")
_AWAY = pattern("statement", "away")
_BESIDE = pattern("statement", "beside_news")
_OVER = pattern("statement", "over")
_DENIED_BY_END = pattern("statement", "denied_by_end")
_MOVES = pattern("statement", "moves")
_NEW_HOME = pattern("statement", "new_home")
_NEW_WORK = pattern("statement", "new_work")
_NEW_TOOL = pattern("statement", "new_tool")
_AT_HOME = pattern("statement", "at_home")
_AT_WORK = pattern("statement", "at_work")
_WITH_TOOL = pattern("statement", "with_tool")
_WHO_FIRST = deferred(r"^(?P<who>(?:the user|user|my \w+(?:'s \w+)?|our \w+|(?:the )?[\w-]+?'s \w+|[\w-]+))\s+(?=\S)")
_CHINESE_WHO = deferred(
    rf"^(?P<who>(?:用户|本人)?[{HAN}]{{0,6}}?)(?:的?(?:家|公司))?(?={source('statement', 'chinese_predicate')})"
)
_NOBODY = word_set("statement", "nobody")
_CHINESE_TIMES = pattern("statement", "chinese_times")
_CHINESE_VERBS = pattern("statement", "chinese_verbs")
_TELLS_LITTLE = frozenset(map(text.stem, words("statement", "plain_verbs"))) | word_set("statement", "light_news")

# -- as `corrects` reads it
_UNSURE = pattern("statement", "unsure_correction", re.IGNORECASE)
_CHANGED = pattern("statement", "changed_correction", re.IGNORECASE)
_EVENT = pattern("statement", "event", re.IGNORECASE)
_GONE = pattern("statement", "gone", re.IGNORECASE)
_NEGATION = pattern("statement", "negation", re.IGNORECASE)
_NOTE = deferred(r"\A\W{0,8}+(?P<key>[^\s:：\[\]][^:：\n\[\]]{1,29}?)\s{0,3}(?:[:：]|->|→)\s{0,3}\S")
_CHINESE_VALUE = deferred(
    r"[零〇一二两三四五六七八九十百千万\d点點半刻号號月日年周星期时時分元块塊楼樓层層把早晚上下午]+"
)
_LIGHT = frozenset(map(text.stem, word_set("statement", "light_correction")))

# -- what sets its subject apart
_VERBS = word_set("subjects", "verbs")
_BEFORE_NOUNS = word_set("subjects", "before_nouns")
_NO_VERBS = pattern("subjects", "no_verbs")
_WHICH = word_set("subjects", "which")
_CHINESE_WHICH = pattern("subjects", "chinese_which")
_OPENERS = word_set("subjects", "openers")
_WORD = re.compile(r"#?\d[\w.,-]*\w|#?\d|[^\W\d_][\w'’&-]*")
_KEY = re.compile(r"\A\W*(?P<key>[^\s:：][^:：\n]{0,39}?)\s*(?:(?<!\d)[:：]|[:：](?!\d))(?!//)\s*")
#: Shorter words with the ending of a verb are mostly nouns: gas, bed.
_LEAST_LETTERS = 4
#: What is longer makes more than one statement.
_READ_CHARS = 200
#: Verbs, prepositions, adverbs: with these the predicate of a Chinese sentence begins.
_PREDICATES = frozenset({"v", "p", "d", "df", "vn", "y"})
_CHINESE_NAMES = NAME_TAGS | {"eng"}


@dataclass(frozen=True)
class Relation:
    """How statements about one thing are worded; `only_one`: nobody has two values of it."""

    name: str
    wording: re.Pattern[str]
    only_one: bool = False


#: The first that fits is taken. Of where somebody lives there is only one.
_RELATIONS = tuple(
    Relation(
        name,
        deferred(
            rf"^(?P<who>.*?) (?:{source('statement', f'{name}_english')}) (?P<what>.+)$"
            rf"|^{source('statement', f'{name}_chinese')}$"
        ),
        only_one=name == "home",
    )
    for name in ("home", "work", "use", "prefer", "be")
)
#: A longer one is no value but a clause: «在运动会上跑了第二名，老师表扬了她».
VALUE_CHARS = 12
_WHO, _WHAT = ("who", "who_"), ("what", "what_", "what__")


@dataclass(frozen=True)
class Claim:
    """Somebody or something, a relation, and a value."""

    who: str
    relation: Relation
    value: str


def _holds(regex: re.Pattern[str], form: Callable[["Statement"], str]) -> cached_property[bool]:
    """Whether a pattern is found in a form of a statement."""
    return cached_property(lambda statement: regex.search(form(statement)) is not None)


@dataclass(frozen=True)
class Statement:
    """A text, a sentence or a clause, and what rules find in it."""

    content: str

    @cached_property
    def things(self) -> frozenset[str]:
        """What sets its subject apart."""
        return tells_apart(self.content)

    @cached_property
    def plain(self) -> str:
        """On one line, folded."""
        return " ".join(self.content.casefold().replace("’", "'").split())

    # -- as a fact: what closes another

    @cached_property
    def line(self) -> str:
        """Without the mark it ends with."""
        return _LAST_MARK.sub("", self.plain)

    is_no_fact = _holds(_NO_FACT, lambda statement: statement.line)
    is_new_fact = _holds(_NEW_FACT, lambda statement: statement.line)
    is_denial = _holds(_DENIAL, lambda statement: statement.line)
    is_of_now = _holds(_NOW, lambda statement: statement.line)

    @cached_property
    def bare(self) -> str:
        """Its line without the words that say when."""
        return _without_times(self.line)

    @cached_property
    def bare_words(self) -> list[str]:
        """The words of it that do not say when."""
        return text.words(self.bare)

    @cached_property
    def affirmed_terms(self) -> frozenset[int]:
        """The terms of what it denies, or says."""
        return frozenset(text.terms(text.join_words(text.words(_without_times(_DENIAL.sub(" ", self.line))))))

    @cached_property
    def claim(self) -> Claim | None:
        """What it says of whom, where it is worded as one of the relations."""
        for relation in _RELATIONS:
            if match := relation.wording.match(self.bare):
                groups = match.groupdict()
                who, what = (next((groups[n] for n in names if groups.get(n)), "") for names in (_WHO, _WHAT))
                if relation.name == "be" and has_han(what) and len(what) > VALUE_CHARS:
                    return None
                return Claim(who.strip(" ,，"), relation, what.strip(" ,，了"))
        return None

    # -- as news: what hides a line of the profile

    @cached_property
    def folded(self) -> str:
        """Without the full stops around it."""
        return self.plain.strip(" .。!！")

    is_no_news = _holds(_NO_NEWS, lambda statement: statement.folded)
    is_away = _holds(_AWAY, lambda statement: statement.folded)
    is_beside = _holds(_BESIDE, lambda statement: statement.folded)
    is_over = _holds(_OVER, lambda statement: statement.folded)
    is_denied_by_end = _holds(_DENIED_BY_END, lambda statement: statement.folded)
    is_move = _holds(_MOVES, lambda statement: statement.folded)
    names_new_home = _holds(_NEW_HOME, lambda statement: statement.folded)
    names_new_work = _holds(_NEW_WORK, lambda statement: statement.folded)
    names_new_tool = _holds(_NEW_TOOL, lambda statement: statement.folded)
    is_of_home = _holds(_AT_HOME, lambda statement: statement.folded)
    is_of_work = _holds(_AT_WORK, lambda statement: statement.folded)
    is_of_tool = _holds(_WITH_TOOL, lambda statement: statement.folded)

    @cached_property
    def clauses(self) -> tuple["Statement", ...]:
        """Its clauses, each by itself: one without a subject has that of the one before."""
        parts = map(read, map(str.strip, _CLAUSE.split(self.content.replace("’", "'"))))
        return tuple(part for part in parts if part.folded)

    @cached_property
    def who(self) -> str:
        """Who it begins with; empty where that is nobody."""
        if begins_with_han(self.folded):
            match = _CHINESE_WHO.match(self.folded)
            return match["who"].removesuffix("的") or "我" if match else ""
        match = _WHO_FIRST.match(self.folded)
        return "" if match is None or match["who"] in _NOBODY else match["who"]

    @cached_property
    def telling_words(self) -> frozenset[str]:
        """Its words that tell something."""
        return telling_words(self.folded)

    @cached_property
    def telling_of_who(self) -> frozenset[str]:
        """Its words that tell something of whom it begins with."""
        return telling_words(self.folded.removeprefix(self.who))

    def ended_words(self, who: str) -> frozenset[str]:
        """The words of what it says to be over, of somebody who may be named before it."""
        return telling_words(_OVER.sub(" ", self.folded).split(" to ")[0].removeprefix(who))

    # -- as a correction: what moves before another

    tells_of_change = _holds(_CHANGED, lambda statement: statement.content)
    tells_of_event = _holds(_EVENT, lambda statement: statement.content)
    tells_of_end = _holds(_GONE, lambda statement: statement.content)
    is_negated = _holds(_NEGATION, lambda statement: statement.content)

    @cached_property
    def normalised(self) -> str:
        """Without what does not count: width, case, punctuation."""
        return text.normalise(self.content)

    @cached_property
    def sure_sentences(self) -> tuple["Statement", ...]:
        """Its sentences that say what is so or was: no wish, plan, rumour or question."""
        return tuple(read(sentence) for sentence in spoken_sentences(self.content) if not _UNSURE.search(sentence))

    @cached_property
    def names(self) -> frozenset[str]:
        """What looks like a name in it."""
        return frozenset(proper_names(self.content))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers in it, Chinese times and amounts among them."""
        spelled = {word for word in text.words(self.content) if _CHINESE_VALUE.fullmatch(word)}
        return frozenset(numbers(self.content) | spelled)

    @cached_property
    def topic_words(self) -> tuple[str, ...]:
        """Its content words in their order, as stems, without its values and the plainest verbs."""
        names = {word for name in self.names for word in text.words(name) if len(text.words(name)) <= NAME_WORDS}
        values = names | {word for number in self.numbers for word in text.words(number)}
        bare = (word.removesuffix("了") for word in text.bare_words(self.content))
        return tuple(
            stem
            for word in bare
            if word and word not in values and word not in text.ENGLISH_STOPWORDS and word not in text.CHINESE_STOPWORDS
            if (stem := text.stem(word)) not in _LIGHT
            and not any(map(str.isdigit, word))
            and not _CHINESE_VALUE.fullmatch(word)
        )

    @cached_property
    def topic(self) -> frozenset[str]:
        """What it is about."""
        return frozenset(self.topic_words)

    @cached_property
    def key(self) -> frozenset[str]:
        """What stands before the colon of a note such as «Therapist: Dr. Lindqvist»; nothing of any other text."""
        note = _NOTE.match(self.content)
        return read(note["key"]).topic if note and not any(map(str.isdigit, note["key"])) else frozenset()

    @cached_property
    def steady_words(self) -> list[str]:
        """Its words without those that tell of a change."""
        return [word for word in text.words(self.content) if not _CHANGED.fullmatch(word)]


@lru_cache(maxsize=KEPT)
def read(content: str) -> Statement:
    """A text as a statement: the same one, with what was found in it, while it is kept."""
    return Statement(content)


def telling_words(clause: str) -> frozenset[str]:
    """The words of a folded clause that tell something, as stems and Chinese words, without the plainest verbs."""
    bare = _CHINESE_VERBS.sub(" ", _CHINESE_TIMES.sub(" ", clause).replace("不", " ").replace("没", " "))
    return frozenset(map(text.stem, text.bare_words(bare))) - _TELLS_LITTLE


def _without_times(line: str) -> str:
    return " ".join(_JUST.sub(" ", _NOW.sub(" ", line)).split()).strip(" ,，、")


def are_apart(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether two subjects, by what sets them apart, are two things; one that is named more fully is not."""
    return not (ours <= theirs or theirs <= ours)


@lru_cache(maxsize=4_096)  # a statement is compared with many
def tells_apart(statement: str) -> frozenset[str]:
    """The numbers, ordinals, letters and names in the subject of a statement, folded; capitals count."""
    clause = statement[:_READ_CHARS]
    if key := _KEY.match(clause):
        name = key["key"]
        labels = _CHINESE_WHICH.findall(name) if has_han(name) else _labels(_WORD.findall(name))
        if labels and name.casefold() not in _OPENERS:
            return frozenset(labels)
        clause = clause[key.end() :]
    if has_han(clause):
        tagged = parts_of_speech(clause)
        end = next((n for n, (_word, tag) in enumerate(tagged) if n and tag in _PREDICATES), len(tagged))
        subject = "".join(word for word, _tag in tagged[:end])
        # whether a whole subject is a name the segmenter guesses, now so, now so; before 的 it is a name, of an owner
        owners = {
            word.casefold()
            for (word, tag), (after, _tag) in pairwise(tagged[: end + 1])
            if tag in _CHINESE_NAMES and (after == "的" or (tag == "eng" and len(word) == 1))
        }
        return frozenset(owners.union(_CHINESE_WHICH.findall(subject)))
    words = _WORD.findall(clause)
    end = next((n for n in range(1, len(words)) if _is_verb(words, n)), 0)
    return frozenset(_labels(words[:end]))


def _labels(words: list[str]) -> list[str]:
    """What of the words of a subject tells one thing from another, folded."""
    labels: list[str] = []
    for n, word in enumerate(words):
        is_label = any(map(str.isdigit, word)) or word.casefold() in _WHICH
        if not is_label and word[0].isupper() and word not in ("I", "I'm", "I've"):
            # the first word has a capital in any case: of it only an owner is sure to be a name
            is_name = n > 0 or word.endswith(("'s", "’s"))
            is_name = is_name or (len(words) > 1 and len(word) > 1 and words[1][0].isupper())
            is_label = is_name and word.casefold() not in _BEFORE_NOUNS - {"a"}
        if is_label:
            labels.append(text.bare(word.casefold()).lstrip("#"))
    return labels


def _is_verb(words: list[str], n: int) -> bool:
    """Whether the verb of a statement stands here."""
    word = words[n].replace("’", "'")
    before = words[n - 1] if n > 1 else words[0].casefold()  # «Building A needs …»
    if before in _BEFORE_NOUNS or before.endswith(("'s", "’s")):
        return False
    if word in _VERBS:
        return True
    has_ending = word.endswith(("s", "ed")) and not _NO_VERBS.search(word)
    return has_ending and word.islower() and len(word) >= _LEAST_LETTERS
