"""memory_search."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from uuid import UUID

from channels_app.doors.tools.place import Place
from memories.conf import conf
from memories.language import quoting, text
from memories.language.quoting import speaks_to_models
from memories.recall import Query, recall
from memories.recall.answer import FOUND, NONE, WEAK, heading_of, marks_behind, suspect_mark, with_words
from memories.recall.events import RecalledEvent
from memories.recall.people import Passage, attributed
from memories.recall.ranking import Ranked
from sessions_app.models import in_language

PLACES = 200  # of words that are looked at
ELLIPSIS = "…"
_STOPWORDS = text.ENGLISH_STOPWORDS | text.CHINESE_STOPWORDS


def cut_around(content: str, question: str, limit: int) -> str:
    """A text of at most `limit` characters: the text itself, or where most words of the question stand in it."""
    if len(content) <= limit:
        return content
    # Where the words stand; those that say nothing are looked for only where there are no others
    folded, words = content.lower(), set(text.words(question))
    places: list[tuple[int, str]] = []
    for word in words - _STOPWORDS or words:
        at = folded.find(word)
        while at >= 0 and len(places) < PLACES:
            places.append((at, word))
            at = folded.find(word, at + len(word))
    places.sort()
    # The place with most words within reach; of equal ones the first
    reached = {begin: len({word for at, word in places if begin <= at < begin + limit}) for begin, _word in places}
    first = max(reached, key=reached.__getitem__, default=0)
    last = max((at for at, _word in places if at < first + limit), default=0)
    begin = max(min((first + last - limit) // 2, len(content) - limit), 0)
    lead = ELLIPSIS if begin else ""
    end = ELLIPSIS if begin + limit < len(content) else ""
    return f"{lead}{content[begin + len(lead) : begin + limit - len(end)].strip()}{end}"


NOTES, ENTRIES = "notes", "entries"
#: Of events, by their kind.
SOURCES = {"daily_event": "daily_events", "session_event": "session_events"}
ALL_SOURCES = (NOTES, ENTRIES, *SOURCES.values())

VERDICTS = {
    FOUND: {
        "en": "Found, best first. Before you give exact figures, dates or quotes, read the path with memory_get.",
        "zh-hans": "已找到，最相关的在前。引用准确的数字、日期或原话之前，先用 memory_get 读取对应路径。",
    },
    WEAK: {
        "en": "This is what was found, best first; it is perhaps not enough. If it does not answer the question, say"
        " that you searched and did not find enough. Do not guess.",
        "zh-hans": "以下是检索到的内容，最相关的在前，可能不足以回答。如果不能回答问题，"
        "就说明已检索但信息不足，不要猜测。",
    },
    NONE: {
        "en": "Searched; what was found probably does not answer the question. Say so unless it does. Do not guess.",
        "zh-hans": "已检索，但找到的内容很可能不能回答问题。除非确实能回答，否则请如实说明，不要猜测。",
    },
    "": {
        "en": "Searched, nothing found. Say that nothing about it is remembered; do not guess. Other words may help.",
        "zh-hans": "已检索，未找到。请说明没有相关记忆，不要猜测。也可以换一种说法再检索。",
    },
}


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """Something that was found, and where it is to be read."""

    path: str
    line: int = 1
    score: float
    snippet: str
    is_cut: bool
    source: str  # notes, entries, daily_events or session_events
    kind: str  # the type of an entry; user or assistant of a message; summary of a day
    scope: str
    at: datetime | None  # None: nobody knows
    heading: str = ""
    speaker: str = ""
    evidence: tuple[str, ...] = ()  # paths of messages that were found and say it word for word
    shown: str = ""  # as a model reads it


@dataclass(frozen=True)
class SearchReport:
    """What a search found, and whether that is enough."""

    recall_id: UUID | None
    evidence: str
    results: list[SearchResult]
    note: str  # the verdict in words
    language: str = "en"
    degraded: list[str] = field(default_factory=list)


def memory_search(
    place: Place,
    *,
    query: str,
    max_results: int | None = None,
    min_score: float | None = None,
    mode: str = "hybrid",
    include_session_events: bool = True,
) -> SearchReport:
    """What memory holds on a question, best first, from wherever the place may look; it leaves a trace as a recall.

    Raises InvalidAddress, ScopeNotFound.
    """
    limit = max_results or conf.SEARCH_MAX_RESULTS
    least = conf.SEARCH_MIN_SCORE if min_score is None else min_score
    search = place.query(
        query, limit=limit, mode=mode, quotas=False, include_session_events=include_session_events, always_events=True
    )
    zone = place.caller.zone
    answer = recall(search, now=place.now, zone=zone)
    # Memories and events by score; a message a memory rests on is its evidence, and no result beside it
    evidence: dict[str, list[RecalledEvent]] = {}
    for event in answer.events:
        evidence.setdefault(event.memory or "", []).append(event)
    results = [_of_entry(item, evidence.get(str(item.entry.uid), []), search, zone) for item in answer.served]
    results += [_of_event(event, search, zone) for event in evidence.get("", [])]
    results.sort(key=lambda result: -result.score)  # of equal ones memories come first
    good = [result for result in results if result.score >= least][:limit]
    verdict = answer.answerability.verdict if good else NONE
    note = in_language(VERDICTS[verdict if good else ""], place.caller.language)
    uid, language = answer.trace.uid if answer.trace else None, place.caller.language
    return SearchReport(uid, verdict, good, note, language, answer.degraded)


def _of_entry(
    item: Ranked,
    events: Sequence[RecalledEvent],
    query: Query,
    zone: tzinfo,
) -> SearchResult:
    entry = item.entry
    path, line, heading = entry.path or f"entries/{entry.uid}", entry.line_from or 1, entry.heading
    at = entry.written_at
    snippet = cut_around(entry.content, query.message, conf.SEARCH_SNIPPET_CHARS)
    words = attributed(Passage(snippet, entry.type, entry.subtype, entry.source), item.sender)
    year = (at or entry.updated_at).astimezone(zone).year
    words = with_words(words, entry.verification, item.evidence, language=query.language, zone=zone, year=year)
    result = SearchResult(
        path=path,
        line=line,
        score=max([item.score, *(event.score for event in events)]),
        snippet=snippet,
        is_cut=snippet != entry.content,
        source=NOTES if path != f"entries/{entry.uid}" else ENTRIES,
        kind=entry.type,
        scope=entry.scope.key,
        at=at,
        heading=heading,
        speaker="" if entry.path else item.sender.label,  # a line of a file is nobody's words in particular
        evidence=tuple(event.path for event in events),
    )
    return replace(result, shown=as_line(result, words + marks_behind(item, query.language), zone))


def _of_event(event: RecalledEvent, query: Query, zone: tzinfo) -> SearchResult:
    snippet = cut_around(event.content, query.message, conf.SEARCH_SNIPPET_CHARS)
    speaker = event.sender.label if event.role == "user" else ""
    result = SearchResult(
        path=event.path,
        score=event.score,
        snippet=snippet,
        is_cut=event.is_cut or snippet != event.content,
        source=SOURCES[event.kind],
        kind=event.role,
        scope=event.scope,
        at=event.at,
        speaker=speaker,
    )
    mark = suspect_mark(query.language, is_suspect=speaks_to_models(event.content))
    words = f"{speaker or event.role.capitalize()}: {quoting.as_item(snippet)}{mark}"
    return replace(result, shown=as_line(result, words, zone))


def as_line(result: SearchResult, words: str, zone: tzinfo) -> str:
    """A result on one line, with the path a model may read on at."""
    day = f"[{result.at.astimezone(zone):%Y-%m-%d}] " if result.at else ""
    heading = heading_of(result.heading)
    more = "".join(f" [{path}]" for path in result.evidence)
    return f"{day}{heading}{words} [{result.path}:{result.line}]{more}"


def shown(report: SearchReport) -> str:
    """The text for a model: how good it is, then what was found, as words of people."""
    if not report.results:
        return report.note
    lines = [f"{number}. {result.shown}" for number, result in enumerate(report.results, start=1)]
    return "\n".join([report.note, quoting.notice_in(report.language), *lines])
