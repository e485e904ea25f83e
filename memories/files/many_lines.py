"""Many blocks of a file struck out or put back at once: the file is read a few times, however many they are.

What is tried for all of them at once is read again as a whole. Where any other block would be another, each half is
tried apart, down to a single block, for which `markdown` has more ways.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice

from memories.exceptions import InvalidDraft
from memories.files import comments, markdown, wording
from memories.files.comments import Struck
from memories.files.markdown import Block
from memories.files.parsing import Piece, lines_of

_WAYS = 4  # of striking, that are tried for all at once


def struck_all(text: str, gone: Sequence[Block], at: datetime) -> tuple[str, list[InvalidDraft]]:
    """The text with these blocks of it struck out, and the refusals of those that cannot be struck where they stand."""
    gone = sorted(gone, key=lambda block: block.line_from)
    if len(gone) < 2:
        try:
            return markdown.struck(text, gone[0], at) if gone else text, []
        except InvalidDraft as refusal:
            return text, [refusal]
    changed = _struck_at_once(text, gone, at)
    if changed is not None:
        return changed, []
    half = len(gone) // 2  # the lower first: those above stay in their lines
    text, refused = struck_all(text, gone[half:], at)
    text, others = struck_all(text, gone[:half], at)
    return text, refused + others


def unstruck_all(text: str, contents: Sequence[str]) -> tuple[str, list[str]]:
    """The text with struck blocks of these words put back, and the words that no struck line says."""
    found = _last_struck(text, contents)
    left = list(contents)
    if len(found) > 1:
        changed = _put_back(text, found)
        if changed is None:
            half = len(contents) // 2
            text, missing = unstruck_all(text, contents[:half])
            text, others = unstruck_all(text, contents[half:])
            return text, missing + others
        text, back = changed, Counter(content for _one, content in found)
        left = [content for content in contents if not _take(back, content)]
    missing = []
    for content in left:
        changed = markdown.unstruck(text, content)
        if changed is None:
            missing.append(content)
        else:
            text = changed
    return text, missing


def without_struck(text: str, contents: Collection[str]) -> str:
    """The text without the struck blocks of these words: nothing is left of them."""
    wanted = {content.strip() for content in contents}
    kept, begin = [], 0
    for one in comments.struck_texts(text):
        if wanted.isdisjoint(block.text for block in markdown.blocks(one.raw)):
            continue
        kept.append(text[begin : one.start])
        begin = one.end
        if one.start == 0 or text[one.start - 1] == "\n":
            begin += text[begin:].startswith("\r")
            begin += text[begin:].startswith("\n")
    return "".join([*kept, text[begin:]])


def _struck_at_once(text: str, gone: Sequence[Block], at: datetime) -> str | None:
    bom, text = markdown.without_bom(text)
    said = list(markdown.said_pieces(text))
    wanted = set(gone)
    chosen = [piece for piece, block in said if block in wanted]
    if len(chosen) != len(gone) or len({piece.start for piece in chosen}) != len(gone):
        return None
    expected = [markdown.words_of(block) for _piece, block in said if block not in wanted]
    lines = lines_of(text)
    for way in range(_WAYS):
        changed = _with_each(lines, chosen, partial(_struck_part, way=way, at=at))
        if changed is not None and [markdown.words_of(block) for block in markdown.blocks(changed)] == expected:
            return bom + changed
    return None


def _struck_part(part: list[str], piece: Piece, *, way: int, at: datetime) -> str | None:
    """The lines of a piece struck out in one of the ways, or the last of those there are."""
    found = list(islice(wording.struck_out(part, piece, at), way + 1))
    return found[-1] if found else None


def _with_each(
    lines: list[str], chosen: Sequence[Piece], change: Callable[[list[str], Piece], str | None]
) -> str | None:
    """The text of these lines, with the lines of each piece changed by themselves."""
    out, begin = [], 0
    for piece in chosen:
        part = lines[piece.start : piece.end]
        changed = change(part, replace(piece, start=0, end=len(part)))
        if changed is None or piece.start < begin:
            return None
        out += [*lines[begin : piece.start], changed]
        begin = piece.end
    return "".join([*out, *lines[begin:]])


def _last_struck(text: str, contents: Sequence[str]) -> list[tuple[Struck, str]]:
    """For each of some words the last struck text that says them and is none other's, in order of the text."""
    by_words: defaultdict[str, list[Struck]] = defaultdict(list)
    for one in comments.struck_texts(text):
        read = markdown.blocks(one.raw)
        by_words[markdown.letters_of(read[0].text if len(read) == 1 else one.raw)].append(one)
    struck = ((by_words[markdown.letters_of(content)], content) for content in contents)
    found = [(same.pop(), content) for same, content in struck if same]
    return sorted(found, key=lambda pair: pair[0].start)


def _put_back(text: str, found: Sequence[tuple[Struck, str]]) -> str | None:
    """The text with all of these as they were; None where it would say anything else then."""
    out, begin = [], 0
    for one, _content in found:
        start, end = next(markdown.places_of(text, one))
        out += [text[begin:start], one.raw]
        begin = end
    changed = "".join([*out, text[begin:]])
    expected = Counter(block.text for block in markdown.blocks(text))
    expected.update(content.strip() for _one, content in found)
    return changed if Counter(block.text for block in markdown.blocks(changed)) == expected else None


def _take(counts: Counter[str], one: str) -> bool:
    counts[one] -= 1
    return counts[one] >= 0
