"""What is checked of every statement a model makes, and the lies that try its reader (A11, B3, D5, D6).

Rules in every language alike, no grammar: quotes, amounts, names, persons. Whether a quote means what is stated is for
the second reading; these checks refuse what no reader has to be asked about. Decoys are statements made to be false,
made mechanically of statements that were offered; a reading that takes one of them for true is not believed.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

from memories.choices import Refusal
from memories.language import amounts, persons, text
from memories.language.amounts import amounts_in
from memories.language.calendar import dates_of
from memories.language.names import fold
from memories.language.persons import SPEAKER, People
from memories.language.text import has_han
from memories.language.word_lists import words

#: Marks that are typed in several ways.
_ALIKE = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "…": "..."})
#: Where a quote leaves words out.
_GAP = re.compile(r"\[?(?:\.{3,}|…+)\]?")
_EDGES = " \t\n\"'“”‘’「」『』«»()（）[]【】,，.。;；:：!！?？、-–—"


@dataclass(frozen=True)
class Span:
    """A part of a message, by the positions of its characters."""

    start: int
    end: int

    def text(self, content: str) -> str:
        return content[self.start : self.end]


def find_quote(quote: str, content: str) -> list[Span]:
    """Where a message holds a quote, a span for each of its parts in order; none where any part is missing.

    «A … B» quotes two parts. A quote of nothing but marks is in no message.
    """
    characters, positions = _folded(content)
    spans: list[Span] = []
    begin = 0
    for piece in _GAP.split(quote):
        stripped = piece.strip(_EDGES)  # a part as it is looked for: without the marks at its ends
        if not (part := _folded(stripped)[0] if any(char.isalnum() for char in stripped) else ""):
            continue
        at = characters.find(part, begin)
        if at < 0:
            return []
        begin = at + len(part)
        spans.append(Span(positions[at], positions[begin - 1] + 1))
    return spans


def _folded(content: str) -> tuple[str, list[int]]:
    """The characters of a text without spaces, in one width and case, and where each of them stands."""
    characters: list[str] = []
    positions: list[int] = []
    for position, char in enumerate(content):
        for folded in unicodedata.normalize("NFKC", char.translate(_ALIKE)).casefold():
            if not folded.isspace():
                characters.append(folded)
                positions.append(position)
    return "".join(characters), positions


#: Numbers in words up to here may be counted from what was enumerated: «both», «his two sisters».
_COUNTED = 12
_CLAUSE = re.compile(r"[,，;；。.!！?？\n]|\s(?:and|but|while|und)\s|而|但是?|不过")
#: Addresses, paths, versions and codes: with a sign or a digit within, as they stand.
_CODE = re.compile(
    r"(?<![\w])(?:[\w~]+[/@\\_#:][\w./@:_\\#?=&%+-]*[\w/]|[A-Za-z]+[-]?\d[\w-]*|\d+[A-Za-z][\w-]*)", re.ASCII
)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|am|pm|k|km|kg|cm|mm|g|h|m|gb|mb)?", re.IGNORECASE)


@dataclass(frozen=True)
class Message:
    """A message of a conversation, as statements rest on it; `on` is the day it was written, where that was."""

    id: str
    content: str
    speaker: str
    on: date
    is_answer: bool = False  # of the bot


@dataclass(frozen=True)
class Quote:
    """Words of a message."""

    message: Message
    span: Span

    @property
    def text(self) -> str:
        return self.span.text(self.message.content)


@dataclass(frozen=True)
class Conversation:
    """The messages, and other names that may occur."""

    messages: Sequence[Message]
    people: People = People()
    other_names: Sequence[str] = field(default=())  # projects and other names

    @cached_property
    def text(self) -> str:
        names = [message.speaker for message in self.messages] + [*self.people.speaker, *self.people.others]
        return "\n".join([*(message.content for message in self.messages), *names, *self.other_names])

    @cached_property
    def amounts(self) -> set[str]:
        """All amounts of the messages, with the dates they mean."""
        amounts_named = amounts.amounts_in(self.text)
        amounts_named |= {number for amount in list(amounts_named) for number in amounts.implied(amount)}
        for message in self.messages:
            amounts_named |= dates_of(message.content, message.on) | {str(message.on.year)}
        return amounts_named

    @cached_property
    def numbers(self) -> set[str]:
        """The numbers of the messages, those within dates and ordinals too."""
        plain = unicodedata.normalize("NFKC", self.text)
        days = {amount.rpartition("-")[2] for amount in self.amounts}
        return {number.lstrip("0") for number in re.findall(r"\d+", plain)} | self.amounts | days

    @cached_property
    def characters(self) -> str:
        return _without_spaces(self.text)


def locate(parts: Sequence[tuple[Message, str]]) -> list[Quote]:
    """The quotes in their messages; none where one of them is in none."""
    quotes: list[Quote] = []
    for message, quote in parts:
        spans = find_quote(quote, message.content)
        if not spans:
            return []
        quotes += [Quote(message, span) for span in spans]
    return quotes


def fault(content: str, subject: str, quoted: Sequence[Quote], conversation: Conversation) -> Refusal | None:
    """Why a statement must not rest on these quotes; None where nothing speaks against it."""
    if not quoted:
        return Refusal.NO_QUOTE
    if all(quote.message.is_answer for quote in quoted):
        return Refusal.BOT
    return invention(content, conversation) or _whose(content, subject, quoted, conversation.people)


def invention(content: str, conversation: Conversation) -> Refusal | None:
    """What a text names that no message has: a number or date, a code, a name."""
    own = amounts.amounts_in(content) - conversation.amounts
    digits = set(re.findall(r"\d+", unicodedata.normalize("NFKC", content)))
    new_amounts = (thing for thing in own if not thing.isdecimal() or thing in digits or int(thing) > _COUNTED)
    if {thing for thing in new_amounts if not _may_be_meant(thing, conversation)}:
        return Refusal.AMOUNT
    if any(_without_spaces(code) not in conversation.characters for code in _codes(content)):
        return Refusal.CODE
    return Refusal.NAME if persons.unknown_names(content, conversation.text) else None


def telling_marks(content: str) -> set[str]:
    """What tells most in a text, in whatever language: numbers and dates, codes, names."""
    return amounts.amounts_in(content) | {_without_spaces(code) for code in _codes(content)} | persons.names_in(content)


def _may_be_meant(amount: str, conversation: Conversation) -> bool:
    """Whether a message has the day of a date, and means this month or the next; or the hour, of half a day."""
    if date := re.fullmatch(r"(\d+)-(\d+)", amount):
        months = {(message.on.month + ahead) % 12 + 1 for message in conversation.messages for ahead in (-1, 0)}
        is_month = int(date[1]) in months or f"month {date[1]}" in conversation.amounts
        return is_month and date[2] in conversation.numbers
    if re.fullmatch(r"\d{4}", amount):
        return any(abs(int(amount) - message.on.year) == 1 for message in conversation.messages)
    if month := re.fullmatch(r"month (\d+)", amount):
        return any(int(month[1]) == message.on.month for message in conversation.messages)
    if clock := re.fullmatch(r"(\d+):(\d\d)", amount):
        other = (int(clock[1]) + 12) % 24
        return f"{other}:{clock[2]}" in conversation.amounts
    return False


def _codes(content: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", content)
    return [
        code for code in _CODE.findall(plain) if not _ORDINAL.fullmatch(code) and not re.fullmatch(r"[\d:/.-]+", code)
    ]


def _without_spaces(content: str) -> str:
    return "".join(unicodedata.normalize("NFKC", content).casefold().split())


def _whose(content: str, subject: str, quoted: Sequence[Quote], people: People) -> Refusal | None:
    """Refused where the quote speaks of one person and the statement of another.

    The person a statement is about is read from its subject and from the names in it; the person of a quote from the
    clause that shares most with the statement. A clause that names nobody may be about anybody.
    """
    stated = people.named(content, writes_of_user=True)
    key = people.key(subject)
    if key not in ("", SPEAKER) and key not in stated and stated:
        return Refusal.SUBJECT  # about a relation by its subject, by its words about somebody else
    about = stated | ({key} if key else set())
    if not about:
        return None
    own = set(text.terms(people.without_names(content)))
    quoted_people: list[set[str]] = []
    for quote in quoted:
        if quote.message.is_answer:
            continue
        clauses = [clause for clause in _CLAUSE.split(quote.text) if clause and clause.strip()] or [quote.text]
        best = max(clauses, key=lambda clause: len(own.intersection(text.terms(clause))))
        keys = people.named(best, writes_of_user=False)
        # «speaker» stands for whoever wrote the message: another person's words speak of that person
        author = people.key(quote.message.speaker)
        quoted_people.append({author if name == SPEAKER and author else name for name in keys})
    if any(not names or names & about for names in quoted_people):
        return None
    return Refusal.SUBJECT if quoted_people else None


_NUMBER = re.compile(r"\d+")
_NAMES = {True: words("decoys", "chinese_names"), False: words("decoys", "english_names")}
#: What turns a statement round: the first that is found in it.
_TURNS = (
    (re.compile(r"\b(is|was|are|were|has been|will|can|should) (?!not\b)"), r"\1 not "),
    (re.compile(r"\b(?:does not|do not|did not|doesn't|don't|didn't|isn't|wasn't|cannot|can't|never) ?"), ""),
    (re.compile(r"\b(has|owns|keeps) (?=an?\b|the\b|\d|two|three|four)"), "does not have "),
    (re.compile(r"(没有|没|不(?!过|久|同|错|仅))"), ""),
    (
        re.compile(
            r"(?<!只)(?<!还)(?<!不)(是|(?<![开聚机社年晚宴])会(?!议|计|场|员)|能|想|要|喜欢|爱|住在|打算|计划|属于|需要)"
        ),
        r"不\1",
    ),
    (re.compile(r"(?<![没只])有"), "没有"),
    (re.compile(r"(过敏)"), r"不\1"),
)


def decoys(statement: str, quote: str, messages: str, people: Sequence[str], chance: random.Random) -> Iterator[str]:
    """False variants of a statement, in chance order; `messages` are all there are, `people` the names in it.

    The quote is turned round, and not the statement: the opposite of a lie may be true.
    """
    makers: list[Callable[[], str]] = [
        lambda: other_number(statement, messages, chance),
        lambda: opposite(quote),
        lambda: other_person(statement, messages, people, chance),
    ]
    chance.shuffle(makers)
    # of any quote: denied, and in another's mouth
    makers.append(lambda: f"{'并非如此：' if has_han(quote) else 'It is not true that: '}{quote}")
    makers.append(lambda: attributed(quote, messages, chance))
    for make in makers:
        if (decoy := make()) and decoy != statement and fold(decoy) not in fold(messages):
            yield decoy


def other_number(statement: str, messages: str, chance: random.Random) -> str:
    """The statement with another number in place of one of its numbers; empty where it has none."""
    numbers = list(_NUMBER.finditer(statement))
    if not numbers:
        return ""
    match = chance.choice(numbers)
    there = amounts_in(messages) | set(_NUMBER.findall(messages)) | {number.group() for number in numbers}
    value = int(match.group()[:9])
    near = (str(value + step) for step in (2, 3, 5, 7, 11, 13) if str(value + step) not in there)
    other = next(near, "")
    return statement[: match.start()] + other + statement[match.end() :] if other else ""


def opposite(statement: str) -> str:
    """The statement denied, or without its denial; empty where no rule turns it round."""
    for pattern, turned in _TURNS:
        variant, count = pattern.subn(turned, statement, count=1)
        if count:
            return variant
    return ""


def other_person(statement: str, messages: str, people: Sequence[str], chance: random.Random) -> str:
    """The statement, made about somebody who was never mentioned; empty where it names nobody."""
    named_people = [name for name in sorted(people, key=len, reverse=True) if name and name in statement]
    user = re.search(r"^(?:The user|User|用户)", statement)
    if not (named_people or user):
        return ""
    old = user.group() if user else named_people[0]
    return statement.replace(old, _stranger(statement, messages, chance))


def attributed(quote: str, messages: str, chance: random.Random) -> str:
    """The words in the mouth of somebody who was never mentioned."""
    stranger = _stranger(quote, messages, chance)
    return f"{stranger}说：{quote}" if has_han(quote) else f"{stranger} said: {quote}"


def _stranger(words: str, messages: str, chance: random.Random) -> str:
    """A name that occurs in none of the messages."""
    names = _NAMES[has_han(words)]
    return chance.choice([name for name in names if fold(name) not in fold(messages + words)] or names)
