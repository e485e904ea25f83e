"""What people stated, by clauses; those that speak of one thing are one statement (D5)."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import pairwise

import rjieba

from memories.language.scripts import HAN
from memories.language.sentences import is_question, sentences
from memories.verification.parsing import Parse, Token, names_in, parse
from memories.verification.relative_dates import dates_of
from memories.verification.sentences import Sentence
from memories.verification.speakers import MARKS, OTHER, Speakers, expand_contractions, is_mark, is_person, latin_mark
from memories.verification.vocabulary import (
    COLLECTIVE,
    GONE,
    IMPLIED,
    LIGHT,
    NO_NAMES,
    SPLIT,
    THEIRS,
    TIMES,
    VERY_LIGHT,
)

#: What asks for something to be done says what is wanted.
REQUEST = re.compile(
    r"\b(?:please|(?:can|could|would|will) you|remind me|call (?:me|xq\w+)|remember|don't forget)\b|(?:^|[.;] )always\b"
    r"|请|請|麻烦|帮我|幫我|提醒我|叫我|以后都?|记得|能不能|可以帮",
    re.IGNORECASE,
)
_YES = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|right|exactly|correct|sure|ok|okay|indeed|true|of course|good|do that|please do)\b"
    r"|^\W*(?:是的?|对|對|嗯|没错|沒錯|好|可以|行|正确|当然|確定|确定|要的|需要)",
    re.IGNORECASE,
)
_ADVERBIAL = re.compile(r"(?:with|in|at|on|for|from|to|by|about|since|until|after|before)\b", re.IGNORECASE)
_PLURAL = re.compile(r"\b(?:we|our|ours|us)\b|我们|我們|咱", re.IGNORECASE)
_HOUR = re.compile(r"\b(?:at|by|until|till|from|to|around|since) ([01]?\d|2[0-4])\b(?![:.]\d)", re.IGNORECASE)
_NAMED = frozenset(["nr", "nrt", "nrfg", "ns", "nt"])
_WILL = re.compile(r"\b(?:will|shall)\b", re.IGNORECASE)
_SIGN = re.compile(r"(?<!\d),|,(?=\s)(?!\s\d{4}\b)|,(?=[^\d\s])|[;；。！？!?()（）—]|[:：](?!\d)|\.(?=\s|$)")


#: Before what is somebody's who speaks.
OWNED = "'s"


@dataclass(frozen=True)
class SourceMessage:
    """One message: who said it, as people call them, on which local day."""

    content: str
    speaker: str = ""
    on: date = date.min
    is_answer: bool = False
    is_dated: bool = False  # it is known to tell of that day


@dataclass(frozen=True)
class Clause:
    """What stands between two signs or joints, read; `subject` is whom it speaks of."""

    content: str
    reading: Parse
    is_joined: bool = False  # to the one before it by a word, and not by a sign
    is_future: bool = False

    @cached_property
    def parts(self) -> list[Token]:
        kept = ("word", "name", "amount", "careful")
        return [part for part in self.reading.parts if part.kind in kept and part.term not in LIGHT]

    @cached_property
    def terms(self) -> set[str]:
        """What tells something, whoever speaks."""
        found = {part.term for part in self.parts if part.kind != "careful" and not is_mark(part.term)}
        return found | {amount for amount in self.reading.amounts if not is_mark(amount)}

    @cached_property
    def subject(self) -> tuple[str, ...]:
        """The first that is spoken of; of whose it is, what is theirs, in one or two words."""
        parts = [part for part in self.reading.parts if part.kind in ("word", "name", "owner")]
        while parts and (parts[0].term in TIMES or parts[0].term in VERY_LIGHT):
            parts = parts[1:]
        if not parts:
            return ()
        if _ADVERBIAL.match(self.content):
            return next(((p.term,) for p, after in pairwise(parts) if is_mark(p.term) and after.kind != "owner"), ())
        if len(parts) > 2 and is_mark(parts[0].term) and parts[1].kind == "owner":
            return (OWNED, *(part.term for part in parts[2:4]))
        return (parts[0].term,)

    @cached_property
    def speaks_first_of(self) -> str:
        """The mark it begins with, else nothing."""
        return self.subject[0] if self.subject and is_mark(self.subject[0]) else ""

    @cached_property
    def owned(self) -> set[str]:
        """What is said to be somebody's who speaks."""
        parts = [part for part in self.reading.parts if part.term not in VERY_LIGHT]
        places = [n for n, part in enumerate(parts) if part.kind == "owner" and n and is_mark(parts[n - 1].term)]
        english = {part.term for n in places if parts[n].term == OWNED for part in parts[n + 1 : n + 4]}
        chinese = {char for owned in THEIRS.findall(self.content) for char in f"{owned}{rjieba.cut(owned)[0]}"[-2:]}
        return english | chinese

    @cached_property
    def deed(self) -> str:
        """What one who speaks does or is, where it speaks of nobody else: the first that says something of them."""
        if not is_person(self.speaks_first_of):
            return ""
        parts = self.reading.parts
        first = next(n for n, part in enumerate(parts) if part.term == self.speaks_first_of)
        words = (p.term for p in parts[first + 1 :] if p.kind == "word")
        return next((word for word in words if word not in LIGHT and word not in TIMES), "")

    @property
    def speaks_of_itself(self) -> bool:
        """Whether its subject is neither one who speaks nor theirs."""
        return bool(self.subject) and self.subject[0] != OWNED and not any(is_mark(p.term) for p in self.reading.parts)

    @property
    def head(self) -> str:
        """Its first word that tells, of whoever it does."""
        return next((p.term for p in self.parts if p.kind == "word" or (p.kind == "name" and not is_mark(p.term))), "")


@dataclass(frozen=True)
class Statement:
    """Clauses that speak of one thing: a sentence, and those after it that refer to it."""

    clauses: tuple[Clause, ...]
    on: frozenset[str] = frozenset()  # the dates its words mean
    speaker: str = ""
    is_request: bool = False
    asked: frozenset[str] = frozenset()  # words of the question it answers
    is_plural: bool = False  # «we»
    mark: str = ""  # of who says it

    @cached_property
    def implied(self) -> set[str]:
        hours = {f"{int(hour)}:00" for clause in self.clauses for hour in _HOUR.findall(clause.content)}
        return {amount for clause in self.clauses for amount in clause.reading.implied} | self.on | hours

    @cached_property
    def persons(self) -> set[str]:
        named = {part.term for clause in self.clauses for part in clause.reading.parts if is_person(part.term)}
        return named | {self.mark}

    @cached_property
    def terms(self) -> set[str]:
        found = {term for clause in self.clauses for term in clause.terms} | self.implied | self.asked
        more = {word for term in found for word in IMPLIED.get(term, ())}
        gone = any(GONE.search(clause.content) for clause in self.clauses)
        owns = any(clause.subject[:1] == (OWNED,) for clause in self.clauses)
        return (
            found | more | ({"have", "有"} if owns and not gone else set()) | (COLLECTIVE if self.is_plural else set())
        )


def clauses_of(content: str, names: Collection[str]) -> list[Clause]:
    """A text by its signs and joints, each part read."""
    found: list[Clause] = []
    for part in _SIGN.split(content):
        for n, said in enumerate(SPLIT.split(part)):
            if said.strip():
                plain = _WILL.sub("", said)
                found.append(Clause(said.strip(), parse_marked(plain, names), n > 0, plain != said))
    return found


def parse_marked(content: str, names: Collection[str]) -> Parse:
    read_so = parse(content, names)
    parts = tuple(replace(part, term=latin_mark(part.term)) for part in read_so.parts)
    return Parse(read_so.content, read_so.bare, parts)


@dataclass(frozen=True)
class Support:
    """A part of a text, what is before it, and the clauses of a sentence it would rest on, the nearest first."""

    part: Clause
    before: Clause | None
    resting: Sequence[Clause]
    statement: Statement
    is_summary: bool = False

    @property
    def persons(self) -> set[str]:
        """Who of those that speak is named."""
        return {part.term for part in self.part.reading.parts if is_person(part.term)}


def names_of(speakers: Speakers, contents: Sequence[str]) -> set[str]:
    """Names in all that is compared, and the marks."""
    found = {name for name in names_in(contents) - NO_NAMES if _is_name(name)}
    return {name for name in found if not any(name == person.casefold() for person in speakers.people)} | MARKS


def _is_name(name: str) -> bool:
    """The segmenter takes 过敏 for a name of something; a quoted word is one, as is a person, a place, a company."""
    if not re.fullmatch(f"[{HAN}]+", name):
        return True
    tags = rjieba.tag(name)
    return len(tags) != 1 or tags[0][1] in _NAMED


def statements_of(
    messages: Sequence[SourceMessage], speakers: Speakers, names: Collection[str], *, tells_all: bool = False
) -> list[Statement]:
    """What was stated, sentence by sentence, those that refer to the one before joined to it.

    An answer counts where the next to speak says yes to it, and for its words where it asked; `tells_all`: always.
    """
    found: list[Statement] = []
    asked: SourceMessage | None = None
    for one in messages:
        if one.is_answer:
            asked = one
            if tells_all:
                found += _units(one, speakers.named(expand_contractions(one.content)), names, all_of_it=True)
            continue
        if asked is not None and _YES.search(one.content):
            found += _units(
                one,
                speakers.second(expand_contractions(asked.content), one.speaker),
                names,
                all_of_it=True,
                at=asked.on,
            )
        words: frozenset[str] = frozenset()
        if asked is not None and any(is_question(said.strip()) for said in sentences(asked.content)):
            words = _words_of(speakers.second(expand_contractions(asked.content), one.speaker), names)
        own = _units(one, speakers.first(expand_contractions(one.content), one.speaker), names, all_of_it=tells_all)
        if words and own:
            own[0] = replace(own[0], asked=words)
        found += [replace(statement, mark=speakers.mark(one.speaker)) for statement in own]
        asked = None
    return _linked(found)


def _words_of(content: str, names: Collection[str]) -> frozenset[str]:
    return frozenset(part.term for clause in clauses_of(content, names) for part in clause.parts if _is_word(part))


def _is_word(part: Token) -> bool:
    """Of a question: what it names is only offered."""
    return part.kind == "word" or (part.kind == "name" and re.fullmatch(f"[{HAN}]{{2,}}", part.term) is not None)


def _units(
    one: SourceMessage, content: str, names: Collection[str], *, all_of_it: bool, at: date | None = None
) -> list[Statement]:
    found = []
    for said in sentences(content):
        sentence = Sentence(said.strip(), parse(said, names), one.is_answer)
        is_request = REQUEST.search(said) is not None
        if not said.strip() or not (all_of_it or sentence.states or is_request):
            continue
        day = at or one.on
        on = frozenset(dates_of(f"{said} {'today' if one.is_dated else ''}", day) if day != date.min else ())
        is_plural = _PLURAL.search(one.content) is not None
        found.append(Statement(tuple(clauses_of(said, names)), on, one.speaker, is_request, is_plural=is_plural))
    return found


def _linked(statements: Sequence[Statement]) -> list[Statement]:
    """With those that begin with he or it, or take up a word, joined to the one before."""
    found: list[Statement] = []
    for statement in statements:
        if found and statement.speaker == found[-1].speaker and _refers(statement, found[-1]):
            last = found[-1]
            found[-1] = replace(
                last,
                clauses=last.clauses + statement.clauses,
                on=last.on | statement.on,
                asked=last.asked | statement.asked,
                is_plural=last.is_plural or statement.is_plural,
            )
        else:
            found.append(statement)
    return found


def _refers(statement: Statement, before: Statement) -> bool:
    if any(part.term == OTHER for clause in statement.clauses[:1] for part in clause.reading.parts):
        return True
    own = {part.term for clause in statement.clauses for part in clause.parts if part.kind in ("word", "name")}
    theirs = {part.term for clause in before.clauses for part in clause.parts if part.kind in ("word", "name")}
    shared = {term for term in own & theirs if not is_mark(term)}
    return any(len(term) > 3 and term.isascii() for term in shared) or any(
        re.match(f"[{HAN}]{{2,}}", term) for term in shared
    )
