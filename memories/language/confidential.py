"""Secrets that people say in a conversation: found by their form, by a checksum, or by the words around them.

`find_secrets` names the characters, `mask` takes them out, `asked_kinds` says which kinds of secret a question asks
for, `asks_which` whether it asks for the value of a certain one. What it goes by, in English and in Chinese:
1. forms that nothing else has: keys of vendors, JWTs, private keys, passwords in addresses, headers and settings;
2. numbers with a checksum: cards, IBANs, Chinese identity numbers, where no other word says what they are;
3. a word for a secret (`confidential.txt`) with a value beside it, whose form the kind of secret decides.

Each step looks at a bounded number of characters around a word, so that a text is read in a time that grows as it does.

Of the tools a bot used their names are kept in order, and their arguments without what looks secret (A6). Not stored
anywhere is
1. the value of an argument whose name says so: password, token, api_key, authorization, 密码 …
2. in any text what follows such a word (`--token x`, `password=x`, 密码是x), and logins in addresses (`//user:x@`);
3. in any text whatever is recognised as a secret in a conversation, too;
4. and to be on the safe side 32 and more hexadecimal digits, and 24 and more characters in a row that mix capitals,
   small letters and digits: a harmless value that looks like a key is lost, too.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from memories.conf import conf
from memories.language import text
from memories.language.secret_forms import (
    MASKED,
    UNITS,
    FoundSecret,
    SecretKind,
    Span,
    Value,
    by_checksum,
    by_form,
    fold,
)
from memories.language.text import KANA_TO_HAN
from memories.language.word_lists import deferred, pattern, source, word_set, words

#: Characters of a text that are looked at beside a word for a secret.
_AFTER, _BEFORE = 110, 70
#: What is looked for first: of words that begin alike the longer ones.
_LAST_KINDS = (SecretKind.PASSWORD, SecretKind.CODE)
_KINDS = (SecretKind.KEY, *(kind for kind in SecretKind if kind not in (SecretKind.KEY, *_LAST_KINDS)), *_LAST_KINDS)
#: One of these is part of every word for a secret.
_STEMS = tuple(word.replace("_", " ") for word in words("confidential", "stems"))
_NOUN = deferred(
    rf"(?:(?<![A-Za-z])(?=[a-z0-9])|(?=[{KANA_TO_HAN}]))(?:"
    + "|".join(f"(?P<{kind}>{source('confidential', kind)})" for kind in _KINDS)
    + rf")(?:(?<=[{KANA_TO_HAN}])|(?![A-Za-z\d_]))",
    re.IGNORECASE,
)
#: No text that means something has so many words for secrets; one made to keep a turn busy has.
_MOST_NOUNS = 8_000
_BARE_CODE = deferred(r"(?<![A-Za-z])codes?(?![A-Za-z])|代码|数字码", re.IGNORECASE)
_ACCESS = deferred(rf"(?<![A-Za-z])(?:{source('confidential', 'access')})(?![A-Za-z])|门|锁|开", re.IGNORECASE)
_HARMLESS = deferred(
    rf"(?:{source('confidential', 'harmless')})[\s_-]*(?:codes?|numbers?|no\.?|\#|码|号|号码)?\s*$", re.IGNORECASE
)
_HARMLESS_WORD = deferred(rf"(?<![A-Za-z])(?:{source('confidential', 'harmless')})(?![A-Za-z])", re.IGNORECASE)
_BUSINESS = deferred(source("confidential", "business"), re.IGNORECASE)
_NO_PASSWORD = deferred(source("confidential", "no_password"), re.IGNORECASE)
#: Where a sentence ends; a point within a value does not.
_SENTENCE_END = deferred(r"[.!?;](?=\s|$)|[。！？；\n]")
_LINK = pattern("confidential", "link", re.IGNORECASE)
_CHANGED = deferred(
    r"(?:chang|updat|set|switch|reset|rotat|renam|chose|pick|made|mak|turn|mov|replac)\w{0,4}\b[^.!?\n]{0,50}$",
    re.IGNORECASE,
)
_TO = deferred(r"(?<![A-Za-z])(?:to|into|as|with|by)(?![A-Za-z])", re.IGNORECASE)
_LIST = deferred(r"\s*(?:,|，|、|/|\band\b|\bor\b|和|或|及)\s*(?=[*#\w])", re.IGNORECASE)
_OWNED = r"(?:(?:my|the|our|your|his|her|their|a|that|this)\s)?(?:[\w'-]{1,20}\s){0,2}"
_IS_NOUN = deferred(
    rf"(?:(?:\bis|\bwas|\bare|\bas|=|-|,)\s(?:(?:still|now|also|currently)\s)?{_OWNED}|(?:这个)?(?:就是|是|为|作为)[^，。\s]{{0,14}})$",
    re.IGNORECASE,
)
_DIGIT = deferred(r"\d")
_FEW_DIGITS = deferred(r"\d[\d*#-]{2}|\d\d\s\d\d|\d{1,2}\D{1,12}\d{1,2}\D{1,12}\d")
#: What has a lock that takes a number.
_LOCKED = (
    r"(?:doors?|gates?|garage|alarm|safe|lock(?:er|s|box)?|padlock|key\s?(?:pad|box)|lock\s?box|intercom|buzzer|entrance"
    r"|elevator|lift|lobby|vault|building|airbnb|flat|apartment)"
)
_LOCKED_CHINESE = r"(?:(?<![专部热冷澳厦])门(?![牌票店诊类户槛派])|锁(?!定|仓|屏壁)|保险[柜箱])"
_NUMBER_USED = (
    r"(?P<value>(?!(?:110|112|119|120|122|911|999)(?!\d))[*#]?(?:\d{4,10}|[A-Z]?\d{3,10}[A-Z]?|\d{1,4}[*#]\d{2,8}|\d{1,2}(?:-\d{1,2}){2,3}"
    r"|\d\d(?:\s\d\d){1,3})[*#]?)"
)
_OPENED = f"(?:{source('confidential', 'opened')})"
_USED = (
    deferred(
        r"(?<![A-Za-z])(?:enter|punch(?:\s?in)?|key\s?in|type(?:\s?in)?|dial|press|use|input|put\s?in|buzz|hit|try|tap(?:\s?in)?)"
        rf"\s(?:the\s)?(?:code\s|digits\s|pin\s)?{_NUMBER_USED}(?![\w:/-]|\.\w)(?=[^.!?\n]{{0,40}}\b{_OPENED}\b)",
        re.IGNORECASE,
    ),
    deferred(
        rf"(?<![A-Za-z]){_OPENED}s?\b[^.!?\n\d/]{{0,50}}?(?:\b(?:with|using|by|code|pin|press|enter|dial|punch\sin|takes|wants)\b|:(?=\s[*#]?\d{{4}}))"
        rf"\s?(?:in\s)?(?:the\s)?(?:code\s|pin\s|digits\s)?{_NUMBER_USED}(?![\w:/-]|\.\w|\s?(?:am|pm)\b)",
        re.IGNORECASE,
    ),
    deferred(
        rf"(?<![A-Za-z]){_LOCKED}\b[^.!?\n/]{{0,90}}?\b(?:press|enter|dial|punch\sin|type|key\sin)(?:\sin)?\s"
        rf"(?:the\s)?(?:code\s|pin\s|digits\s)?{_NUMBER_USED}(?![\w:/-]|\.\w|\s?(?:am|pm)\b)",
        re.IGNORECASE,
    ),
    deferred(
        r"(?<![A-Za-z])(?:doors?|gate|garage|alarm|safe|lockers?|lock\s?box|key\s?box|padlock|intercom|key\s?pad|vault)(?:\s\w{1,12}){0,3}\s?"
        rf"(?:\bis|[:=-])\s?{_NUMBER_USED}(?![\w:/-]|\.\w|\s?(?:am|pm)\b)",
        re.IGNORECASE,
    ),
    deferred(
        r"(?<![A-Za-z])(?:(?:bike|suit\s?case|luggage|trolley|pad|combination)\s?(?:lock|case)?|lock|lock\s?box|key\s?(?:safe|box))"
        r"(?:\s\w{1,12}){0,3}?(?:\s(?:is|opens\sat)|\s?[:=-]|\s?)\s?"
        r"(?P<value>\d{3,8}|\d{1,2}(?:[- ]\d{1,2}){2,7})(?![\w:/-]|\.\w|\s?(?:am|pm|km)\b)",
        re.IGNORECASE,
    ),
    deferred(
        rf"(?<![\w.:/-]){_NUMBER_USED}\s(?:(?:on\sthe\skey\s?pad|then)\s)?"
        r"(?:opens|unlocks|disarms|(?:gets|lets)\s(?:you|me|us|one|people)\s(?:in|into|through)|to\s(?:unlock|open|disarm|get\sin))\b",
        re.IGNORECASE,
    ),
    deferred(
        r"(?<![A-Za-z])(?:safe|locker|padlock|lock|vault|combo|combination|dial|opens?|unlocks?)\b[^.!?\n\d/]{0,40}?"
        r"(?P<value>(?:(?:left|right|clockwise)\s(?:to\s)?)?\d{1,2}(?:\s(?:left|right))?"
        r"(?:(?:\s?[,-]\s?|\s(?:then|and)\s|\s)(?:then\s)?(?:(?:left|right|clockwise)\s(?:to\s)?)?\d{1,2}(?:\s(?:left|right))?){2,4})(?![\w:/.])",
        re.IGNORECASE,
    ),
    deferred(rf"(?:输入|按|键入|输|拨)\s?{_NUMBER_USED}\s?(?=[^。\n]{{0,12}}(?:门|锁|进|登录|开))"),
    deferred(
        rf"(?:(?:{_LOCKED_CHINESE}|报警|警报|防盗|撤防)[^。\n\d]{{0,14}}(?:用|按|拨|输入?|是|:|(?:改|换|设)[成为]了?)"
        r"|(?:手机|电脑|平板)[^。\n\d]{0,12}(?:用|按|输入?|是|:)|(?:取钱|取款|支付|付款|转账)[^。\n\d]{0,12}(?:按|输入?))"
        rf"\s?{_NUMBER_USED}(?![A-Za-z\d_年月日点元号块个])"
    ),
    deferred(
        r"(?P<value>(?:[左右]转?|[顺逆]时针(?:转)?)到?\s?\d{1,2}(?:[，,、\s]{0,2}(?:再|然后)?(?:往|向)?(?:[左右]转?|[顺逆]时针(?:转)?)到?\s?\d{1,2}){1,4})"
        r"(?![度\d米步])"
    ),
)
_STRONG_WORD = r"(?P<value>(?=[!-~]{0,40}\d)(?![^\s@]{1,40}@[^\s@]{1,40}\.)[!-~]{6,60})"
#: With what one gets into a network or an account.
_LOGINS = (
    deferred(
        r"(?<![A-Za-z])(?:log|sign|get)\s?(?:on|in)(?:to)?\b[^.!?\n]{0,30}?\s(?:with|using|by\styping)\s"
        rf"(?!(?:an?|my|the|your|our)\s)(?=[!-~]{{8}}|[!-~]{{1,8}}[!@#$%^&*]){_STRONG_WORD}",
        re.IGNORECASE,
    ),
    deferred(rf"(?:网络?|wi-?fi|热点|路由器?|登[录陆])[^。\n]{{0,40}}?(?:输入?|填)\s?{_STRONG_WORD}", re.IGNORECASE),
)


_LAST_NUMBER = (
    deferred(r"[*#+(]?\d(?:[ .()-]{0,2}[\dA-Za-z]){2,24}[*#]?$"),
    deferred(r"(?<![A-Za-z\d])[A-Z]{1,3}\d{5,12}$"),
)
_LAST_RUN = (deferred(r"(?<![!-~\u00c0-\u017f])[!-~\u00c0-\u017f]{4,100}$"),)


def by_use(folded: str) -> Iterator[Span]:
    """«Punch in 4471 at the gate», «log on with …»: what opens something."""
    for form in _USED if _FEW_DIGITS.search(folded) else ():
        for match in form.finditer(folded):
            if not UNITS.match(folded, match.end("value")):
                yield *match.span("value"), SecretKind.CODE
    for login in _LOGINS if _DIGIT.search(folded) else ():
        for match in login.finditer(folded):
            end = match.end() - len(match["value"]) + len(match["value"].rstrip(".,;:?)]}>\"'`"))
            yield match.start("value"), end, SecretKind.PASSWORD


def nouns_of(folded: str) -> Iterator[re.Match[str]]:
    """The words for a secret in a text."""
    for noun in islice(_NOUN.finditer(folded), _MOST_NOUNS):
        if noun.lastgroup == SecretKind.PASSWORD and _NO_PASSWORD.match(folded, noun.end()):
            continue
        yield noun


def by_words(folded: str) -> Iterator[Span]:
    """«The wifi password is plumtree», «8812 是门锁密码»."""
    lowered = folded.lower()
    if not any(stem in lowered for stem in _STEMS):
        return
    yield from _beside_each(folded, [(noun, SecretKind(str(noun.lastgroup))) for noun in nouns_of(folded)])
    # the word «code» alone, where no other word says that it is none that opens something
    codes = list(islice(_BARE_CODE.finditer(folded), _MOST_NOUNS))
    harmless = [word.span() for word in _HARMLESS_WORD.finditer(folded)] if codes else []
    access = [word.span() for word in _ACCESS.finditer(folded)] if harmless else []
    opening: list[tuple[re.Match[str], SecretKind]] = []
    for code in codes:
        before, end = max(0, code.start() - 30), code.end()
        if _holds_one(harmless, before, end + 30):
            opens_something = _holds_one(access, end, end + 80)
            if not opens_something or _HARMLESS.search(folded, before, end):
                continue
        opening.append((code, SecretKind.CODE))
    yield from _beside_each(folded, opening)


def _holds_one(spans: Sequence[tuple[int, int]], begin: int, end: int) -> bool:
    """Whether one of these spans, which are in their order, stands between two positions."""
    n = bisect_left(spans, (begin, begin))
    return n < len(spans) and spans[n][1] <= end


def _beside_each(folded: str, nouns: Sequence[tuple[re.Match[str], SecretKind]]) -> Iterator[Span]:
    """The values of words for secrets; each word is read between those of its kind, so that a text is read once."""
    bounds: list[int] = []
    ends: dict[SecretKind, int] = {}
    for noun, kind in reversed(nouns):
        bounds.append(ends.get(kind, len(folded)))
        ends[kind] = noun.start()
    begins: dict[SecretKind, int] = {}
    for (noun, kind), most, following in zip_longest(nouns, reversed(bounds), nouns[1:]):
        if following is None or kind != following[1] or folded[noun.end() : following[0].start()].strip():
            yield from _beside(folded, noun, kind, begins.get(kind, 0), most)
        begins[kind] = noun.end()


def _beside(folded: str, noun: re.Match[str], kind: SecretKind, least: int, most: int) -> Iterator[Span]:
    """The values after a word for a secret, else the one before it; both within these bounds."""
    start, end = noun.span()
    # to the end of the sentence; a line that ends with a colon goes on in the next one
    until = min(most, end + _AFTER)
    for ends in _SENTENCE_END.finditer(folded, end, until):
        if ends[0] != "\n" or folded[end : ends.start()].rstrip(" \"'*`")[-1:] not in ("", ":", "是", "="):
            until = ends.start()
            break
    if kind == SecretKind.PHONE and _BUSINESS.search(folded, max(0, start - 30), until):
        return
    value = Value(folded, kind, folded[start:end].lower())
    if span := _value_after(value, start, end, until):
        yield *span, kind
        while (more := _LIST.match(folded, span[1])) and (further := value.at(more.end(), may_be_plain=False)):
            span = further
            yield *span, kind
    elif span := _value_before(value, start, least):
        yield *span, kind


def _value_after(value: "Value", start: int, end: int, until: int) -> tuple[int, int] | None:
    """«Changed to X», else X behind the word, behind «is», behind «to», or anywhere if its form says so."""
    folded = value.folded
    ways: list[tuple[Sequence[int], bool]] = [([end], False)]
    ways.append(([link.end() for link in _LINK.finditer(folded, end, until)], True))
    to = [link.end() for link in _TO.finditer(folded, end, until)]
    if to and _CHANGED.search(folded, max(0, start - 60), start):
        ways.insert(0, (to, True))
    else:
        ways.append((to, False))
    for positions, may_be_plain in ways:
        for at in positions:
            if span := value.at(at, may_be_plain=may_be_plain):
                return span
    return value.anywhere(end, until)


def _value_before(value: "Value", start: int, least: int) -> tuple[int, int] | None:
    """«X is my password», «X 是我的密码»."""
    begin = max(least, start - _BEFORE)
    ends = _IS_NOUN.search(value.folded, begin, start)
    if not ends:
        return None
    end = begin + len(value.folded[begin : ends.start()].rstrip(" \t\n\"'`*_,，"))
    for last in _LAST_NUMBER if value.kind not in (SecretKind.PASSWORD, SecretKind.KEY) else _LAST_RUN:
        if (match := last.search(value.folded, begin, end)) and (span := value.at(match.start(), may_be_plain=False)):
            return span if span[1] >= end - 1 else None
    return None


#: A question for one of these is answered with secrets of these kinds: people call a PIN a password, and a code a PIN.
_MEANT = {
    SecretKind.PASSWORD: {SecretKind.PASSWORD, SecretKind.CODE, SecretKind.PHRASE, SecretKind.KEY},
    SecretKind.CODE: {SecretKind.CODE, SecretKind.PASSWORD},
    SecretKind.KEY: {SecretKind.KEY, SecretKind.PASSWORD},
    SecretKind.PHRASE: {SecretKind.PHRASE, SecretKind.PASSWORD},
    SecretKind.ACCOUNT: {SecretKind.ACCOUNT, SecretKind.CARD},
}
_ASKED = {kind: pattern("confidential", f"asks_{kind}", re.IGNORECASE) for kind in SecretKind}
_SEVERAL = pattern("confidential", "asks_several", re.IGNORECASE)
_ANY_SECRET = pattern("confidential", "asks_any", re.IGNORECASE)
#: «Which GitHub token does CI use?», 「api密钥是什么？」: a certain one's value; «what is an API key?» asks of all.
_WHICH_BEFORE = pattern("confidential", "which_before", re.IGNORECASE)
_WHICH_AFTER = pattern("confidential", "which_after", re.IGNORECASE)
_IS_WHAT = pattern("confidential", "is_what")
_WHICH_CHARS = 40
_VALUE_ALONE = deferred(r"(?=[!-~]{0,200}\d)[!-~]{4,200}")


def is_value_alone(question: str) -> bool:
    """Whether nothing but what may be a secret is looked for: who types it, knows it."""
    return _VALUE_ALONE.fullmatch(fold(question).strip()) is not None


def asked_kinds(question: str) -> frozenset[SecretKind]:
    """The kinds of secret a question asks for; none: it is about something else."""
    return frozenset(asked_for for kind in named_kinds(question) for asked_for in _MEANT.get(kind, {kind}))


def named_kinds(question: str) -> frozenset[SecretKind]:
    """The kinds of secret a question has words for: of what is asked for, what is most likely meant."""
    folded = fold(question)
    if _ANY_SECRET.search(folded) or is_value_alone(question):
        return frozenset(SecretKind)
    kinds = {kind for kind, form in _ASKED.items() if form.search(folded)}
    return frozenset(kinds | {SecretKind(str(noun.lastgroup)) for noun in nouns_of(folded)})


def asks_for_several(question: str) -> bool:
    """Whether all secrets of a kind are asked for: «what are my passwords?»."""
    return _SEVERAL.search(fold(question)) is not None


def asks_which(question: str) -> bool:
    """Whether the value of a certain secret is asked for, and not what such a thing is."""
    folded = fold(question)
    return any(
        _IS_WHAT.match(folded, noun.end())
        or _WHICH_AFTER.match(folded, noun.end())
        and _WHICH_BEFORE.search(folded, max(0, noun.start() - _WHICH_CHARS), noun.start())
        for noun in nouns_of(folded)
    )


#: Of what is masked wherever it stands again: a shorter one stands in many a word.
_AGAIN_CHARS = 4
#: Where a secret was taken out before, here or of what a tool was given.
_HOLES = (MASKED, "[not stored]")


def find_secrets(content: str) -> list[FoundSecret]:
    """What of a text is a secret, in its order; none overlap."""
    folded = fold(content)
    for hole in _HOLES:
        folded = folded.replace(hole, "·" * len(hole))
    spans = [*by_form(folded), *by_checksum(folded)]
    spans += [*by_words(folded), *by_use(folded)]
    secrets: list[FoundSecret] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if secrets and start < secrets[-1].end:
            if end > secrets[-1].end:
                secrets[-1] = FoundSecret(secrets[-1].start, end, secrets[-1].kind, content[secrets[-1].start : end])
        else:
            secrets.append(FoundSecret(start, end, kind, content[start:end]))
    return secrets


def mask(content: str, also: Iterable[str] = ()) -> str:
    """A text without its secrets, and without `also`, secrets that were found beside it."""
    return without(content, secret_spans(content, also))


def secret_spans(content: str, also: Iterable[str] = ()) -> list[tuple[int, int]]:
    """Where `mask` takes something out: the secrets of a text, and where one of them or of `also` stands again."""
    secrets = find_secrets(content)
    spans = [(secret.start, secret.end) for secret in secrets]
    values = {value.strip("!.,;:?") for value in (*(secret.value for secret in secrets), *also)}
    again = sorted((value for value in values if len(value) >= _AGAIN_CHARS), key=len, reverse=True)
    for value in again:
        if value in content:
            for match in re.finditer(rf"(?<![A-Za-z\d]){re.escape(value)}(?![A-Za-z\d])", content):
                if all(match.end() <= start or end <= match.start() for start, end in spans):
                    spans.append(match.span())
    return sorted(spans)


def without(content: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text with `[secret]` in the place of these spans, which are in their order."""
    parts, at = [], 0
    for start, end in spans:
        parts += [content[at:start], MASKED]
        at = end
    return "".join([*parts, content[at:]])


def is_masked_form(masked: str, content: str) -> bool:
    """Whether a text is what another one becomes without its secrets."""
    if MASKED not in masked:
        return masked == content
    first, *others = masked.split(MASKED)
    if not content.startswith(first) or not content.endswith(others[-1]):
        return False
    at = len(first)
    for part in others[:-1]:
        if (at := content.find(part, at)) < 0:
            return False
        at += len(part)
    return at <= len(content) - len(others[-1])


NOT_STORED = "[not stored]"
ARROW = " → "
_DEPTH = 12
_SHORTEST = 4  # a text with less characters says nothing secret by itself: of long lists of them each is asked for
_ARGUMENT_CHARS = 80
_SECRET_WORDS = word_set("secrets", "names")
_SECRET_PAIRS = frozenset(pair.replace("_", " ") for pair in words("secrets", "names_of_two_words"))
_SECRET_CHINESE = words("secrets", "chinese_names")
_PARTS_OF_NAME = deferred(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAMED = r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key)"
_FORMS = (
    deferred(r"-----BEGIN [A-Z ]*KEY-----.*?(?:-----END [A-Z ]*KEY-----|\Z)", re.DOTALL),
    deferred(r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"),
    deferred(r"(?<=\bbearer )[\w.~+/=-]+|(?<=\bbasic )[\w.~+/=-]{8,}", re.IGNORECASE),
    deferred(r"(?<![\w-])(?=[\w-]*+\.[\w-])[\w-]*?\beyJ[\w-]++\.[\w-]++\.[\w-]*+"),
    deferred(
        r"\b(?:sk|pk|rk)[-_][\w-]{12,}|\bgh[a-z]_\w{16,}|\bxox[a-z]-[\w-]{8,}|\bAKIA[A-Z\d]{12,}|\bAIza[\w-]{20,}"
    ),
    deferred(r"\b[0-9a-f]{32,}\b", re.IGNORECASE),
    deferred(r"(?<![\w+=-])(?=[\w+=-]*[a-z])(?=[\w+=-]*[A-Z])(?=[\w+=-]*\d)[\w+=-]{24,}"),
)
_PUNCTUATION = "'\"()[]{}<>.,:;!?"
_SECRET_CHARS = 5
#: What mixes letters and digits; days and times do not.
_WITH_DIGIT_AND_LETTER = deferred(r"(?<![!-~])(?=[!-/:-~]*+\d)(?=[!-@\[-`{-~]*+[A-Za-z])[!-~]++")
_AFTER_A_NAME = deferred(
    rf"(--?{_NAMED}(?:\s+|=)|(?:\b|(?<=_)|(?-i:(?<=[a-z\d])(?=[A-Z]))){_NAMED}[\"']?\s*(?:[=:：]|\bis\b)\s*[\"']?"
    r"|(?:密码|口令|密钥|令牌|验证码)\s*(?:是|为|[=:：])\s*)"
    r"[^\s\"',;，。；]+",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ToolCall:
    """One use of a tool, as a bot reports it."""

    name: str
    arguments: Any = None
    result: Any = None

    def cleaned(self) -> dict[str, Any]:
        """As it is kept with the session's message."""
        return {"name": self.name, **{k: redact_value(getattr(self, k)) for k in ("arguments", "result")}}

    def in_one_line(self) -> str:
        """`deploy(service=billing, env=prod)`; of nested arguments only that they were there."""
        arguments = redact_value(self.arguments)
        if isinstance(arguments, dict):
            return f"{self.name}({', '.join(f'{name}={_short(value)}' for name, value in arguments.items())})"
        return f"{self.name}({'' if arguments is None else _short(arguments)})"


def redact_value(value: Any, depth: int = 0) -> Any:
    """A value of JSON without what looks secret, and without what cannot be stored."""
    if depth > _DEPTH:
        return "…"
    if isinstance(value, dict):
        return {
            _storable(str(name)): NOT_STORED if item and is_secret_name(str(name)) else redact_value(item, depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [redact_value(item, depth + 1) for item in value]
    if not isinstance(value, str):
        return value
    if value.lstrip()[:1] in ("{", "["):  # JSON, as models write arguments: by the names in it as well
        with suppress(ValueError, RecursionError):
            inner = json.loads(value)
            if (clean := redact_value(inner, depth + 1)) != inner:
                return json.dumps(clean, ensure_ascii=False)
    return redact(value)


def is_secret_name(name: str) -> bool:
    """Whether an argument of this name is a secret: `dbPassword`, `api_key`, `X-Auth-Token`, 数据库密码."""
    words = [part.lower() for part in _PARTS_OF_NAME.findall(name)]
    pairs = {" ".join(pair) for pair in zip(words, words[1:], strict=False)}
    return not (_SECRET_WORDS.isdisjoint(words) and _SECRET_PAIRS.isdisjoint(pairs)) or any(
        word in name for word in _SECRET_CHINESE
    )


def redact(content: str) -> str:
    """A text without what looks like a secret in it."""
    if len(content) < _SHORTEST:
        return _storable(content)
    content = _AFTER_A_NAME.sub(lambda match: match[1] + NOT_STORED, _storable(content))
    for form in _FORMS:
        content = form.sub(NOT_STORED, content)
    return mask(content).replace(MASKED, NOT_STORED)


def secret_words(content: str) -> set[str]:
    """The words of a text that look like secrets, as in a credential; of others a guess to the safe side."""
    mixed = {word.strip(_PUNCTUATION) for word in _WITH_DIGIT_AND_LETTER.findall(content)}
    recognised = {secret.value.strip(_PUNCTUATION) for secret in find_secrets(content)}
    formed = {match[0] for form in _FORMS for match in form.finditer(content)}
    named_words = {match[0][len(match[1]) :].strip(_PUNCTUATION) for match in _AFTER_A_NAME.finditer(content)}
    return {word for word in mixed | formed if len(word) >= _SECRET_CHARS} | {
        word for word in named_words | recognised if len(word) > 1
    }


def _storable(content: str) -> str:
    return content if text.is_storable(content) else re.sub("[\\0\ud800-\udfff]", "", content)


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return "…"
    return " ".join(text.smart_truncate(str(value), _ARGUMENT_CHARS).split())


def sequence_of(calls: Sequence[ToolCall]) -> str:
    """The names of the tools in their order, as a slot can hold them; equal for equal sequences only."""
    whole = " > ".join(call.name for call in calls)
    if len(whole) <= conf.SLOT_VALUE_CHARS:
        return whole
    return f"{whole[: conf.SLOT_VALUE_CHARS - 40]}…{text.fingerprint(whole)}"
