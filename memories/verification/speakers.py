"""Who is meant, in the third person: whoever speaks is one mark, by «I», 我, «the user» or a name; he, 她, it another.

So «I like Tom» and «Zoe likes Tom» read alike, and «Tom likes me» does not.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from memories.language.scripts import HAN
from memories.verification.vocabulary import KIN

#: Marks nobody types, as a Latin word and as Chinese characters; a speaker's number is spelled in letters.
_LATIN, _CHINESE, _NUMBERS = "xqspeaker", "龘", "靐齉爩龗鱻麤厵灪"
#: He, she, it and they.
OTHER = "xqother"
_OTHER_CHINESE = "龘纞"
MARKS = frozenset(
    [*(f"{_LATIN}{letter}" for letter in "abcdefgh"), *(_CHINESE + n for n in _NUMBERS), OTHER, _OTHER_CHINESE]
)
MOST_SPEAKERS = len(_NUMBERS)


def _scaled(match: re.Match[str]) -> str:
    return f"{float(match[1]) * (10_000 if match[2] in '万萬' else 10**8):.0f}"


_CONTRACTED: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\b(I|we)['’]?m\b", re.I), r"\1 am"),
    (re.compile(r"\b(I|we|you|they|he|she|it|that|who|[A-Z]\w+)['’]re\b", re.I), r"\1 are"),
    (re.compile(r"\b(I|we|you|they)['’]ve\b", re.I), r"\1 have"),
    (re.compile(r"\b(\w+)['’]ll\b", re.I), r"\1 will"),
    (re.compile(r"\b(I|we|he|she|they|you)['’]d like\b|\b(I|we) would like\b", re.I), r"\1\2 want"),
    (re.compile(r"\b(I|we|he|she|they|you)['’]d\b", re.I), r"\1 would"),
    (re.compile(r"\b(he|she|it|that|there|who|what|where)['’]s\b", re.I), r"\1 is"),
    (re.compile(r"\bcan(?:no|['’])t\b", re.I), "can not"),
    (re.compile(r"\bwon['’]t\b", re.I), "will not"),
    (re.compile(r"n['’]t\b"), " not"),
    (re.compile(r"\b(\w+)[ -]years?[ -]old\b", re.I), r"\1"),
    (re.compile(r"\b(?:kind|sort) of\b", re.I), ""),
    (re.compile(r"\ba (?:little|bit|lot)(?: of)?\b", re.I), "some"),
    (re.compile(r"(?<!\d)(\d++(?:\.\d++)?+)\s*+([万萬亿億])"), _scaled),
    (re.compile(r"\bused to\b(?! (?:\w+ing|the|it)\b)", re.I), "formerly"),
    (re.compile(r"\bgoing to (?=[a-z])(?!the\b|a\b|an\b|my\b)", re.I), "will "),
    (re.compile(r"\b(St|Mr|Mrs|Ms|Dr|Prof|No(?=\. \d))\.(?= )"), r"\1"),
    (re.compile(r"\bgonna\b", re.I), "will"),
    (re.compile(r"\bwanna\b", re.I), "want to"),
    (re.compile(r"\b(?:rather than|instead of)\b", re.I), "not"),
    (re.compile(rf"([{HAN}])[不没沒]\1"), r"是否\1"),
    (re.compile("差一点儿?就?|差点儿?就?"), "差点"),
    (re.compile("不是(?:不|没有?)"), ""),
    (re.compile(r"\b(second|third|fourth|fifth|sixth|seventh)\b(?! of [A-Z])", re.I), r"ordinal\1"),
    (re.compile("以前(?!的)|曾经|从前|過去|过去"), "曾"),
)
_FIRST = (
    (re.compile(r"\b(?:my|our)\b", re.I), "{latin}'s"),
    (re.compile(r"\b(?:mine|ours)\b", re.I), "{latin}'s"),
    (re.compile(r"\b(?:[Ii]|[Mm]e|[Mm]yself|[Ww]e|[Uu]s|[Oo]urselves)\b"), "{latin}"),
    (re.compile(rf"(?:我们|我們|咱们|咱|俺|本人|我)的?(?={KIN})"), "{chinese}的"),
    (re.compile("(?:我们|我們|咱们|咱|俺|我)家的"), "{chinese}的"),
    (re.compile("(?:我们|我們|咱们|咱|俺|本人|自我(?!们)|我)(?:自己)?"), "{chinese}"),
)
_SECOND = (
    (re.compile(r"\byours?\b", re.I), "{latin}'s"),
    (re.compile(r"\b(?:you|yourself)\b", re.I), "{latin}"),
    (re.compile(rf"(?:您|你们|你)的?(?={KIN})"), "{chinese}的"),
    (re.compile("您|你们|你"), "{chinese}"),
)
_THIRD = (
    (re.compile(r"\b(?:his|their|its)\b|\bher\b(?= [a-z])", re.I), f" {OTHER}'s"),
    (
        re.compile(r"\b(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey|him|her|them|[Tt]his|[Tt]hat(?= (?:is|was|has|will)\b))\b"),
        f" {OTHER} ",
    ),
    (re.compile("(?:他们|她们|它们|[他她它])"), _OTHER_CHINESE),
)
_THE_USER = re.compile(r"\b(?:the )?user\b|用户|用戶|使用者", re.I)


class Speakers:
    """Whoever speaks, each under one mark."""

    def __init__(self, people: Sequence[str], also_called: Mapping[str, Collection[str]] | None = None) -> None:
        self.people = list(dict.fromkeys(people))[:MOST_SPEAKERS]
        self.also_called = also_called or {}
        self._names = [
            (name, mark)
            for speaker, mark in zip(self.people, range(len(self.people)), strict=True)
            for name in [speaker, *self.also_called.get(speaker, ())]
            if len(name) > 1
        ]
        self._names.sort(key=lambda pair: -len(pair[0]))

    def mark(self, speaker: str) -> str:
        return mark_of(self.people.index(speaker)) if speaker in self.people else ""

    def named(self, content: str) -> str:
        """A text in which everybody who speaks is a mark, by name, «the user» by being the only one."""
        for name, n in self._names:
            pattern = re.escape(name)
            if name.isascii():
                pattern = rf"(?<![A-Za-z0-9@/_\\.-]){pattern}(?![A-Za-z0-9@/_\\-]|\.[A-Za-z0-9])"
            content = re.sub(pattern, partial(_placed, n), content, flags=re.IGNORECASE)
        if len(self.people) == 1:
            content = _THE_USER.sub(partial(_placed, 0), content)
        return _owning(_put(_THIRD, content, 0))

    def first(self, content: str, speaker: str) -> str:
        """What somebody said of themselves."""
        n = self.people.index(speaker) if speaker in self.people else -1
        return self.named(_put(_FIRST, content, n) if n >= 0 else content)

    def second(self, content: str, speaker: str) -> str:
        """What somebody was told of themselves."""
        n = self.people.index(speaker) if speaker in self.people else -1
        return self.named(_put(_SECOND, content, n) if n >= 0 else content)


def mark_of(n: int) -> str:
    return f"{_LATIN}{'abcdefgh'[n]}"


def _chinese_mark(n: int) -> str:
    return f"{_CHINESE}{_NUMBERS[n]}"


def is_mark(term: str) -> bool:
    return term in MARKS


def is_person(term: str) -> bool:
    """Whether a mark is that of one who speaks."""
    return term in MARKS and term != OTHER


def _placed(n: int, match: re.Match[str]) -> str:
    """The mark as it is read where it stands: by its neighbours."""
    before, after = match.string[: match.start()].rstrip()[-1:], match.string[match.end() :].lstrip()[:1]
    is_chinese = re.match(f"[{HAN}]", after) or (not after.isascii() and re.match(f"[{HAN}]", before))
    return _chinese_mark(n) if is_chinese else f" {mark_of(n)}{' ' if after.isalnum() else ''}"


def _put(rules: Sequence[tuple[re.Pattern[str], str]], content: str, n: int) -> str:
    for pattern, written in rules:
        content = pattern.sub(written.format(latin=mark_of(n), chinese=_chinese_mark(n)), content)
    return content


def _owning(content: str) -> str:
    """Whose kin somebody is goes without saying 的."""
    return re.sub(rf"({_CHINESE}[{_NUMBERS}纞])(?:家的?|的)?(?={KIN})", r"\1的", content)


def expand_contractions(content: str) -> str:
    said = unicodedata.normalize("NFKC", content).replace("’", "'")
    for pattern, written in _CONTRACTED:
        said = pattern.sub(written, said)
    return said


def latin_mark(term: str) -> str:
    if term == _OTHER_CHINESE:
        return OTHER
    if term.startswith(_CHINESE) and term[1:] in _NUMBERS:
        return mark_of(_NUMBERS.index(term[1:]))
    return term
