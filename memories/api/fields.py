"""Strict fields: a value of the wrong type is an error, not something to be guessed at."""

import unicodedata
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from typing import Any, ClassVar, NoReturn

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from memories.conf import conf
from memories.entries.draft import COLUMN_SLOTS

YEARS = range(1970, 2200)
#: How far the clock of a bot may be ahead of ours.
SKEW = timedelta(minutes=5)
#: Of what was sent instead of a known word, so many characters are said back.
SHOWN_CHARS = 60
#: Slots that say where a message comes from.
PLACE_SLOTS = ("channel", "chat_id", "session_id", "sender_id", "thread_id", "source_session_id")


class StrictSerializer(serializers.Serializer[Any]):
    """A serializer that names every field it does not know."""

    #: What the description of the API says of its fields together, in the words of JSON Schema.
    together: ClassVar[dict[str, Any]] = {}

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(str(name) for name in set(data) - set(self.fields))
            if unknown:
                raise serializers.ValidationError(
                    {name: [serializers.ErrorDetail(str(_("Unknown field.")), code="unknown")] for name in unknown}
                )
        return super().to_internal_value(data)


def one_of(*names: str) -> dict[str, Any]:
    """Says of a serializer's fields that exactly one of these is given."""
    return {"oneOf": [{"required": [name]} for name in names]}


class Text(serializers.CharField):
    """A string as it is, spaces included; a number is not a string."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("trim_whitespace", False)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class LongText(Text):
    """A message: at most TURN_MAX_BYTES, 64 KB, before it is cut."""

    default_error_messages = {"bytes": _("This text is larger than {limit} bytes.")}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if len(text.encode()) > conf.TURN_MAX_BYTES:
            self.fail("bytes", limit=conf.TURN_MAX_BYTES)
        return text


#: Invisible characters that belong to letters and signs: joiners, and what chooses a sign's form.
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")


class Name(Text):
    """A name by which a platform calls somebody or something: nothing in it that nobody sees."""

    default_error_messages = {
        "unseen": _("This is nothing but blanks."),
        "edges": _("This begins or ends with a blank."),
        "control": _("This holds a character that cannot be seen."),
    }

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        visible_chars = "".join(char for char in name if not _is_unseen(char))
        if name and not visible_chars.strip():
            self.fail("unseen")
        if visible_chars != name:
            self.fail("control")
        if name != name.strip():
            self.fail("edges")
        return name

    @property
    def pattern(self) -> str:
        """The same as a regular expression, which generators read; without the rare signs beyond four digits."""
        unseen, edge = _signs(blanks=False), f"[^{_signs(blanks=True)}]"
        name = f"{edge}(?:[^{unseen}]*{edge})?"
        return f"^(?:{name})?$" if self.allow_blank else f"^{name}$"


@cache
def _signs(*, blanks: bool) -> str:
    """The unseen signs of four digits, or also blanks, as ranges between the brackets of a regular expression."""
    codes = {code for code in range(0x10000) if _is_unseen(chr(code)) or (blanks and chr(code).isspace())}
    begins = sorted(code for code in codes if code - 1 not in codes)
    ends = sorted(code for code in codes if code + 1 not in codes)
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in zip(begins, ends, strict=True))


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") and char not in _JOINERS


class _Typed(serializers.Field[Any, Any, Any, Any]):
    """A field that takes values of the types of JSON it names, and nothing that looks like one."""

    types: tuple[type, ...]
    code = "invalid"

    def to_internal_value(self, data: Any) -> Any:
        if type(data) not in self.types:
            self.fail(self.code, input=data)
        return super().to_internal_value(data)


class Content(Text):
    """The words of a memory as they are, spaces included, and more than spaces."""

    pattern = r"^[^\u0000]*[^\u0000\s][^\u0000]*$"


class Whole(_Typed, serializers.IntegerField):
    """A whole number; neither a string nor true."""

    types = (int,)


class Number(_Typed, serializers.FloatField):
    """A number; neither a string nor true."""

    types = (int, float)


class YesNo(_Typed, serializers.BooleanField):
    """true or false, nothing that looks like it."""

    types = (bool,)


class Word(_Typed, serializers.ChoiceField):
    """One of a closed vocabulary, as a string."""

    types = (str,)
    code = "invalid_choice"
    default_error_messages = {"invalid_choice": _("“{input}” is not one of: {choices}.")}

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        input_text = str(kwargs.get("input", ""))
        input_text = input_text if len(input_text) <= SHOWN_CHARS else f"{input_text[:SHOWN_CHARS]}…"
        super().fail(key, **{**kwargs, "input": input_text, "choices": ", ".join(filter(None, map(str, self.choices)))})


class Moment(serializers.DateTimeField):
    """A time with its zone."""

    default_error_messages = {
        "zone": _("A time needs its zone, such as 2026-03-01T09:00:00+08:00."),
        "range": _("A time lies between 1970 and 2199."),
    }

    def to_internal_value(self, value: Any) -> datetime:
        if not isinstance(value, str):
            self.fail("invalid", format="ISO 8601")
        try:
            read = datetime.fromisoformat(value)
        except ValueError:
            self.fail("invalid", format="ISO 8601")
        if read.tzinfo is None:
            self.fail("zone")
        if read.year not in YEARS:
            self.fail("range")
        return read.astimezone(timezone.get_fixed_timezone(timedelta(0)))


class OpenChoice(Name):
    """A name that is mostly one of those that are known, and may be another."""

    def __init__(self, words: Iterable[str], **kwargs: Any) -> None:
        self.words = tuple(words)
        super().__init__(**kwargs)


class Slots(serializers.DictField):
    """Names and their values, both strings; as many and as long as an entry can hold."""

    child = Text(max_length=500, allow_blank=True)
    default_error_messages = {
        "many": _("{count} slots; at most {limit} fit."),
        "name": _("A slot's name has 1 to {limit} characters."),
        "nul": _("Names and values of slots hold no NUL."),
    }

    def to_internal_value(self, data: Any) -> dict[str, str]:
        read: dict[str, str] = super().to_internal_value(data)
        slot_names = [name for name in read if name not in COLUMN_SLOTS]
        if len(slot_names) > conf.SLOT_LIMIT:
            self.fail("many", count=len(slot_names), limit=conf.SLOT_LIMIT)
        for name in read:
            if not 0 < len(name) <= conf.SLOT_NAME_CHARS:
                self._refuse(name, "name", limit=conf.SLOT_NAME_CHARS)
            if "\0" in name:  # bodies hold none; addresses may
                self._refuse("", "nul")
        return read

    def _refuse(self, name: str, code: str, **words: Any) -> None:
        detail = serializers.ErrorDetail(str(self.error_messages[code]).format(**words), code="invalid")
        raise serializers.ValidationError({name[: conf.SLOT_NAME_CHARS]: [detail]})


class FreeSlots(Slots):
    """Slots beside those that follow from where a message comes from."""

    default_error_messages = {"place": _("This follows from the address or the session, and is not told as a slot.")}

    def to_internal_value(self, data: Any) -> dict[str, str]:
        read = super().to_internal_value(data)
        for name in PLACE_SLOTS:
            if name in read:
                self._refuse(name, "place")
        return read


class SlotChanges(Slots):
    """Slots as they are to be; null takes one away."""

    child = Text(max_length=500, allow_blank=True, allow_null=True)


def check_past(name: str, moment: datetime | None, now: datetime) -> None:
    """Raises ValidationError for a time to come, but for a clock that is a little fast."""
    if moment is not None and moment > now + SKEW:
        raise _invalid(name, _("This lies in the future."), "future")


def check_ahead(name: str, moment: datetime | None, now: datetime) -> None:
    """Raises ValidationError for a time that is past."""
    if moment is not None and moment <= now:
        raise _invalid(name, _("This is past already."), "past")


def _invalid(name: str, detail: Any, code: str) -> serializers.ValidationError:
    return serializers.ValidationError({name: [serializers.ErrorDetail(str(detail), code=code)]})
