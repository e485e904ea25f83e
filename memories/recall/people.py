"""Whose words a memory is (A5), and whose stand before what they speak against (A7).

What a bot's model reads as «User» it takes for the words of whom it answers. So another's words carry that person's
name, or their id where there is no name.

A newer statement comes before the older one of its author that it corrects. Of what can hardly both be true a person's
own words come before what others, tools, pages and files say of them, and a user's before the bot's; so do their own
words that tell as much of what is asked about them, by words or by meaning. Decided among the candidates of a recall,
by rules: nothing is stored, and what is taken out of use corrects nothing.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from django.db.models import Q

from memories.choices import SESSION_EXPIRED, Echo, EntryType, Origin, ScopeKind, Source
from memories.language import names, quoting, text
from memories.language.compare import (
    contests,
    contests_answer,
    corrects,
    may_take_back,
    takes_back,
    takes_back_anywhere,
)
from memories.language.persons import in_first_person, in_third_person
from memories.language.quoting import ASSISTANT_LABEL, USER_LABEL, sides_of, spoken_parts, telling_sentences
from memories.language.text import spoken_sentences
from memories.language.word_lists import pattern, word_set
from memories.models import Entry, Scope
from memories.recall.query import ParsedQuery
from memories.recall.relevance import names_in, says

if TYPE_CHECKING:
    from memories.recall.ranking import Ranked

READ_TEXTS = 2_048  # whose words a process keeps: those of one memory are read question after question

ASKER = "User"
SOMEBODY = "Somebody"
#: What another's words count for where somebody asks about themselves: one's own come first if they match at all.
OTHERS_FACTOR = 0.25


class HasSender(Protocol):
    """Whatever has an author: an entry, or a line of the profile."""

    @property
    def sender_id(self) -> str: ...

    @property
    def speaker(self) -> str: ...


class Authorship(StrEnum):
    """Whose words something is, seen from the one who asks."""

    OWN = "own"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Sender:
    """The author of something; empty where nobody knows."""

    id: str = ""
    name: str = ""
    authorship: Authorship = Authorship.UNKNOWN
    in_chat: bool = False  # written where several people speak
    is_shared: bool = False  # somebody else here goes by the same name

    @property
    def may_be_asker(self) -> bool:
        """Whether these may be the asker's own words: in a person's memory, unless something speaks against it."""
        return self.authorship == Authorship.OWN or (self.authorship == Authorship.UNKNOWN and not self.in_chat)

    @property
    def safe_name(self) -> str | None:
        """The name as clients are told it; None where there is none, or it would pass for a part of a prompt."""
        return quoting.safe_name(self.name)

    @property
    def label(self) -> str:
        """The author as a model reads it; empty where it needs none."""
        if self.authorship == Authorship.OWN:
            return ASKER
        name, own_id = quoting.as_name(self.name), quoting.label_of(self.id)
        if name and own_id and self.is_shared:
            return f"{name} ({own_id})"
        return name or own_id


def sender_of(item: HasSender, scope: Scope, asker: str) -> Sender:
    """The author of a memory of this scope."""
    sender, speaker = item.sender_id, item.speaker
    if not sender and speaker in scope.sender_names:  # a fact of somebody whose name nobody knew then
        sender = speaker
    own = speaker if speaker != sender else ""
    latest = scope.sender_names.get(sender) or own or name_in(scope, sender)
    return _sender(sender, latest, scope, asker, name_then=own)


def sender_with_id(sender: str, scope: Scope, asker: str, *, name_then: str = "") -> Sender:
    """Who goes by this id in the conversations of a scope; `name_then` is the name a message of theirs came with."""
    return _sender(sender, name_in(scope, sender), scope, asker, name_then=name_then)


def name_in(scope: Scope, sender: str) -> str:
    """What people call a sender: the latest name that came with their messages, else one they gave themselves."""
    if not sender:
        return ""
    if name := scope.sender_names.get(sender):
        return str(name)
    own = names.UNNAMED + sender
    aliases = (alias for alias, who in scope.nicknames.items() if who == own)
    shortest = min(aliases, key=lambda alias: (len(alias), alias), default="")
    return shortest.title() if shortest.isascii() else shortest


def _sender(sender: str, name: str, scope: Scope, asker: str, *, name_then: str = "") -> Sender:
    """Whose words they are goes by the latest `name` of a sender; the label is `name_then`, the one they had then.

    In a chat several people speak: without a sender it is nobody's in particular. A person's memory is that person's,
    by whichever id they write, unless two names speak in it: so it is where a conversation of several was imported into
    one scope, and where one bot has one memory for all.
    """
    name = name or name_then
    in_chat = scope.kind == ScopeKind.CHAT
    is_own: bool | None
    if in_chat and sender:
        is_own = sender == asker
    elif in_chat:
        is_own = names.fold(name) in {names.fold(asker), names.fold(name_in(scope, asker))} - {""} if name else None
    elif not name or (sender and sender == asker):
        is_own = True
    elif own_name := names.fold(name_in(scope, asker)):
        is_own = names.fold(name) == own_name
    else:
        is_own = None if not sender and len(scope.speakers) > 1 else True
    authorship = Authorship.UNKNOWN if is_own is None else Authorship.OWN if is_own else Authorship.OTHER

    label = name_then or name
    alike = quoting.skeleton(label)
    others = (
        other
        for other, theirs in scope.sender_names.items()
        if other != sender and alike in (quoting.skeleton(theirs), quoting.skeleton(other))
    )
    return Sender(sender, label, authorship, in_chat, is_shared=bool(alike) and any(True for _ in others))


_OF_THEMSELVES = (Origin.SELF, Origin.MEMBER)
_BOTS = word_set("features", "bots")
_THE_USER = ("user", "用户")  # whoever a person's memory is of, in the words of tools and of models


def statement_of(entry: Entry) -> str:
    """The words of an entry; of a turn what the user tells."""
    sides = sides_of(entry.content)
    return "\n".join(telling_sentences(sides[0])) if sides else entry.content


def is_bots(entry: Entry) -> bool:
    return entry.speaker.casefold() in _BOTS


def has_words_of_others(items: Sequence["Ranked"]) -> bool:
    """Whether any of these are not the words of the one who asks."""
    return any(not item.sender.may_be_asker for item in items)


def is_of_themselves(item: "Ranked") -> bool:
    """Whether these are words in which a person tells something: not those of a tool, a page, a file or the bot."""
    return item.entry.origin in _OF_THEMSELVES and not is_bots(item.entry) and bool(statement_of(item.entry))


def own_words_and_claims(items: Sequence["Ranked"], parsed: ParsedQuery) -> tuple[list["Ranked"], list["Ranked"]]:
    """What whoever is asked about says, and what others, tools, pages and files say of them by name."""
    in_scopes = {scope for scope, _speaker in parsed.words.named}
    own: list[Ranked] = []
    others: list[Ranked] = []
    for item in items if in_scopes or parsed.about_asker else ():
        is_unnamed = item.entry.scope_id in in_scopes and not (item.sender.in_chat or item.sender.name)
        is_asked = item.sender.may_be_asker if parsed.about_asker else item.candidate.named or is_unnamed
        (own if is_asked and is_of_themselves(item) else others).append(item)
    forms = {*parsed.words.name_forms, *(names.fold(item.sender.name) for item in own)} - {""}
    own = [item for item in own if not _tells_of_another(statement_of(item.entry), forms)]
    return own, [item for item in others if own and says_name_of(item, forms)]


def _tells_of_another(statement: str, forms: Collection[str]) -> bool:
    """Whether words of somebody with these names speak of another by name, and not of themselves."""
    others = names_in(statement) - set(forms)
    return bool(others) and not (_ENGLISH.search(statement) or _CHINESE.search(statement))


def says_name_of(item: "Ranked", forms: Collection[str]) -> bool:
    """Whether a memory says one of these folded names; in a person's memory they may be «the user»."""
    folded = names.fold("\n".join(sides_of(item.entry.content) or (item.entry.content,)))
    all_forms = (*forms, *(_THE_USER if item.scope_kind == ScopeKind.USER else ()))
    return any(says(folded, name) for name in all_forms)


LOOK_CHARS = 2_000  # of a long message its end, where people ask

_ENGLISH = re.compile(r"\b(?:i|me|my|mine|myself|i['’](?:m|ve|d|ll)|im|ive)\b", re.IGNORECASE)
#: 我们 and 咱们 are more than the one who asks, and so is who speaks for a company or a country.
_CHINESE = re.compile(r"(?:我|俺|咱|吾|本人|人家|自己)(?![们們国國司党黨军軍厂廠方])")
_ENGLISH_FRAMES = pattern("self_questions", "english_frames", re.IGNORECASE)
_ENGLISH_ANYBODY = pattern("self_questions", "english_anybody", re.IGNORECASE)
_CHINESE_FRAMES = pattern("self_questions", "chinese_frames")
_CHINESE_ANYBODY = pattern("self_questions", "chinese_anybody")


def is_about_asker(message: str, speakers: Sequence[tuple[int, str]], scopes: Sequence[Scope], asker: str) -> bool:
    """Whether a message asks about whom it comes from, and names nobody else of the speakers (scope and name)."""
    if not asks_about_asker(message):
        return False
    own = {names.fold(name) for scope in scopes for name in (asker, name_in(scope, asker)) if name}
    return all(names.fold(speaker) in own for _scope, speaker in speakers)


def asks_about_asker(message: str) -> bool:
    """Whether the one who asks is asked about, in English or Chinese, simplified or traditional."""
    rest = names.simplify(message.strip()[-LOOK_CHARS:])
    for other_use in (_ENGLISH_FRAMES, _ENGLISH_ANYBODY, _CHINESE_FRAMES, _CHINESE_ANYBODY):
        rest = other_use.sub(" ", rest)
    return bool(_ENGLISH.search(rest) or _CHINESE.search(rest))


class Attributable(Protocol):
    """Words of somebody, or of several in turn: an entry, a part of one, a line of the profile."""

    @property
    def content(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def subtype(self) -> str: ...

    @property
    def source(self) -> str: ...


class Passage(NamedTuple):
    """The part of an entry that answers."""

    content: str
    type: str
    subtype: str
    source: str


def attributed(entry: Attributable, sender: Sender) -> str:
    """A text on one line, under the name of its author wherever it could be taken for somebody else's.

    Only what the platform wrote down of a conversation has more speakers than one: a turn, or the last turns of one.
    """
    parts: list[tuple[str, str]] = []
    if entry.type == EntryType.CHAT_TURN or entry.source == Source.CONVERSATION_CAPTURE:
        parts = spoken_parts(entry.content)
    elif entry.subtype == SESSION_EXPIRED:
        parts = spoken_parts(entry.content, names=True)
    if parts:
        speaker = sender.label or unnamed(sender)
        labels = {USER_LABEL: speaker, ASSISTANT_LABEL: ASSISTANT_LABEL}
        sides = ((labels.get(label) or quoting.label_of(label), quoting.as_item(words)) for label, words in parts)
        return quoting.BETWEEN_SPEAKERS.join(f"{label}: {words}" for label, words in sides)
    is_plain = not sender.label or (sender.authorship == Authorship.OWN and not sender.in_chat)
    if is_plain:
        return quoting.as_item(entry.content)
    return f"{sender.label}: {quoting.as_item(entry.content.removeprefix(f'{sender.label}:').lstrip())}"


def unnamed(sender: Sender) -> str:
    return SOMEBODY if sender.in_chat else ASKER


# -- what stands before what it speaks against: a correction, a person's own word, a user's word

BEST = 8  # candidates that are compared with each other
HEARD = 24  # and those whose author may know better than one of them
SHARE_OF_ANOTHERS = 0.2  # of what another's words have of a question, that a person's own words are to have
_PEOPLES = (Origin.OPERATOR, Origin.SELF, Origin.OTHER, Origin.MEMBER)  # who may correct what a person says
LIKELY = 0.4  # or the relevance they have where nobody speaks of that person
MOMENT = timedelta(minutes=10)  # within which «no, I meant Tuesday» takes back the message before


def prefer_corrections(ranked: Sequence["Ranked"], parsed: ParsedQuery) -> list["Ranked"]:
    """The candidates, best first, what knows better before what it speaks against; what was corrected is marked.

    What knows better, a correction or a person's own words, is served with what it knows better than.
    """
    order = list(ranked)
    eligible = [item for item in order if item.reason not in ("floor", "duplicate")]
    corrections = list(_corrections(eligible))
    for newer, older in corrections:
        older.superseded_by = newer.entry.uid
        newer.knows_better_than.append(older)
    own, claims = own_words_and_claims(eligible[:HEARD], parsed)
    outdone = [
        (mine, claim)
        for claim in claims
        if claim in eligible[:BEST]
        for mine in own
        if _bears_on_it(mine, claim, parsed)
    ]
    for _mine, claim in outdone:
        claim.is_outdone = True
    better_sources = [*outdone, *_better_sources(eligible)]
    for better, worse in better_sources:
        if is_of_themselves(better):
            better.knows_better_than.append(worse)
    for better, worse in [*corrections, *better_sources]:
        if order.index(worse) < order.index(better):
            order.remove(better)
            order.insert(order.index(worse), better)
    for place, item in enumerate(order):
        item.place = place
    return order


def mark_replaced(ranked: Sequence["Ranked"]) -> None:
    """Mark what was replaced with the memory that took its place, as what was corrected is marked."""
    replaced = [(item, item.entry.superseded_by_id) for item in ranked if item.entry.superseded_by_id]
    if replaced:
        (workspace,) = {item.entry.scope.workspace_id for item, _successor in replaced}
        pks = [successor for _item, successor in replaced]
        successors = Entry.objects.filter(workspace_id=workspace, pk__in=pks)
        by_pk = dict(successors.values_list("pk", "uid"))
        for item, successor in replaced:
            item.superseded_by = by_pk.get(successor)


def _corrections(eligible: Sequence["Ranked"]) -> Iterator[tuple["Ranked", "Ranked"]]:
    """Which candidate corrects which, the oldest correction first, so that what was corrected twice comes last."""
    best = {item.entry.pk: item for item in eligible[:BEST]}
    texts = {pk: statement_of(item.entry) for pk, item in best.items()}
    for newer in sorted(eligible, key=lambda item: _time(item.entry)):
        entry = newer.entry
        # what it would take back, had nothing else come between: nearly always nothing
        taken_back = {}
        place = entry.scope_id, entry.session_id, entry.chat_id
        if entry.session_id and _begins_so(entry.content) and may_take_back(statement := statement_of(entry)):
            for pk, other in best.items():
                is_just_before = (
                    other.entry is not entry
                    and entry.stated_at - MOMENT <= other.entry.stated_at <= entry.stated_at
                    and (other.entry.scope_id, other.entry.session_id, other.entry.chat_id) == place
                    and _is_by_the_same_person(newer, other)
                )
                if is_just_before and takes_back(statement, texts[pk] or "\n".join(_answers(other.entry))):
                    taken_back[pk] = other
        if taken_back and (before := _entry_before(entry)) in taken_back:
            yield newer, taken_back[before]
        if statement := texts.get(entry.pk, ""):
            for pk, older in best.items():
                is_before = _is_older(older.entry, entry) and _is_same_author(newer, older)
                is_a_persons = entry.origin in _PEOPLES or not is_of_themselves(older)
                if is_before and is_a_persons and corrects(statement, texts[pk]):
                    yield newer, older


def _better_sources(eligible: Sequence["Ranked"]) -> Iterator[tuple["Ranked", "Ranked"]]:
    """Who knows better than whom: people of themselves than others do, and people than the bot."""
    heard = [
        (item, statement)
        for item in eligible[:HEARD]
        if (statement := statement_of(item.entry)) and not is_bots(item.entry)
    ]
    for item in eligible[:BEST]:
        near = [(other, statement) for other, statement in heard if other.entry.scope_id == item.entry.scope_id]
        if answers := _answers(item.entry):
            sides = sides_of(item.entry.content)
            for other, statement in near:
                if any(contests_answer(answer, sides[0] if sides else "", statement) for answer in answers):
                    if _is_older(item.entry, other.entry) and _is_by_the_same_person(item, other):
                        item.superseded_by = other.entry.uid
                    yield other, item
        elif claim := statement_of(item.entry):
            for other, statement in near:
                # somebody tells of the author of another statement, by name
                is_theirs = item.sender.id == other.sender.id and is_of_themselves(item)
                name = "" if is_theirs else other.sender.name
                is_named = name and names.fold(name) in names.fold(claim)
                if is_named and contests(in_third_person(statement, name), claim):
                    yield other, item


def _bears_on_it(own: "Ranked", claim: "Ranked", parsed: ParsedQuery) -> bool:
    """Whether a person's own words answer by themselves, or hold a good part of what a claim has of the question."""
    of_name = {*text.terms(own.sender.name), *parsed.words.name_terms}
    ours, theirs = (
        sum(parsed.words.idf.get(term, 0.0) for term in set(text.terms(words)) - of_name)
        for words in (statement_of(own.entry), statement_of(claim.entry) or claim.entry.content)
    )
    return (own.relevance or 0.0) >= LIKELY or (ours > 0 and ours >= SHARE_OF_ANOTHERS * theirs)


def _answers(entry: Entry) -> tuple[str, ...]:
    """What the bot alone tells in an entry, as the person would say it whom it told: nothing of a turn that tells
    something itself.
    """
    if is_bots(entry):
        return _as_the_user_would(entry.content)
    sides = sides_of(entry.content)
    return _as_the_user_would(sides[1]) if sides and not telling_sentences(sides[0]) else ()


@lru_cache(maxsize=READ_TEXTS)
def _as_the_user_would(content: str) -> tuple[str, ...]:
    return tuple(in_first_person(sentence) for sentence in spoken_sentences(content) if sentence)


@lru_cache(maxsize=READ_TEXTS)
def _begins_so(content: str) -> bool:
    sides = sides_of(content)
    return takes_back_anywhere(sides[0] if sides else content)


def _entry_before(entry: Entry) -> int | None:
    """The entry just before it in its conversation, within a moment; echoes aside."""
    beside = Entry.objects.live().filter(
        scope_id=entry.scope_id,
        session_id=entry.session_id,
        chat_id=entry.chat_id,
        stated_at__gte=entry.stated_at - MOMENT,
    )
    before = beside.filter(Q(stated_at=entry.stated_at, pk__lt=entry.pk) | Q(stated_at__lt=entry.stated_at))
    return before.exclude(echo=Echo.TURN).order_by("-stated_at", "-pk").values_list("pk", flat=True).first()


def _is_same_author(one: "Ranked", other: "Ranked") -> bool:
    """In a person's memory what nobody is named for is that person's; in a chat it may be anybody's.

    Two may speak from one address.
    """
    speakers = {item.entry.speaker for item in (one, other)} - {""}
    if len(speakers) > 1:
        return False
    ours, theirs = (item.entry.sender_id or item.entry.speaker for item in (one, other))
    is_unnamed = one.scope_kind == ScopeKind.USER and not (ours and theirs)
    return one.entry.scope_id == other.entry.scope_id and (ours == theirs or is_unnamed)


def _is_by_the_same_person(one: "Ranked", other: "Ranked") -> bool:
    """Whether it is sure that both are of one person; in a chat an entry without a name may be anybody's."""
    is_named = bool(one.entry.sender_id or one.entry.speaker)
    return _is_same_author(one, other) and (is_named or one.scope_kind == ScopeKind.USER)


def _time(entry: Entry) -> tuple[datetime, str, int, int]:
    """The order in which entries were stated; of a file, of one time, the order of its lines."""
    return entry.stated_at, entry.path, entry.line_from or 0, entry.pk


def _is_older(one: Entry, other: Entry) -> bool:
    """Of lines of two files with one time neither is older, whichever was indexed first."""
    is_undecided = one.stated_at == other.stated_at and one.path != other.path
    return not is_undecided and _time(one) < _time(other)
