"""What a secret looks like: by its form or a checksum alone, or as the value of a word for one.

A text is read character by character, so that positions stay.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from memories.language.text import HAN, KANA_TO_HAN
from memories.language.word_lists import deferred, groups, source

#: What stands in a text where a secret stood.
MASKED = "[secret]"


class SecretKind(StrEnum):
    """What a secret is."""

    PASSWORD = "password"  # noqa: S105 (a kind)
    CODE = "code"
    KEY = "key"
    CARD = "card"
    ACCOUNT = "account"
    IDENTITY = "identity"
    PHONE = "phone"
    PHRASE = "phrase"


@dataclass(frozen=True)
class FoundSecret:
    """The characters of a text that are a secret."""

    start: int
    end: int
    kind: SecretKind
    value: str


#: Where a secret begins and ends, and what it is.
Span = tuple[int, int, SecretKind]

#: The marks of Chinese sentences stay: a value ends there.
_PLAINER: dict[int, int | str] = {
    code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in "！，；？（）"
}
_PLAINER |= dict.fromkeys(map(ord, "“”„‟«»「」『』"), '"') | dict.fromkeys(map(ord, "‘’‚‛´"), "'")
_PLAINER |= dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2009\u202f\u3000"), " ")
_PLAINER |= dict.fromkeys(map(ord, "‐‑‒–—−"), "-")


def fold(content: str) -> str:
    """A text of as many characters, in plain ones: of full width, curly quotes, odd spaces and dashes."""
    return content.translate(_PLAINER)


_SETTING = r"(?:secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key)"
_LOGIN_SETTING = r"(?:passw(?:or)?d|pwd|passphrase|passcode)"
_ASSIGNED = (
    r"(?:(?<![A-Za-z])(?:[A-Za-z\d]{{1,30}}[_.-]){{0,4}}|(?-i:(?<=[a-z\d])(?=[A-Z]))){name}"
    r"[\"']?\s{{0,3}}[=:]\s{{0,3}}(?:\"(?P<double>[^\"\n]{{3,200}})\""
    r"|'(?P<single>[^'\n]{{3,200}})'|(?P<value>(?=[!-~]{{0,60}}[\d!@#$%^&*])[^\s\"',;<>\[\](){{}}]{{4,}}))"
)


@dataclass(frozen=True)
class _Form:
    """A form that nothing but a secret has; looked for in texts that hold one of its marks."""

    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    kind: SecretKind = SecretKind.KEY


_FORMS = (
    _Form(
        ("-----begin",),
        deferred(r"(?P<value>-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-----END [A-Z ]{0,40}-----)?)"),
    ),
    _Form(("://",), deferred(r"://[^\s/:@]{0,60}:(?P<value>[^\s/@]{1,200})@"), SecretKind.PASSWORD),
    _Form(("://",), deferred(r"://(?P<value>(?=[\w.~-]{0,60}\d)[\w.~-]{12,200})@[\w-]")),
    _Form(
        ("redis-cli",), deferred(r"\bredis-cli\b[^\n]{0,80}?\s-a\s{1,3}(?P<value>[^\s\"']{3,})"), SecretKind.PASSWORD
    ),
    _Form(("hooks.slack",), deferred(r"https://hooks\.slack\.com/services/(?P<value>[\w/]{20,80})")),
    _Form(
        ("?", "&"),
        deferred(
            r"[?&](?:\w{0,20}(?:api_?key|token|secret|passw(?:or)?d|pwd|signature)|key|sig|auth)="
            r"(?P<value>(?=[^\s&]{0,60}\d)(?=[^\s&]{0,60}[A-Za-z])[^\s&#\"'<>]{8,})",
            re.IGNORECASE,
        ),
    ),
    _Form(
        ("authorization",),
        deferred(
            r"\b(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:(?:basic|bearer|token|apikey|digest|key"
            r"|negotiate|ntlm|oauth|hmac|signature|aws4-hmac-sha256)\s{1,3}(?P<value>[^\s\"',;]{6,})"
            r"|(?P<bare>(?=[!-~]{0,60}[\d=])[^\s\"',;]{6,}))",
            re.IGNORECASE,
        ),
    ),
    _Form(
        ("bearer", "basic"),
        deferred(r"\b(?:bearer|basic)\s{1,3}(?P<value>(?=[\w.~+/-]{0,80}[\d=])[\w.~+/-]{12,}={0,2})", re.IGNORECASE),
    ),
    _Form(
        ("x-",),
        deferred(
            r"\bx-[a-z-]{0,20}(?:key|token|secret|auth)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<value>[^\s\"',;]{6,})",
            re.IGNORECASE,
        ),
    ),
    _Form(("cookie",), deferred(r"\b(?:set-)?cookie:\s{0,3}(?P<value>[^\s=;]{1,60}=[^\n\"']{4,2000})", re.IGNORECASE)),
    _Form(
        ("session", "sid=", "csrf"),
        deferred(
            r"\b(?:session(?:_?id)?|sid|phpsessid|jsessionid|csrftoken|connect\.sid)=(?P<value>[\w%.+/-]{12,})",
            re.IGNORECASE,
        ),
    ),
    _Form(("secret", "token", "key"), deferred(_ASSIGNED.format(name=_SETTING), re.IGNORECASE)),
    _Form(("pass", "pwd"), deferred(_ASSIGNED.format(name=_LOGIN_SETTING), re.IGNORECASE), SecretKind.PASSWORD),
    _Form(
        ("-p", "-t", "-s", "-a"),
        deferred(
            r"(?<![\w-])--?(?:password|passwd|pass|pwd|token|secret|api-?key)[= ](?P<value>[^\s\"'-][^\s\"']{2,})",
            re.IGNORECASE,
        ),
        SecretKind.PASSWORD,
    ),
    _Form(
        ("identified",),
        deferred(r"\bidentified\s{1,3}by\s{1,3}[\"'](?P<value>[^\"'\n]{3,100})[\"']", re.IGNORECASE),
        SecretKind.PASSWORD,
    ),
    _Form(  # a user and a group, as `docker run` takes them, are numbers or the same name twice
        ("-u", "--user"),
        deferred(
            r"(?<![\w-])(?:-u|--user)[= ]{1,3}[\"']?([^\s:\"'/]{1,60}):"
            r"(?!\d+(?:\s|$)|\1(?:\s|$))(?P<value>[^\s\"'/]{2,})"
        ),
        SecretKind.PASSWORD,
    ),
    _Form(
        ("mysql", "maria", "sshpass"),
        deferred(r"\b(?:mysql|mysqldump|mariadb|sshpass)\b[^\n]{0,80}?\s-p\s?(?P<value>(?!\d+\b)[^\s\"'-]{4,})"),
        SecretKind.PASSWORD,
    ),
    _Form(
        ("login", "log-in", "cred", "账", "登录"),
        deferred(
            r"(?:\blog-?in|\bcredentials?|\bcreds|账号密码|账密|登录信息)[^/\n]{0,40}?[: =][\w.@+-]{2,60}\s?/\s?"
            r"(?P<value>(?=[!-~]{0,60}[\d!@#$%^&*])[!-~]{5,})",
            re.IGNORECASE,
        ),
        SecretKind.PASSWORD,
    ),
    _Form(("akia", "asia"), deferred(r"(?<![A-Z\d])(?:AKIA|ASIA)[A-Z\d]{12,28}[\s:/|,]{1,3}(?P<value>[\w/+=]{30,})")),
)
#: Forms of what is one long word.
_LONG_WORD = deferred(r"[\w.:/+=-]{14}")
_LONG_FORMS = (
    deferred(rf"(?<![\w-])(?P<value>{source('confidential', 'vendor_key')})"),
    deferred(r"(?<![\w-])(?P<value>eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"),
    deferred(r"(?<!\w)(?P<value>[5KL][1-9A-HJ-NP-Za-km-z]{50,51})(?!\w)"),
)
#: Without any other sign: long, and of all kinds of characters by turns.
_RANDOM = deferred(r"(?<![\w/+=.:@%?&-])[\w+/=-]{32,200}(?![\w/.:@-])")
_TURN = deferred(r"[a-z](?=[A-Z\d])|[A-Z](?=\d)|\d(?=[A-Za-z])")
_RANDOM_TURNS, _RANDOM_DIGITS = 9, 3


#: A Chinese word may stand right beside a number.
_NUMBER = deferred(r"(?<![A-Za-z\d_.,/#-])\d(?:[ -]?\d){11,20}[xX]?(?![A-Za-z\d_-]|[.,/]\d)")
IBAN = deferred(r"(?<![A-Za-z\d])[A-Z]{2}\d{2}(?: ?[A-Z\d]{2,4}){3,9}(?![A-Za-z\d])")
_BRANDS = deferred(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12}|62\d{14,17}|3(?:0[0-5]|[68]\d)\d{11}|35\d{14}"
)
SSN = deferred(r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def _is_chinese_identity(number: str) -> bool:
    """Seventeen digits with a day of birth among them, and a check character (GB 11643)."""
    if not re.fullmatch(r"[1-8]\d{16}[\dXx]", number):
        return False
    try:
        born = date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    total = sum(int(digit) * weight for digit, weight in zip(number, _ID_WEIGHTS, strict=False))
    return 1900 <= born.year <= 2100 and "10X98765432"[total % 11] == number[-1].upper()


_HARMLESS_BEFORE = deferred(
    rf"(?<![A-Za-z])(?:{source('confidential', 'harmless')})(?![A-Za-z])[^.!?。\n]{{0,24}}$", re.IGNORECASE
)
#: Whose a key is, by how it begins.
_VENDORS = {start: owner.split("_") for owner, *starts in groups("confidential", "vendors") for start in starts}
_VENDOR = deferred(rf"(?<![\w-])(?:{'|'.join(sorted(map(re.escape, _VENDORS), key=len, reverse=True))})")


def vendors_of(content: str) -> set[str]:
    """Whose keys stand in a text, by how they begin: people ask for the key of OpenAI, and paste `sk-proj-…`."""
    return {owner for start in _VENDOR.findall(content) for owner in _VENDORS[start]}


def by_form(folded: str) -> Iterator[Span]:
    lowered = folded.lower()
    for form in _FORMS:
        if any(mark in lowered for mark in form.marks):
            for match in form.pattern.finditer(folded):
                name = next(name for name, value in match.groupdict().items() if value is not None)
                yield *match.span(name), form.kind
    if not _LONG_WORD.search(folded):
        return
    for pattern in _LONG_FORMS:
        for match in pattern.finditer(folded):
            yield *match.span("value"), SecretKind.KEY
    for match in _RANDOM.finditer(folded):
        is_random = len(_TURN.findall(match[0])) >= _RANDOM_TURNS and len(re.findall(r"\d", match[0])) >= _RANDOM_DIGITS
        is_hex = re.fullmatch(r"[\da-fA-F-]+", match[0])
        if is_random and not is_hex and match[0].count("/") <= 4:
            yield *match.span(), SecretKind.KEY


def by_checksum(folded: str) -> Iterator[Span]:
    for match in _NUMBER.finditer(folded):
        digits = re.sub(r"[ -]", "", match[0])
        if _is_chinese_identity(digits):
            yield *match.span(), SecretKind.IDENTITY
        elif _BRANDS.fullmatch(digits) and not is_harmless(folded, match.start()):
            # the check digit of cards (Luhn)
            doubled = (int(digit) * (2 if n % 2 else 1) for n, digit in enumerate(reversed(digits)))
            if sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0:
                yield *match.span(), SecretKind.CARD
    for match in IBAN.finditer(folded):
        number = match[0].replace(" ", "")
        rotation = number[4:] + number[:4]
        if 15 <= len(number) <= 34 and int("".join(str(int(character, 36)) for character in rotation)) % 97 == 1:
            yield *match.span(), SecretKind.ACCOUNT
    for match in SSN.finditer(folded):
        if not is_harmless(folded, match.start()):
            yield *match.span(), SecretKind.IDENTITY


def is_harmless(folded: str, at: int) -> bool:
    """Whether the words before a number say that it is an order, a version, a book …"""
    return _HARMLESS_BEFORE.search(folded, max(0, at - 40), at) is not None


_ABOUT = deferred(rf"(?:{source('confidential', 'about')})", re.IGNORECASE)
_ABOUT_CHINESE = deferred(source("confidential", "about_chinese"))
UNITS = deferred(rf"\s?-?(?:{source('confidential', 'units')})(?![a-z])", re.IGNORECASE)
_FILLERS = deferred(f"(?:{source('confidential', 'filler')})*", re.IGNORECASE)
_QUOTED = deferred(r"([\"'`])([^\"'`\n]{3,90})\1")
_RUN = deferred(r"[!-~\u00c0-\u017f]{3,160}")
_DIGITS = deferred(r"[*#]?\d(?:[ .-]?\d){2,22}[*#]?(?![\w])|\d(?:[ -]\d){2,}")
_MIXED_CODE = deferred(r"[*#]?(?=[A-Za-z-]{0,12}\d)[A-Za-z\d]{3,12}(?:-[A-Za-z\d]{2,12}){0,7}[*#]?(?![\w])")
_DIGIT_WORD = f"(?:{source('confidential', 'digit_word')})"
_SPOKEN = deferred(
    rf"{_DIGIT_WORD}(?:[\s,-]{{1,2}}{_DIGIT_WORD}){{2,15}}\b|[零〇一二三四五六七八九幺两壹贰叁肆伍陆柒捌玖]{{4,20}}",
    re.IGNORECASE,
)
_HAN = deferred(rf"[{HAN}]{{2,12}}(?=$|[\s,.;!?，。；！？、~)）\"])")
_HAN_AND_DIGITS = deferred(rf"[{HAN}]{{1,8}}[A-Za-z]{{0,12}}\d{{2,12}}(?=$|[\s,.;!?，。；！？、~)）\"])")
_WORDS = deferred(r"[a-z]{2,12}+(?:(?:,\s?|\s-\s|\s|\d{1,2}[.)]\s?){1,3}+[a-z]{2,12}+){2,29}+", re.IGNORECASE)
_HAN_GROUPS = deferred(
    rf"[{HAN}](?:[\s,、]{{0,2}}[{HAN}]){{5,40}}|[a-z]{{3,8}}(?:[\s,、]{{1,2}}[a-z]{{3,8}}){{5,30}}", re.IGNORECASE
)
_IDENTIFIER = deferred(r"(?=[A-Za-z -]{0,8}\d)[A-Za-z]{0,4}[ -]?\d(?:[ -]?[\dA-Za-z]){4,20}(?!\w)")
_PHONE = deferred(r"[+(]?\d(?:[ ().-]{0,2}\d){6,16}(?!\w)")
_SORT_CODE = deferred(r"\d{2}-\d{2}-\d{2}(?!\d)")
_DAY = deferred(
    r"(?:19|20)\d{2}(?:[-/.]\d{1,2}(?:[-/.]\d{1,2})?)?$|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d{2}$|\d{1,2}:\d{2}",
    re.IGNORECASE,
)
_STRONG = deferred(r"\d|[!@#$%^&*_+=~<>|\\]|[a-z][A-Z]")
_PLAIN = deferred(r"[A-Za-z\u00c0-\u017f][A-Za-z\u00c0-\u017f'-]{3,40}")
_PLAIN_ENDS = deferred(
    r"\s*(?:$|[.,;!?)\]\n\"'`，。；！？、）]|-\s|(?:and|but|for|so|on|at|in case|please|if|though|yours)\b"
    rf"|[{KANA_TO_HAN}])"
)
_INFLECTED = deferred(r"(?:ed|ing|ly|able|ible|sensitive|n't)$")
_MAIL = deferred(r"[\w.+-]+@[\w-]+\.[\w.]+$")
_SEPARATORS = (":", ",", "=", "}")
#: Signs of code that are in no key.
_CALL = deferred(r"[()\[\]{}<>]")
_PLAIN_FILE = deferred(r"\.(?:pem|json|ya?ml|txt|pub|env|key|crt|md|py|js|com|io|org)$")
_LICENSE = deferred(r"[A-Z\d]{3,8}(?:-[A-Z\d]{3,8}){2,8}")
_DIGIT, _SMALL, _CAPITAL = deferred(r"\d"), deferred("[a-z]"), deferred("[A-Z]")
_BARE_KEY = ("secret", "token", "bearer", "cookie", "key")


_NEAR = deferred(r"(?<![A-Za-z\d])(?=[!-~]{0,20}\d)[!-~]{4}")
_NEAR_CHARS = 20
_LONG_NUMBER = deferred(r"(?<![\w.])\d(?:[ -]?\d){11,18}(?!\w)")
_ACCOUNT_NUMBER = deferred(r"\d(?:[ -]?\d){5,20}(?!\w)")
_BASE32 = deferred(
    r"(?:[A-Z2-7]{4}[ -]){3,12}[A-Z2-7]{1,8}(?!\w)|[A-Z2-7]{16,64}(?!\w)"
    r"|(?:[a-z2-7]{4} ){3,12}(?=[a-z]{0,3}[2-7])[a-z2-7]{4}\b"
)
_LONG_IDENTIFIER = deferred(r"(?<![\w.])(?:\d{17}[\dXx]|\d{3}-\d{2}-\d{4}|[A-Z]{1,2}\d{6,9}[A-Z]?|\d{9})(?![\w-])")
_LONG_PHONE = deferred(
    r"(?<![\w.])(?:1[3-9]\d[ -]?\d{4}[ -]?\d{4}"
    r"|\+\d{1,3}[ -]?(?:\(?\d{2,5}\)?[ -]?){2,5}\d{2,5}|\(?\d{3}\)?[ -]\d{3}[ -]\d{4})(?!\w)"
)
_LONG_KEY = deferred(r"(?<![!-~])(?=[!-~]{0,60}\d)(?=[!-~]{0,60}[A-Za-z])(?![!-~]{0,12}://)[\w+/=.-]{20,200}(?![\w])")
#: What a number of a kind looks like, where a word for it stands before.
_NUMBER_FORMS = {
    SecretKind.CARD: (_LONG_NUMBER,),
    SecretKind.ACCOUNT: (_SORT_CODE, IBAN, _ACCOUNT_NUMBER),
    SecretKind.IDENTITY: (_IDENTIFIER, SSN),
    SecretKind.PHONE: (_PHONE,),
}


@dataclass(frozen=True)
class Value:
    """What can be a value of a kind of secret, at a position of a text."""

    folded: str
    kind: SecretKind
    noun: str

    def at(self, at: int, *, may_be_plain: bool) -> tuple[int, int] | None:
        """The value that begins there, after words that say nothing; a plain word is one only where it may be."""
        filler = _FILLERS.match(self.folded, at)
        signs = self.folded[at : at + 4]
        for begin in dict.fromkeys([at + len(signs) - len(signs.lstrip(" =:")), filler.end() if filler else at]):
            if span := self._quoted(begin) or self._match(begin, may_be_plain):
                return span
        return None

    def anywhere(self, at: int, until: int) -> tuple[int, int] | None:
        """A value whose form leaves no doubt, further on in the sentence."""
        form = {
            SecretKind.CARD: _LONG_NUMBER,
            SecretKind.IDENTITY: _LONG_IDENTIFIER,
            SecretKind.ACCOUNT: _LONG_NUMBER,
            SecretKind.PHONE: _LONG_PHONE,
            SecretKind.KEY: _LONG_KEY,
            SecretKind.PASSWORD: _NEAR,
            SecretKind.CODE: _NEAR,
        }.get(self.kind)
        if form is _NEAR:  # in Chinese a value needs no word before it
            near = form.search(self.folded, at, min(until, at + _NEAR_CHARS)) if self.noun[-1:] >= "\u3040" else None
            return self.at(near.start(), may_be_plain=False) if near else None
        match = form.search(self.folded, at, min(len(self.folded), until + 40)) if form else None
        is_value = match and match.start() < until and not is_harmless(self.folded, match.start())
        return match.span() if match and is_value and not _DAY.match(match[0]) else None

    def _quoted(self, at: int) -> tuple[int, int] | None:
        match = _QUOTED.match(self.folded, at)
        if not match or self.kind not in (SecretKind.PASSWORD, SecretKind.CODE, SecretKind.KEY, SecretKind.PHRASE):
            return None
        if match[2].lstrip()[:1] in _SEPARATORS:  # the quotes are of names, as in JSON
            return None
        if self.kind == SecretKind.KEY and (
            len(match[2]) < 8 or not _STRONG.search(match[2]) or _CALL.search(match[2])
        ):
            return None
        return match.span(2)

    def _match(self, at: int, may_be_plain: bool) -> tuple[int, int] | None:
        at += len(self.folded[at : at + 2]) - len(self.folded[at : at + 2].lstrip("\"'"))
        match self.kind:
            case SecretKind.PASSWORD:
                return self._password(at, may_be_plain)
            case SecretKind.CODE:
                for form in (_DIGITS, _MIXED_CODE, _SPOKEN):
                    match = form.match(self.folded, at)
                    if not match:
                        continue
                    if UNITS.match(self.folded, match.end()) or _DAY.match(match[0]) and len(match[0]) != 4:
                        return None
                    if re.fullmatch(r"\d+(?:st|nd|rd|th|am|pm|h|m|s|x|k|gb|mb|kg|cm)", match[0], re.IGNORECASE):
                        return None
                    if re.match(r"[:/.]\d", self.folded[match.end() : match.end() + 2]):
                        return None
                    return match.span()
                return None
            case SecretKind.KEY:
                return self._key(at)
            case SecretKind.PHRASE:
                words = _WORDS.match(self.folded, at)
                if words and len(re.findall(r"[a-z]+", words[0], re.IGNORECASE)) >= 6:
                    return words.span()
                groups = _HAN_GROUPS.match(self.folded, at)
                return groups.span() if groups and len(re.sub(r"[\s,、]", "", groups[0])) >= 6 else None
            case _:
                forms = (form.match(self.folded, at) for form in _NUMBER_FORMS[self.kind])
                return next((match.span() for match in forms if match and not _DAY.match(match[0])), None)

    def _password(self, at: int, may_be_plain: bool) -> tuple[int, int] | None:
        if match := _SPOKEN.match(self.folded, at):
            return match.span()
        if run := _RUN.match(self.folded, at):
            token = run[0].rstrip(".,;:?)]}>\"'`")
            end = at + len(token)
            if _MAIL.match(token) or "://" in token or len(token) < 3 or _DAY.match(token):
                return None
            if _STRONG.search(token):
                is_counted = token.isdigit() and UNITS.match(self.folded, end)
                is_word = UNITS.fullmatch(token.lstrip("0123456789"))
                return None if is_counted or is_word or (token.isdigit() and len(token) < 3) else (at, end)
            is_bare = self.noun[-1:] >= "\u3040" and len(token) >= 6  # «密码 sunshine»
            return self._plain(at) if may_be_plain or is_bare else None
        if may_be_plain and (mixed := _HAN_AND_DIGITS.match(self.folded, at)):
            return None if UNITS.match(self.folded, mixed.end()) else mixed.span()
        han = _HAN.match(self.folded, at) if may_be_plain else None
        return None if not han or _ABOUT_CHINESE.search(han[0]) else han.span()

    def _plain(self, at: int) -> tuple[int, int] | None:
        """A word, or several of a pass phrase, that say nothing about the password."""
        words = _WORDS.match(self.folded, at)
        if words and len(several := words[0].split()) > 2 and _PLAIN_ENDS.match(self.folded, words.end()):
            is_phrase = "phrase" in self.noun or len(several) >= 4
            if is_phrase and not any(
                _ABOUT.fullmatch(word.strip(",")) for word in several[1:] + [several[0]] * ("phrase" not in self.noun)
            ):
                return words.span()
        word = _PLAIN.match(self.folded, at)
        if not word or _ABOUT.fullmatch(word[0]) or _INFLECTED.search(word[0].lower()):
            return None
        return word.span() if _PLAIN_ENDS.match(self.folded, word.end()) else None

    def _key(self, at: int) -> tuple[int, int] | None:
        if groups := _BASE32.match(self.folded, at):
            return groups.span()
        run = _RUN.match(self.folded, at)
        if not run:
            return None
        token = run[0].rstrip(".,;:?!)]}>\"'`")
        is_bare = self.noun in _BARE_KEY
        if len(token) < (10 if is_bare else 6) or _CALL.search(token):
            return None
        # keys are made of letters and digits, of large and small letters, or are a long number
        is_small, is_large = _SMALL.search(token) is not None, _CAPITAL.search(token) is not None
        if _DIGIT.search(token):
            is_key = is_small or is_large or (token.isdigit() and len(token) >= 8 and not is_bare)
        else:
            is_key = (is_small and is_large and len(token) >= 16) or _LICENSE.fullmatch(token) is not None
        if not is_key:
            return None
        return None if _PLAIN_FILE.search(token) or "://" in token or _DAY.match(token) else (at, at + len(token))
