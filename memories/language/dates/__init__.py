"""The stretches of time a text names: dates of the calendar, and times counted from the day it is said (C5).

Pure arithmetic on local days: no clock, no zone, no data. «recently», 最近, 上次 name no days and are left alone.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import partial

from memories.language.dates.arithmetic import Stretch, absolute, nearest, relative
from memories.language.dates.patterns import ABSOLUTE, CHINESE_YEAR, DIGITS, RELATIVE

__all__ = ["Window", "windows"]


@dataclass(frozen=True)
class Window:
    """Some days in a row, and the words that name them."""

    start: date
    end: date  # the day after
    words: str

    @property
    def nearest(self) -> Stretch | None:
        """Of «three days ago» the third, while the day before and after it are meant as well."""
        return nearest(self.words, self.start, self.end)


def windows(text: str, *, asked: date | None = None, years: Callable[[], Iterable[int]] = tuple) -> list[Window]:
    """What a text names, dates of the calendar first.

    `asked` is the local day of the question; without it «yesterday» means nothing. `years` tells in which years a date
    without a year may be meant; it is called only when one is named.
    """
    found: list[Window] = []

    def take(stretches_of: Callable[[re.Match[str]], list[Stretch] | None], match: re.Match[str]) -> str:
        stretches = stretches_of(match)
        if stretches is None:
            return match.group()
        found.extend(Window(start, end, match.group().strip()) for start, end in stretches)
        return " "

    rest = CHINESE_YEAR.sub(_in_digits, unicodedata.normalize("NFKC", text))
    for pattern in ABSOLUTE:
        rest = pattern.sub(partial(take, lambda match: absolute(match.groupdict(), asked, years)), rest)
    if asked is not None:
        for kind, pattern in RELATIVE:
            rest = pattern.sub(partial(take, partial(_counted_back, kind, asked)), rest)
    return found


def _counted_back(kind: str, asked: date, match: re.Match[str]) -> list[Stretch] | None:
    stretch = relative(kind, match.groupdict(), match.group(), asked)
    return None if stretch is None else [stretch]


def _in_digits(match: re.Match[str]) -> str:
    return "".join(str(DIGITS[digit]) for digit in match.group())
