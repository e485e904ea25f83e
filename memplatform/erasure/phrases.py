"""What a person said, as keyed hashes of five words in a row: enough to find it again, and nothing to read.

Texts that are not tied to a person by any id, such as answers kept for a repeated call, are found by them; and so is,
afterwards, whatever was left.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from uuid import UUID

from memories.entries import suppression
from memories.language import text
from memories.language.scripts import CJK

LENGTH = 5  # words in a row; a Chinese character counts as one
MOST = 200_000  # of one person; of more those with the lowest hashes are kept
_WORD = re.compile(rf"[{CJK}]|[^\s{CJK}]+")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def of_texts(texts: Iterable[str]) -> set[int]:
    """The phrases of texts; none of a text that is too short for one."""
    key = _key()
    return {phrase for one in texts for phrase in _phrases(one, key)}


def fewest(phrases: Collection[int]) -> list[int]:
    """As many of them as an erasure keeps."""
    return sorted(phrases)[:MOST]


def _key() -> bytes:
    return hashlib.sha256(b"memplatform.phrases.1:" + suppression.seed()).digest()


def _phrases(content: str, key: bytes) -> Iterator[int]:
    words = [word.encode(errors="surrogatepass") for word in _WORD.findall(text.normalise(content))]
    for start in range(len(words) - LENGTH + 1):
        found = hashlib.blake2b(b" ".join(words[start : start + LENGTH]), digest_size=8, key=key).digest()
        yield int.from_bytes(found, signed=True)


class Matcher:
    """Whether a text tells something of an erased person: their words, an id of what is erased, or their own id."""

    def __init__(self, phrases: Collection[int], uids: Collection[UUID] = (), peers: Collection[str] = ()) -> None:
        self._phrases, self._uids, self._key = frozenset(phrases), frozenset(map(str, uids)), _key()
        names = "|".join(re.escape(peer) for peer in peers if len(peer) > 2)
        self._peers = re.compile(rf"(?<![\w-])(?:{names})(?![\w-])") if names else None

    def says(self, content: str) -> bool:
        """Whether five words in a row stand in it that the person said."""
        return any(phrase in self._phrases for phrase in _phrases(content, self._key))

    def names(self, content: str) -> bool:
        """Whether it names something erased, or the person, by id."""
        if self._peers and self._peers.search(content):
            return True
        return not self._uids.isdisjoint(_UID.findall(content))

    def matches(self, content: str) -> bool:
        return self.names(content) or self.says(content)
