"""A question as it is searched: whom it names, its words, what it leaves out, whose lines it is, the days it names.

What a scope learnt acts in that scope alone: its nicknames move no row of another, and no word of the question while
another scope is asked with it that does not know them (D1).

What it leaves out is added from the messages before and from what a scope knows (D1); neither is stored or shown as the
question, and a trace tells what was added. The messages of a day a question about the past names come first: that day
counts three times as much as one that is only mentioned, and the part of it that is named («in the evening») a little
more (C5, C13).
"""

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta, tzinfo
from functools import lru_cache, partial
from itertools import pairwise

from django.db.models import Max, Min

from memories.conf import conf
from memories.index.search_rows import full_match
from memories.language import names, persons, text
from memories.language.amounts import count_of
from memories.language.calendar import Window, windows
from memories.language.persons import Additions
from memories.language.text import (
    COMMON_CJK,
    HAN,
    Sign,
    begins_a_sentence,
    has_han,
    is_question,
    parts_of_speech,
    sentences,
    simplified,
)
from memories.language.word_lists import deferred, pattern, word_set, words
from memories.models import Entry, Scope
from memories.recall.gate import LOOK_CHARS, asks_of_memory, is_question_about_past, names_project
from memories.recall.people import is_about_asker
from memories.recall.query import BY_MATCH_ALONE, Mode, ParsedQuery, Query, Words, term_frequencies

# -- whom and what a message names

_ORDINARY = text.ENGLISH_STOPWORDS | word_set("names", "also_words")
#: Before a capital word these make a month of «May», and a place of others.
_OF_TIME = re.compile(r"\b(?:in|of|on|since|until|till|by|last|next|this|early|mid|late|every)\s+\Z", re.IGNORECASE)
_CLOSE_CHARS = 20  # before a word, in which such a word stands
_SAYS = words("names", "says")
_AFTER_NAMES = word_set("names", "after_names")
_SURE_CHARS = 3  # a Chinese name of so many characters is no part of another word
_ROLES = word_set("features", "roles")


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


def speaks_of_one_of_several(named: Collection[tuple[int, str]], scopes: Iterable[Scope]) -> bool:
    """Whether a question names somebody who speaks in a scope beside others; roles (user, AI) are no people."""
    of_named = (scope for scope in scopes if any(scope.pk == pk for pk, _ in named))
    return any(sum(name.casefold() not in _ROLES for name in scope.speakers) > 1 for scope in of_named)


# -- its words, and what it leaves out

MAX_SUBSTRINGS = 32  # of one question
ADDED_SHARE, RELATION_SHARE = 0.5, 0.3  # of the weight of a word, for one the message does not say
SHORTLIST = 100  # entries whose full text is read, those that hold the rarest words of the question

#: Chinese is cut into words; anything else stands as it is between spaces.
_RUN = deferred(rf"[{COMMON_CJK}]+|[^\s{COMMON_CJK}]+")
#: What ends or opens a sentence belongs to no word, and «,» and the like never do.
_PUNCTUATION = deferred('[,;!?，。！？、；：「」『』《》“”‘’（）【】…"`]+')
_BEFORE, _AFTER = "'([{<*", "'.:)]}>*"
_LETTER_OR_DIGIT = deferred(r"[a-z\d]", re.IGNORECASE)
_STOPWORDS = text.ENGLISH_STOPWORDS | text.CHINESE_STOPWORDS


def words_of(query: Query) -> Words:
    """Terms weighed by how rare they are in the scopes; names of speakers stand aside and boost their words."""
    people = people_named(query.message, query.scopes)
    in_message = text.terms(query.message)
    terms = set(in_message) - people.name_terms

    # what the terms count for that the message does not say; «my sister» and Lena are one, and count half each
    meant_terms = (term for _phrase, meaning in query.resolved for term in text.terms(" ".join(meaning)))
    added_shares = {term: ADDED_SHARE for term in meant_terms if term not in in_message}
    for phrase, meaning in query.relations:
        added_shares |= dict.fromkeys(text.terms(" ".join([phrase, *meaning])), RELATION_SHARE)

    # how rare each term is; those that do not occur in these scopes say nothing and are left out
    total = query.entry_count
    looked_up = sorted(terms | people.alias_terms | added_shares.keys())
    frequencies = term_frequencies(query.scopes, looked_up)
    idf = {}
    for term in looked_up:
        entries = min(sum(frequencies[scope.pk, term] for scope in query.scopes), total)
        if entries > 0:
            idf[term] = _rarity(entries, total) * added_shares.get(term, 1.0)
    full = full_match(sum(sorted(idf.values(), reverse=True)[: conf.FULL_TERMS]))
    shares = {term: weight / full for term, weight in idf.items()}
    unheard = len(terms - idf.keys()) * _rarity(0, total)
    return Words(shares, people.named, idf, unheard, people.forms, people.name_terms)


def names_unknown(message: str, words: Words) -> bool:
    """Whether a question names people or things, and none of them was ever named in these scopes.

    Where no memory has its other words either, the memory may be in another script.
    """
    latin = {name for name in persons.names_in(message) if name.capitalize() in message}
    chinese = {name for name in names.proper_names(message) if names.is_person(name)}
    # «Kubernetes» is named by who says k8s
    forms = [
        (name, f"{name[0]}{len(name) - 2}{name[-1]}") for name in (one.strip("'") for one in latin | chinese) if name
    ]
    terms = [{term for form in both for term in text.terms(form)} for both in forms]
    heard = words.idf.keys() | words.name_terms
    return bool(words.idf) and not words.named and any(terms) and not any(of_name & heard for of_name in terms)


def parse_for_match(query: Query, words: Words) -> ParsedQuery:
    """What a search by matches alone looks for: names are words like others there."""
    message = query.message
    about_asker = is_about_asker(message, [], query.scopes, query.asker)
    if query.mode == Mode.KEYWORD:
        return ParsedQuery(replace(words, named=[]), substrings=typed_words(message), about_asker=about_asker)
    terms = list(text.terms(message))
    rarest = max(words.shares.values(), default=1 / max(len(terms), 1))
    shares = {term: words.shares.get(term, rarest) for term in terms}
    return ParsedQuery(
        replace(words, shares=shares, named=[]),
        substrings=text.telling_characters(message),
        terms=terms,
        limit=SHORTLIST,
        about_asker=about_asker,
    )


def typed_words(message: str) -> list[str]:
    """The words of a message as somebody typed them, folded, signs and all: C++, a_b, 100%, 10.0.0.1, #42.

    Stopwords count only where there is nothing else.
    """
    folded = unicodedata.normalize("NFKC", message).casefold().replace("’", "'")
    words: list[str] = []
    for run in _RUN.findall(_PUNCTUATION.sub(" ", folded)):
        word = run.lstrip(_BEFORE).rstrip(_AFTER).removesuffix("'s")
        if re.match(f"[{COMMON_CJK}]", run):
            words += text.words(run)
        elif _LETTER_OR_DIGIT.search(word) or any(map(str.isalnum, word)):
            words.append(word)
        elif run in ("_", "%", "+", "#", "@", "&", "$"):
            words.append(run)
    content = [word for word in words if word not in _STOPWORDS]
    return list(dict.fromkeys(content or words))[:MAX_SUBSTRINGS]


def _rarity(entries: int, total: int) -> float:
    return math.log(1 + (total - entries + 0.5) / (entries + 0.5))


def resolve(query: Query) -> Query:
    """A query with what its message leaves out; as it is where nothing is left out, and of words as they were typed.

    Where several hear the answer nobody's sister is named by what a person's memory knows (A3).
    """
    if query.mode in BY_MATCH_ALONE:
        return query
    relations = () if query.in_group else relations_named(query.message, query.scopes)
    resolved = query.resolved or persons.resolve(query.message, query.recent)
    return replace(query, resolved=resolved, relations=relations) if resolved or relations else query


def expanded(message: str, query: Query) -> str:
    """A message as it is embedded: with what was meant behind the words it belongs to, and «my sister» by her name."""
    for phrase, meaning in query.resolved:
        message = _with_words(message, phrase, f"{phrase} ({' '.join(meaning)})")
    for phrase, meaning in query.relations:
        message = _with_words(message, phrase, meaning[0])
    return message


def _with_words(message: str, phrase: str, instead: str) -> str:
    """A message with other words for some of it; behind it where it does not say them."""
    pattern = rf"(?<!\w){re.escape(phrase)}(?!\w)" if phrase.isascii() else re.escape(phrase)
    replaced, count = re.subn(pattern, lambda _match: instead, message, count=1)
    return replaced if count else f"{message} {instead}"


#: Bots send the last exchange as it stands, one line a message under its speaker. Its words are searched as ever; the
#: vector is that of the last lines of the person: the bot's own lines draw it to what the bot says of everything.
#: Measured on MADial, recall@10: .78 to .82 in English, .81 to .84 in Chinese.
PERSON_LINES = 3  # the last of the person's that count
_LABEL = deferred(r"\A\s*[<\[【(]?(?P<who>[^\W\d_][\w .·-]{0,39}?)[>\]】)]?\s*[:：]\s*(?P<words>.*)\Z", re.DOTALL)
_QUOTES = " \t\"'“”«»「」"
_BOT_ROLES = _ROLES - {"user", "human", "用户"}


def person_lines(message: str) -> str:
    """The last lines of the person in a dialogue with a bot; the message itself where it is none."""
    labels = [_LABEL.match(line) for line in message.splitlines() if line.strip()]
    speakers = [match["who"].strip().casefold() for match in labels if match]
    if (
        len(speakers) < 2
        or not any(who in _BOT_ROLES for who in speakers)
        or all(who in _BOT_ROLES for who in speakers)
    ):
        return message
    lines: list[str] = []
    is_persons = False
    for line in message.splitlines():
        if match := _LABEL.match(line):
            is_persons = match["who"].strip().casefold() not in _BOT_ROLES
        if is_persons and line.strip():
            lines.append((match["words"] if match else line).strip(_QUOTES))
    return "\n".join(lines[-PERSON_LINES:])


MAX_WINDOWS = 6  # of one question, the latest
QUESTION_TOKENS = 48  # longer messages tell something
ASKED_ABOUT = 3.0  # what a day counts for that is asked about
NAMED_EXACTLY = 1.5  # and the part of a stretch that is meant most
FEW_DAYS = timedelta(days=8)  # of longer stretches what matches best comes first
FEW_WORDS = 4  # besides those of the day; a question with more of them is about something, and the day one sign
MAX_WORDS = 32  # content words of one question


@dataclass(frozen=True)
class DateRange:
    """A stretch of time, and the words that named it."""

    start: datetime
    end: datetime
    words: str
    weight: float = 1.0
    core: tuple[datetime, datetime] | None = None  # meant most of all

    def core_contains(self, at: datetime) -> bool:
        """Whether a time is within what is meant most."""
        return self.core is not None and self.core[0] <= at < self.core[1]


#: Of a day, from hour to hour: night reaches into the next morning.
_PARTS = [
    (deferred(pattern, re.IGNORECASE), hours)
    for pattern, hours in (
        (r"\bmorning\b|早上|早晨|清晨|上午|今早|今晨|昨早", (4, 12)),
        (r"\b(?:noon|lunch ?time|midday)\b|中午", (11, 14)),
        (r"\bafternoon\b|下午|午后", (12, 18)),
        (r"\b(?:evening|night|tonight)\b|晚上|傍晚|夜里|深夜|[昨今前]晚|昨夜|[一二三四五六日天]晚", (17, 28)),
        (r"凌晨|半夜", (0, 6)),
    )
]
PAST_TENSE = pattern("questions", "past_tense", re.IGNORECASE)
_JUST_NOW = pattern("questions", "just_now", re.IGNORECASE)
_HOURS_AGO = pattern("questions", "hours_ago", re.IGNORECASE)
#: Counts that are no numerals.
_COUNTS = {"a": 1.0, "an": 1.0, "half an": 0.5, "a couple": 2.0, "a couple of": 2.0, "a few": 3.0}
_COUNTS |= {"半": 0.5, "几": 3.0, "幾": 3.0}
JUST_NOW = timedelta(hours=3)


def date_ranges_of(message: str, scopes: Sequence[Scope], now: datetime, zone: tzinfo) -> list[DateRange]:
    """The time of what is asked for, as far as the question tells; read from its end when it is long.

    «Yesterday» counts in a question only: a message that tells of yesterday, or a long one, asks something else.
    """
    end = text.last_tokens(message, conf.EMBED_QUERY_TOKENS)
    is_short = text.count_tokens(message) <= QUESTION_TOKENS
    local_now = now.astimezone(zone)
    today = local_now.date() if is_short and asks_of_memory(message) else None
    by_span = {
        (window.start, window.end): window for window in windows(end, today=today, years=partial(_years, scopes, zone))
    }
    latest = sorted(by_span.values(), key=lambda window: (window.start, window.end), reverse=True)[:MAX_WINDOWS]
    is_past = is_short and PAST_TENSE.search(end) is not None
    ranges = [_date_range(window, end, zone, is_past=is_past) for window in latest]

    # a stretch of the last hours, from «just now» or «two hours ago»
    if today and (match := _HOURS_AGO.search(end)):
        count = (match["count"] or match["zh"]).lower()
        number = (_COUNTS.get(count) or count_of(count)) + (0.5 if match["zh_half"] else 0.0)
        unit = (match["unit"] or match["zh_unit"]).lower()
        back = timedelta(hours=number) if unit[0] in "h小钟鐘" else timedelta(minutes=number)
        around = max(back / 2, timedelta(minutes=10))
        ranges.append(DateRange(local_now - back - around, local_now - back + around, match.group(), ASKED_ABOUT))
    elif today and (match := _JUST_NOW.search(end)):
        until = local_now + timedelta(seconds=1)
        ranges.append(DateRange(local_now - JUST_NOW, until, match.group(), ASKED_ABOUT))
    return ranges


def _date_range(window: Window, message: str, zone: tzinfo, *, is_past: bool) -> DateRange:
    """A stretch the message names; it counts for more where those days are what is asked about: «the Monday before
    4 May» is another day."""
    nearest = window.nearest
    core = (_midnight(nearest[0], zone), _midnight(nearest[1], zone)) if nearest else None
    start = core[0] if core and core[1] - core[0] <= timedelta(days=1) else _midnight(window.start, zone)
    hours = next((hours for pattern, hours in _PARTS if pattern.search(message)), None)
    if hours and (core or window.end - window.start == timedelta(days=1)):
        core = start + timedelta(hours=hours[0]), start + timedelta(hours=hours[1])
    weight = 1.0
    if is_past and window.end - window.start <= FEW_DAYS:
        other = rf"\b(?:before|after|by|since|until|till)\s+(?:the\s+)?{re.escape(window.words)}"
        content = set(text.words(message)) - _STOPWORDS - set(text.words(window.words))
        few = len({word for word in content if not word.isdecimal()}) <= FEW_WORDS
        weight = ASKED_ABOUT if few and re.search(other, message, re.IGNORECASE) is None else 1.0
    return DateRange(_midnight(window.start, zone), _midnight(window.end, zone), window.words, weight, core)


def _years(scopes: Iterable[Scope], zone: tzinfo) -> Iterable[int]:
    """The years a scope reaches over: a date without one is meant in each of them."""
    ends = Entry.objects.filter(scope__in=list(scopes)).aggregate(first=Min("created_at"), last=Max("created_at"))
    if ends["first"] is None:
        return ()
    return range(ends["first"].astimezone(zone).year, ends["last"].astimezone(zone).year + 1)


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone)


_PAST = pattern("questions", "about_past", re.IGNORECASE)
_SPOKEN = pattern("questions", "about_spoken", re.IGNORECASE)
_DATED = pattern("questions", "about_dated", re.IGNORECASE)
_ASKED = pattern("questions", "about_asked", re.IGNORECASE)
_ABOUT_ASKING = pattern("questions", "about_asking", re.IGNORECASE)
_FORMER = pattern("questions", "former", re.IGNORECASE)
#: Whether a message names days does not depend on its own.
_ANY_DAY = date(2000, 1, 1)
_ASKING = word_set("questions", "only_asking")
_ENDS_AS_STATEMENT = deferred(r"[.!。！~～…][\"'”’」』)）]*\s*$")
_NAMES_NOTHING = pattern("questions", "names_nothing", re.IGNORECASE)
_SPEECH = pattern("questions", "speech", re.IGNORECASE)


def is_about_past(message: str) -> bool:
    """Whether a message asks about what was: «昨天我们聊了什么», «what did I say about the port?»."""
    end = message.strip()[-LOOK_CHARS:]  # where people ask in a long message
    if _SPOKEN.search(end) or (_DATED.search(end) and _ASKED.search(end)):
        return True
    if _PAST.search(end) and is_question_about_past(message):
        return True
    return asks_of_memory(message) and PAST_TENSE.search(end) is not None and bool(windows(end, today=_ANY_DAY))


def asks_what_was(message: str) -> bool:
    """Whether a message asks of what is over: of «what did I eat today» today is asked for, of «what is on today» not."""
    return PAST_TENSE.search(message.strip()[-LOOK_CHARS:]) is not None


def asks_what_came_before(message: str) -> bool:
    """Whether a message asks for all of a conversation, and names nothing of it: «what did I tell you before?»."""
    if len(message) > LOOK_CHARS or not is_about_past(message) or not _SPEECH.search(message):
        return False
    return not any(map(str.isalnum, _NAMES_NOTHING.sub(" ", message.replace("’", "'"))))


def asks_for_former(message: str) -> bool:
    """Whether a message asks for what held before something newer took its place: «where did I live before?»."""
    end = message.strip()[-LOOK_CHARS:]
    return has_question_mark_or_word(end) and _FORMER.search(end.translate(simplified("questions"))) is not None


def is_about_asking(message: str) -> bool:
    """Whether a message asks what was asked: «what did I ask you yesterday?», «我问过你什么？»."""
    return _ABOUT_ASKING.search(message.strip()[-LOOK_CHARS:]) is not None


def is_remark(message: str) -> bool:
    """Whether a short message tells or orders something and asks nothing: «my shins are killing me again.»."""
    if "\n" in message or text.count_tokens(message) > QUESTION_TOKENS or not _ENDS_AS_STATEMENT.search(message):
        return False
    return not asks_of_memory(message) and not any(is_question(sentence, by=Sign) for sentence in sentences(message))


def has_question_mark_or_word(message: str) -> bool:
    """Whether a message asks something, by its words or its mark."""
    return _ASKED.search(message[-LOOK_CHARS:]) is not None


def event_words(message: str, ranges: Sequence[DateRange] = ()) -> list[str]:
    """The words of a question an event can be found by, at most MAX_WORDS: not those that only ask, nor those that name
    the days; stopwords count only where there is nothing else."""
    if asks_what_came_before(message):
        return []
    words = text.bare_words(message)
    content = [word for word in words if word not in _STOPWORDS]
    distinct = list(dict.fromkeys(content or words))[:MAX_WORDS]
    days = {word for dates in ranges for word in text.words(dates.words)}
    return [word for word in distinct if word not in _ASKING and word not in days and not word.isdecimal()]
