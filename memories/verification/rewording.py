"""Whether a text is a faithful rewording of its sources: rules, no model, and when in doubt it is not (D6).

Every number, date and name stays and none is added. Words may be exchanged for words of their class, and be left out
up to a half; a word that none of the sources says is not believed. What is denied stays denied, what is only wished for
or planned stays that, and nobody changes places with anybody.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations, pairwise

from memories.conf import conf
from memories.language import similarity, stopwords, text
from memories.verification.parsing import Parse, is_among, names_in, parse

#: From here on two texts have the same frame: what else they say is in its place.
_SAME_FRAME = 0.75
#: Of the words that say nothing by themselves, those that turn a statement round.
_KEPT = frozenset(["off", "on", "up", "down", "before", "after", "he", "she", "his", "her"])


class MergeFault(StrEnum):
    """Why facts are not made one."""

    DIFFER = "differ"  # they say the same of different numbers, dates or names
    NEGATED = "negated"  # one says yes, the other no
    PLACES = "places"  # a slot, or who said it, tells them apart
    LOST = "lost"  # the text leaves out a number, a date, a name, or most of what was said
    INVENTED = "invented"  # the text says something nobody said
    TURNED = "turned"  # a wish became a fact, «before» became «after», or two changed places


def merge_fault(sources: Sequence[str], said: str) -> MergeFault | None:
    """What speaks against this text in the place of these; None when nothing does."""
    *read_sources, reading = _read_all([*sources, said])
    if _loses(read_sources, reading):
        return MergeFault.LOST
    if _invents(read_sources, reading):
        return MergeFault.INVENTED
    if _denies(read_sources, reading):
        return MergeFault.NEGATED
    if any(_differ(*pair) for pair in combinations(read_sources, 2)):
        return MergeFault.DIFFER
    if _turns(read_sources, reading):
        return MergeFault.TURNED
    return None


def invents(sources: Sequence[str], said: str) -> bool:
    """Whether a text says something none of its sources does."""
    *read_sources, reading = _read_all([*sources, said])
    return _invents(read_sources, reading)


def _read_all(contents: Sequence[str]) -> list[Parse]:
    names = names_in(contents)
    return [parse(content, names) for content in contents]


def _loses(sources: Sequence[Parse], said: Parse) -> bool:
    for source in sources:
        if source.amounts - said.implied or source.careful - said.careful or source.names - said.names:
            return True
        if source.telling and _share(source.telling, said.telling) < conf.COMPRESS_COVERAGE:
            return True
    return False


def _share(wanted: set[str], there: set[str]) -> float:
    return sum(1 for term in wanted if is_among(term, there)) / len(wanted)


def _invents(sources: Sequence[Parse], said: Parse) -> bool:
    known = {term for source in sources for term in source.telling}
    counted = {amount for source in sources for amount in source.implied}
    new = {word for word in said.words if not is_among(word, known)}
    careful = said.careful - {term for source in sources for term in source.careful}
    return bool(
        said.amounts - counted or new or careful or said.names - {n for source in sources for n in source.names}
    )


def _denies(sources: Sequence[Parse], said: Parse) -> bool:
    """Whether they deny one another, or the text what they say."""
    if any(source.is_negated for source in sources) != said.is_negated:
        return True
    if any(
        one.denied and one.denied <= other.said
        for pair in combinations(sources, 2)
        for one, other in (pair, pair[::-1])
    ):
        return True
    denied = {term for source in sources for term in source.denied}
    stated = {term for source in sources for term in source.said}
    return bool((said.denied & stated) - denied or (said.said & denied) - stated)


def _differ(one: Parse, other: Parse) -> bool:
    """Whether they say the same of different numbers, dates or names, or opposites of the same."""
    ours, theirs = one.names | one.implied, other.names | other.implied
    if ours - theirs and theirs - ours and _have_one_frame(one, other):
        return True
    shared = (one.raw_words & other.raw_words) | stopwords.ENGLISH - _KEPT
    ours, theirs = one.raw_words - shared, other.raw_words - shared
    apart = similarity.compare(one.content, other.content, threshold=conf.DEDUPE_THRESHOLD)[0]
    if apart is not similarity.Likeness.APART or not (ours and theirs):
        return False
    return any(similarity.is_telling(word) for word in ours | theirs) and one.telling != other.telling


def _have_one_frame(one: Parse, other: Parse) -> bool:
    ours, theirs = one.words | one.careful, other.words | other.careful
    return ours == theirs or text.jaccard(ours, theirs) >= _SAME_FRAME


def exchanges(sources: Sequence[Parse], said: Parse) -> bool:
    """Whether two names, or two numbers, change places."""
    return any(judge(sources, said) for judge in (_changes_places, _counts_others, _has_other_owners))


def _turns(sources: Sequence[Parse], said: Parse) -> bool:
    return exchanges(sources, said) or _is_said_of_others(sources, said)


def _changes_places(sources: Sequence[Parse], said: Parse) -> bool:
    """Whether two names stand the other way round, and what is between them was not said so."""
    for one, between, other in _pairs(said):
        orders = [(first, words, last) for source in sources for first, words, last in _pairs(source)]
        same = [words for first, words, last in orders if (first, last) == (one, other)]
        turned = any((first, last) == (other, one) for first, _words, last in orders)
        if turned and not any(between <= words for words in same):
            return True
    return False


def _pairs(reading: Parse) -> list[tuple[str, frozenset[str], str]]:
    """Every two names of a clause, with what stands between them."""
    found = []
    for clause in reading.clauses:
        parts = clause.parts
        places = [n for n, part in enumerate(parts) if part.kind == "name"]
        for start, end in combinations(places, 2):
            between = frozenset(p.term for p in parts[start + 1 : end] if p.kind in ("word", "direction", "owner"))
            found.append((parts[start].term, between, parts[end].term))
    return found


def _counts_others(sources: Sequence[Parse], said: Parse) -> bool:
    """Whether a number counts what another one counted."""
    known = {pair for source in sources for pair in _counted(source)}
    for amount, what in _counted(said):
        others = {other for other, counted in known if counted == what}
        if (amount, what) not in known and others and any(number == amount for number, _what in known):
            return True
    return False


def _is_said_of_others(sources: Sequence[Parse], said: Parse) -> bool:
    """Whether of one subject is said what its sources say of another: «prod on Nova» of «staging on Nova»."""
    subjects = _subjects(sources)
    spoken_of = None
    for part in said.parts:
        if part.term in subjects:
            spoken_of = subjects[part.term]
        elif part.kind in ("name", "amount") and spoken_of is not None:
            own = {n for n, source in enumerate(sources) if part.term in source.telling}
            if len(own) == 1 and spoken_of not in own and own <= set(subjects.values()):
                return True
    return False


def _subjects(sources: Sequence[Parse]) -> dict[str, int]:
    """What a source begins with that no other one speaks of."""
    firsts = [next((part.term for part in one.parts if part.term in one.telling), "") for one in sources]
    return {
        first: n
        for n, first in enumerate(firsts)
        if first and not any(first in other.telling for other in sources if other is not sources[n])
    }


def _counted(reading: Parse) -> set[tuple[str, str]]:
    return {
        (one.term, other.term)
        for one, other in pairwise(reading.parts)
        if one.kind == "amount" and other.kind == "word"
    }


def _has_other_owners(sources: Sequence[Parse], said: Parse) -> bool:
    """Whether of two names the other is whose something is."""
    owners = _owners(said)
    if not owners or len(said.names) < 2:
        return False
    return bool(owners - {name for source in sources for name in _owners(source) | _havers(source)})


def _owners(reading: Parse) -> set[str]:
    return {one.term for one, other in pairwise(reading.parts) if one.kind == "name" and other.kind == "owner"}


def _havers(reading: Parse) -> set[str]:
    """Of whom it is said that something is of theirs, or that they have it."""
    of = {other.term for one, other in pairwise(reading.parts) if one.term == "of" and other.kind == "name"}
    has = re.search(r"\b(?:has|have|had|owns|got)\b|有|养", reading.content) is not None
    first = next((part.term for part in reading.parts if part.kind == "name"), None)
    return of | ({first} if has and first else set())
