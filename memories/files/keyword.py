"""Search in files by their words, without a database (C5, C11): what holds most of the question's words comes first."""

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from operator import itemgetter
from os.path import commonprefix
from typing import Self

from cachetools import LRUCache

from memories.choices import UNDATED
from memories.exceptions import FileUnreadable, PathNotAllowed
from memories.files import comments, disk
from memories.files.layout import FoundFile, ScopeFolder, day_of
from memories.files.markdown import Block, blocks, time_of
from memories.language.text import CHINESE_STOPWORDS, CJK, ENGLISH_STOPWORDS, stem, words

_CACHED_CHARS = 64_000_000  # of the texts a process remembers
_AROUND = 0.25  # what a word in the heading or the path counts, of one in the text
_PARTLY = 0.5  # what half a Chinese word counts
_LEAST_STEM = 3
_FENCES = ("```", "~~~")
_CHUNK = re.compile(r"\n(?=[-*+#] \S)")  # a list item at the margin, a heading
_STAMPED_DAY = re.compile(r"at=(\d{4}-\d\d-\d\d)T", re.ASCII)
_DAY_AND_ZONE = timedelta(days=2)  # a day's end, wherever it is
_IS_CJK = re.compile(f"[{CJK}]")


@dataclass(frozen=True)
class FileMatch:
    """A block that holds words of a question."""

    path: str
    line_from: int
    line_to: int
    text: str
    heading: str
    at: datetime | None
    score: float  # 0–1: the share of the words


@dataclass(frozen=True)
class _Word:
    """A word of a question, as it is looked for."""

    root: str
    pairs: tuple[str, ...] = ()  # of a Chinese word that is longer than two characters

    @classmethod
    def of(cls, word: str) -> Self:
        """By what a word has in common with its stem: «decisions» is also «decision», «happy» is «happier»."""
        if _IS_CJK.match(word):
            return cls(word, tuple(word[i : i + 2] for i in range(len(word) - 1)) if len(word) > 2 else ())
        common = len(commonprefix([word, stem(word)]))
        return cls(word[:common] if common >= _LEAST_STEM else word)

    def share(self, where: str) -> float:
        """Whether a text holds it: 1; of a long Chinese word perhaps a part."""
        if self.root in where:
            return 1.0
        return _PARTLY * sum(pair in where for pair in self.pairs) / len(self.pairs) if self.pairs else 0.0


class _Text:
    """A file as it is searched; what its blocks are is asked only where it may hold the best."""

    def __init__(self, path: str, raw: str) -> None:
        self.path, self.raw, self.folded = path, raw, _folded(raw)

    def __len__(self) -> int:
        return 3 * len(self.raw) + 1

    @cached_property
    def chunks(self) -> list[str]:
        """Stretches of the text no block reaches beyond; where fences or HTML may begin, all of it."""
        is_plain = not any(sign in self.raw for sign in _FENCES) and self.raw.count("<") == sum(
            map(self.raw.count, comments.STAMPS)
        )
        return _CHUNK.split(self.folded) if is_plain else [self.folded]

    def most(self, terms: list["_Word"]) -> float:
        """What no block of it scores more than."""
        around = f"{self.folded} {_folded(self.path)}"
        return max(_score(terms, chunk, around) for chunk in self.chunks) if _score(terms, self.folded, "") else 0.0

    @cached_property
    def blocks(self) -> list[tuple[Block, str, str]]:
        """Each with its words and its headings as they are compared."""
        return [(block, _folded(block.text), _folded(block.heading)) for block in blocks(self.raw)]

    @cached_property
    def newest(self) -> float:
        """A moment after everything in it was written."""
        day = day_of(self.path)
        try:
            short = datetime.fromtimestamp(comments.last_second(self.raw), UTC).date().isoformat()
            days = [*_STAMPED_DAY.findall(self.raw), day.isoformat() if day else "", short]
            last_day = datetime.fromisoformat(max(days))
            return (last_day.replace(tzinfo=UTC) + _DAY_AND_ZONE).timestamp()
        except (ValueError, OverflowError, OSError):
            return float("inf")


_cache: LRUCache[tuple[str, str, int, int], _Text] = LRUCache(_CACHED_CHARS, getsizeof=len)
_cache_lock = threading.Lock()


def search(
    folders: Sequence[ScopeFolder], query: str, *, limit: int, zone: tzinfo, transcripts: bool = True
) -> list[FileMatch]:
    """The blocks that hold most words of a question, those first; among equals the newest first.

    Files that cannot be read hold nothing. A heading and the path count a little, and never alone.
    """
    # The words of a question that matter, each once; all of them where none does
    query_words = list(dict.fromkeys(words(query)))
    telling = [word for word in query_words if word not in ENGLISH_STOPWORDS and word not in CHINESE_STOPWORDS]
    terms = [_Word.of(word) for word in telling or query_words]
    if not terms or limit < 1:
        return []
    texts = _texts(folders, transcripts)
    promising = [(most, text) for text in texts if (most := text.most(terms))]  # what a block of theirs can score
    best: list[tuple[tuple[float, float, str, int], FileMatch]] = []
    for most, text in sorted(promising, key=lambda pair: (-pair[0], -pair[1].newest)):
        if len(best) == limit and (-most, -text.newest) > best[-1][0][:2]:
            break  # neither this file nor one of those after it holds anything better
        path = _folded(text.path)
        for block, content, heading in text.blocks:
            if score := _score(terms, content, f"{heading} {path}"):
                best.append(_match_with_rank(text, block, score, zone))
        best = sorted(best, key=itemgetter(0))[:limit]
    return [match for _place, match in best]


def newest(folders: Sequence[ScopeFolder], *, limit: int, zone: tzinfo) -> list[FileMatch]:
    """The blocks of these files that were written last, whatever they say, newest first; then those without a day."""
    latest: list[tuple[tuple[float, float, str, int], FileMatch]] = []
    for text in sorted(_texts(folders, transcripts=True), key=lambda text: -text.newest):
        if limit < 1 or (len(latest) == limit and -text.newest > latest[-1][0][1]):
            break  # neither this file nor one of those after it holds anything newer
        latest += [_match_with_rank(text, block, 1.0, zone) for block, _content, _heading in text.blocks]
        latest = sorted(latest, key=itemgetter(0))[:limit]
    return [match for _place, match in latest]


def _match_with_rank(
    text: _Text, block: Block, score: float, zone: tzinfo
) -> tuple[tuple[float, float, str, int], FileMatch]:
    """A block as a match, and what it is sorted by."""
    at = time_of(text.path, block, zone)
    match = FileMatch(text.path, block.line_from, block.line_to, block.text, block.heading, at, score)
    return (-score, -(at or UNDATED).timestamp(), text.path, block.line_from), match


def _texts(folders: Sequence[ScopeFolder], transcripts: bool) -> list[_Text]:
    """The files of these folders that can be read."""
    texts: list[_Text | None] = []
    for folder in folders:
        files = [*folder.files(), *(folder.transcripts() if transcripts else [])]
        texts += [_text(folder, file) for file in files]
    return [text for text in texts if text]


def forget() -> None:
    """Forget every file that was read."""
    with _cache_lock:
        _cache.clear()


def _score(terms: list[_Word], content: str, around: str) -> float:
    """The share of the words a text holds; a word around it counts less, and only beside one in it."""
    shares = [word.share(content) for word in terms]
    if not any(shares):
        return 0.0
    weighed = (
        s if s >= _AROUND else max(s, _AROUND * word.share(around)) for s, word in zip(shares, terms, strict=True)
    )
    return sum(weighed) / len(terms)


def _text(folder: ScopeFolder, file: FoundFile) -> _Text | None:
    key = (str(folder.workspace), file.path, file.changed_ns, file.size)
    with _cache_lock:
        if (cached := _cache.get(key)) is not None:
            return cached
    try:
        read = disk.read(folder, file.path)
    except (FileUnreadable, PathNotAllowed):
        return None
    if read is None:
        return None
    text = _Text(file.path, read.text)
    with _cache_lock:
        if len(text) < _CACHED_CHARS:
            _cache[key[:2] + (read.changed_ns, read.size)] = text
    return text


def _folded(text: str) -> str:
    plain = text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)
    return plain.casefold()
