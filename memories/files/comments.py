"""What the platform writes into files for itself, as HTML comments no reader sees: stamps, struck lines, archives.

A stamp is short, for it stands in every line that was saved: `<!-- ^t8m2k1.0f3k9x2a -->` says the second, in base 36,
and an id that stands for the session and the scope. These are named once in the file, below the first line of them:
`<!-- ^0f3k9x2a: session=telegram-3f scope=telegram:direct_u42 -->`. So a file tells all of itself, without an index.
Stamps of earlier releases say it in full: `<!-- at=2026-11-23T14:03:05+08:00 session=telegram-3f scope=main -->`.

Words within markdown: what would begin a list, a heading or a fence is written with a backslash, and read without.

No content is lost or changed by being written to a file: `plain(written(content)) == content`.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

OPEN, CLOSE = "<!--", "-->"
STAMPS = ("<!-- at=", "<!-- ^")  # how stamps begin, and what names their origins
ID_CHARS = 8
ARCHIVE = re.compile(r"<!-- archive \d{4}-\d\d-\d\d -->")
ARCHIVE_END = "<!-- /archive -->"
_EXPIRED = "<!-- expired "
_STRUCK = re.compile(r"<!-- expired (\S{1,40}): ")
_OWN = re.compile(r" ?<!-- (?:at=|\^[0-9a-z]{6,8}[.: ]|/?archive)[^<>\n]*-->")
_SHORT = re.compile(r"<!-- \^([0-9a-z]{6,8})(?:\.([0-9a-z]*))?(?:\.([0-9a-z]*))? -->")
_ORIGIN = re.compile(r"^<!-- \^([0-9a-z]{8}): ([^\r\n]*) -->\r?$", re.MULTILINE)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_SECOND_DIGITS = 6
_FIELD = re.compile(r"(at|session|scope)=(\S+)")
_NUMBERED = re.compile(r"&#(\d{1,7});", re.ASCII)
_UNSAFE = re.compile(r"&(?=#)|(?<=-)[->]")
_ESCAPED_OPEN = re.compile(r"(?<!\\)(\\+)<!--")
_ANY_OPEN = re.compile(r"(?<!\\)(\\*)<!--")


@dataclass(frozen=True)
class Stamp:
    """When and where a line was written, as far as it says so."""

    at: datetime | None = None
    session: str = ""
    scope_key: str = ""
    call: str = ""  # that wrote it, where it may be sent again


@dataclass(frozen=True)
class Struck:
    """A struck line: where its comment stands in a text, and the words it was."""

    start: int
    end: int
    raw: str


def stamped(stamp: Stamp) -> str:
    """The comment a line of the platform ends in."""
    second = int(stamp.at.timestamp()) if stamp.at else -1
    if second < 0:  # before 1970
        at = stamp.at.isoformat(timespec="seconds") if stamp.at else ""
        fields = f" at={at}{_origin_fields(stamp)}" + (f" call={stamp.call}" if stamp.call else "")
        return f"{OPEN}{fields} {CLOSE}"
    parts = (_in_base_36(second).zfill(_SECOND_DIGITS), _origin_id(stamp), stamp.call)
    return f"{OPEN} ^{'.'.join(parts).rstrip('.')} {CLOSE}"


def origin_line(session: str, scope_key: str) -> str:
    """The line that says what the id in stamps stands for; empty where they have none."""
    origin = Stamp(session=session, scope_key=scope_key)
    return f"{OPEN} ^{_origin_id(origin)}:{_origin_fields(origin)} {CLOSE}" if session or scope_key else ""


def origins_in(text: str) -> dict[str, Stamp]:
    """The session and the scope each id of a file stands for; a line with others than its id was made of names none."""
    origins = {}
    for line in _ORIGIN.finditer(text) if STAMPS[1] in text else ():
        fields = {name: unsafe(value) for name, value in _FIELD.findall(line[2])}
        origin = Stamp(session=fields.get("session", ""), scope_key=fields.get("scope", ""))
        if _origin_id(origin) == line[1]:
            origins[line[1]] = origin
    return origins


def read_stamp(comments: list[str], origins: Mapping[str, Stamp]) -> Stamp:
    """What the last stamp among some comments says, with the origins its file names; nothing where none is one."""
    for comment in reversed(comments):
        if comment.startswith(STAMPS[0]):
            fields = {name: unsafe(value) for name, value in _FIELD.findall(comment)}
            at: datetime | None = None
            with suppress(ValueError, OverflowError):
                moment = datetime.fromisoformat(fields.get("at", ""))
                at = moment if moment.tzinfo and moment.astimezone(UTC).year > 1 else None
            return Stamp(at, fields.get("session", ""), fields.get("scope", ""))
        if short := _SHORT.fullmatch(comment):
            origin, at = origins.get(short[2] or "", Stamp()), None
            with suppress(ValueError, OverflowError, OSError):
                at = datetime.fromtimestamp(int(short[1], 36), UTC)
            return Stamp(at, origin.session, origin.scope_key)
    return Stamp()


def last_second(text: str) -> int:
    """The last of the seconds the short stamps of a text name; 0: it has none."""
    return max((int(short[1], 36) for short in _SHORT.finditer(text)), default=0)


def short_id(text: str) -> str:
    """Eight letters and digits that stand for a text."""
    number = int.from_bytes(hashlib.sha256(text.encode(errors="surrogatepass")).digest())
    return _in_base_36(number)[-ID_CHARS:]


def _origin_id(stamp: Stamp) -> str:
    return short_id(f"{stamp.session}\0{stamp.scope_key}") if stamp.session or stamp.scope_key else ""


def _origin_fields(stamp: Stamp) -> str:
    """The fields of an origin, each value one word."""
    fields = ""
    for name, value in (("session", stamp.session), ("scope", stamp.scope_key)):
        signs = (f"&#{ord(char)};" if char.isspace() or not char.isprintable() else char for char in safe(value))
        fields += f" {name}={''.join(signs)}" if value else ""
    return fields


def _in_base_36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def strike(raw: str, at: datetime, *, in_row: bool = False, one_line: bool = True) -> str:
    """A text as the comment that takes its place."""
    numbered = safe(raw)
    if one_line:
        numbered = numbered.replace("\r", "&#13;").replace("\n", "&#10;")
    if in_row:
        numbered = numbered.replace("|", "&#124;")
    return f"{_EXPIRED}{at.isoformat(timespec='seconds')}: {numbered} {CLOSE}"


def struck_texts(text: str) -> Iterator[Struck]:
    """Every struck line of a file, in order."""
    start = text.find(_EXPIRED)
    while start >= 0 and (end := text.find(CLOSE, start)) >= 0:
        begun = _STRUCK.match(text, start, end)
        if begun and text[start - 1 : start] != "\\" and text[end - 1] == " ":
            yield Struck(start, end + len(CLOSE), unsafe(text[begun.end() : end - 1]))
        start = text.find(_EXPIRED, end)


def parted(raw: str) -> tuple[str, list[str]]:
    """A text without its comments, and these. One that is escaped, or not closed, is text."""
    if OPEN not in raw:
        return raw, []
    pieces, comments, begin, start = [], [], 0, raw.find(OPEN)
    while start >= 0 and (end := raw.find(CLOSE, start + len(OPEN))) >= 0:
        if raw[start - 1 : start] == "\\":
            start = raw.find(OPEN, start + 1)
            continue
        end += len(CLOSE)
        comments.append(raw[start:end])
        is_apart = raw[end : end + 1] in ("", " ", "\n") and raw[start - 1 : start] == " " and start > begin
        pieces.append(raw[begin : start - is_apart])
        begin, start = end, raw.find(OPEN, end)
    return "".join([*pieces, raw[begin:]]), comments


def escaped(text: str) -> str:
    """A text none of whose words begins a comment."""
    return _ANY_OPEN.sub(r"\1\\<!--", text) if OPEN in text else text


def unescaped(text: str) -> str:
    """What `escaped` was given."""
    return _ESCAPED_OPEN.sub(lambda begun: begun.group(1)[1:] + OPEN, text) if OPEN in text else text


def safe(text: str) -> str:
    """A text that can stand in a comment."""
    return _UNSAFE.sub(lambda sign: f"&#{ord(sign.group())};", text)


def unsafe(text: str) -> str:
    """What `safe` was given."""

    def character(match: re.Match[str]) -> str:
        number = int(match.group(1))
        return chr(number) if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else match.group()

    return _NUMBERED.sub(character, text)


def shown(text: str) -> str:
    """A text without stamps, marks of archives and struck lines. What is left stands in the line it stood in."""
    pieces, begin = [], 0
    for struck in struck_texts(text):
        pieces += [text[begin : struck.start], "\n" * text.count("\n", struck.start, struck.end)]
        begin = struck.end
    return _OWN.sub("", "".join([*pieces, text[begin:]]))


_INDENT = " \t"
#: How a line begins that is more than a line of its paragraph.
_BEGINS = re.compile(
    r"#{1,6}(?:[ \t]|$)|>|[-+*](?:[ \t]|$)|=+[ \t]*$|[-_*][-_* \t]*$|[|:-][|:\- \t]*$|```|~~~|<[A-Za-z/!?]"
)
_NUMBER = re.compile(r"([0-9]{1,9})(?:[.)](?:[ \t]|$)|\\[.)\\])")
_ESCAPED_NUMBER = re.compile(r"([0-9]{1,9})\\(?=[.)\\])")
_ESCAPABLE = frozenset("#>-+*=_|:`~<[\\")
_BREAK = re.compile(r"(?<!\\)(\\*)(<br ?/?>)")


def written(content: str, *, blank: str = "\\") -> list[str]:
    """The lines of a text as one paragraph of markdown holds them; an empty line is `blank`, or a lone backslash."""
    defines = "]:" in content
    lines = []
    for line in escaped(content).split("\n"):
        rest = line.lstrip(_INDENT)
        indent = line[: len(line) - len(rest)]
        if not rest:
            lines.append(indent + blank)
        elif number := _NUMBER.match(rest):
            lines.append(f"{indent}{number.group(1)}\\{rest[number.end(1) :]}")
        else:
            begins = _BEGINS.match(rest) or (defines and rest[0] == "[")
            is_escape = rest[0] == "\\" and (rest[1:2] in _ESCAPABLE or not rest[1:2])
            lines.append(f"{indent}\\{rest}" if begins or is_escape else line)
    return lines


def plain(raw: str) -> str:
    """What the lines of a paragraph say."""
    if "\\" not in raw:
        return raw
    lines = []
    for line in raw.split("\n"):
        rest = line.lstrip(_INDENT)
        indent = line[: len(line) - len(rest)]
        if rest == "\\":
            lines.append(indent)
        elif rest[:1] == "\\" and rest[1:2] in _ESCAPABLE:
            lines.append(indent + rest[1:])
        else:
            lines.append(indent + _ESCAPED_NUMBER.sub(r"\1", rest, count=1) if _ESCAPED_NUMBER.match(rest) else line)
    return unescaped("\n".join(lines))


def cell(content: str) -> str:
    """A text as one cell of a table holds it."""
    broken = _BREAK.sub(r"\1\\\2", escaped(content))
    return broken.replace("|", r"\|").replace("\n", "<br>")


def plain_cell(raw: str) -> str:
    """What a cell says; its `\\|` is read as `|` already."""
    broken = _BREAK.sub(lambda place: place.group(1)[1:] + place.group(2) if place.group(1) else "\n", raw)
    return unescaped(broken)
