"""Secrets by their form: keys of vendors, passwords in addresses, headers and settings, numbers with a checksum."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from memories.language.confidential.kinds import SecretKind, Span
from memories.language.word_lists import groups, source

_SETTING = r"(?:secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key)"
_LOGIN_SETTING = r"(?:passw(?:or)?d|pwd|passphrase|passcode)"
_ASSIGNED = (
    r"(?<![A-Za-z])(?:[A-Za-z\d]{{1,30}}[_.-]){{0,4}}{name}[\"']?\s{{0,3}}[=:]\s{{0,3}}(?:\"(?P<double>[^\"\n]{{3,200}})\""
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
        re.compile(
            r"(?P<value>-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----[^-]*(?:-----END [A-Z ]{0,40}-----)?)"
        ),
    ),
    _Form(("://",), re.compile(r"://[^\s/:@]{0,60}:(?P<value>[^\s/@]{1,200})@"), SecretKind.PASSWORD),
    _Form(("://",), re.compile(r"://(?P<value>(?=[\w.~-]{0,60}\d)[\w.~-]{12,200})@[\w-]")),
    _Form(
        ("redis-cli",), re.compile(r"\bredis-cli\b[^\n]{0,80}?\s-a\s{1,3}(?P<value>[^\s\"']{3,})"), SecretKind.PASSWORD
    ),
    _Form(("hooks.slack",), re.compile(r"https://hooks\.slack\.com/services/(?P<value>[\w/]{20,80})")),
    _Form(
        ("?", "&"),
        re.compile(
            r"[?&](?:\w{0,20}(?:api_?key|token|secret|passw(?:or)?d|pwd|signature)|key|sig|auth)="
            r"(?P<value>(?=[^\s&]{0,60}\d)(?=[^\s&]{0,60}[A-Za-z])[^\s&#\"'<>]{8,})",
            re.IGNORECASE,
        ),
    ),
    _Form(
        ("authorization",),
        re.compile(
            r"\b(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:(?:basic|bearer|token|apikey|digest|key"
            r"|negotiate|ntlm|oauth|hmac|signature|aws4-hmac-sha256)\s{1,3}(?P<value>[^\s\"',;]{6,})"
            r"|(?P<bare>(?=[!-~]{0,60}[\d=])[^\s\"',;]{6,}))",
            re.IGNORECASE,
        ),
    ),
    _Form(
        ("bearer", "basic"),
        re.compile(r"\b(?:bearer|basic)\s{1,3}(?P<value>(?=[\w.~+/-]{0,80}[\d=])[\w.~+/-]{12,}={0,2})", re.IGNORECASE),
    ),
    _Form(
        ("x-",),
        re.compile(
            r"\bx-[a-z-]{0,20}(?:key|token|secret|auth)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<value>[^\s\"',;]{6,})",
            re.IGNORECASE,
        ),
    ),
    _Form(
        ("cookie",), re.compile(r"\b(?:set-)?cookie:\s{0,3}(?P<value>[^\s=;]{1,60}=[^\n\"']{4,2000})", re.IGNORECASE)
    ),
    _Form(
        ("session", "sid=", "csrf"),
        re.compile(
            r"\b(?:session(?:_?id)?|sid|phpsessid|jsessionid|csrftoken|connect\.sid)=(?P<value>[\w%.+/-]{12,})",
            re.IGNORECASE,
        ),
    ),
    _Form(("secret", "token", "key"), re.compile(_ASSIGNED.format(name=_SETTING), re.IGNORECASE)),
    _Form(("pass", "pwd"), re.compile(_ASSIGNED.format(name=_LOGIN_SETTING), re.IGNORECASE), SecretKind.PASSWORD),
    _Form(
        ("-p", "-t", "-s", "-a"),
        re.compile(
            r"(?<![\w-])--?(?:password|passwd|pass|pwd|token|secret|api-?key)[= ](?P<value>[^\s\"'-][^\s\"']{2,})",
            re.IGNORECASE,
        ),
        SecretKind.PASSWORD,
    ),
    _Form(
        ("identified",),
        re.compile(r"\bidentified\s{1,3}by\s{1,3}[\"'](?P<value>[^\"'\n]{3,100})[\"']", re.IGNORECASE),
        SecretKind.PASSWORD,
    ),
    _Form(  # a user and a group, as `docker run` takes them, are numbers or the same name twice
        ("-u", "--user"),
        re.compile(
            r"(?<![\w-])(?:-u|--user)[= ]{1,3}[\"']?([^\s:\"'/]{1,60}):"
            r"(?!\d+(?:\s|$)|\1(?:\s|$))(?P<value>[^\s\"'/]{2,})"
        ),
        SecretKind.PASSWORD,
    ),
    _Form(
        ("mysql", "maria", "sshpass"),
        re.compile(r"\b(?:mysql|mysqldump|mariadb|sshpass)\b[^\n]{0,80}?\s-p\s?(?P<value>(?!\d+\b)[^\s\"'-]{4,})"),
        SecretKind.PASSWORD,
    ),
    _Form(
        ("login", "log-in", "cred", "账", "登录"),
        re.compile(
            r"(?:\blog-?in|\bcredentials?|\bcreds|账号密码|账密|登录信息)[^/\n]{0,40}?[: =][\w.@+-]{2,60}\s?/\s?"
            r"(?P<value>(?=[!-~]{0,60}[\d!@#$%^&*])[!-~]{5,})",
            re.IGNORECASE,
        ),
        SecretKind.PASSWORD,
    ),
    _Form(("akia", "asia"), re.compile(r"(?<![A-Z\d])(?:AKIA|ASIA)[A-Z\d]{12,28}[\s:/|,]{1,3}(?P<value>[\w/+=]{30,})")),
)
#: Forms of what is one long word.
_LONG_WORD = re.compile(r"[\w.:/+=-]{14}")
_LONG_FORMS = (
    re.compile(rf"(?<![\w-])(?P<value>{source('confidential', 'vendor_key')})"),
    re.compile(r"(?<![\w-])(?P<value>eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"),
    re.compile(r"(?<!\w)(?P<value>[5KL][1-9A-HJ-NP-Za-km-z]{50,51})(?!\w)"),
)
#: Without any other sign: long, and of all kinds of characters by turns.
_RANDOM = re.compile(r"(?<![\w/+=.:@%?&-])[\w+/=-]{32,200}(?![\w/.:@-])")
_TURN = re.compile(r"[a-z](?=[A-Z\d])|[A-Z](?=\d)|\d(?=[A-Za-z])")
_RANDOM_TURNS, _RANDOM_DIGITS = 9, 3


#: A Chinese word may stand right beside a number.
_NUMBER = re.compile(r"(?<![A-Za-z\d_.,/#-])\d(?:[ -]?\d){11,20}[xX]?(?![A-Za-z\d_-]|[.,/]\d)")
IBAN = re.compile(r"(?<![A-Za-z\d])[A-Z]{2}\d{2}(?: ?[A-Z\d]{2,4}){3,9}(?![A-Za-z\d])")
_BRANDS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12}|62\d{14,17}|3(?:0[0-5]|[68]\d)\d{11}|35\d{14}"
)
SSN = re.compile(r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])")
_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def _is_luhn(digits: str) -> bool:
    doubled = (int(digit) * (2 if n % 2 else 1) for n, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


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


_HARMLESS_BEFORE = re.compile(
    rf"(?<![A-Za-z])(?:{source('confidential', 'harmless')})(?![A-Za-z])[^.!?。\n]{{0,24}}$", re.IGNORECASE
)
#: Whose a key is, by how it begins.
_VENDORS = {start: owner.split("_") for owner, *starts in groups("confidential", "vendors") for start in starts}
_VENDOR = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(map(re.escape, _VENDORS), key=len, reverse=True))})")


def vendors_of(said: str) -> set[str]:
    """Whose keys stand in a text, by how they begin: people ask for the key of OpenAI, and paste `sk-proj-…`."""
    return {owner for start in _VENDOR.findall(said) for owner in _VENDORS[start]}


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
        elif _BRANDS.fullmatch(digits) and _is_luhn(digits) and not is_harmless(folded, match.start()):
            yield *match.span(), SecretKind.CARD
    for match in IBAN.finditer(folded):
        number = match[0].replace(" ", "")
        moved = number[4:] + number[:4]
        if 15 <= len(number) <= 34 and int("".join(str(int(character, 36)) for character in moved)) % 97 == 1:
            yield *match.span(), SecretKind.ACCOUNT
    for match in SSN.finditer(folded):
        if not is_harmless(folded, match.start()):
            yield *match.span(), SecretKind.IDENTITY


def is_harmless(folded: str, at: int) -> bool:
    """Whether the words before a number say that it is an order, a version, a book …"""
    return _HARMLESS_BEFORE.search(folded, max(0, at - 40), at) is not None
