"""A text that tells of a whole conversation, without what nobody spoke of (B3, C7).

Milder than the reading of a fact: a summary puts together what was said far apart. But a number, a date or a name that
nobody named, or a sentence most of whose words nobody used, is no summary of anything.
"""

from collections.abc import Sequence

from memories import verification
from memories.language import summary
from memories.verification.parts import Reading, read

#: Of the words of a sentence so many are spoken of, somewhere.
_LEAST = 0.5


def without_strays(said: str, sources: Sequence[str]) -> str:
    """The sentences of a text that its sources speak of; empty when most of them do not."""
    names = verification.names_in([*sources, said])
    spoken_of = _Spoken([read(source, names) for source in sources])
    paragraphs = [[one.strip() for one in summary.sentences(part) if one.strip()] for part in said.split("\n\n")]
    kept = [[one for one in sentences if spoken_of.holds(read(one, names))] for sentences in paragraphs]
    if 2 * sum(map(len, kept)) < sum(map(len, paragraphs)):
        return ""
    return "\n\n".join(_joined(sentences) for sentences in kept if sentences)


class _Spoken:
    """What is spoken of in several texts, taken together."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self.amounts = {amount for one in readings for amount in one.implied}
        self.terms = {term for one in readings for term in one.telling}

    def holds(self, reading: Reading) -> bool:
        if reading.amounts - self.amounts or any(not verification.is_among(name, self.terms) for name in reading.names):
            return False
        telling = reading.telling
        known = sum(1 for term in telling if verification.is_among(term, self.terms))
        return not telling or known >= _LEAST * len(telling)


def _joined(sentences: Sequence[str]) -> str:
    return "".join(f" {one}" if one[:1].isascii() else one for one in sentences).strip()
