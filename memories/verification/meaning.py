"""Whether a part of a text changes what its clauses say: yes and no, a wish and a deed, before and after (D5)."""

import re
from collections.abc import Sequence
from itertools import pairwise

from memories.language import text
from memories.language.word_lists import source, words
from memories.verification import rewording, vocabulary
from memories.verification.parsing import Parse, is_among
from memories.verification.speakers import MARKS, is_mark, is_person
from memories.verification.statements import Clause, Support, parse_marked
from memories.verification.vocabulary import ENDED, GONE, IMPLYING, LIGHT, THOUGHT

_HEDGES = frozenset(f"~{word}" for word in words("statements", "hedges"))
_WISHES, _PLANS = frozenset(["~should", "~想要"]), frozenset(["~plan", "~打算"])
_REASONS = frozenset(["~because", "~因为", "~since"])
#: On its two sides stand two things that may not change places.
_BETWEEN = re.compile(
    r"\b(?:before|after|than|over|from|to|by|opens?|beats?)\b|比|先|再|然后|给|被|让|从|到|向|之前|之后", re.IGNORECASE
)
_HAS = re.compile(r"\b(?:has|have|had)\b|有|养")
_HAS_A = re.compile(r"\b(?:has|have)\s+(?:an?|the|some|no|\d+|two|three|four|five)\b|(?<!没)有|养")
_GOT = re.compile(
    r"\b(?:has|have|had|got|owns?|bought|buy|gets?|keeps?|with|allerg\w*)\b|有|过敏|养|买|收到", re.IGNORECASE
)
_OWNS = re.compile(r"^\W*(?:\w+\s+|龘.)?(?:也|还|又)?(?:has|have|有|养)")
_AS = re.compile(r"\bas\b|当|做")
_IS = re.compile(r"\b(?:is|are|was)\b|是")
#: What somebody does to do something else.
_SUPPORTING = frozenset(["decid", "agre", "choos", "chose", "决", "主", "take", "meant", "去"])
#: So much of a clause is told that only adds to another.
_TOLD = 0.6
_FROM = frozenset(["from", "从", "從"])
_IN_PLACE_OF = r"\b(?:for|in|on|at|of|with)\s+(?:the\s+)?{name}|[为在给用于]{name}"
_PAST = re.compile(
    r"^(?!(?:need|feed|speed|bed|red|seed|breed|shed|hundred|indeed)$)"
    rf"(?:{source('statements', 'irregular_past')}|\w+ed)$"
)
_PRESENT = re.compile(r"^(?:is|are|has|does|goes|\w+(?<!s)s)$")
_BE = dict.fromkeys(["is", "are", "am", "was", "were"], "be")
_PASSIVE = frozenset(["is", "are", "be", "being", "am"])
_FUTURE = re.compile(
    r"\b(?:will|shall|tomorrow|next|soon|plan\w*|want\w*|hope\w*|intend\w*)\b"
    r"|明[天年]|[后後]天|下[个個]?[周月週]|要|会|將|将|想|打算|准备"
)
_DONE = re.compile("已|了(?!解)|过(?![敏去程年期节来生得滤度户分于])")


def is_mixed(part: Clause, resting: Sequence[Clause]) -> bool:
    """Whether of two clauses only pieces are told: the end of one without what it is said of."""
    said = {one.term for one in part.reading.parts}
    if len(resting) > 1 and any(
        clause.head and (n or clause.speaks_of_itself) and not is_among(clause.head, said)
        for n, clause in enumerate(resting)
    ):
        return True
    if any(clause.head in clause.reading.names and _is_barely_told(clause, said) for clause in resting[1:]):
        return True
    return not _HAS.search(part.content) and any(_OWNS.match(clause.content) for clause in resting[1:])


def _is_barely_told(clause: Clause, said: set[str]) -> bool:
    """What begins with a name says something of it."""
    own = clause.terms - clause.reading.amounts
    return sum(is_among(term, said) for term in own) < _TOLD * len(own)


def leaves_out_deed(support: Support) -> bool:
    """Whether it leaves out what somebody does or is: «he is skiing» of «he broke his arm skiing»."""
    own = {part.term for part in support.part.reading.parts}
    return not support.is_summary and any(
        (deed := clause.deed) and deed not in _SUPPORTING and not _is_told(deed, own, clause, support.part)
        for clause in support.resting
    )


def _is_told(deed: str, own: set[str], clause: Clause, part: Clause) -> bool:
    if is_among(deed, own | {word for term in own for word in IMPLYING.get(term, ())}):
        return True
    return _AS.search(clause.content) is not None and _IS.search(part.content) is not None


def is_denied_otherwise(support: Support) -> bool:
    """Whether it denies what was said, or says what was denied."""
    own, theirs = support.part.reading, [clause.reading for clause in support.resting]
    if own.is_negated != any(reading.is_negated for reading in theirs):
        return True
    denied = {term for reading in theirs for term in reading.denied}
    stated = {term for reading in theirs for term in reading.said}
    touched = {term for clause in support.resting if clause.reading.is_negated for term in clause.terms}
    if not own.is_negated:
        return bool((own.said & denied) - stated)
    denies = {term for term in own.denied if not is_mark(term)}
    return bool(denies and not denies & (denied | touched) or (denies & stated) - touched)


def is_hedged_otherwise(support: Support) -> bool:
    """Whether a doubt, a wish or a plan is lost, or one is added."""
    own = set(support.part.reading.careful)
    kept = own | (support.before.reading.careful if support.before and support.part.is_joined else set())
    theirs = {term for clause in support.resting for term in clause.reading.careful}
    supplied = (
        set(_REASONS | _WISHES) if support.is_summary else set(_WISHES) if support.statement.is_request else set()
    )
    if any(clause.is_future for clause in support.resting):
        supplied |= _PLANS
    return bool((theirs & _HEDGES) - kept or own - theirs - supplied)


def is_wish(part: Clause) -> bool:
    return bool(part.reading.careful & _WISHES)


def changes_places(support: Support) -> bool:
    """Whether two names, numbers, or sides of a «before» stand the other way round."""
    if any(_crosses(clause, support.part) for clause in support.resting):
        return True
    own, theirs = _without_owners(support.part.reading), [_without_owners(clause.reading) for clause in support.resting]
    if not rewording.exchanges(theirs, own) or (support.statement.is_request and is_wish(support.part)):
        return False
    subject = support.part.subject[0] if support.part.subject else ""
    has_person = any(is_person(name) for name in support.part.reading.names)
    return has_person or not any(is_place_of(subject, clause) for clause in support.resting)


def _without_owners(reading: Parse) -> Parse:
    """What is a speaker's is looked at by itself."""
    parts = reading.parts
    kept = [part for n, part in enumerate(parts) if part.kind != "owner" or not (n and is_mark(parts[n - 1].term))]
    return Parse(reading.content, reading.bare, tuple(kept))


def is_place_of(name: str, clause: Clause) -> bool:
    """«… for Atlas»: what may be said of Atlas."""
    pattern = _IN_PLACE_OF.format(name=re.escape(name))
    return bool(name) and re.search(pattern, clause.content, re.IGNORECASE) is not None


def _crosses(clause: Clause, part: Clause) -> bool:
    for match in _BETWEEN.finditer(clause.content):
        word = match[0].lower()
        at = part.content.lower().find(word)
        if at < 0:
            continue
        left, right = _words(clause.content[: match.start()]), _words(clause.content[match.end() :])
        own_left, own_right = _words(part.content[:at]), _words(part.content[at + len(word) :])
        if (own_left - own_right) & (right - left) and (own_right - own_left) & (left - right):
            return True
    return False


def _words(content: str) -> set[str]:
    kinds = ("word", "name", "amount", "careful")
    return {part.term for part in parse_marked(content, MARKS).parts if part.kind in kinds}


def is_of_another_time(support: Support) -> bool:
    """Whether the tense changes: past for present, done for planned, or an end, a doubt or an origin is left out."""
    if support.is_summary:
        return False
    return any(judge(support) for judge in (_has_other_tense, _goes_on, _has_none, _leaves_out_from, _is_done))


def _has_other_tense(support: Support) -> bool:
    own = _forms(support.part.content)
    return any(
        _differ(theirs, own[stem])
        for clause in support.resting
        for stem, theirs in _forms(clause.content).items()
        if stem in own
    )


def _differ(theirs: set[str], own: set[str]) -> bool:
    past = [form for form in theirs if _PAST.match(form)]
    if len(past) == len(theirs):
        return any(_PRESENT.match(form) and not _PAST.match(form) for form in own)
    return not past and any(_PAST.match(form) for form in own)


def _forms(content: str) -> dict[str, set[str]]:
    """The forms in which words stand, by their class; what is done by somebody else has none."""
    found: dict[str, set[str]] = {}
    for before, word in pairwise(["", *re.findall(r"[a-z]+", content.lower())]):
        stem = _BE.get(word) or vocabulary.ENGLISH.get(word) or text.stem(word)
        if before not in _PASSIVE and stem not in LIGHT:
            found.setdefault(stem, set()).add(word)
    return found


def _goes_on(support: Support) -> bool:
    """Whether it leaves out that something ended, was lost, or was only thought."""
    if _is_lost(ENDED, support.part, support.resting) or _is_lost(THOUGHT, support.part, _with_what_leads(support)):
        return True
    return _HAS_A.search(support.part.content) is not None and _is_lost(GONE, support.part, support.resting)


def _is_lost(words: re.Pattern[str], part: Clause, resting: Sequence[Clause]) -> bool:
    return not words.search(part.content) and any(words.search(clause.content) for clause in resting)


def _with_what_leads(support: Support) -> list[Clause]:
    """With the clause whose object a clause is: «I dreamt that …»."""
    clauses = support.statement.clauses
    places = [clauses.index(clause) for clause in support.resting]
    return [*support.resting, *(clauses[n - 1] for n in places if n and clauses[n].is_joined)]


def _has_none(support: Support) -> bool:
    """Whether somebody has what nobody said to be theirs."""
    is_had = any(_GOT.search(clause.content) or clause.owned for clause in support.resting)
    return is_person(support.part.speaks_first_of) and _HAS_A.search(support.part.content) is not None and not is_had


def has_own(part: Clause, clause: Clause) -> bool:
    """Whether it says that somebody has what was called theirs, and still is."""
    return bool(clause.owned & part.terms and _HAS.search(part.content) and not GONE.search(clause.content))


def _leaves_out_from(support: Support) -> bool:
    """«I moved from Leeds»: not «I live in Leeds»."""
    kept = _comes_from(support.part)
    return any(_comes_from(clause) & support.part.terms - kept for clause in support.resting)


def _comes_from(clause: Clause) -> set[str]:
    parts = pairwise(clause.reading.parts)
    return {other.term for one, other in parts if one.kind == "direction" and one.term in _FROM}


def _is_done(support: Support) -> bool:
    told = [clause.content for clause in support.resting]
    is_to_come = any(map(_FUTURE.search, told)) and not any(map(_DONE.search, told))
    return is_to_come and _DONE.search(support.part.content) is not None
