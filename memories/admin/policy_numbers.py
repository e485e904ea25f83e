"""Every number a workspace may set: what it does, its unit, its default and range; and the form of each kind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from memories.choices import Act, EntryType, Origin, PolicyKind, ScopeKind, type_rule
from memories.conf import conf
from memories.models.policy import NOT_TRUSTED, TRUST_NAMES, UNREAD_TURN_DAYS, WEIGHTS, Subject
from memories.recall.ranking import fitted_weights

#: The kinds of policies, each with what it does in a sentence above its form.
KINDS = {
    PolicyKind.TTL: (
        _("Time to live"),
        _(
            "How many days a memory is served after it was last said. Then it is no longer recalled, and the night "
            "expires it; it can be restored. A term of its own wins, and what is pinned stays."
        ),
    ),
    PolicyKind.QUOTA: (
        _("Quotas of a recall"),
        _("How many memories of a type one recall serves before places that are left go to the best of the rest."),
    ),
    PolicyKind.WEIGHT: (
        _("Weights of the ranking"),
        _("What counts for how much when memories are ranked for a question."),
    ),
    PolicyKind.TRUST: (
        _("What a source may do"),
        _("What memories may do, by the least trusted of all they rest on: whoever repeats it, a page stays a page."),
    ),
}
SCOPES: dict[str, Any] = {ScopeKind.USER: _("of a person"), ScopeKind.CHAT: _("of a chat")}
#: What stands above the columns of a kind; a weight has one number a row.
COLUMNS: dict[str, list[Any]] = {
    PolicyKind.TTL: list(SCOPES.values()),
    PolicyKind.QUOTA: list(SCOPES.values()),
    PolicyKind.WEIGHT: [],
    PolicyKind.TRUST: [act.label for act in Act],
}
_ORIGINS: dict[str, Any] = {
    Origin.OPERATOR: _("Written or reworded in the admin."),
    Origin.SELF: _("Said by the person whose memory it is, or by a member of a group of themselves."),
    Origin.OTHER: _("Said by the person whose memory it is."),
    Origin.MEMBER: _("Said in a group, in its memory."),
    Origin.FILE: _("Lines of files in markdown."),
    Origin.IMPORT: _("Brought in from another product; who said it there, nobody knows."),
    Origin.BOT: _("The bot’s answers, also as part of a turn, and what it saves of its own."),
    Origin.TOOL: _("What tools gave, also as part of an answer, and what was saved as such."),
}
TYPES: dict[str, Any] = {
    EntryType.CHAT_TURN: _(
        "A message and its answer, from when a model drew facts from it; until then see “Days of an unread turn”."
    ),
    EntryType.AUTO_CAPTURE: _("What the bot did with its tools, and what came of it."),
    EntryType.WORKFLOW_TRACE: _("In which order tools were used."),
    EntryType.USER_EXPLICIT: _("What somebody had remembered on purpose."),
    EntryType.FACT: _("What was drawn from conversations, or stated as a fact."),
    EntryType.NOTE: _("Lines of files in markdown."),
}


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What a number counts, and the values it may have."""

    unit: Any = ""
    least: float = 0
    most: float | None = None
    step: float | str = "any"
    unlimited: Any = ""  # what it means where none is set on purpose; empty: that cannot be


_MEASURES: dict[str, Measure] = {
    PolicyKind.TTL: Measure(unit=_("days"), unlimited=_("never ends")),
    PolicyKind.QUOTA: Measure(unit=_("memories"), step=1, unlimited=_("no limit")),
    PolicyKind.WEIGHT: Measure(),
    PolicyKind.TRUST: Measure(),
}


@dataclass(frozen=True)
class _Weight:
    """What a weight of the ranking is, and the values it may have."""

    label: Any
    text: Any
    measure: Measure


_SHARE = Measure(unit=_("0 to 1"), most=1, step=0.01)
_SCORE = Measure(unit=_("added to the score"), most=10, step=0.01)
_WEIGHTS = {
    "alpha": _Weight(
        _("Meaning against words"), _("0 goes by the words of the question alone, 1 by its meaning alone."), _SHARE
    ),
    "min_similarity": _Weight(
        _("Least similarity"),
        _("What is found by meaning alone has to be so near: 0 is unrelated, 1 a clear answer. Higher serves less."),
        _SHARE,
    ),
    "speaker_boost": _Weight(_("Boost for who said it"), _("For memories of the person the question names."), _SCORE),
    "date_boost": _Weight(
        _("Boost for the day"),
        _("For what was said on a day the question names; three times as much if it is about that day."),
        _SCORE,
    ),
    "recency": _Weight(
        _("Boost for what is new"),
        _("For what was just said; it fades within days. More costs answers that are older."),
        _SCORE,
    ),
    "max_recalls": _Weight(
        _("Memories of a recall"), _("How many one recall serves, unless the bot asks for another number."),
        Measure(unit=_("memories"), least=1, most=50, step=1),
    ),
    "relevance_likely": _Weight(
        _("Least relevance in a prompt"),
        _("What is less likely to help is not put into a prompt; of memories with 0.2, one in five helps."), _SHARE,
    ),
    "unread_turn_days": _Weight(
        _("Days of an unread turn"),
        _("A turn no model has drawn facts from lives so long: what it says stands nowhere else."),
        Measure(unit=_("days"), least=1, most=180_000, step=1),
    ),
    "relevance_wide": _Weight(
        _("Least relevance in a search"),
        _("The same where a program asks for all that may help, and chooses itself."), _SHARE,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Number:
    """One number a workspace may set."""

    subject: Subject

    @property
    def kind(self) -> str:
        return self.subject[0]

    @property
    def field(self) -> str:
        """Its name in forms and addresses."""
        _kind, entry_type, scope_kind, name = self.subject
        return name or f"{entry_type}-{scope_kind}"

    @property
    def source(self) -> Origin:
        """Of trust: whose memories."""
        return Origin(self.subject[3].partition("_")[0])

    @property
    def column(self) -> str:
        """What stands above it among the numbers of its row."""
        kind, _entry_type, scope_kind, name = self.subject
        if kind == PolicyKind.TRUST:
            return str(Act(name.partition("_")[2]).label)
        return "" if kind == PolicyKind.WEIGHT else str(SCOPES[scope_kind])

    @property
    def row(self) -> tuple[str, str]:
        """What it shares with the numbers beside it."""
        kind, entry_type, _scope_kind, name = self.subject
        return (entry_type, self.source if kind == PolicyKind.TRUST else name)

    @property
    def label(self) -> str:
        kind, entry_type, scope_kind, name = self.subject
        if kind == PolicyKind.TRUST:
            return f"{self.heading} · {self.column}"
        if name:
            return str(_WEIGHTS[name].label) if name in _WEIGHTS else name
        return f"{self.heading} · {SCOPES[scope_kind]}"

    @property
    def heading(self) -> str:
        """The type, or the source, it is about."""
        if self.kind == PolicyKind.TRUST:
            return str(self.source.label)
        return str(dict(EntryType.choices)[self.subject[1]])

    @property
    def full_label(self) -> str:
        return f"{KINDS[PolicyKind(self.kind)][0]}: {self.label}"

    @property
    def text(self) -> Any:
        """What it does, in a sentence."""
        kind, entry_type, _scope_kind, name = self.subject
        if kind == PolicyKind.TRUST:
            return _ORIGINS[self.source]
        return _WEIGHTS[name].text if name else TYPES[entry_type]

    @property
    def measure(self) -> Measure:
        name = self.subject[3]
        return _WEIGHTS[name].measure if name in _WEIGHTS else _MEASURES[self.kind]

    @property
    def default(self) -> float | None:
        """The built-in number; None: without limit."""
        kind, entry_type, scope_kind, name = self.subject
        if kind == PolicyKind.WEIGHT:
            fitted = fitted_weights().get(name.removeprefix("feature_"), 0.0)
            if name == UNREAD_TURN_DAYS:
                return conf.UNREAD_TURN_TTL / timedelta(days=1)
            return float(getattr(conf, name.upper(), fitted))
        if kind == PolicyKind.TRUST:
            return float((self.source, name.partition("_")[2]) not in NOT_TRUSTED)
        rule = type_rule(entry_type)
        if kind == PolicyKind.QUOTA:
            return rule.quotas.get(scope_kind)
        ttl = rule.ttls.get(scope_kind)
        return ttl.days if ttl else None

    @property
    def default_label(self) -> str:
        return self.value_label(self.default)

    def value_label(self, value: float | None) -> str:
        """A value of it, as people read it."""
        if value is None and self.measure.unlimited:
            return str(self.measure.unlimited)
        if self.kind == PolicyKind.TRUST:
            return gettext("yes") if (self.default if value is None else value) else gettext("no")
        number = f"{self.default if value is None else value:g}"
        return gettext("%(days)s days") % {"days": number} if self.kind == PolicyKind.TTL else number


def numbers_of(kind: str) -> Iterator[Number]:
    """The numbers of a kind of policy."""
    if kind == PolicyKind.WEIGHT:
        yield from (Number((kind, "", "", name.lower())) for name in (*WEIGHTS, UNREAD_TURN_DAYS))
        return
    if kind == PolicyKind.TRUST:
        yield from (Number((kind, "", "", name)) for name in TRUST_NAMES)
        return
    for entry_type in EntryType:
        for scope_kind in ScopeKind:
            yield Number((kind, entry_type.value, scope_kind.value, ""))


@dataclass(frozen=True)
class EffectiveNumber:
    """A number with the value that holds in a workspace."""

    number: Number
    is_set: bool
    label: str


@dataclass(frozen=True)
class NumberChange:
    """A number that is to be another one, or was."""

    number: Number
    before: str
    after: str


def changes_between(before: dict[Subject, float | None], after: dict[Subject, float | None]) -> list[NumberChange]:
    """What differs between two sets of policies; a default stands as what it comes to."""
    changed_subjects = [
        subject
        for subject in sorted(before.keys() | after.keys())
        if (subject in before, before.get(subject)) != (subject in after, after.get(subject))
    ]
    return [
        NumberChange(Number(subject), _label(Number(subject), before), _label(Number(subject), after))
        for subject in changed_subjects
    ]


def _label(number: Number, values: dict[Subject, float | None]) -> str:
    if number.subject in values:
        return number.value_label(values[number.subject])
    return gettext("default: %(value)s") % {"value": number.default_label}


def unlimited_field(number: Number) -> str:
    """The name of the box that says a number has no end."""
    return f"{number.field}-unlimited"


@dataclass(frozen=True)
class Cell:
    """A number of the form, as its template shows it."""

    number: Number
    value: Any
    unlimited: Any


class NumbersForm(forms.Form):
    """Empty: the default holds. A number and «never ends» exclude each other."""

    def __init__(self, data: Any = None, *, kind: str, values: Mapping[Subject, float | None]) -> None:
        super().__init__(data)
        self.kind, self.numbers, self.given = kind, list(numbers_of(kind)), dict(values)
        for number in self.numbers:
            value = self.given.get(number.subject)
            if kind == PolicyKind.TRUST:
                # The default, or yes or no
                choices = [("", _("as by default")), ("1", _("yes")), ("0", _("no"))]
                self.fields[number.field] = forms.TypedChoiceField(
                    label=number.label,
                    choices=choices,
                    coerce=float,
                    empty_value=None,
                    required=False,
                    initial="" if value is None else f"{value:g}",
                    widget=UnfoldAdminSelectWidget(attrs={"aria-label": number.label}),
                )
                continue
            measure = number.measure
            field_class: Any = forms.IntegerField if measure.step == 1 else forms.FloatField
            initial = int(value) if measure.step == 1 and value is not None else value
            hint = measure.unlimited if number.default is None else f"{number.default:g}"
            attrs = {"type": "number", "step": measure.step, "inputmode": "decimal", "placeholder": hint}
            attrs |= {"aria-label": number.label, "min": measure.least, "max": measure.most or ""}
            self.fields[number.field] = field_class(
                label=number.label,
                required=False,
                min_value=measure.least,
                max_value=measure.most,
                initial=f"{initial:g}" if initial is not None else None,
                widget=UnfoldAdminTextInputWidget(attrs=attrs),
            )
            if measure.unlimited:
                is_unlimited = number.subject in self.given and value is None
                self.fields[unlimited_field(number)] = forms.BooleanField(
                    label=measure.unlimited, required=False, initial=is_unlimited
                )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for number in self.numbers:
            if data.get(unlimited_field(number)) and data.get(number.field) is not None:
                self.add_error(number.field, _("Either a number or without an end, not both."))
        return data

    def wanted(self) -> dict[Subject, float | None]:
        """All policies of the workspace as they are wanted; those of other kinds stay."""
        own = {number.subject for number in self.numbers}
        values = {subject: value for subject, value in self.given.items() if subject not in own}
        for number in self.numbers:
            value = self.cleaned_data.get(number.field)
            if value is not None:
                values[number.subject] = float(value)
            elif self.cleaned_data.get(unlimited_field(number)):
                values[number.subject] = None
        return values

    def hidden(self) -> list[tuple[str, Any]]:
        """What was sent, for the form that saves exactly what was previewed."""
        return [(name, self.data[name]) for name in self.fields if self.data.get(name)]

    def rows(self) -> Iterator[tuple[Any, Any, list[Cell]]]:
        """Heading, sentence and cells of each row."""
        for _about, group in groupby(self.numbers, lambda number: number.row):
            cells = []
            for number in group:
                unlimited = self[unlimited_field(number)] if number.measure.unlimited else None
                cells.append(Cell(number, self[number.field], unlimited))
            first = cells[0].number
            yield first.label if self.kind == PolicyKind.WEIGHT else first.heading, first.text, cells
