"""The words a model's facts rest on, as recall serves them and as a text for a model repeats them (D5).

A fact that no second reading has borne out stands with the words it was made of: whoever reads it can tell.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, tzinfo
from typing import Protocol

from memories.choices import Verification
from memories.entries.evidence import evidence_of
from memories.language import quoting, text
from memories.language.sentences import nearest_sentence
from memories.recall.ranking.scoring import Ranked

QUOTE_CHARS = 160
_GAP = " … "
#: Behind the fact, in the language of the workspace.
_MARKS = "\u00ab\u00bb\u300c\u300d"
_FORMS = {"en": " («{words}», {day})", "zh-hans": "（「{words}」，{day}）"}


class Quotation(Protocol):
    """Words of a message, and when they were written."""

    @property
    def quote(self) -> str: ...

    @property
    def at(self) -> datetime: ...


def add_evidence(items: Collection[Ranked]) -> None:
    """Give memories the words they rest on; one statement, and none where no model stated any of them."""
    stated = {item.entry.pk: item for item in items if item.entry.verification}
    if not stated:
        return
    (workspace,) = {item.entry.scope.workspace_id for item in stated.values()}
    for pk, quotes in evidence_of(stated, workspace).items():
        stated[pk].evidence = quotes


def with_words(
    content: str, verification: str, quotes: Sequence[Quotation], *, language: str, zone: tzinfo, year: int
) -> str:
    """A memory as a text repeats it: one that is only quoted with its words and their day, any other as it is.

    The day has its year where that is not `year`, which the reader knows.
    """
    if verification != Verification.QUOTED or not quotes:
        return content
    newest = max(quotes, key=lambda one: one.at)
    words = _shortened(content, [one for one in quotes if one.at == newest.at])
    form = _FORMS.get(language, _FORMS["en"])
    day = _day(newest.at.astimezone(zone), language, year)
    return content.rstrip().rstrip(".。") + form.format(words=words, day=day)


def _shortened(content: str, quotes: Sequence[Quotation]) -> str:
    """The quotes on one line; of long ones the sentence that says most of the memory."""
    parts = list(dict.fromkeys(quoting.within(one.quote, _MARKS) for one in quotes))
    whole = _GAP.join(parts)
    if len(whole) > QUOTE_CHARS:
        whole = nearest_sentence(content, parts)
    return text.smart_truncate(whole, QUOTE_CHARS)


def _day(at: datetime, language: str, year: int) -> str:
    if language == "zh-hans":
        day = f"{at.month}月{at.day}日"
        return day if at.year == year else f"{at.year}年{day}"
    day = f"{at.day} {at:%B}"
    return day if at.year == year else f"{day} {at.year}"
