"""The words of the page of a trace: reasons, steps, rules and signs as people say them, none of them a code."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.choices import EntryType, NeedMode
from memories.models.state import State

#: Labels of the reasons of candidates.
REASONS = {
    "served": _("served"),
    "limit": _("others were better"),
    "rank": _("others were better"),  # of traces before they said so
    "quota": _("its kind had its places"),
    "duplicate": _("said already by another that is served"),
    "floor": _("too far from the question"),
    "history": _("said by the conversation that was handed out"),
    "echo": _("only asked, or repeated from memory"),
    "expired": _("expired"),
    "archived": _("archived"),
    "superseded": _("something newer took its place"),
    "quarantined": _("in quarantine"),
    "suppressed": _("taken out by people"),
    "other_scope": _("not for this group to hear"),
    "other_project": _("of another project than was named"),
}
MODES = {
    "hybrid": _("words and meaning"),
    "vector": _("meaning alone"),
    "keyword": _("words as they stand"),
    "fts": _("full text"),
}
STEPS = {
    "need": _("does it need memory?"),
    "policies": _("policies"),
    "words": _("words"),
    "dates": _("days that are named"),
    "embedding": _("embedding"),
    "pending": _("waiting for the newest vectors"),
    "average": _("average of the scope"),
    "history": _("what the conversation says"),
    "search": _("search"),
    "rank": _("weighing"),
    "rerank": _("reranker"),
    "corrections": _("corrections first"),
    "quotas": _("quotas"),
    "evidence": _("is it enough?"),
    "context": _("context text"),
    "events": _("what was said then"),
    "passed_over": _("what may not be served"),
}
FEATURES = {
    "first_person": _("said in the first person"),
    "time_words": _("says when"),
    "own_vector": _("near by its own words"),
    "words_of_others": _("somebody else's words"),
    "answers_previous": _("answers the line before"),
    "mentions_speaker": _("speaks of the one who is asked about"),
    "word_pairs": _("words in the question's order"),
    "vector_rank": _("its place by meaning"),
}
SINCE = {
    State.DUE: _("past its time since"),
    State.EXPIRED: _("expired since"),
    State.ARCHIVED: _("archived since"),
    State.SUPERSEDED: _("replaced since"),
    State.QUARANTINED: _("in quarantine since"),
    State.SUPPRESSED: _("taken out since"),
}
CHANGES = {
    "came": (_("new"), "success"),
    "went": (_("gone"), "danger"),
    "up": (_("higher"), "info"),
    "down": (_("lower"), "warning"),
    "stayed": (_("same place"), None),
}
#: What told that a message needs memory, or that it needs none.
RULES = {
    "remember": _("asks to remember, or whether it is remembered"),
    "time": _("speaks of a time"),
    "question": _("asks a question"),
    "preference": _("speaks of likes and dislikes"),
    "pronoun": _("points at something said before"),
    "personal": _("speaks of the one who asks"),
    "unfinished": _("goes on with something begun"),
    "local": _("asks for something near by"),
    "errand": _("asks for something to be done"),
    "project": _("names a project"),
    "name": _("names somebody"),
    "too_short": _("too short to need memory"),
    "acknowledgement": _("an acknowledgement, which needs no memory"),
    "code": _("mostly code, which needs no memory"),
    "no_sign": _("no sign that it needs memory"),
    "off": _("memory is always asked"),
}
#: What did not answer in time, the graver first, and what answered in its place.
DEGRADED = {
    "embedding": _("words alone"),
    "embedding_pending": _("the newest by words alone"),
    "index_pending": _("files not indexed yet"),
    "disk_full": _("the disk is full"),
    "reembedding": _("words alone, as the embedding model changes"),
    "rerank": _("not reranked"),
}
#: How near in meaning, by similarity: from here on.
_NEARNESS = ((0.8, _("very near in meaning")), (0.5, _("near in meaning")), (0.2, _("somewhat near in meaning")))
#: How much of the question's words it holds, by the score of the keyword retriever: from here on.
_SHARES = ((0.6, _("most of the question’s words")), (0.25, _("some of the question’s words")))
_FADED = 0.6


def signs_in_words(line: Any) -> list[Any]:
    """What spoke for a candidate, or against it, in words: its words, its meaning, its age."""
    signs = [_least(line.keyword, _SHARES), _least(line.similarity, _NEARNESS)]
    faded = _("faded with age") if line.decay is not None and line.decay < _FADED else None
    return [sign for sign in (*signs, faded) if sign is not None]


def _least(value: float | None, steps: tuple[tuple[float, Any], ...]) -> Any:
    return None if value is None else next((label for least, label in steps if value >= least), None)


#: The words of values, by what they are values of.
_VALUES: Mapping[str, Mapping[str, Any]] = {
    "mode": MODES,
    "need": {mode.value: mode.label for mode in NeedMode},
    "types": {kind.value: kind.label for kind in EntryType},
}
_TIMES = frozenset({"since", "until", "as_of"})
#: Not for people: it repeats the scopes by their ids, or stands in a card of its own.
_ELSEWHERE = frozenset({"heard", "events", "cached_from", "verdict"})
_NAMES = {
    "limit": _("At most"),
    "mode": _("Manner"),
    "need": _("Whether memory is needed"),
    "asker": _("By whom"),
    "resolved": _("Meant by the messages before"),
    "relations": _("Known of people"),
    "quotas": _("Quotas"),
    "token_budget": _("Tokens at most"),
    "filters": _("Only with"),
    "types": _("type"),
    "project": _("project"),
    "since": _("Since"),
    "until": _("Until"),
    "as_of": _("Memory as of"),
    "similarity": _("similarity"),
    "strength": _("Strength of the best"),
    "words": _("Share of the question's words"),
    "lead": _("Lead of the one who is asked about"),
    "entries": _("Memories searched"),
    "speaker": _("Names a speaker"),
    "date": _("Names a day"),
    "days": _("Days read"),
    "about_asker": _("About the one who asks"),
    "contrast": _("Nearer than typical questions"),
    "others": _("Said by somebody else"),
    "topic": _("topic"),
    "nearest": _("The nearest where nothing is near"),
    "narrowed": _("Narrowed by who called"),
    "always_events": _("Messages and days as well"),
}


_NOTHING: tuple[Any, ...] = (None, "", [], {}, False)


def query_label(values: dict[str, Any]) -> str:
    """`At most: 8 · Manner: hybrid`: what says nothing (empty, no, none) is left out."""
    told = {name: moment_label(value) if name in _TIMES and value else value for name, value in values.items()}
    kept = {name: value for name, value in told.items() if value not in _NOTHING and name not in _ELSEWHERE}
    order = [*(name for name in _NAMES if name in kept), *(name for name in kept if name not in _NAMES)]
    return " · ".join(
        f"{_NAMES.get(name, name.replace('_', ' '))}: {_value_label(kept[name], _VALUES.get(name, {}))}"
        for name in order
    )


def moment_label(iso: str) -> str:
    """A moment as a trace keeps it, by the clock of the page."""
    return str(date_format(localtime(datetime.fromisoformat(iso)), "DATETIME_FORMAT"))


def _value_label(value: Any, words: Mapping[str, Any]) -> str:
    if value is True:
        return gettext("yes")
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list):
        return ", ".join(_value_label(one, words) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_value_label(inner, words)}" for name, inner in value.items())
    return str(words.get(value, value))
