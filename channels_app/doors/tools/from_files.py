"""The tools while the files alone answer: the database is away, or the files were chosen (C11, A4).

A search goes by words, a memory or a message cannot be read, and what is saved is a line of its file: it is indexed
when the database is there again.
"""

from dataclasses import replace
from typing import Any

from channels_app.doors.files.answers import recall_from_files
from channels_app.doors.tools.get import LINES, LINES_MOST, Excerpt, is_row, lines_of_file
from channels_app.doors.tools.place import Place
from channels_app.doors.tools.search import NOTES, VERDICTS, SearchReport, SearchResult, as_line, cut_around
from channels_app.doors.tools.write import (
    BY_SCOPE,
    KNOWN,
    PENDING,
    SavedLine,
    mark_of,
    path_to_write,
    saved_line,
    scope_key_of,
)
from memories.choices import EntryType, NeedMode
from memories.conf import conf
from memories.exceptions import ScopeFrozen, ScopeNotFound
from memories.files.layout import read_reference, scope_folder
from memories.language import quoting
from memories.models import Scope
from memories.notes.save import AppendedLine, Target, append_line, line_of_same_in_file
from memories.recall.answer import NONE
from memories.tenancy.resolver import kind_of_key
from sessions_app.models import in_language

ONLY_FILES = {
    "en": "Only the notes in files could be searched, by their words.",
    "zh-hans": "目前只能按字词检索文件中的笔记。",
}
NOT_NOW = {
    "en": "{path}: this cannot be read at the moment, only files can. Say so; do not guess.",
    "zh-hans": "{path}：目前无法读取，只能读取文件。请如实说明，不要猜测。",
}


def search(
    place: Place, *, query: str, max_results: int | None = None, min_score: float | None = None, **_unknown: Any
) -> SearchReport:
    """The lines of files that hold most words of a question; what else a search may say, files know nothing of.

    Raises InvalidAddress, ScopeNotFound.
    """
    limit = max_results or conf.SEARCH_MAX_RESULTS
    least = conf.SEARCH_MIN_SCORE if min_score is None else min_score
    answer = recall_from_files(place.folders, query, limit=limit, zone=place.caller.zone, need=NeedMode.OFF)
    results = []
    for line in answer.lines:
        match = line.match
        if match.score < least:
            continue
        snippet = cut_around(match.text, query, conf.SEARCH_SNIPPET_CHARS)
        result = SearchResult(
            path=match.path,
            line=match.line_from,
            score=match.score,
            snippet=snippet,
            is_cut=snippet != match.text,
            source=NOTES,
            kind=EntryType.NOTE,
            scope=line.scope,
            at=match.at,
            heading=match.heading,
        )
        results.append(replace(result, shown=as_line(result, quoting.as_item(snippet), place.caller.zone)))
    language = place.caller.language
    note = in_language(VERDICTS[answer.evidence if results else ""], language)
    gap = " " if language == "en" else ""
    words = f"{note}{gap}{in_language(ONLY_FILES, language)}"
    return SearchReport(None, answer.evidence if results else NONE, results, words, language, list(place.degraded))


def get(place: Place, *, path: str, first: int | None = None, count: int | None = None) -> Excerpt:
    """Lines of a file; of all else that it cannot be read now. Raises PathNotAllowed, InvalidAddress, ScopeNotFound."""
    path, line = read_reference(path)
    begin, many = first or line or 1, min(count or LINES, LINES_MOST)
    if is_row(path):
        note = in_language(NOT_NOW, place.caller.language).format(path=path)
        kind = path.partition("/")[0]
        return Excerpt(path=path, kind=kind, first=begin, is_found=False, note=note, degraded=list(place.degraded))
    return replace(lines_of_file(place, path, begin, many), degraded=list(place.degraded))


def save(place: Place, *, content: str, target: str) -> SavedLine:
    """Add a line to today's note, or to the long-term file. Raises ScopeFrozen, InvalidDraft, PathNotAllowed."""
    return _saved_line(place, content, target=Target(target), once=True)


def append(place: Place, *, content: str, path: str | None = None) -> SavedLine:
    """Add lines to the end of a note. Raises what `save` does."""
    return _saved_line(place, content, path=path)


def _saved_line(
    place: Place, content: str, *, target: Target = Target.DAILY, path: str | None = None, once: bool = False
) -> SavedLine:
    """Raises InvalidAddress, ScopeNotFound, ScopeFrozen.

    Without the database nobody knows that a scope is frozen: the line is in its file, and is not indexed.
    """
    caller, resolution = place.caller, place.resolution
    key = scope_key_of(resolution) if resolution else str(place.at)
    if not caller.may_reach(key) or kind_of_key(key) is None:
        raise ScopeNotFound
    if place.has_database and Scope.objects.in_workspace(caller.workspace_id).filter(key=key, frozen=True).exists():
        raise ScopeFrozen
    folder, session = scope_folder(caller.folder, key), resolution.session_key if resolution else BY_SCOPE
    path = path_to_write(place, folder, target, path)
    if once and (line := line_of_same_in_file(folder, path, content)) is not None:
        return saved_line(place, AppendedLine(path, line), key, KNOWN)
    call = mark_of(place, content)
    appended = append_line(folder, path, content, now=place.now, zone=caller.zone, session=session, call=call)
    return saved_line(place, appended, key, PENDING)
