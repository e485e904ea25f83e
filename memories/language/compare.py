"""What a newer statement is to an older one: a conflict, its end, a correction; by rules, no model (D1, D5, A7).

Three judgements on what `statement.py` reads, each with more to lose than the next. `judge` tells when a newer
statement takes the place of an older one, and when only a person can tell. Both are read as somebody (or something), a
relation, and a value. The same somebody in the same relation to another value is a conflict: a certain one where there
can only be one value, or where the newer statement itself says that something changed; else, where the values are of a
kind, a doubtful one. What may both be true is none: people like tea and coffee. Plans, hearsay and the past change
nothing.

`outdates` tells when a line of the profile is untrue: what it says of the same somebody is over (no longer, left,
不再, 离职), or a new home, employer or tool stands in its place. A second phone, another pet, a journey change nothing.
It hides a line and removes nothing.

`corrects` tells when a newer statement says otherwise of the same thing. It moves the newer one before the older one
and marks that one; it hides nothing, so it goes by the least. Which words count for which judgement stands in
`statement.txt`. One may take another back in other words, too: «Nordvane let me go» shares no word but the name with
«I fix turbines for Nordvane», and says that what it names is over; «Java 升到 21 了» tells another version of the thing
whose version the older one tells. And «my sister left Lisbon» shares the name, and tells nothing of whether the author
lives there. These forms are few and right rather than complete; they stand in `rewording.txt`. Pure and deterministic.
"""

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from itertools import product

from memories.language import attributes, text
from memories.language.names import numbers, proper_names, simplify
from memories.language.statement import Claim, Statement, are_apart, read
from memories.language.text import ANY, begins_with_han, has_han, is_question, spoken_sentences
from memories.language.word_lists import pattern, patterns, words


class ConflictVerdict(Enum):
    """What a newer statement is to an older one."""

    CERTAIN = "certain"
    DOUBTFUL = "doubtful"
    NONE = "none"


#: What is longer makes more than one statement; matching it takes time that grows with the square of its length.
STATEMENT_CHARS = 1_000
_ONLY_ONE = pattern("statement", "only_one")
_PERSON = pattern("statement", "person")
_LABEL = re.compile(r"\s?(?:numbers?|no\.?|号码?)?\s?#?\d")
_DIGIT = re.compile(r"\d")
_USER = pattern("statement", "self")
_ANYBODY = pattern("statement", "anybody")
_ONE_OF_MANY = pattern("statement", "one_of_many")
_PLACE_IN_TIME = pattern("statement", "place_in_time")
_NUMBER = pattern("statement", "number")


def judge(old: str, new: str) -> ConflictVerdict:
    """Whether the newer statement takes the place of the older one; a text too long to be one statement does not."""
    if max(len(old), len(new)) > STATEMENT_CHARS:
        return ConflictVerdict.NONE
    older, newer = read(old), read(new)
    if older.line == newer.line or older.is_no_fact or newer.is_no_fact or are_apart(older.things, newer.things):
        return ConflictVerdict.NONE
    if older.is_denial != newer.is_denial:
        # One says what the other denies, in the same words
        if not older.affirmed_terms or older.affirmed_terms != newer.affirmed_terms:
            return ConflictVerdict.NONE
        says_so = newer.is_new_fact or newer.is_of_now or re.search(r"\bstopped\b", newer.line)
        return ConflictVerdict.CERTAIN if says_so else ConflictVerdict.DOUBTFUL
    before, after = older.claim, newer.claim
    if not (before and after and before.relation.name == after.relation.name):
        return _judge_frame(older, newer)
    if before.relation.name == "home" and older.is_of_home and newer.is_move and not newer.names_new_home:
        return ConflictVerdict.NONE  # to another desk, to other software
    # Both are of the same; a «he» may be anybody
    if _ANYBODY.fullmatch(before.who) or _ANYBODY.fullmatch(after.who):
        return ConflictVerdict.NONE
    if not (_USER.fullmatch(before.who) and _USER.fullmatch(after.who)):
        ours, theirs = set(text.terms(before.who)), set(text.terms(after.who))
        if not ours or ours != theirs:
            return ConflictVerdict.NONE
    return _judge_values(before, after, (older, newer))


def _judge_values(before: Claim, after: Claim, statements: tuple[Statement, Statement]) -> ConflictVerdict:
    newer = statements[1]
    if _is_part(before.value, after.value):
        return ConflictVerdict.NONE
    names_the_old = newer.is_new_fact and _is_part(before.value, newer.line)
    only_one = before.relation.only_one or _is_only_value(before, after, statements)
    is_of_many = _ONE_OF_MANY.match(before.value) or _ONE_OF_MANY.match(after.value)
    if names_the_old or (only_one and not is_of_many):
        return ConflictVerdict.CERTAIN
    if after.relation.name == "use":
        return ConflictVerdict.DOUBTFUL if newer.is_new_fact or newer.is_of_now else ConflictVerdict.NONE
    if newer.is_new_fact or (newer.is_of_now and after.relation.name != "be"):
        return ConflictVerdict.CERTAIN
    is_doubtful = after.relation.name in ("work", "prefer") or newer.is_of_now
    if is_doubtful or (not is_of_many and _are_of_a_kind(before.value, after.value)):
        return ConflictVerdict.DOUBTFUL
    return ConflictVerdict.NONE


def _is_only_value(before: Claim, after: Claim, statements: tuple[Statement, Statement]) -> bool:
    """Whether both name what somebody has one of: a birthday, a port; of a wife, a boss only who it is.

    «Port 8080», «version 2.1» are called so: that is no value.
    """
    owned = [noun for noun in _ONLY_ONE.finditer(before.who) if not _LABEL.match(before.who, noun.end())]
    if not owned or (_DIGIT.search(before.value) is None) != (_DIGIT.search(after.value) is None):
        return False
    if not any(_PERSON.fullmatch(noun.group()) for noun in owned):
        return True
    names = {word for statement in statements for name in statement.names for word in text.words(name)}
    return all(names.issuperset(text.words(value)) for value in (before.value, after.value))


def _is_part(one: str, other: str) -> bool:
    """Whether one value says what the other says, and perhaps more: «Hangzhou» and «Hangzhou, by the lake»."""
    ours, theirs = text.normalise(one), text.normalise(other)
    if not ours or not theirs:
        return True
    terms, others = set(text.terms(one)), set(text.terms(other))
    return ours in theirs or theirs in ours or bool(terms and others and (terms <= others or others <= terms))


def _are_of_a_kind(one: str, other: str) -> bool:
    return any(kind.search(one) and kind.search(other) for kind in (_NUMBER, _PLACE_IN_TIME))


def _judge_frame(older: Statement, newer: Statement) -> ConflictVerdict:
    """The same sentence but for one place in it: «… listens on port 6543», «… listens on port 7654»."""
    ours, theirs = older.bare_words, newer.bare_words
    head = text.common_start(ours, theirs)
    tail = text.common_start(ours[head:][::-1], theirs[head:][::-1])
    was, becomes = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    frame = "".join([*ours[:head], *ours[len(ours) - tail :]])
    if not (0 < len(was) <= 3 and 0 < len(becomes) <= 3) or len(frame) < 2 * len("".join(was)) or head == 0:
        return ConflictVerdict.NONE
    if not _are_of_a_kind(" ".join(was), " ".join(becomes)):
        return ConflictVerdict.NONE
    is_of_one = newer.is_of_now and _ONLY_ONE.search(" ".join(ours[max(head - 2, 0) : head]))
    return ConflictVerdict.CERTAIN if is_of_one or newer.is_new_fact else ConflictVerdict.DOUBTFUL


# -- whether what a line says is over

_LINE_CHARS = 600  # what is longer is no statement about one thing
_KINDS = patterns("statement", "kinds", re.IGNORECASE)
_USER_OR_US = pattern("statement", "self_or_us")
_PRONOUN = pattern("statement", "pronoun")


def outdates(newer: str, line: str) -> bool:
    """Whether a newer statement makes an older one untrue."""
    if max(len(newer), len(line)) > _LINE_CHARS:
        return False
    older, news = read(line), read(newer)
    if older.folded == news.folded or older.is_over or older.is_no_news:
        return False
    who, things = "", frozenset[str]()
    for clause in news.clauses:
        if clause.who and not (who and _PRONOUN.fullmatch(clause.who)):
            who, things = clause.who, clause.things
        if clause.is_no_news or not who or not older.who or _PRONOUN.fullmatch(who):
            continue
        if who != older.who and not (_USER_OR_US.fullmatch(who) and _USER_OR_US.fullmatch(older.who)):
            continue
        if are_apart(things, older.things) or clause.is_away:
            continue
        if clause.is_over or clause.is_denied_by_end:
            # Whether all that is over is in the line
            over, ours = clause.ended_words(who), older.telling_of_who
            if over and all(
                word in ours or (begins_with_han(word) and any(word in our_word for our_word in ours)) for word in over
            ):
                return True
        # whether both are of a home, of work, or of a tool of one kind, and the clause tells something new of it
        if news.is_beside or older.telling_words <= clause.telling_words:
            continue
        if (clause.names_new_home and older.is_of_home) or (clause.names_new_work and older.is_of_work):
            return True
        is_of_tool = clause.names_new_tool and older.is_of_tool
        if is_of_tool and any(kind.search(clause.folded) and kind.search(older.folded) for kind in _KINDS):
            return True
    return not news.is_beside and not news.is_no_news and judge(line, newer) is ConflictVerdict.CERTAIN


# -- whether it says otherwise of the same thing

MOST_CHARS = 160  # what is longer is no statement about one thing
MOST_OTHER_WORDS = 3  # a statement that denies another may hold besides
FEW_WORDS, FEW_CHARACTERS = 14, 24  # of a text that takes back the one just before it

_TAKEN_BACK = pattern("statement", "taken_back", re.IGNORECASE)
_SURELY_TAKEN_BACK = pattern("statement", "surely_taken_back", re.IGNORECASE)
_CLOSING = pattern("statement", "closing", re.IGNORECASE)


def corrects(newer: str, older: str) -> bool:
    """Whether a newer text says otherwise of what an older one says."""
    return max(len(newer), len(older)) <= MOST_CHARS and _corrects(newer, older)


@lru_cache(maxsize=8_192)  # the same memories are candidates question after question
def _corrects(newer: str, older: str) -> bool:
    news, before = read(newer), read(older)
    if news.normalised == before.normalised:
        return False
    if tells_anew(news, before):
        return True
    pairs = [(ours, theirs) for theirs in before.sure_sentences for ours in news.sure_sentences]
    if any(revokes(ours.content, theirs.content) for ours, theirs in pairs):
        return True
    if not news.tells_of_change and news.topic.isdisjoint(before.topic):
        return False
    return any(
        (_says_otherwise(ours, theirs) or outdates(ours.content, theirs.content))
        and not is_about_another(ours.content, theirs.content)
        for ours, theirs in pairs
        if not are_apart(ours.things, theirs.things)
    )


def tells_anew(newer: Statement, older: Statement) -> bool:
    """Whether a sentence of one tells anew what one of the other told that there is one of at a time."""
    pairs = product(newer.sure_sentences, older.sure_sentences)
    return any(attributes.replaces(ours.content, theirs.content) for ours, theirs in pairs)


def contests(one: str, other: str) -> bool:
    """Whether two texts say of the same thing what can hardly both be true, whichever came first."""
    if max(len(one), len(other)) > MOST_CHARS:
        return False
    pairs = product(read(one).sure_sentences, read(other).sure_sentences)
    return any(
        _contest(ours.content, theirs.content) for ours, theirs in pairs if not are_apart(ours.things, theirs.things)
    )


@lru_cache(maxsize=8_192)
def _contest(one: str, other: str) -> bool:
    if ConflictVerdict.NONE is not judge(one, other) or ConflictVerdict.NONE is not judge(other, one):
        return True
    ours, theirs = read(one), read(other)
    if not _is_of_the_same(ours, theirs) or are_apart(ours.topic, theirs.topic):
        return False
    return _has_other_value(ours, theirs) or (ours.topic == theirs.topic and ours.is_negated != theirs.is_negated)


def contests_answer(answer: str, question: str, statement: str) -> bool:
    """Whether an answer, which may leave out what was asked about, says otherwise than a statement: «It is at 9.»"""
    if contests(answer, statement):
        return True
    stated, reply = read(statement), read(answer)
    if max(len(answer), len(question), len(statement)) > MOST_CHARS or not stated.topic or not stated.sure_sentences:
        return False
    return stated.topic <= read(question).topic | reply.topic and _has_other_value(stated, reply)


def may_take_back(message: str) -> bool:
    """Whether a text is of the kind that takes back the one just before it."""
    first = next(iter(spoken_sentences(message)), "")
    return (
        bool(_TAKEN_BACK.search(first))
        and (len(message) <= FEW_CHARACTERS if has_han(message) else len(message.split()) <= FEW_WORDS)
        and not (_CLOSING.search(message) or is_question(message))
    )


@lru_cache(maxsize=4_096)  # recall reads the same turns question after question
def takes_back_anywhere(message: str) -> bool:
    """Whether any sentence begins as one that takes something back; cheap, for nearly none does."""
    return any(_TAKEN_BACK.search(sentence) for sentence in spoken_sentences(message))


def takes_back(newer: str, older: str) -> bool:
    """Whether a text corrects the one before it without naming its subject: «I meant Tuesday», «说错了，是周三»."""
    if not may_take_back(newer) or not older:
        return False
    if _SURELY_TAKEN_BACK.search(newer):
        return True
    values = ((values_of(newer), values_of(older)) for values_of in (numbers, proper_names))
    return any(ours and theirs and ours != theirs for ours, theirs in values)


def _says_otherwise(newer: Statement, older: Statement) -> bool:
    """Of the same thing another number, date or name, its denial, or its end."""
    about, before = newer.topic, older.topic
    common, shared_names = about & before, newer.names & older.names
    has_changed, has_other_value = newer.tells_of_change, _has_other_value(newer, older)
    is_of_the_same = _is_of_the_same(newer, older)
    is_short = max(len(about), len(before)) <= MOST_OTHER_WORDS
    if newer.tells_of_end and (is_of_the_same or (shared_names and is_short)):
        return not newer.is_away and not is_end_of_another(newer.content, older.content)
    if has_changed and shared_names and newer.names - older.names and not common and is_short:
        return True
    if not common:
        return False
    if newer.key and newer.key <= before:
        return has_other_value or has_changed or newer.key == older.key
    if not are_apart(about, before):
        if newer.is_negated != older.is_negated:
            return before <= about and len(about - before) <= MOST_OTHER_WORDS and not older.tells_of_event
        if has_other_value:
            if has_changed or about != before or newer.tells_of_event or older.tells_of_event:
                return has_changed
            # most of what both are about is to stand before they differ: «note 14 …» and «note 44 …» are two things
            words = text.words(newer.content)
            both = zip(words, text.words(older.content), strict=False)
            same = next((n for n, (word, other_word) in enumerate(both) if word != other_word), len(words))
            return 2 * len(read(" ".join(words[:same])).topic_words) >= len(newer.topic_words)
    if not has_changed or not is_of_the_same or about == before or older.tells_of_event:
        return False
    first = newer.topic_words[0]
    if first == older.topic_words[0] or (has_other_value and first in before):
        return True
    # Whether both are the same sentence but for one word, which is not the first, and for words such as «now»
    ours, theirs = newer.steady_words, older.steady_words
    if len(ours) != len(theirs) or ours[:1] != theirs[:1]:
        return False
    return sum(one != other for one, other in zip(ours, theirs, strict=True)) == 1


def _is_of_the_same(ours: Statement, theirs: Statement) -> bool:
    """Whether both are about one thing: half of what the shorter one is about is common, and not a word by chance."""
    common = ours.topic & theirs.topic
    return bool(common) and 2 * len(common) >= min(len(ours.topic), len(theirs.topic))


def _has_other_value(ours: Statement, theirs: Statement) -> bool:
    """Whether the numbers or names of a statement are not all among those of another, which has some too."""
    pairs = ((ours.numbers, theirs.numbers), (ours.names, theirs.names))
    return any(own and other and not own <= other for own, other in pairs)


# -- whether it takes another back in other words, or is about somebody or something else; of sentences of MOST_CHARS

_ENDINGS = [
    (pattern("rewording", f"{name}_before", re.IGNORECASE), patterns("rewording", f"{name}_over", re.IGNORECASE))
    for name in words("rewording", "endings")
]
_RENEWALS = [
    tuple(patterns("rewording", f"{name}_{when}", re.IGNORECASE) for when in ("before", "after"))
    for name in words("rewording", "renewals")
]
_KEPT_COMPANY = [pattern("rewording", f"{name}_before", re.IGNORECASE) for name in ("couple", "pet")]
_NAMED_FIRST = pattern("rewording", "named_first", re.IGNORECASE)
_UNDONE = pattern("rewording", "undone", re.IGNORECASE)
_ABOUT_OTHERS = patterns("rewording", "somebody_else", re.IGNORECASE)
_PART = patterns("rewording", "part", re.IGNORECASE)
_ELSEWHERE = pattern("rewording", "elsewhere", re.IGNORECASE)
_OWNER = pattern("rewording", "owner_chinese")
_NO_OWNER = pattern("rewording", "no_owner_chinese")
_OF_ONESELF = pattern("rewording", "of_oneself", re.IGNORECASE)
_LEFT_THING = pattern("rewording", "left_thing", re.IGNORECASE)
_NO_END = pattern("rewording", "no_end", re.IGNORECASE)
_LEFT_JOB = pattern("rewording", "left_job", re.IGNORECASE)


def revokes(newer: str, older: str) -> bool:
    """Whether a sentence says in other words that another no longer holds."""
    news, before = _unmarked(newer), _unmarked(older)
    if is_question(news, ANY) or _is_elsewhere(news, before):
        return False
    is_over = not _UNDONE.search(news) and any(
        _names(before, match["what"])
        for was, wordings in _ENDINGS
        if was.search(before)
        for wording in wordings
        for match in wording.finditer(news)
    )
    return is_over or any(
        what == what_before and value != value_before
        for befores, afters in _RENEWALS
        for what, value in _values(news, afters)
        for what_before, value_before in _values(before, befores)
    )


def is_about_another(newer: str, older: str) -> bool:
    """Whether a sentence is about somebody or something else than one that names some of the same."""
    news, before = _unmarked(newer), _unmarked(older)
    if _is_elsewhere(news, before):
        return True
    if not _OF_ONESELF.search(before):
        return False
    others = [*_ABOUT_OTHERS, *_PART]
    if any(not _names(before, match["who"]) for wording in others for match in wording.finditer(news)):
        return True
    owner = _OWNER.search(news)
    return owner is not None and not _NO_OWNER.search(owner["who"]) and not _names(before, owner["who"])


def is_end_of_another(newer: str, older: str) -> bool:
    """Whether a sentence that sounds like an end ends nothing of the other.

    Nothing is left, or an umbrella is, or a partner who is named in the other has left something of their own.
    """
    news, before = _unmarked(newer), _unmarked(older)
    if _NO_END.search(news):
        return True
    first = _NAMED_FIRST.search(news)
    if first and _names(before, first["what"]) and any(was.search(before) for was in _KEPT_COMPANY):
        return True
    left = _LEFT_THING.search(news)
    if left is None or _names(before, left["who"]):
        return False
    return not _LEFT_JOB.search(left.group())


def _unmarked(sentence: str) -> str:
    folded = simplify(unicodedata.normalize("NFKC", sentence)).replace("’", "'")
    return " ".join(folded.split()).rstrip(" .。!！")


def _names(sentence: str, name: str) -> bool:
    """Whether a sentence has all words of a name."""
    if has_han(name):
        return name in sentence
    ours = {text.stem(word) for word in text.words(sentence)}
    return {text.stem(word) for word in text.words(name)} <= ours


def _values(sentence: str, wordings: list[re.Pattern[str]]) -> Iterator[tuple[str, str]]:
    """Of which thing it tells which value."""
    for wording in wordings:
        for match in wording.finditer(sentence):
            groups = match.groupdict()
            yield (groups.get("what") or "").casefold(), match["value"].casefold()


def _is_elsewhere(news: str, before: str) -> bool:
    """Whether one of both names another environment, another team, and the other does not."""
    ours, theirs = (
        {match.group().casefold() for match in _ELSEWHERE.finditer(sentence)} for sentence in (news, before)
    )
    return ours != theirs
