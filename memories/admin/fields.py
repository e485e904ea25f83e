"""Fields of forms, in the look of the admin."""

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)


class LineField(forms.CharField):
    """A text of one line; `attrs` are attributes of its input."""

    def __init__(self, *, attrs: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(widget=UnfoldAdminTextInputWidget(attrs=attrs), **options)


class TextField(forms.CharField):
    """A text of several lines."""

    def __init__(self, *, rows: int, has_focus: bool = False, **options: Any) -> None:
        attrs = {"rows": rows, **({"autofocus": True} if has_focus else {})}
        super().__init__(widget=UnfoldAdminTextareaWidget(attrs=attrs), **options)


class SelectField(forms.ChoiceField):
    """One of some choices."""

    widget = UnfoldAdminSelectWidget


class SwitchField(forms.BooleanField):
    """On or off; off unless somebody switches it on."""

    widget = UnfoldBooleanSwitchWidget

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, **options)
