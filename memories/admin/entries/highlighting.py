"""The words that were searched for, marked in a text that is cut around the first of them."""

import re
from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from memories.language import text
from memories.language.scripts import CJK

#: Letters that fit before a line ends, and how many stand before the first match, where it comes later; a Chinese
#: character is as wide as two.
_LINE, _BEFORE = 100, 40
_QUOTED = re.compile(r'["“”]([^"“”]+)["“”]')
_CHINESE = re.compile(rf"[{CJK}]+")
_CHINESE_CHARACTER = re.compile(rf"[{CJK}]")


@lru_cache(maxsize=64)
def _pattern(query: str) -> re.Pattern[str] | None:
    """What the words of a query look like in a text: phrases as written, English words by their stem, Chinese parts."""
    phrases = {re.escape(phrase.strip()) for phrase in _QUOTED.findall(query) if phrase.strip()}
    parts: set[str] = set()
    for run in text.normalise(query).split():
        if _CHINESE.fullmatch(run):
            parts |= {re.escape(run), *(re.escape(run[n : n + 2]) for n in range(len(run) - 1))}
        else:
            stem = re.escape(text.stem(run)) + (r"[a-z]{0,5}" if run.isalpha() and len(run) > 3 else "")
            parts |= {rf"(?<![a-z\d]){form}(?![a-z\d])" for form in (stem, re.escape(run))}
    whole = "|".join(part for group in (phrases, parts) for part in sorted(group, key=len, reverse=True))
    return re.compile(whole, re.IGNORECASE) if whole else None


def excerpt(content: str, query: str, limit: int) -> SafeString:
    """At most `limit` characters of a text as HTML, the matches of a query marked; cut so that the first is seen."""
    pattern = _pattern(query) if query.strip() else None
    first = pattern.search(content) if pattern else None
    start = _start(content, first) if first else 0
    shown = content[start : start + limit]
    before, after = "…" if start else "", "…" if start + limit < len(content) else ""
    return mark_safe(before + (_marked(shown, pattern) if pattern else escape(shown)) + after)  # noqa: S308 (escaped)


def _start(content: str, first: re.Match[str]) -> int:
    """Where to cut a text, so that its first match stands in its first line."""
    wide = len(_CHINESE_CHARACTER.findall(content, 0, first.end()))
    if first.end() + wide <= _LINE:
        return 0
    return max(first.start() - (_BEFORE // 2 if wide > first.end() // 2 else _BEFORE), 0)


def _marked(shown: str, pattern: re.Pattern[str]) -> str:
    """A text as HTML with its matches between <mark> and </mark>."""
    pieces, end = [], 0
    for match in pattern.finditer(shown):
        if match.end() > match.start():
            pieces += [escape(shown[end : match.start()]), "<mark>", escape(match.group()), "</mark>"]
            end = match.end()
    return "".join([*pieces, escape(shown[end:])])
