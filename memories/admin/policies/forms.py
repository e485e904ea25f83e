"""The form of a kind of policy: every number of it, with its unit, its default and what it does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from memories.admin.policies.numbers import SCOPES, Number, numbers_of
from memories.choices import PolicyKind
from memories.models.policy import Subject


def unlimited_field(number: Number) -> str:
    """The name of the box that says a number has no end."""
    return f"{number.field}-unlimited"


@dataclass(frozen=True)
class Cell:
    """A number of the form, as its template shows it."""

    number: Number
    value: Any
    unlimited: Any
    column: Any


class NumbersForm(forms.Form):
    """Empty: the default holds. A number and «never ends» exclude each other."""

    def __init__(self, data: Any = None, *, kind: str, values: Mapping[Subject, float | None]) -> None:
        super().__init__(data)
        self.kind, self.numbers, self.given = kind, list(numbers_of(kind)), dict(values)
        for number in self.numbers:
            self._add(number)

    def _add(self, number: Number) -> None:
        value = self.given.get(number.subject)
        is_unlimited = number.may_be_unlimited and number.subject in self.given and value is None
        kind: Any = forms.IntegerField if number.is_whole else forms.FloatField
        shown = int(value) if number.is_whole and value is not None else value
        hint = number.unlimited_label if number.default is None else f"{number.default:g}"
        attrs = {"type": "number", "step": number.step, "inputmode": "decimal", "placeholder": hint}
        attrs |= {"aria-label": number.label}
        self.fields[number.field] = kind(
            label=number.label,
            required=False,
            min_value=number.least,
            max_value=number.most,
            initial=f"{shown:g}" if shown is not None else None,
            widget=UnfoldAdminTextInputWidget(attrs=attrs | {"min": number.least, "max": number.most or ""}),
        )
        if number.may_be_unlimited:
            label, field = number.unlimited_label, forms.BooleanField(required=False, initial=is_unlimited)
            field.label = label
            self.fields[unlimited_field(number)] = field

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for number in self.numbers:
            if data.get(unlimited_field(number)) and data.get(number.field) is not None:
                self.add_error(number.field, _("Either a number or without an end, not both."))
        return data

    def wanted(self) -> dict[Subject, float | None]:
        """All policies of the workspace as they are wanted; those of other kinds stay."""
        own = {number.subject for number in self.numbers}
        wanted = {subject: value for subject, value in self.given.items() if subject not in own}
        for number in self.numbers:
            value = self.cleaned_data.get(number.field)
            if value is not None:
                wanted[number.subject] = float(value)
            elif self.cleaned_data.get(unlimited_field(number)):
                wanted[number.subject] = None
        return wanted

    def hidden(self) -> list[tuple[str, Any]]:
        """What was sent, for the form that saves exactly what was previewed."""
        return [(name, self.data[name]) for name in self.fields if self.data.get(name)]

    def rows(self) -> Iterator[tuple[Any, Any, list[Cell]]]:
        """Heading, sentence and cells of each row."""
        for _about, group in groupby(self.numbers, lambda number: (number.subject[1], number.subject[3])):
            cells = [self._cell(number) for number in group]
            first = cells[0].number
            yield first.label if self.kind == PolicyKind.WEIGHT else first.heading, first.text, cells

    def _cell(self, number: Number) -> Cell:
        unlimited = self[unlimited_field(number)] if number.may_be_unlimited else None
        column = "" if self.kind == PolicyKind.WEIGHT else SCOPES[number.subject[2]]
        return Cell(number, self[number.field], unlimited, column)
