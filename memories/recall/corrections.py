"""What stands before what it speaks against: a correction, a person's own word, a user's word (A7).

A newer statement comes before the older one of its author that it corrects. Of what can hardly both be true a person's
own words come before what others, tools, pages and files say of them, and a user's before the bot's; so do their own
words that tell as much of what is asked about them, by words or by meaning. Decided among the candidates of a recall,
by rules: nothing is stored, and what is taken out of use corrects nothing.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from django.db.models import Q

from memories.choices import Echo, Origin, ScopeKind
from memories.language import names, text
from memories.language.compare import (
    contests,
    contests_answer,
    corrects,
    may_take_back,
    takes_back,
    takes_back_anywhere,
)
from memories.language.persons import in_first_person, in_third_person
from memories.language.quoting import sides_of, telling_sentences
from memories.language.text import spoken_sentences
from memories.models import Entry
from memories.recall.people import is_bots, is_of_themselves, own_words_and_claims, statement_of
from memories.recall.query import ParsedQuery
from memories.recall.ranking import READ_TEXTS, Ranked, best_first

BEST = 8  # candidates that are compared with each other
HEARD = 24  # and those whose author may know better than one of them
SHARE_OF_ANOTHERS = 0.2  # of what another's words have of a question, that a person's own words are to have
_PEOPLES = (Origin.OPERATOR, Origin.SELF, Origin.OTHER, Origin.MEMBER)  # who may correct what a person says
LIKELY = 0.4  # or the relevance they have where nobody speaks of that person
MOMENT = timedelta(minutes=10)  # within which «no, I meant Tuesday» takes back the message before


def prefer_corrections(ranked: Sequence[Ranked], parsed: ParsedQuery) -> list[Ranked]:
    """The candidates, best first, what knows better before what it speaks against; what was corrected is marked.

    What knows better, a correction or a person's own words, is served with what it knows better than.
    """
    order = best_first(ranked)
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


def mark_replaced(ranked: Sequence[Ranked]) -> None:
    """Mark what was replaced with the memory that took its place, as what was corrected is marked."""
    replaced = [(item, item.entry.superseded_by_id) for item in ranked if item.entry.superseded_by_id]
    if replaced:
        (workspace,) = {item.entry.scope.workspace_id for item, _successor in replaced}
        pks = [successor for _item, successor in replaced]
        successors = Entry.objects.filter(workspace_id=workspace, pk__in=pks)
        by_pk = dict(successors.values_list("pk", "uid"))
        for item, successor in replaced:
            item.superseded_by = by_pk.get(successor)


def _corrections(eligible: Sequence[Ranked]) -> Iterator[tuple[Ranked, Ranked]]:
    """Which candidate corrects which, the oldest correction first, so that what was corrected twice comes last."""
    best = {item.entry.pk: item for item in eligible[:BEST]}
    texts = {pk: statement_of(item.entry) for pk, item in best.items()}
    for newer in sorted(eligible, key=lambda item: _time(item.entry)):
        entry = newer.entry
        # what it would take back, had nothing else come between: nearly always nothing
        taken_back = {}
        if entry.session_id and _begins_so(entry.content) and may_take_back(statement := statement_of(entry)):
            for pk, other in best.items():
                is_just_before = (
                    other.entry is not entry
                    and entry.stated_at - MOMENT <= other.entry.stated_at <= entry.stated_at
                    and _place(other.entry) == _place(entry)
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


def _better_sources(eligible: Sequence[Ranked]) -> Iterator[tuple[Ranked, Ranked]]:
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


def _bears_on_it(own: Ranked, claim: Ranked, parsed: ParsedQuery) -> bool:
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


def _place(entry: Entry) -> tuple[int, str, str]:
    return entry.scope_id, entry.session_id, entry.chat_id


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


def _is_same_author(one: Ranked, other: Ranked) -> bool:
    """In a person's memory what nobody is named for is that person's; in a chat it may be anybody's.

    Two may speak from one address.
    """
    speakers = {item.entry.speaker for item in (one, other)} - {""}
    if len(speakers) > 1:
        return False
    ours, theirs = (item.entry.sender_id or item.entry.speaker for item in (one, other))
    is_unnamed = one.scope_kind == ScopeKind.USER and not (ours and theirs)
    return one.entry.scope_id == other.entry.scope_id and (ours == theirs or is_unnamed)


def _is_by_the_same_person(one: Ranked, other: Ranked) -> bool:
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
