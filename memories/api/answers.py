"""Answers described once: the schema and the JSON come from the same fields."""

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, cast

from rest_framework import serializers

from memories.choices import Origin, Suspicion, Verification


class Answer(serializers.Serializer[Any]):
    """What a call answers. A field is read off a row by its `source`, or passed by name; any other name is an error.

    Rendered by `of` and not by `to_representation`, which takes several times as long for a page of entries.
    """

    @classmethod
    def of(cls, row: object = None, /, **values: Any) -> dict[str, Any]:
        """The JSON of a row; raises TypeError for a name that is not described."""
        names, read, blank = _reader(cls, tuple(values))
        answer = blank.copy()  # keeps the order of the fields
        answer.update(zip(names, read(row), strict=True))
        answer.update(values)
        return answer


@cache
def _reader(
    kind: type[Answer], passed_names: tuple[str, ...]
) -> tuple[list[str], Callable[[object], tuple[Any, ...]], dict[str, Any]]:
    """The names that are read off a row, how they are read, and an answer with none of its values yet."""
    fields: dict[str, Any] = kind._declared_fields
    if undescribed := [name for name in passed_names if name not in fields]:
        raise TypeError(f"{kind.__name__} does not describe {', '.join(undescribed)}.")
    names = [name for name, field in fields.items() if name not in passed_names and field.required is not False]
    blank: dict[str, Any] = {name: None for name in fields if name in passed_names or name in names}
    sources = [fields[name].source or name for name in names]
    match sources:
        case []:
            return names, lambda row: (), blank
        case [source]:
            value_of = attrgetter(source)
            return names, lambda row: (value_of(row),), blank
    return names, attrgetter(*sources), blank


class Page(Answer):
    """One page of a list; without `next` it is the last one."""

    next = serializers.URLField(allow_null=True)
    cursor = serializers.CharField(allow_null=True)


def page_of(kind: type[Answer], description: str) -> type[Page]:
    """The page of a list of these answers: of BatchAnswer, BatchPage."""
    fields = {"results": kind(many=True), "__doc__": description, "__module__": kind.__module__}
    return cast(type[Page], type(kind.__name__.removesuffix("Answer") + "Page", (Page,), fields))


class StaleAnswer(Answer):
    """What an answer says of itself that came from a replica while the database was away; else nothing."""

    stale = serializers.BooleanField(
        required=False, help_text="The database is away: this is what a replica had at `replayed_at`. Else left out."
    )
    replayed_at = serializers.DateTimeField(
        required=False, help_text="With `stale`: when the last change the replica has was made."
    )


class EvidenceAnswer(Answer):
    """Words of a message a fact rests on."""

    quote = serializers.CharField()
    event = serializers.CharField(
        source="origin", help_text="The message: `session_events/<session>/<conversation>/event-<id>`."
    )
    at = serializers.DateTimeField(help_text="When it was said.")
    speaker = serializers.CharField(help_text="Who said it, as people call them.")


def verification_field() -> serializers.ChoiceField:
    """How well a memory is borne out."""
    return serializers.ChoiceField(
        choices=Verification.choices,
        allow_blank=True,
        help_text="Of a model's fact. `verified`: a second reading found it borne out by the words it quotes; `quoted`:"
        " it rests on them alone. Empty: no model stated it.",
    )


def suspect_field(**options: Any) -> serializers.ChoiceField:
    """How a memory speaks to the model that reads it."""
    return serializers.ChoiceField(
        choices=Suspicion.choices,
        allow_blank=True,
        **options,
        help_text="How its words speak to the model that reads them: `forged`, `link`, `override` or `order`. No group"
        " is told it, and it enters no profile. Empty: it speaks of the world.",
    )


def origin_field(**options: Any) -> serializers.ChoiceField:
    """Whose words a memory is."""
    return serializers.ChoiceField(choices=Origin.choices, help_text="Who it comes from.", **options)


def trust_field(**options: Any) -> serializers.ChoiceField:
    """How far a memory is trusted."""
    return serializers.ChoiceField(choices=Origin.choices, help_text="The least trusted of all it rests on.", **options)


def evidence_field() -> serializers.BaseSerializer[Any]:
    """The words a memory rests on."""
    return EvidenceAnswer(many=True, help_text="Of a model's fact: the words it rests on, in the order they were said.")


class WordDiff(serializers.ListField):
    """Runs of words, each after the sign of what became of it."""

    child = serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2)


class ColumnChange(Answer):
    """One column before and after; of the content also word by word."""

    column = serializers.CharField()
    old = serializers.JSONField(allow_null=True)
    new = serializers.JSONField(allow_null=True)
    diff = WordDiff(required=False, help_text="Runs of words: = stayed, - went, + came.")


class SlotChange(Answer):
    """One slot before and after; null where there was or is none."""

    name = serializers.CharField()
    old = serializers.CharField(allow_null=True)
    new = serializers.CharField(allow_null=True)


def slot_changes(slots: Mapping[str, tuple[str | None, str | None]]) -> list[dict[str, Any]]:
    """Slots by name, each with its value before and after."""
    return [SlotChange.of(name=name, old=old, new=new) for name, (old, new) in slots.items()]
