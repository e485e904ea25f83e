"""What a recall answers with: whether it is enough (answerability), and the lines for the model's context (C3).

The verdict is one sum of a few signs, each measured on answerable and unrelated questions of ten sets in two languages;
a regression on more of them was no better on sets it had not seen. Whether a text on the right subject holds the answer
it cannot tell: that takes reading.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import tzinfo
from functools import lru_cache
from typing import NamedTuple, Protocol

from memories.choices import SESSION_EXPIRED, Echo, EntryType, Source
from memories.conf import conf
from memories.language import quoting, text
from memories.language.sentences import spoken_sentences
from memories.language.turns import (
    ASSISTANT_LABEL,
    USER_LABEL,
    asks_something,
    sides_of,
    spoken_parts,
    telling_sentences,
)
from memories.recall.answers.quotations import with_words
from memories.recall.question.query import ParsedQuery
from memories.recall.question.speakers import ASKER, SOMEBODY, Authorship, Sender
from memories.recall.ranking.scoring import Ranked, has_words_of_others
from memories.recall.retrieval.retrievers import RecalledEvent

#: How much better somebody else's words may match before it counts no more.
OTHERS_MOST = 0.15
#: Entries with which a scope knows itself as well as the model's own questions know it.
YOUNG = 45
#: What the lead of the named speaker counts for, the lead that says neither yes nor no, and the most that counts;
#: fitted on LoCoMo dev, so that as many answerable questions are called found as without it.
LEAD, LEAD_NEUTRAL, LEAD_MOST = 4.0, 0.186, 0.4
#: The contrast that is as good as a strength of STRENGTH_FOUND, what words add to it, and how strength rises with it;
#: fitted on one half of benchmarks/answerable.txt.
CONTRAST_FOUND, CONTRAST_OF_WORDS, CONTRAST_SCALE = 0.037, 0.02, 9.0
STRENGTH_FOUND = 0.60
FOUND, WEAK, NONE = "found", "weak", "none"
CORRECTED = " (corrected since, see above)"  # behind a line whose correction stands before it
SAME_QUESTION = 0.75  # share of what a turn tells that stands in the question
BEST = 3  # memories whose own words are looked at
#: Of the words alone, where there are no vectors: less than this share is none, less than that weak.
WORDS_WEAK, WORDS_FOUND = 0.15, 0.40
#: The share of the question's words one event has to hold to be enough to answer with.
EVENT_WORDS_FOUND = 0.75


@dataclass(frozen=True)
class Answerability:
    """A verdict and the signs it was drawn from."""

    verdict: str = NONE
    strength: float | None = None
    similarity: float | None = None  # of the nearest candidate
    words: float = 0.0  # largest share of the question in one memory's own words
    speaker: bool = False  # somebody is named who speaks here
    lead: float | None = None  # of the named speaker's best over the others', where one of several is named
    others: float = 0.0  # how much more of the question's words somebody said who is not the one it names
    date: bool = False  # days are named on which something was said
    entries: int = 0  # in the scopes: among many the best is near by chance
    contrast: float | None = None  # how much nearer the nearest is to this question than to the questions people ask
    about_asker: bool = False  # the one who asks is asked about, and others have spoken here

    def as_json(self) -> dict[str, object]:
        """As a trace keeps it, numbers to four digits."""
        return {name: round(value, 4) if type(value) is float else value for name, value in asdict(self).items()}


def assess(ranked: Sequence[Ranked], known: Sequence[Ranked], parsed: ParsedQuery, entries: int) -> Answerability:
    """The verdict on what is known, from all that was looked at.

    Where somebody asks about themselves among others, their own words alone are enough (A5). A turn that was not
    answered is no evidence where it tells only what the question says as well.
    """
    ranked, known = ([item for item in items if not _repeats_the_question(item, parsed)] for items in (ranked, known))
    if not (parsed.about_asker and has_words_of_others(ranked)):
        return assess_all(ranked, known, parsed, entries)
    own = assess_all(_of_asker(ranked), _of_asker(known), parsed, entries)
    if own.verdict != FOUND:
        own = assess_all(ranked, known, parsed, entries)
        own = replace(own, verdict=_worse(own.verdict, WEAK))
    return replace(own, about_asker=True)


def assess_all(ranked: Sequence[Ranked], known: Sequence[Ranked], parsed: ParsedQuery, entries: int) -> Answerability:
    """The verdict whoever said it; nothing known is no evidence."""
    if not known:
        return Answerability(entries=entries)
    words = parsed.words
    near = [item.similarity for item in ranked if item.similarity is not None]
    contrasts = [item.contrast for item in ranked if item.contrast is not None]
    signs = Answerability(
        contrast=max(contrasts, default=None),
        similarity=max(near, default=None),
        words=max(words.coverage(_terms_of(item.entry.content)) for item in known[:BEST]),
        speaker=bool(words.named),
        lead=_lead_of_named(ranked) if parsed.features else None,
        others=_said_by_others(ranked) if words.named and not parsed.features else 0.0,
        date=any(item.candidate.date >= 1 for item in ranked),
        entries=entries,
    )
    strength = strength_of(signs)
    verdict = _verdict(signs, strength)
    if any(item.similarity is None for item in known[:BEST]):
        verdict = _better(verdict, _graded(signs.words, WORDS_WEAK, WORDS_FOUND))
    return replace(signs, verdict=verdict, strength=strength)


def assess_newest(served: Sequence[Ranked], parsed: ParsedQuery, entries: int) -> Answerability:
    """The verdict where the newest of what is known answers: of one's own, where somebody asks about themselves."""
    own = [item for item in served if item.sender.may_be_asker or not parsed.about_asker]
    return Answerability(FOUND if own else WEAK if served else NONE, entries=entries, about_asker=parsed.about_asker)


def assess_events(
    assessed: Answerability, events: Sequence[RecalledEvent], *, names_days: bool = False, about_asker: bool = False
) -> Answerability:
    """The verdict when events of the past are looked at as well.

    A worse one only where the question names days on which nothing was said, and no memory has its words either. Of one
    who asks about themselves their own words alone are enough (A5).
    """
    if names_days and not events and not assessed.date and assessed.words < WORDS_FOUND:
        return replace(assessed, verdict=_worse(assessed.verdict, WEAK))
    best = max((event.covered for event in events), default=0.0)
    verdict = FOUND if best >= EVENT_WORDS_FOUND else WEAK if best else NONE
    own = max((event.covered for event in events if event.sender.may_be_asker), default=0.0)
    if about_asker and own < EVENT_WORDS_FOUND:
        verdict = _worse(verdict, WEAK)
    return replace(assessed, verdict=_better(assessed.verdict, verdict))


def strength_of(signs: Answerability) -> float | None:
    """The sum of the signs; None without a similarity.

    Similarity is measured against what else a scope holds. While that is little, contrast counts in its place.
    """
    if signs.similarity is None:
        return None
    near = signs.similarity + 0.2 * signs.words - 0.04 * math.log(max(signs.entries, 20) / 100)
    if signs.contrast is not None:
        alone = (signs.contrast + CONTRAST_OF_WORDS * signs.words - CONTRAST_FOUND) * CONTRAST_SCALE
        youth = youth_of(signs.entries)
        near = youth * (STRENGTH_FOUND + alone) + (1 - youth) * near
    lead = 0.0 if signs.lead is None else LEAD * (min(max(signs.lead, -LEAD_MOST), LEAD_MOST) - LEAD_NEUTRAL)
    return near + 0.1 * signs.speaker + 0.15 * signs.date - 3 * signs.others + lead


def _verdict(signs: Answerability, strength: float | None) -> str:
    """By the strength; what another said of it is a weak answer, not none."""
    if strength is None:
        return NONE
    verdict = _graded(strength, conf.EVIDENCE_WEAK, conf.EVIDENCE_FOUND)
    whoever = strength_of(replace(signs, lead=None)) if verdict == NONE and signs.lead is not None else None
    return WEAK if whoever is not None and whoever >= conf.EVIDENCE_WEAK else verdict


def youth_of(entries: int) -> float:
    """How much of a verdict rests on the model's own questions: all with few entries, half with YOUNG, then none."""
    return 1 / (1 + (entries / YOUNG) ** 4)


def is_noise(signs: Answerability) -> bool:
    """Whether what was found in a young scope speaks of something else: neither its meaning nor its words answer."""
    is_young = signs.contrast is not None and signs.entries < YOUNG
    return is_young and signs.verdict == NONE and not signs.date and signs.words < WORDS_FOUND


def at_least_weak(assessed: Answerability) -> Answerability:
    """The verdict where a secret of the kind that is asked for is served, whatever words it was told in."""
    return replace(assessed, verdict=_better(assessed.verdict, WEAK))


def _repeats_the_question(item: Ranked, parsed: ParsedQuery) -> bool:
    """Whether it is a question that was not answered, and what it tells stands in this question as well."""
    sides = sides_of(item.entry.content) if item.entry.echo == Echo.ANSWER else None
    if sides is None:
        return False
    asks, told = _read_question(sides[0])
    return asks and len(told & parsed.words.idf.keys()) >= SAME_QUESTION * len(told)


@lru_cache(maxsize=2_048)
def _read_question(said: str) -> tuple[bool, frozenset[int]]:
    """Whether a message asks anything, and the terms of what it tells; a question may tell something itself."""
    telling = telling_sentences(said)
    asks = any(text.terms(one) for one in spoken_sentences(said) if one not in telling or asks_something(one))
    return asks, frozenset(text.terms("\n".join(telling)))


@lru_cache(maxsize=2_048)
def _terms_of(content: str) -> Counter[int]:
    return text.terms(content)


def _of_asker(items: Sequence[Ranked]) -> list[Ranked]:
    return [item for item in items if item.sender.may_be_asker]


def _lead_of_named(ranked: Sequence[Ranked]) -> float:
    """How much better the best BEST of the named speakers score than the best of everybody else, on average."""
    sides = ([item.score for item in ranked if item.candidate.named is named][:BEST] for named in (True, False))
    named, others = (sum(scores) / len(scores) if scores else 0.0 for scores in sides)
    return named - others


def _said_by_others(ranked: Sequence[Ranked]) -> float:
    """«What did Ann say of the piano?», when it was Bob who spoke of one: his words match better than any of hers."""
    theirs = [item.candidate.keyword for item in ranked if item.candidate.named]
    others = [item.candidate.keyword for item in ranked if not item.candidate.named]
    if not theirs or not others:
        return 0.0
    return min(max(max(others) - max(theirs), 0.0), OTHERS_MOST)


def _graded(value: float, weak: float, found: float) -> str:
    return NONE if value < weak else WEAK if value < found else FOUND


def _worse(one: str, other: str) -> str:
    """The verdict of two that claims less."""
    return max(one, other, key=[FOUND, WEAK, NONE].index)


def _better(one: str, other: str) -> str:
    return min(one, other, key=[FOUND, WEAK, NONE].index)


# -- the context


def context_text(served: Sequence[Ranked], *, budget: int, zone: tzinfo, language: str = "en") -> tuple[str, int]:
    """The served memories as lines with their dates, best first, and the tokens they take; never over budget.

    Above them stands that people said them. A memory that does not fit whole is left out, and so is all after it: half
    a memory misleads.
    """
    notice = quoting.notice_in(language, budget)
    lines, used = fit([notice, *(memory_line(item, zone, language) for item in served)], budget)
    if len(lines) < 2:
        return "", 0
    for item in served[: len(lines) - 1]:
        item.in_context = True
    return "\n".join(lines), used


def events_text(events: Sequence[RecalledEvent], *, budget: int, zone: tzinfo, notice: str = "") -> tuple[str, int]:
    """What was said, as lines in the order it was said, and the tokens they take; the best that fit.

    Above them a `notice`, where none stands above them yet.
    """
    room = budget - (text.count_tokens(notice) + 1 if notice else 0)
    lines = {event.path: event_line(event, zone) for event in events}
    fitting, used = fit(list(lines.values()), room)
    if not fitting:
        return "", 0
    in_order = sorted(events[: len(fitting)], key=lambda event: (event.at, event.path))
    return "\n".join(filter(None, [notice, *(lines[event.path] for event in in_order)])), used + budget - room


def fit(lines: Sequence[str], budget: int) -> tuple[list[str], int]:
    """As many of these lines, from the first on, as the budget has room for, and the tokens they take."""
    used = 0
    for count, line in enumerate(lines):
        tokens = text.count_tokens(line) + 1
        if used + tokens > budget:
            return list(lines[:count]), used
        used += tokens
    return list(lines), used


def memory_line(item: Ranked, zone: tzinfo, language: str) -> str:
    """A memory as a model reads it, with who said it; one's own words need no other name than «User».

    What a model stated and none has verified stands with the words it rests on, and a line of a file with its headings
    and its place.
    """
    entry, at = item.entry, item.entry.created_at.astimezone(zone)
    said = attributed(entry, item.sender)
    words = with_words(said, entry.verification, item.evidence, language=language, zone=zone, year=at.year)
    day = f"[{at:%Y-%m-%d}] " if entry.written_at else ""
    heading = heading_of(entry.heading) if entry.heading != f"{at:%Y-%m-%d}" else ""
    place = f" [{entry.path}:{entry.line_from}]" if entry.path else ""
    return f"- {day}{heading}{words}{CORRECTED if item.superseded_by else ''}{place}"


def heading_of(heading: str) -> str:
    """The headings a line stands under, in front of it."""
    bare = quoting.within(heading, "()[]")
    return f"({bare}) " if bare else ""


def event_line(event: RecalledEvent, zone: tzinfo) -> str:
    """A message as a model reads it, with the path that proves it; the bot and summaries go by their role."""
    is_user = event.role == "user"
    speaker = (event.sender.label or _unnamed(event.sender)) if is_user else event.role.capitalize()
    at = f"{event.at.astimezone(zone):%Y-%m-%d %H:%M}"
    return f"- [{at}] {speaker}: {quoting.as_item(event.content)} [{event.path}]"


class Attributable(Protocol):
    """What somebody said or wrote, or several did in turn: an entry, a part of one, a line of the profile."""

    @property
    def content(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def subtype(self) -> str: ...

    @property
    def source(self) -> str: ...


class Said(NamedTuple):
    """The part of an entry that answers."""

    content: str
    type: str
    subtype: str
    source: str


def attributed(entry: Attributable, sender: Sender) -> str:
    """A text on one line, under the name of who said it wherever it could be taken for somebody else's.

    Only what the platform wrote down of a conversation has more speakers than one.
    """
    if parts := _parts_of(entry):
        speaker = sender.label or _unnamed(sender)
        called = {USER_LABEL: speaker, ASSISTANT_LABEL: ASSISTANT_LABEL}
        sides = ((called.get(label) or quoting.label_of(label), quoting.as_item(words)) for label, words in parts)
        return quoting.BETWEEN_SPEAKERS.join(f"{label}: {words}" for label, words in sides)
    is_plain = not sender.label or (sender.authorship == Authorship.OWN and not sender.in_chat)
    if is_plain:
        return quoting.as_item(entry.content)
    return f"{sender.label}: {quoting.as_item(entry.content.removeprefix(f'{sender.label}:').lstrip())}"


def _parts_of(entry: Attributable) -> list[tuple[str, str]]:
    """Who says what in a turn, or in the last turns of a conversation; of any other memory nothing."""
    if entry.type == EntryType.CHAT_TURN or entry.source == Source.CONVERSATION_CAPTURE:
        return spoken_parts(entry.content)
    if entry.subtype != SESSION_EXPIRED:
        return []
    return spoken_parts(entry.content, names=True)


def _unnamed(sender: Sender) -> str:
    return SOMEBODY if sender.in_chat else ASKER
