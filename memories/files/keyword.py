"""Search in files by their words, without a database (C5, C11): what holds most of the question's words comes first."""

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property

from cachetools import LRUCache

from memories.exceptions import FileUnreadable, PathNotAllowed
from memories.files import disk
from memories.files.layout import FoundFile, ScopeFolder
from memories.files.markdown import Block, blocks
from memories.files.times import time_of
from memories.kinds import UNDATED
from memories.language import stopwords, text
from memories.language.scripts import CJK

_CACHED_CHARS = 64_000_000  # of the texts whose blocks a process remembers
_AROUND = 0.25  # what a word in the heading or the path counts, of one in the text
_PARTLY = 0.5  # what half a Chinese word counts
_LEAST_STEM = 3
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
    pairs: tuple[str, ...]  # of a Chinese word that is longer than two characters

    def share(self, where: str) -> float:
        """Whether a text holds it: 1; of a long Chinese word perhaps a part."""
        if self.root in where:
            return 1.0
        return _PARTLY * sum(pair in where for pair in self.pairs) / len(self.pairs) if self.pairs else 0.0


@dataclass(frozen=True)
class _Parsed:
    """A file as it is searched."""

    folded: str
    blocks: list[Block]

    @cached_property
    def folded_blocks(self) -> list[tuple[str, str]]:
        return [(_folded(block.text), _folded(block.heading)) for block in self.blocks]


_cache: LRUCache[tuple[str, str, int, int], _Parsed] = LRUCache(
    _CACHED_CHARS, getsizeof=lambda one: len(one.folded) + 1
)
_cache_lock = threading.Lock()


def search(
    folders: Sequence[ScopeFolder], query: str, *, limit: int, zone: tzinfo, transcripts: bool = True
) -> list[FileMatch]:
    """The blocks that hold most words of a question, those first; among equals the newest first.

    Files that cannot be read hold nothing. A heading and the path count a little, and never alone.
    """
    wanted = _wanted(query)
    if not wanted or limit < 1:
        return []
    found = list(_matches(folders, wanted, zone, transcripts))
    found.sort(key=lambda match: (-match.score, -(match.at or UNDATED).timestamp(), match.path, match.line_from))
    return found[:limit]


def forget() -> None:
    """Forget every file that was read."""
    with _cache_lock:
        _cache.clear()


def _matches(
    folders: Sequence[ScopeFolder], wanted: list[_Word], zone: tzinfo, transcripts: bool
) -> Iterator[FileMatch]:
    for folder in folders:
        for file in [*folder.files(), *(folder.transcripts() if transcripts else [])]:
            parsed = _parsed(folder, file)
            if parsed is None or not any(word.share(parsed.folded) for word in wanted):
                continue
            path = _folded(file.path)
            for block, (said, heading) in zip(parsed.blocks, parsed.folded_blocks, strict=True):
                if score := _score(wanted, said, f"{heading} {path}"):
                    at = time_of(file.path, block, zone)
                    yield FileMatch(file.path, block.line_from, block.line_to, block.text, block.heading, at, score)


def _score(wanted: list[_Word], said: str, around: str) -> float:
    """The share of the words a block holds; a word around it counts less, and only beside one in it."""
    total, is_said = 0.0, False
    for word in wanted:
        share = word.share(said)
        is_said = is_said or share > 0
        total += max(share, _AROUND * word.share(around))
    return total / len(wanted) if is_said else 0.0


def _parsed(folder: ScopeFolder, file: FoundFile) -> _Parsed | None:
    key = (str(folder.workspace), file.path, file.mtime_ns, file.size)
    with _cache_lock:
        if (known := _cache.get(key)) is not None:
            return known
    try:
        read = disk.read(folder, file.path)
        if read is None:
            return None
        parsed = _Parsed(_folded(read.text), blocks(read.text))
    except (FileUnreadable, PathNotAllowed):
        return None
    with _cache_lock:
        if len(parsed.folded) < _CACHED_CHARS:
            _cache[key[:2] + (read.mtime_ns, read.size)] = parsed
    return parsed


def _wanted(query: str) -> list[_Word]:
    """The words of a question that tell something, each once; all of them where none does."""
    said = list(dict.fromkeys(text.words(query)))
    telling = [word for word in said if word not in stopwords.ENGLISH and word not in stopwords.CHINESE]
    return [_word(word) for word in telling or said]


def _word(word: str) -> _Word:
    if _IS_CJK.match(word):
        return _Word(word, tuple(word[i : i + 2] for i in range(len(word) - 1)) if len(word) > 2 else ())
    return _Word(_root(word), ())


def _root(word: str) -> str:
    """What a word has in common with its stem: «decisions» is also found as «decision», «happy» as «happier»."""
    stem = text.stem(word)
    common = next((n for n, (one, other) in enumerate(zip(word, stem, strict=False)) if one != other), len(stem))
    return word[:common] if common >= _LEAST_STEM else word


def _folded(said: str) -> str:
    return unicodedata.normalize("NFKC", said).casefold()
